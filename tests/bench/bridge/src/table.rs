//! The tables that the bench prints.
//! Samples come in, Markdown goes out.
//! Ratios are against the road without a proxy, and against the best of the other proxies, in the same run.

use std::fmt::Write;

use crate::crowd::{Crowd, DOWNLOADS};
use crate::measure::Samples;
use crate::place::Connections;

/// Tells how long a small answer took.
pub(crate) fn latencies(samples: &[Samples]) -> String {
    let straight = samples.first().map_or(0.0, |first| first.percentile(50));
    let mut text =
        String::from("| 10,000 small answers, one by one | p50 | p90 | p50 more than no proxy |\n|---|---|---|---|\n");
    for one in samples {
        let (p50, p90) = (one.percentile(50), one.percentile(90));
        let more = millis(p50 - straight);
        let _ = writeln!(text, "| {} | {} | {} | {more} |", one.name, millis(p50), millis(p90));
    }
    text
}

/// Tells how much came in a second, and what share of the best of the other proxies that is.
pub(crate) fn rates(what: &str, unit: &str, samples: &[Samples]) -> String {
    let best = samples.iter().skip(2).map(|one| one.percentile(50)).fold(1.0, f64::max);
    let mut text = format!("| {what} | median {unit} | lowest | over the best other proxy |\n|---|---|---|---|\n");
    for one in samples {
        let (median, lowest) = (one.percentile(50), one.percentile(0));
        let _ = writeln!(text, "| {} | {median:.0} | {lowest:.0} | {:.2} |", one.name, median / best);
    }
    text
}

/// Tells how many connections the registry had of each.
pub(crate) fn connections(all: &[Connections]) -> String {
    let mut text = String::from(
        "| at the registry | protocol | requests | connections | TLS sessions resumed |\n|---|---|---|---|---|\n",
    );
    for one in all {
        let Connections { subject, protocol, requests, opened, resumed } = one;
        let _ = writeln!(text, "| {subject} | {protocol} | {requests} | {opened} | {resumed} |");
    }
    text
}

/// Tells the agent's memory while many downloads ran.
pub(crate) fn memory(readers: &Crowd, sleepers: &Crowd) -> String {
    let mebi = |kilobytes: u64| kilobytes as f64 / 1024.0;
    let line = |what: &str, crowd: &Crowd| {
        let (before, most) = crowd.memory;
        let (gigabytes, seconds) = (crowd.bytes as f64 / 1e9, crowd.took.as_secs_f64());
        let (before, most) = (mebi(before), mebi(most));
        format!("| {what} | {before:.1} MiB | {most:.1} MiB | {gigabytes:.1} GB in {seconds:.0} s |\n")
    };
    format!(
        "| {DOWNLOADS} downloads of 1 GiB at once | agent's RSS before | most | passed on |\n|---|---|---|---|\n{}{}",
        line("read as fast as can be", readers),
        line("begun and not read on", sleepers)
    )
}

fn millis(micros: f64) -> String {
    format!("{:.3} ms", micros / 1e3)
}
