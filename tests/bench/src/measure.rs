//! The clock: whole processes, from spawn to reaped, all cases in turn.
//! Cases come in, samples in microseconds go out.
//! Keeps nothing of what the programs print, and checks that they succeeded.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use credmint_test_kit::home::Home;

use crate::settings;

/// One program with its arguments.
pub(crate) struct Case {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    input: Option<&'static str>,
}

/// What one case took.
pub(crate) struct Samples {
    pub(crate) name: String,
    pub(crate) micros: Vec<u128>,
}

impl Samples {
    /// Gives the value below which this share of the samples lies.
    pub(crate) fn percentile(&self, share: usize) -> u128 {
        let mut sorted = self.micros.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() * share / 100).copied().unwrap_or_default()
    }
}

impl Case {
    pub(crate) fn new(name: &str, home: &Home, program: &Path, arguments: &[&str]) -> Self {
        let text = |value: &std::ffi::OsString| value.to_string_lossy().into_owned();
        Self {
            name: name.to_owned(),
            program: program.to_owned(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            environment: home.environment().iter().map(|(name, value)| (text(name), text(value))).collect(),
            input: None,
        }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn fed(mut self, input: &'static str) -> Self {
        self.input = Some(input);
        self
    }

    /// Runs it once and gives the microseconds from spawn to reaped.
    pub(crate) fn run(&self) -> u128 {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().envs(self.environment.iter().cloned());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() });
        let start = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", self.name));
        if let (Some(input), Some(mut stdin)) = (self.input, child.stdin.take()) {
            stdin.write_all(input.as_bytes()).expect("input");
        }
        let status = child.wait().expect("a child");
        let took = start.elapsed().as_micros();
        assert!(status.success(), "{}: {status}", self.name);
        took
    }
}

/// Runs all cases in turn, round by round, after a few rounds to warm up.
pub(crate) fn interleaved(cases: &[Case], rounds: usize) -> Vec<Samples> {
    let mut all: Vec<Samples> =
        cases.iter().map(|case| Samples { name: case.name.clone(), micros: Vec::new() }).collect();
    for round in 0..rounds + WARM_UP {
        for (case, samples) in cases.iter().zip(&mut all) {
            let took = case.run();
            if round >= WARM_UP {
                samples.micros.push(took);
            }
        }
    }
    all
}

/// Measures a `get` that has to mint: `forget` before each.
pub(crate) fn cold(home: &Home, helper: &Path) -> Samples {
    let host = settings::BRIDGE_HOST;
    let with = |verb: &str| Case::new(verb, home, helper, &[verb, host]).with("WORKLOAD_TOKEN", settings::token());
    let (forget, get) = (with("forget"), with("get"));
    let micros = (0..COLD_ROUNDS).map(|_| {
        forget.run();
        get.run()
    });
    Samples { name: "get that mints from a local authority".to_owned(), micros: micros.collect() }
}

const WARM_UP: usize = 10;
const COLD_ROUNDS: usize = 50;
