//! `kind = "spiffe"`: what the SPIFFE agent of this machine says of the workload that asks it, which is the agent of credmint.
//! A workload of the settings and the caller's address of the socket come in, an SVID or its absence goes out.
//! Believes the Workload API about who we are, and nothing of what it sends beyond that. SPIFFE Workload API §5, §6.

use std::fmt;

use credmint_https::HttpsError;
use credmint_settings::{SPIFFE_ENDPOINT_SOCKET, SpiffeIdentity, SpiffeWorkload};
use credmint_vocabulary::{Deadline, FailureKind, Secret};
use spiffe::transport::{GrpcStatusCode, TransportError};
use spiffe::{JwtSvid, SpiffeId, WorkloadApiClient, WorkloadApiError, X509Context};

use crate::caller::Caller;
use crate::quotable::quotable;

/// Says why there is no SVID.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpiffeError {
    /// Nobody could be asked.
    #[error(transparent)]
    Dial(#[from] HttpsError),
    /// The ID in the settings.
    #[error("`{0}` is no SPIFFE ID")]
    Id(String),
    /// The workload is not registered, as far as the SPIFFE agent can see.
    #[error("the SPIFFE agent at {place} has no identity for this process{}", in_brackets(reason))]
    Unregistered {
        /// Where it was asked.
        place: String,
        /// A cut of its words, fit to be shown.
        reason: String,
    },
    /// It answered with a status of gRPC that is no success.
    #[error("the SPIFFE agent at {place} answered {code}{}", in_brackets(reason))]
    Status {
        /// Where it was asked.
        place: String,
        /// The name of the status.
        code: GrpcStatusCode,
        /// A cut of its words, fit to be shown.
        reason: String,
    },
    /// What it sent is no SVID.
    #[error("the SPIFFE agent at {place} sent what is no {what}: {why}")]
    Malformed {
        /// Where it was asked.
        place: String,
        /// Which kind was wanted.
        what: &'static str,
        /// What is wrong with it; shows no part of it.
        why: String,
    },
    /// The workload has identities, and not this one.
    #[error("the SPIFFE agent at {place} gave {} and not {wanted}", found.join(", "))]
    Other {
        /// Where it was asked.
        place: String,
        /// What the settings want.
        wanted: String,
        /// What came.
        found: Vec<String>,
    },
    /// The token is for somebody else.
    #[error("the SPIFFE agent at {place} gave a token for {} and not for \"{wanted}\"", found.join(", "))]
    Audience {
        /// Where it was asked.
        place: String,
        /// What the settings want.
        wanted: String,
        /// What `aud` says.
        found: Vec<String>,
    },
}

fn in_brackets(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(" ({words})") }
}

impl SpiffeError {
    /// Says whose turn it is.
    #[must_use]
    pub const fn kind(&self) -> FailureKind {
        match self {
            Self::Dial(error) => error.kind(),
            Self::Id(_) => FailureKind::Settings,
            Self::Status { code: GrpcStatusCode::InvalidArgument, .. } => FailureKind::Settings,
            Self::Status { .. } => FailureKind::Unreachable,
            _ => FailureKind::Refused,
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Dial(HttpsError::Address { .. }) => {
                format!("{SPIFFE_ENDPOINT_SOCKET}=unix:///PATH, or socket = \"/PATH\" in the settings")
            }
            Self::Dial(HttpsError::Connect { peer, .. }) => {
                format!("ls -l {}; with SPIRE: spire-agent healthcheck", peer.trim_start_matches("unix://"))
            }
            Self::Dial(_) => return None,
            Self::Unregistered { .. } => REGISTER.to_owned(),
            Self::Other { .. } => format!("change spiffe_id in the settings, or {REGISTER}"),
            Self::Id(_) => "spiffe_id = \"spiffe://TRUST-DOMAIN/PATH\" in the settings".to_owned(),
            Self::Status { code: GrpcStatusCode::InvalidArgument, .. } => {
                "look at audience and spiffe_id in the settings".to_owned()
            }
            _ => "ask the SPIFFE agent's people, and look at its log".to_owned(),
        };
        Some(hint)
    }
}

/// The attributes are those of `credmint-agent`, whoever asks it.
const REGISTER: &str = "register the user of credmint-agent: spire-server entry create -parentID ID-OF-THE-NODE -spiffeID spiffe://TRUST-DOMAIN/PATH -selector unix:uid:UID";

