//! What the bridge costs, beside no proxy at all and beside two other proxies that present a client certificate.
//! Executables that `tests/bench/run` has built come in, tables go out; only the ratios of one run mean something.
//! Starts and ends its own peers; talks to loopback only.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails by panicking, prints its tables, starts programs and dials them"
)]

mod connection;
mod crowd;
mod measure;
mod place;
mod roads;
mod table;

use place::Place;
use roads::Road;

fn main() {
    let place = Place::build();
    let roads = Road::all(&place);
    println!("{}", table::latencies(&measure::answers(&roads)));
    println!("{}", table::rates("small answers, eight at once", "of a second", &measure::at_once(&roads)));
    println!("{}", table::rates("an archive of 1 GiB", "MB/s", &measure::archives(&roads)));
    let bridge = roads.get(1).expect("the bridge");
    let readers = crowd::of_readers(bridge, place.agent());
    let sleepers = crowd::of_sleepers(bridge, place.agent());
    println!("{}", table::memory(&readers, &sleepers));
    println!("{}", table::connections(&place.connections()));
}
