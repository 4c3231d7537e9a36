//! Why an issuer granted nothing, and whose turn it is now.
//! What went wrong comes in, a sentence, a kind and a hint go out.
//! Holds no secret and no body: names, statuses, classes, and cuts of a server's words that were made fit to be shown.

use std::time::Duration;

use credmint_client_identity::{AssembleError, AuthorityError, KeyError, RequestError};
use credmint_https::HttpsError;
use credmint_identities::{IdentityError, SignInError, SourceError, TokenEndpointError};
use credmint_vocabulary::{FailureKind, Timestamp};

use crate::template::TemplateError;
use crate::vault::VaultRefusal;
use crate::vault_pki::Finding;

/// Says why nothing was granted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// The issuer needs a subject token, and no identity had one.
    #[error("the issuer needs to know who is asking, and no identity has an answer")]
    Nobody,
    /// The issuer needs a certificate, and none was made for it.
    #[error("the issuer needs a certificate, and there is none")]
    NoCertificate,
    /// An identity failed.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A source has nothing.
    #[error("{what} is missing: {place} is not there")]
    SourceAbsent {
        /// What was looked for.
        what: &'static str,
        /// Where.
        place: String,
    },
    /// A value of the settings cannot be used.
    #[error("{0}")]
    Settings(String),
    /// The subject token is over.
    #[error("the token of the identity expired {seconds} s ago, at {ended}")]
    Expired {
        /// When.
        ended: Timestamp,
        /// How long ago.
        seconds: u64,
    },
    /// The subject token is for somebody else.
    #[error("the token is for {} and not for \"{wanted}\"", if found.is_empty() { "no audience".to_owned() } else { found.join(", ") })]
    WrongAudience {
        /// What the settings want.
        wanted: String,
        /// What `aud` says.
        found: Vec<String>,
    },
    /// The subject token cannot be read, and an audience is wanted.
    #[error("the token is opaque, so that it cannot be seen whether it is for \"{wanted}\"")]
    Opaque {
        /// What the settings want.
        wanted: String,
    },
    /// A template cannot be filled.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A template gives something that is no IP address.
    #[error("`{0}` is no IP address")]
    IpAddress(String),
    /// Nobody answered.
    #[error(transparent)]
    Unreachable(#[from] HttpsError),
    /// The answer was no.
    #[error("{who} refused {path} with status {status}: {}{}", class.words(), in_brackets(reason))]
    Refused {
        /// Host and port.
        who: String,
        /// What was asked for, below `/v1/`.
        path: String,
        /// HTTP status.
        status: u16,
        /// What was refused.
        class: VaultRefusal,
        /// A cut of the server's words, fit to be shown.
        reason: String,
    },
    /// The answer was no, and the rule that says so is known.
    #[error("{}", by_rule(refused, findings))]
    ByRule {
        /// The refusal.
        refused: Box<Self>,
        /// The rules, the one that counts most first.
        findings: Vec<Finding>,
    },
    /// Too many requests, or too early.
    #[error("{who} wants to be asked less often{}", retry_after.map_or(String::new(), |after| format!(", again in {} s", after.as_secs())))]
    Throttled {
        /// Host and port.
        who: String,
        /// When to come back.
        retry_after: Option<Duration>,
    },
    /// The Vault is sealed.
    #[error("{who} is sealed")]
    Sealed {
        /// Host and port.
        who: String,
    },
    /// The Vault is a standby that does not serve requests.
    #[error("{who} is a standby that does not answer (status {status})")]
    Standby {
        /// Host and port.
        who: String,
        /// 472 or 473.
        status: u16,
    },
    /// The server is in trouble.
    #[error("{who} cannot answer now (status {status}){}", in_brackets(reason))]
    Failing {
        /// Host and port.
        who: String,
        /// HTTP status.
        status: u16,
        /// A cut of the server's words, fit to be shown.
        reason: String,
    },
    /// A redirect, which is never followed with a credential.
    #[error("{who} redirects to {}, which is not followed with a credential", to.as_deref().unwrap_or("another path"))]
    Redirected {
        /// Host and port.
        who: String,
        /// Host of the new address.
        to: Option<String>,
    },
    /// The login wants a second factor.
    #[error("{who} wants a second factor for this login, which a machine cannot give")]
    MfaRequired {
        /// Host and port.
        who: String,
    },
    /// A person did not sign in, or the answer is not of this sign-in.
    #[error(transparent)]
    SignIn(#[from] SignInError),
    /// A Vault gives no page for a sign-in; it does not say why.
    #[error(
        "{who} gives no sign-in page to the role {role}: the role does not allow the redirect URI {uri}, or {who} cannot reach its OpenID Provider"
    )]
    RedirectUri {
        /// Host and port.
        who: String,
        /// The role.
        role: String,
        /// What has to be allowed.
        uri: String,
    },
    /// A Vault signs people in, but not in this way.
    #[error("{who} does not sign the role {role} in like that: {why}")]
    OtherWay {
        /// Host and port.
        who: String,
        /// The role.
        role: String,
        /// What it does.
        why: &'static str,
        /// Whether `--device` would do.
        device: bool,
    },
    /// A success that is none.
    #[error("{who} answered something that cannot be used: {what}")]
    Malformed {
        /// Host and port.
        who: String,
        /// What was missing or wrong.
        what: String,
    },
    /// A token with characters that no header can carry.
    #[error("the token has characters that no token has (line end, blank, control or outside ASCII)")]
    UnfitToken,
    /// The secret has no such field.
    #[error("the secret at {path} has no field `{field}`; it has {}", if there.is_empty() { "none".to_owned() } else { there.join(", ") })]
    Field {
        /// Path of the secret.
        path: String,
        /// The field.
        field: String,
        /// The fields that there are.
        there: Vec<String>,
    },
    /// The token endpoint gave none.
    #[error(transparent)]
    TokenEndpoint(#[from] TokenEndpointError),
    /// The key cannot be made or read.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The certification request cannot be made.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The certificate is not what was asked for.
    #[error("{error}{}", in_brackets(clock.as_deref().unwrap_or_default()))]
    Certificate {
        /// What is wrong with it.
        error: AssembleError,
        /// The difference of the clocks, if it is worth telling.
        clock: Option<String>,
    },
    /// The authority in memory did not sign.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// An authority said no.
    #[error("{who} refused {what} with status {status}{}", in_brackets(reason))]
    Denied {
        /// Host and port.
        who: String,
        /// What was asked for.
        what: &'static str,
        /// HTTP status.
        status: u16,
        /// A cut of the server's words, fit to be shown.
        reason: String,
        /// What to do next.
        hint: &'static str,
    },
    /// A cloud said no, in words of a code that is known.
    #[error("{who} refused {what} with status {status}: {why}{}", in_brackets(reason))]
    Explained {
        /// Host and port.
        who: String,
        /// What was asked for.
        what: String,
        /// HTTP status.
        status: u16,
        /// What the code means.
        why: &'static str,
        /// The code, and a cut of the server's words, fit to be shown.
        reason: String,
        /// What to do next.
        hint: Option<&'static str>,
    },
    /// An authority has the request, and somebody has to approve it.
    #[error("{who} has the certification request, and somebody has to approve it there{}", retry_after.map_or(String::new(), |after| format!("; it wants to be asked again in {} s", after.as_secs())))]
    AwaitingApproval {
        /// Host and port.
        who: String,
        /// When to come back.
        retry_after: Option<Duration>,
    },
    /// People sign, and nobody can be asked for it.
    #[error("its certificates are signed by people, and there is none yet")]
    Offline,
    /// The agent is ending.
    #[error("the agent is ending")]
    Interrupted,
}

