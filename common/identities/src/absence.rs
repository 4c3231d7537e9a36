//! Why an identity has no answer, where that is no failure.
//! An identity of the settings and what the caller sent come in, a typed reason goes out; its words are for people.
//! Asks nobody, and shows no value.

use std::path::PathBuf;

use credmint_settings::{Identity, SPIFFE_ENDPOINT_SOCKET};

use crate::caller::Caller;
use crate::workload;

/// Says why there is nobody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Absence {
    /// The variable is not set, or empty.
    #[error("{variable} is not set")]
    NotSet {
        /// The variable.
        variable: String,
    },
    /// The file is not there, or empty.
    #[error("{} is not there", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// A job of Coder that no user stands behind.
    #[error("no user token in this job (template push or dry run)")]
    NoUserInJob,
    /// The build of a workspace whose owner has none.
    #[error("the owner has no OIDC link at Coder, or the refresh failed{}", transition.map_or_else(String::new, |word| format!(" (transition: {word})")))]
    OwnerWithoutToken {
        /// What becomes of the workspace: `start`, `stop` or `destroy`.
        transition: Option<&'static str>,
    },
    /// The caller has no keys of AWS.
    #[error("there are no keys of AWS in its environment, container or machine")]
    NoKeysOfAws,
    /// It had nothing to say.
    #[error("it has no answer")]
    NoAnswer,
}

/// Finds out why an identity has no answer.
#[must_use]
pub fn absence(identity: &Identity, caller: &Caller) -> Absence {
    match identity {
        Identity::Env { variable } => Absence::NotSet { variable: variable.clone() },
        Identity::File { path } | Identity::Kubernetes { path, .. } => Absence::NoFile { path: path.clone() },
        Identity::AwsCaller(_) => Absence::NoKeysOfAws,
        Identity::Spiffe(_) => Absence::NotSet { variable: SPIFFE_ENDPOINT_SOCKET.to_owned() },
        Identity::Workload(workload) => workload::absence(workload, caller),
        _ => Absence::NoAnswer,
    }
}
