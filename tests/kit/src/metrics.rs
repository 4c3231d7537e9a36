//! The parser of Prometheus' own Python client, as a judge of pages of numbers.
//!
//! A page comes in, its samples go out; a page that the parser refuses is a failure.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::peer;

/// One number.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its name.
    pub name: String,
    /// What it is, of the family.
    pub kind: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The number.
    pub value: f64,
}

/// Reads a page.
pub fn read(page: &str) -> Vec<Sample> {
    let mut command = Command::new("python3");
    command.args(["-c", PROGRAM]).env("PYTHONPATH", peer::installed("pypi/prometheus_client-0.26.0"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 starts");
    child.stdin.take().expect("its input").write_all(page.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "the parser refuses the page:\n{page}");
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let sample = |one: Value| Sample {
        name: text(&one[0]),
        kind: text(&one[1]),
        labels: serde_json::from_value(one[2].clone()).expect("labels"),
        value: one[3].as_f64().expect("a number"),
    };
    all.into_iter().map(sample).collect()
}

/// Gives the number with this name and these labels, among others.
pub fn value(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let fits = |sample: &&Sample| {
        sample.name == name && labels.iter().all(|(key, value)| sample.labels.get(*key).is_some_and(|own| own == value))
    };
    samples.iter().find(fits).map(|sample| sample.value)
}

const PROGRAM: &str = "
import json, sys
from prometheus_client.parser import text_string_to_metric_families as families
def number(value): return value if abs(value) != float('inf') else 1e308
print(json.dumps([[s.name, f.type, s.labels, number(s.value)] for f in families(sys.stdin.read()) for s in f.samples]))
";
