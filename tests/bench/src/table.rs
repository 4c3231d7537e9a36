//! The tables that the bench prints.
//! Samples and files come in, Markdown goes out.
//! Ratios are against the static program that prints `{}`, in the same run.

use std::fmt::Write;
use std::fs;

use credmint_test_kit::home::Home;

use crate::Tools;
use crate::measure::Samples;

/// Tells how long each case took.
pub(crate) fn latencies(samples: &[Samples]) -> String {
    let floor = samples.first().map_or(1, |first| first.percentile(50)).max(1);
    let mut text = String::from("| whole process | p50 | p90 | p50 over the floor |\n|---|---|---|---|\n");
    for one in samples {
        let (p50, p90) = (one.percentile(50), one.percentile(90));
        let ratio = p50 as f64 / floor as f64;
        let _ = writeln!(text, "| {} | {} | {} | {ratio:.2} |", one.name, millis(p50), millis(p90));
    }
    text
}

/// Tells what a `get` costs that has to mint.
pub(crate) fn cold(samples: &Samples) -> String {
    let (p50, p90) = (millis(samples.percentile(50)), millis(samples.percentile(90)));
    format!("{}: p50 {p50}, p90 {p90}\n", samples.name)
}

/// Tells sizes on disk and the idle agent's memory.
pub(crate) fn sizes(tools: &Tools, home: &Home) -> String {
    let megabytes = |path| fs::metadata(path).map_or(0.0, |about| about.len() as f64 / 1e6);
    let agent = home.agent();
    let status = fs::read_to_string(format!("/proc/{}/status", agent.pid)).unwrap_or_default();
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("?").trim().to_owned();
    format!(
        "helper {:.2} MB, agent {:.2} MB on disk; agent with two entries and the bridge: {rss} RSS",
        megabytes(&tools.helper),
        megabytes(&tools.agent)
    )
}

fn millis(micros: u128) -> String {
    format!("{:.2} ms", micros as f64 / 1e3)
}