impl From<AssembleError> for GrantError {
    fn from(error: AssembleError) -> Self {
        Self::Certificate { error, clock: None }
    }
}

fn in_brackets(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(" ({words})") }
}

/// Puts the rules in the place of the class, which says less.
fn by_rule(refused: &GrantError, findings: &[Finding]) -> String {
    let rules = findings.iter().map(|finding| finding.what.as_str()).collect::<Vec<_>>().join("; ");
    match refused {
        GrantError::Refused { who, path, status, reason, .. } => {
            format!("{who} refused {path} with status {status}: {rules}{}", in_brackets(reason))
        }
        other => format!("{other}: {rules}"),
    }
}

impl GrantError {
    /// Says how long whoever was asked wants to be left alone, if it said so.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Throttled { retry_after, .. } | Self::AwaitingApproval { retry_after, .. } => *retry_after,
            Self::TokenEndpoint(error) => error.retry_after(),
            Self::Identity(error) => error.retry_after(),
            _ => None,
        }
    }

    /// Says whose turn it is.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Identity(error) => error.kind(),
            Self::Source(error) => error.kind(),
            Self::TokenEndpoint(error) => error.kind(),
            Self::Unreachable(error) => error.kind(),
            Self::SignIn(error) => error.kind(),
            Self::SourceAbsent { .. }
            | Self::Settings(_)
            | Self::RedirectUri { .. }
            | Self::OtherWay { .. }
            | Self::Template(TemplateError::Malformed { .. })
            | Self::Key(_) => FailureKind::Settings,
            Self::Throttled { .. }
            | Self::Sealed { .. }
            | Self::Standby { .. }
            | Self::Failing { .. }
            | Self::Redirected { .. }
            | Self::Malformed { .. } => FailureKind::Unreachable,
            Self::Authority(_) | Self::Interrupted | Self::NoCertificate => FailureKind::Internal,
            _ => FailureKind::Refused,
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Identity(error) => error.hint(),
            Self::Source(error) => error.hint(),
            Self::TokenEndpoint(error) => error.hint(),
            Self::Unreachable(error) => error.hint(),
            Self::ByRule { refused, findings } => {
                findings.iter().find_map(|finding| finding.hint.clone()).or_else(|| refused.hint())
            }
            Self::SignIn(error) => error.hint(),
            Self::RedirectUri { role, uri, .. } => Some(format!(
                "add {uri} to allowed_redirect_uris of the role {role}, and to the client at the OpenID Provider"
            )),
            Self::OtherWay { device: true, .. } => Some("sign in with --device".to_owned()),
            Self::Refused { class, .. } => class.hint().map(str::to_owned),
            other => other.own_hint().map(str::to_owned),
        }
    }

    fn own_hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Denied { hint, .. } => hint,
            Self::Explained { hint, .. } => return *hint,
            Self::AwaitingApproval { .. } => {
                "have it approved, then run the command again: the agent keeps the key and asks with the same request"
            }
            Self::Nobody => "credmint explain HOST shows which identities were asked",
            Self::Expired { .. } => "get a new token, and check this machine's clock",
            Self::WrongAudience { .. } => {
                "have the token issued for that audience, or exchange it (kind = \"token-exchange\")"
            }
            Self::Opaque { .. } => "use a token that is a JWT, or leave audience out of the settings",
            Self::Template(TemplateError::Unverified(_)) => {
                "have it verified there, or name another claim in the settings, like {sub}; {unverified email} takes the address as it is"
            }
            Self::Template(_) => "change the templates in the settings, or have the claim put into the token",
            Self::Sealed { .. } => "somebody has to unseal it: bao operator unseal",
            Self::Standby { .. } => "set address in the settings to the active node or the load balancer",
            Self::Redirected { .. } => "set address in the settings to where the redirect leads, if you trust it",
            Self::MfaRequired { .. } => "use a role or auth method without login MFA for machines",
            Self::OtherWay { .. } => "sign in without --device, or with --paste",
            Self::Field { .. } => "set field in the settings",
            Self::Certificate { error: AssembleError::NotForClients, .. } => "set client_flag of the PKI role",
            Self::Certificate { error: AssembleError::NotYetValid { .. }, .. } => "set this machine's clock",
            _ => return None,
        })
    }
}
