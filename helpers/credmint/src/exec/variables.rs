//! What a program of a run finds in its environment: a CLI configuration, and what the bridge accepts.
//! A run comes in, variables go out.
//! Writes the CLI configuration into the run's directory, and nothing else.

use std::ffi::OsStr;

use credmint_local_machine::{environment, files};
use credmint_vocabulary::{Failure, FailureKind, Secret};

use super::carrier::Ways;
use super::mirrors::Mirrors;
use super::open_run::{OpenRun, Served};
use super::{configuration, proxy, state};
use crate::setup::token_variable;

/// One variable.
pub(crate) struct Variable {
    name: String,
    value: Value,
}

enum Value {
    Open(String),
    Secret(Secret<String>),
    LeftOut,
}

impl Variable {
    /// Makes one that everybody may see.
    pub(crate) fn open(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: Value::Open(value.into()) }
    }

    /// Makes one that is for the program alone.
    pub(crate) fn secret(name: impl Into<String>, value: Secret<String>) -> Self {
        Self { name: name.into(), value: Value::Secret(value) }
    }

    /// Names one of the caller's that the program does not get.
    pub(crate) fn left_out(name: impl Into<String>) -> Self {
        Self { name: name.into(), value: Value::LeftOut }
    }

    /// Gives its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Gives what the program finds there, if anything.
    pub(crate) fn value(&self) -> Option<&str> {
        match &self.value {
            Value::Open(text) => Some(text),
            Value::Secret(secret) => Some(secret.expose()),
            Value::LeftOut => None,
        }
    }
}

/// Makes the variables of a run.
pub(crate) fn for_run(open: &OpenRun, ways: &Ways, program: &OsStr) -> Result<Vec<Variable>, Failure> {
    let path = open.directory().join("cli.tfrc");
    let text = configuration::for_run(open, ways, program)?;
    let unwritten = |error| Failure::new(FailureKind::Settings, format!("{}: {error}", path.display()));
    files::write_private(&path, text.as_bytes()).map_err(unwritten)?;
    let configuration = Variable::open(CONFIGURATION, path.display().to_string());
    let token = |host: &Served| Variable::secret(token_variable(&host.hostname), host.token.copied());
    let tokens = open.hosts.iter().chain(&open.registries).map(token);
    let mut variables: Vec<_> = std::iter::once(configuration).chain(tokens).chain(patience(&ways.mirrors)).collect();
    if ways.has_blocks {
        variables.extend(for_state(open)?);
    }
    if let Some(proxy) = &open.proxy {
        variables.extend(proxy::variables(open, proxy)?);
    }
    Ok(variables)
}

/// Lets Terraform wait for the answer of a mirror whose archives have to be read first, unless the person says how long.
pub(crate) fn patience(mirrors: &Mirrors) -> Option<Variable> {
    let is_wanted = !mirrors.translated.is_empty() && environment::read(TIMEOUT).is_none();
    is_wanted.then(|| Variable::open(TIMEOUT, "120"))
}

/// Leads the state backend to the bridge; its name and password are the run's.
fn for_state(open: &OpenRun) -> Result<Vec<Variable>, Failure> {
    let addresses = state::addresses();
    let led: Vec<_> = addresses
        .iter()
        .map(|(name, address)| (*name, state::led(address, &open.hosts, |host| &host.hostname)))
        .collect();
    state::check(&led.iter().map(|(_, to)| to.as_ref().map(|(host, _)| &host.hostname)).collect::<Vec<_>>())?;
    let mut variables = Vec::new();
    for (name, (host, path)) in led.into_iter().filter_map(|(name, to)| Some((name, to?))) {
        variables.push(Variable::open(name, format!("http://127.0.0.1:{}/{}{path}", open.port, host.hostname)));
        if variables.len() == 1 {
            variables.push(Variable::open("TF_HTTP_USERNAME", "credmint"));
            variables.push(Variable::secret("TF_HTTP_PASSWORD", host.token.copied()));
        }
    }
    Ok(variables)
}

/// Terraform's, in seconds.
const TIMEOUT: &str = "TF_REGISTRY_CLIENT_TIMEOUT";
/// Names the file of the CLI configuration.
pub(crate) const CONFIGURATION: &str = "TF_CLI_CONFIG_FILE";
