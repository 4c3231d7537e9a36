//! What credmint costs, beside its rivals, in one interleaved run: only the ratios mean something, machines are noisy.
//! Executables that `tests/bench/run` has built come in, a table goes out.
//! Starts and ends its own peers; talks to loopback only.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails by panicking, prints its table and starts programs"
)]

mod measure;
mod rivals;
mod settings;
mod table;

use std::path::PathBuf;

use credmint_test_kit::home::Home;
use measure::{Case, Samples, interleaved};

fn main() {
    let tools = Tools::from_environment();
    let home = Home::new();
    settings::write(&home);
    let mut rivals = rivals::Rivals::start(&home);
    let mut cases = vec![
        Case::new("a static program that prints {}", &home, &tools.braces, &[]),
        Case::new("/bin/true", &home, &PathBuf::from("/bin/true"), &[]),
        Case::new("terraform-credentials-credmint get, token", &home, &tools.helper, &["get", settings::TOKEN_HOST])
            .with("WORKLOAD_TOKEN", settings::token()),
        Case::new("terraform-credentials-credmint get, bridge", &home, &tools.helper, &["get", settings::BRIDGE_HOST])
            .with("WORKLOAD_TOKEN", settings::token()),
        Case::new(
            "terraform-credentials-credmint get, foreign host",
            &home,
            &tools.helper,
            &["get", "registry.terraform.io"],
        ),
        rivals.git(&home),
        rivals.oidc_token(&home),
    ];
    if let Some(other) = &tools.other {
        let get = Case::new("another build of it, token", &home, other, &["get", settings::TOKEN_HOST]);
        cases.push(get.with("WORKLOAD_TOKEN", settings::token()));
    }
    let samples: Vec<Samples> = interleaved(&cases, ROUNDS);
    println!("{}", table::latencies(&samples));
    println!("{}", table::cold(&measure::cold(&home, &tools.helper)));
    println!("{}", table::sizes(&tools, &home));
    rivals.stop();
}

/// The executables under measurement.
struct Tools {
    helper: PathBuf,
    agent: PathBuf,
    braces: PathBuf,
    /// Another build of the helper, to compare a change with what was.
    other: Option<PathBuf>,
}

impl Tools {
    fn from_environment() -> Self {
        let path =
            |name: &str| PathBuf::from(std::env::var(name).unwrap_or_else(|_| panic!("{name}: use tests/bench/run")));
        Self {
            helper: path("BENCH_HELPER"),
            agent: path("BENCH_AGENT"),
            braces: path("BENCH_BRACES"),
            other: std::env::var_os("BENCH_OTHER").map(PathBuf::from),
        }
    }
}

const ROUNDS: usize = 300;
