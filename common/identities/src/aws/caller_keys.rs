//! The caller's own keys of AWS, in the order in which the SDKs look: variables, web identity, container, machine.
//! What the caller sent comes in, keys or their absence go out.
//! Reads no profile: keys that are kept in files, and those of a portal, are for a `command`. AWS SDKs reference guide, "Standardized credential providers".

use credmint_https::{Answer, Https, HttpsError, host_and_port};
use credmint_settings::AwsCaller;
use credmint_vocabulary::{Deadline, FailureKind, Secret, Timestamp};
use url::Url;

use crate::aws::{machine, web_identity};
use crate::caller::Caller;

/// The variables that say where the keys are.
pub(crate) const VARIABLES: [&str; 12] = [
    ID,
    SECRET,
    SESSION,
    web_identity::FILE,
    web_identity::ROLE,
    web_identity::NAME,
    machine::RELATIVE,
    machine::FULL,
    machine::TOKEN,
    machine::TOKEN_FILE,
    machine::DISABLED,
    machine::ENDPOINT,
];

const ID: &str = "AWS_ACCESS_KEY_ID";
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
const SESSION: &str = "AWS_SESSION_TOKEN";

/// Holds keys that a request can be signed with.
pub(crate) struct CallerKeys {
    /// Names the keys; no secret.
    pub(crate) id: String,
    /// What signatures are made with.
    pub(crate) secret: Secret<String>,
    /// What goes with a request, for keys that end.
    pub(crate) session: Option<Secret<String>>,
}

impl CallerKeys {
    /// Tells whether each part can stand in a header.
    pub(crate) fn are_fit(&self) -> bool {
        let visible = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !self.id.is_empty()
            && self.id.bytes().all(word)
            && visible(self.secret.expose())
            && self.session.as_ref().is_none_or(|session| visible(session.expose()))
    }
}

/// Holds what is needed to look for them.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) settings: &'a AwsCaller,
    pub(crate) caller: &'a Caller,
    pub(crate) https: &'a Https,
    pub(crate) now: Timestamp,
    pub(crate) deadline: Deadline,
}

/// Says why there are no keys where some were promised.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AwsCallerError {
    /// One variable without the other.
    #[error("{there} is set, and {missing} is not")]
    Half {
        /// The one that is set.
        there: &'static str,
        /// The other one.
        missing: &'static str,
    },
    /// A variable names a file that was not read.
    #[error("{variable} names a file that is not the one in the settings, or is not there")]
    File {
        /// The variable.
        variable: &'static str,
        /// The key of the settings.
        key: &'static str,
    },
    /// A variable holds nothing that can be used.
    #[error("{variable} {why}")]
    Variable {
        /// The variable.
        variable: &'static str,
        /// What is wrong.
        why: &'static str,
    },
    /// Nobody answered.
    #[error(transparent)]
    Unreachable(#[from] HttpsError),
    /// The answer was no.
    #[error("{who} gave no keys of AWS: status {status}{}", if code.is_empty() { String::new() } else { format!(" ({code})") })]
    Refused {
        /// Host and port.
        who: String,
        /// HTTP status.
        status: u16,
        /// The code, fit to be shown.
        code: String,
    },
    /// A success that is none.
    #[error("{who} answered without keys of AWS in it")]
    Malformed {
        /// Host and port.
        who: String,
    },
}

impl AwsCallerError {
    /// Says whose turn it is.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Half { .. } | Self::File { .. } | Self::Variable { .. } => FailureKind::Settings,
            Self::Unreachable(error) => error.kind(),
            Self::Refused { status, .. } if *status < 500 => FailureKind::Refused,
            Self::Refused { .. } | Self::Malformed { .. } => FailureKind::Unreachable,
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Half { missing, .. } => Some(format!("set {missing}, too, or neither")),
            Self::File { variable, key } => Some(format!("set {key} of the identity to what {variable} says")),
            Self::Variable { variable, .. } => Some(format!("look at {variable}: the platform sets it")),
            Self::Unreachable(error) => error.hint(),
            Self::Refused { .. } => {
                Some("aws sts get-caller-identity shows whether the caller has keys at all".to_owned())
            }
            Self::Malformed { .. } => None,
        }
    }
}

/// Finds the keys; `None` when there are none in any place.
pub(crate) async fn find(search: Search<'_>) -> Result<Option<CallerKeys>, AwsCallerError> {
    if let Some(keys) = variables(search.caller)? {
        return Ok(Some(keys));
    }
    if let Some(keys) = web_identity::find(search).await? {
        return Ok(Some(keys));
    }
    match machine::container(search).await? {
        Some(keys) => Ok(Some(keys)),
        None => machine::instance(search).await,
    }
}

fn variables(caller: &Caller) -> Result<Option<CallerKeys>, AwsCallerError> {
    let half = |there, missing| Err(AwsCallerError::Half { there, missing });
    let (id, secret) = match (caller.variable(ID), caller.variable(SECRET)) {
        (None, None) => return Ok(None),
        (Some(_), None) => return half(ID, SECRET),
        (None, Some(_)) => return half(SECRET, ID),
        (Some(id), Some(secret)) => (id, secret),
    };
    let session = caller.variable(SESSION).map(Secret::copied);
    let keys = CallerKeys { id: id.expose().clone(), secret: secret.copied(), session };
    if keys.are_fit() {
        return Ok(Some(keys));
    }
    let why = "and what goes with it hold something that is no key";
    Err(AwsCallerError::Variable { variable: ID, why })
}

/// Names whoever answered.
pub(crate) fn who(address: &str) -> String {
    Url::parse(address).ok().as_ref().and_then(host_and_port).unwrap_or_default()
}

/// Makes an error of an answer that is no success.
pub(crate) fn refused(address: &str, answer: &Answer, code: String) -> AwsCallerError {
    AwsCallerError::Refused { who: who(address), status: answer.status.as_u16(), code }
}
