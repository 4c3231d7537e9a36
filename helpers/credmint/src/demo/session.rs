//! The helper's answer, asked for as Terraform asks.
//! A home and the workload's token come in, the session token goes out, to be searched for.
//! Keeps it in a [`Secret`].

use credmint_vocabulary::{Failure, FailureKind, Secret};

use super::home::Home;
use super::{HOST, command};
use crate::programs::{HELPER, file_name};

/// Runs the installed helper with `get` and takes the token out of its answer.
pub(crate) fn ask_helper(home: &Home, token: &Secret<String>) -> Result<Secret<String>, Failure> {
    let directory = if cfg!(windows) { ".config/terraform.d/plugins" } else { ".terraform.d/plugins" };
    let helper = home.join(directory).join(file_name(HELPER));
    let answer = command::run(home, &helper, &["get", HOST], Some(token))?;
    let object: Option<serde_json::Value> = serde_json::from_str(answer.expose()).ok();
    let session = object.as_ref().and_then(|object| object.get("token")?.as_str()).filter(|token| !token.is_empty());
    session.map(Secret::from).ok_or_else(|| {
        Failure::new(FailureKind::Internal, format!("{HELPER} get {HOST} answered no token"))
            .hint(format!("credmint explain {HOST}"))
    })
}
