//! What a program of a run finds in its environment: a CLI configuration, and what the bridge accepts.
//! A run comes in, variables go out.
//! Writes the CLI configuration into the run's directory, and nothing else.

use std::ffi::OsString;

use credmint_local_machine::files;
use credmint_vocabulary::{Failure, FailureKind, Secret};

use super::configuration;
use super::open_run::OpenRun;
use crate::setup::token_variable;

/// One variable.
pub(crate) struct Variable {
    name: String,
    value: Value,
}

enum Value {
    Open(String),
    Secret(Secret<String>),
}

impl Variable {
    /// Gives its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Gives what the program finds there.
    pub(crate) fn value(&self) -> &str {
        match &self.value {
            Value::Open(text) => text,
            Value::Secret(secret) => secret.expose(),
        }
    }
}

/// Makes the variables of a run.
pub(crate) fn for_run(open: &OpenRun, program: &OsString) -> Result<Vec<Variable>, Failure> {
    let path = open.directory().join("cli.tfrc");
    let text = configuration::for_run(open, program)?;
    let unwritten = |error| Failure::new(FailureKind::Settings, format!("{}: {error}", path.display()));
    files::write_private(&path, text.as_bytes()).map_err(unwritten)?;
    let path = path.display().to_string();
    let tokens = open
        .hosts
        .iter()
        .map(|host| Variable { name: token_variable(&host.hostname), value: Value::Secret(host.token.copied()) });
    let configuration = Variable { name: "TF_CLI_CONFIG_FILE".to_owned(), value: Value::Open(path) };
    Ok(std::iter::once(configuration).chain(tokens).collect())
}
