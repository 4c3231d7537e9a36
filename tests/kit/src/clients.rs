//! The clients of the clouds that `tests/peers/setup` installed: those in Python share one directory, those in JavaScript another; that in Go is a program.
//!
//! A home and a piece of program come in, a run goes out that finds its libraries. It touches nothing but that run's environment.

use serde_json::Value;

use crate::home::Home;
use crate::peer::installed;
use crate::run::Run;

/// Begins a program in Python that can import the clients; it reads its text on stdin.
#[must_use]
pub fn python<'home>(home: &'home Home, program: &str) -> Run<'home> {
    home.run("python3").args(["-"]).env("PYTHONPATH", installed("python-clients")).input(program)
}

/// Begins the AWS command line.
#[must_use]
pub fn aws(home: &Home) -> Run<'_> {
    home.run("python3").args(["-m", "awscli"]).env("PYTHONPATH", installed("python-clients"))
}

/// Begins a program in JavaScript that can require the clients from the directory LIBRARIES; it reads its text on stdin.
#[must_use]
pub fn node<'home>(home: &'home Home, program: &str) -> Run<'home> {
    home.run("node").args(["--input-type=module", "-"]).env("LIBRARIES", installed("node-clients")).input(program)
}

/// Begins the client of the AWS SDK for Go, which the Terraform provider is built on: `identity` or `rows`.
#[must_use]
pub fn aws_go<'home>(home: &'home Home, what: &str) -> Run<'home> {
    home.run(installed("bin/aws-sdk-go")).arg(what)
}

/// Writes an answer that a client takes with one field put in, or in another way.
#[must_use]
pub fn row_with(good: &Value, name: &str, value: Value) -> String {
    let mut row = good.clone();
    row.as_object_mut().map(|row| row.insert(name.to_owned(), value));
    row.to_string()
}

/// Writes it with one field left out.
#[must_use]
pub fn row_without(good: &Value, name: &str) -> String {
    let mut row = good.clone();
    row.as_object_mut().map(|row| row.remove(name));
    row.to_string()
}
