//! The clock: the same requests on every road, all roads in turn.
//! Roads come in, samples go out.
//! The client has connected before the clock runs, and keeps its connections.

use std::thread;
use std::time::Instant;

use crate::connection::Connection;
use crate::place::ARCHIVE_SIZE;
use crate::roads::Road;

/// What one road took.
pub(crate) struct Samples {
    pub(crate) name: &'static str,
    /// Microseconds, or what the table says.
    pub(crate) values: Vec<f64>,
}

impl Samples {
    /// Gives the value below which this share of the samples lies.
    pub(crate) fn percentile(&self, share: usize) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.get(sorted.len() * share / 100).copied().unwrap_or_default()
    }
}

/// Asks for a small answer 10,000 times, one after the other; gives the microseconds of each.
pub(crate) fn answers(roads: &[Road]) -> Vec<Samples> {
    let mut connections: Vec<Connection> = roads.iter().map(Connection::open).collect();
    let mut all = none(roads);
    for round in 0..ANSWER_ROUNDS + WARM_UP {
        for ((road, connection), samples) in roads.iter().zip(&mut connections).zip(&mut all) {
            for _ in 0..ANSWERS / ANSWER_ROUNDS {
                let start = Instant::now();
                connection.get(&road.answer);
                if round >= WARM_UP {
                    samples.values.push(start.elapsed().as_secs_f64() * 1e6);
                }
            }
        }
    }
    all
}

/// Asks for small answers over eight connections at once; gives the answers of a second, a value for each round.
pub(crate) fn at_once(roads: &[Road]) -> Vec<Samples> {
    rounds(roads, |road| {
        let mut connections: Vec<Connection> = (0..AT_ONCE).map(|_| Connection::open(road)).collect();
        for connection in &mut connections {
            connection.get(&road.answer);
        }
        let each = ANSWERS / ANSWER_ROUNDS;
        let start = Instant::now();
        thread::scope(|scope| {
            for connection in &mut connections {
                scope.spawn(move || (0..each).for_each(|_| drop(connection.get(&road.answer))));
            }
        });
        (each * AT_ONCE) as f64 / start.elapsed().as_secs_f64()
    })
}

/// Fetches 1 GiB; gives megabytes of a second, a value for each round.
pub(crate) fn archives(roads: &[Road]) -> Vec<Samples> {
    rounds(roads, |road| {
        let mut connection = Connection::open(road);
        let start = Instant::now();
        assert_eq!(connection.get(&road.archive).length, ARCHIVE_SIZE, "{}", road.name);
        ARCHIVE_SIZE as f64 / 1e6 / start.elapsed().as_secs_f64()
    })
}

fn rounds(roads: &[Road], once: impl Fn(&Road) -> f64) -> Vec<Samples> {
    let mut all = none(roads);
    for round in 0..=ROUNDS {
        for (road, samples) in roads.iter().zip(&mut all) {
            let value = once(road);
            // The first warms up.
            if round > 0 {
                samples.values.push(value);
            }
        }
    }
    all
}

fn none(roads: &[Road]) -> Vec<Samples> {
    roads.iter().map(|road| Samples { name: road.name, values: Vec::new() }).collect()
}

const ANSWERS: usize = 10_000;
const ANSWER_ROUNDS: usize = 50;
const WARM_UP: usize = 2;
const AT_ONCE: usize = 8;
const ROUNDS: usize = 9;