/// An X.509-SVID with its key.
pub struct X509Svid {
    /// What it says who we are.
    pub spiffe_id: String,
    /// The certificate, those between it and the trust domain's, and the trust domain's; DER.
    pub certificates: Vec<Vec<u8>>,
    /// The key, PKCS #8 DER.
    pub key: Secret<Vec<u8>>,
}

impl fmt::Debug for X509Svid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("X509Svid").field("spiffe_id", &self.spiffe_id).finish_non_exhaustive()
    }
}

/// Asks for a new JWT-SVID; `None` when nobody says where.
pub(crate) async fn jwt_svid(
    asked: &SpiffeIdentity,
    caller: &Caller,
    deadline: Deadline,
) -> Result<Option<Secret<String>>, SpiffeError> {
    let Some(line) = Line::to(&asked.workload, caller, deadline) else { return Ok(None) };
    let wanted = line.wanted()?;
    let client = line.connect().await?;
    let svid = line.within(client.fetch_jwt_svid(&asked.audience, wanted.as_ref()), "JWT-SVID").await?;
    line.check(&svid, wanted.as_ref(), &asked.audience)?;
    Ok(Some(Secret::from(svid.token())))
}

/// Asks for the X.509-SVID of the moment, which the Workload API renews; `None` when nobody says where.
///
/// # Errors
/// Why there is none.
pub async fn x509_svid(
    workload: &SpiffeWorkload,
    caller: &Caller,
    deadline: Deadline,
) -> Result<Option<X509Svid>, SpiffeError> {
    let Some(line) = Line::to(workload, caller, deadline) else { return Ok(None) };
    let wanted = line.wanted()?;
    let client = line.connect().await?;
    let context = line.within(client.fetch_x509_context(), "X.509-SVID").await?;
    line.choose(&context, wanted.as_ref()).map(Some)
}

/// Is where one question goes, and until when.
struct Line<'a> {
    place: &'a str,
    spiffe_id: Option<&'a str>,
    deadline: Deadline,
}

impl<'a> Line<'a> {
    fn to(workload: &'a SpiffeWorkload, caller: &'a Caller, deadline: Deadline) -> Option<Self> {
        let told = || caller.variable(SPIFFE_ENDPOINT_SOCKET).map(|value| value.expose().as_str());
        let place = workload.socket.as_deref().or_else(told)?;
        Some(Self { place, spiffe_id: workload.spiffe_id.as_deref(), deadline })
    }

    fn place(&self) -> String {
        quotable(self.place)
    }

    async fn connect(&self) -> Result<WorkloadApiClient, SpiffeError> {
        Ok(credmint_https::workload_api(self.place, self.deadline).await?)
    }

    fn wanted(&self) -> Result<Option<SpiffeId>, SpiffeError> {
        let read = |text: &str| SpiffeId::new(text).map_err(|_| SpiffeError::Id(text.to_owned()));
        self.spiffe_id.map(read).transpose()
    }

    async fn within<T>(
        &self,
        question: impl Future<Output = Result<T, WorkloadApiError>>,
        what: &'static str,
    ) -> Result<T, SpiffeError> {
        let late = |_| HttpsError::Timeout { peer: self.place() };
        let answer = tokio::time::timeout_at(self.deadline.instant().into(), question).await.map_err(late)?;
        answer.map_err(|error| self.told(error, what))
    }

    fn told(&self, error: WorkloadApiError, what: &'static str) -> SpiffeError {
        let place = self.place();
        match error {
            WorkloadApiError::NoIdentityIssued => SpiffeError::Unregistered { place, reason: String::new() },
            WorkloadApiError::PermissionDenied(words) => SpiffeError::Unregistered { place, reason: quotable(&words) },
            WorkloadApiError::Transport(TransportError::Status(status)) => {
                SpiffeError::Status { place, code: status.code(), reason: quotable(status.message()) }
            }
            WorkloadApiError::Transport(_) => {
                SpiffeError::Dial(HttpsError::Connect { peer: place, why: "the connection broke off".to_owned() })
            }
            other => SpiffeError::Malformed { place, what, why: quotable(&other.to_string()) },
        }
    }

    fn check(&self, svid: &JwtSvid, wanted: Option<&SpiffeId>, audience: &[String]) -> Result<(), SpiffeError> {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != svid.spiffe_id()) {
            return Err(self.other(wanted, vec![svid.spiffe_id().to_string()]));
        }
        match audience.iter().find(|wanted| !svid.audience().contains(wanted)) {
            None => Ok(()),
            Some(wanted) => {
                let found = svid.audience().iter().map(|found| format!("\"{}\"", quotable(found))).collect();
                Err(SpiffeError::Audience { place: self.place(), wanted: wanted.clone(), found })
            }
        }
    }

    fn choose(&self, context: &X509Context, wanted: Option<&SpiffeId>) -> Result<X509Svid, SpiffeError> {
        let fits = |id: &SpiffeId| wanted.is_none_or(|wanted| wanted == id);
        let Some(svid) = context.svids().iter().find(|svid| fits(svid.spiffe_id())) else {
            let found = context.svids().iter().map(|svid| svid.spiffe_id().to_string()).collect();
            return Err(wanted.map_or_else(|| self.empty(), |wanted| self.other(wanted, found)));
        };
        let bundle = context.bundle_set().get(svid.spiffe_id().trust_domain());
        let anchors = bundle.iter().flat_map(|bundle| bundle.authorities());
        let certificates = svid.cert_chain().iter().chain(anchors);
        Ok(X509Svid {
            spiffe_id: svid.spiffe_id().to_string(),
            certificates: certificates.map(|certificate| certificate.as_bytes().to_vec()).collect(),
            key: Secret::new(svid.private_key().as_bytes().to_vec()),
        })
    }

    fn other(&self, wanted: &SpiffeId, found: Vec<String>) -> SpiffeError {
        SpiffeError::Other { place: self.place(), wanted: wanted.to_string(), found }
    }

    fn empty(&self) -> SpiffeError {
        SpiffeError::Malformed { place: self.place(), what: "X.509-SVID", why: "there is none".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spiffe::{X509BundleSet, X509Svid as Svid};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    fn line(spiffe_id: Option<&'static str>) -> Line<'static> {
        Line { place: "/run/api.sock", spiffe_id, deadline: Deadline::after(Instant::now(), Duration::ZERO) }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn an_agent_that_says_nothing_is_given_up_at_the_deadline() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("api.sock");
        let _silent = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let workload = SpiffeWorkload { socket: Some(path.display().to_string()), spiffe_id: None };
        let over = Deadline::after(Instant::now(), Duration::ZERO);
        let told = x509_svid(&workload, &Caller::default(), over).await.unwrap_err();
        assert!(matches!(told, SpiffeError::Dial(HttpsError::Timeout { .. })), "{told}");
        assert_eq!(told.kind(), FailureKind::Unreachable);
        let nowhere = SpiffeWorkload { socket: None, spiffe_id: None };
        assert!(x509_svid(&nowhere, &Caller::default(), over).await.unwrap().is_none());
    }

    #[test]
    fn what_the_workload_api_says_is_told_by_whose_turn_it_is() {
        let long = "x".repeat(10_000);
        for (error, kind, words) in [
            (WorkloadApiError::NoIdentityIssued, FailureKind::Refused, "has no identity for this process"),
            (WorkloadApiError::PermissionDenied(long), FailureKind::Refused, "has no identity for this process (xxx"),
            (WorkloadApiError::EmptyResponse, FailureKind::Refused, "sent what is no X.509-SVID: "),
            (
                WorkloadApiError::InvalidResponseField { field: "x509_svid" },
                FailureKind::Refused,
                "sent what is no X.509-SVID: ",
            ),
        ] {
            let told = line(None).told(error, "X.509-SVID");
            let text = told.to_string();
            assert!(text.contains(words) && text.len() < 1_000, "{text}");
            assert!(told.kind() == kind && told.hint().is_some(), "{text}");
        }
    }

    #[test]
    fn an_answer_without_an_svid_is_none() {
        let none = X509Context::new(Vec::<Arc<Svid>>::new(), X509BundleSet::new());
        assert!(line(None).choose(&none, None).unwrap_err().to_string().ends_with("X.509-SVID: there is none"));
        let asked = line(Some("spiffe://corp.example/runner"));
        let wanted = asked.wanted().unwrap();
        assert!(
            matches!(asked.choose(&none, wanted.as_ref()), Err(SpiffeError::Other { found, .. }) if found.is_empty())
        );
        assert!(matches!(line(Some("https://corp.example")).wanted(), Err(SpiffeError::Id(_))));
    }
}
