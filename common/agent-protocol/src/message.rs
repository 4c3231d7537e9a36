//! The messages of the agent protocol, as serde sees them.
//! JSON comes in, enums go out, and back; unknown requests and replies are variants, unknown properties are skipped.
//! Carries secrets only as [`WireSecret`], which has no `Debug` and is wiped on drop.

use std::collections::BTreeMap;

use credmint_vocabulary::{Failure, FailureKind};
use serde::{Deserialize, Serialize};

use crate::certificate::{CertificateReport, CertificateWanted};
use crate::confirm::Confirm;
use crate::enrol::{Enrol, RequestStatus};
use crate::explanation::Explanation;
use crate::lock::Passphrase;
use crate::run::{RunOpen, RunOver, RunWanted};
use crate::services::ServicesOffered;
use crate::sign_in::{Approve, Login, Logout, SessionStatus, Visit};
use crate::status::{EntryStatus, Status};
use crate::wire_secret::WireSecret;

/// Names the build of an executable of ours: those of one release have the same.
pub const BUILD: &str = env!("CARGO_PKG_VERSION");

/// Version of the protocol; a peer that does not know it answers with a failure that names its own.
pub const VERSION: u32 = 1;

/// The first frame of a connection.
#[derive(Serialize, Deserialize)]
pub struct Request {
    /// [`VERSION`].
    pub version: u32,
    /// What is asked.
    #[serde(flatten)]
    pub ask: Ask,
}

/// What is asked of the agent.
#[derive(Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ask {
    /// A credential for a host.
    Get(Got),
    /// Terraform hands over a credentials object.
    Store {
        /// Which host, which settings.
        #[serde(flatten)]
        got: Got,
        /// The object as JSON text.
        object: WireSecret,
    },
    /// Whatever is kept for a host is dropped.
    Forget(Got),
    /// The route of a host, dry: nothing is asked of anybody but the caller.
    Explain(Got),
    /// The trust anchor that the issuer of a host signs with, if it is the agent's own (`local-ca`).
    Anchor(Got),
    /// The certificate that a host would get, without its key.
    Certificate(CertificateWanted),
    /// The bridge listens for a host, for what comes without a request of a helper before it: `terraform login`.
    Listen(Got),
    /// The services that the discovery document of a host offers, read with the host's credential.
    Services(Got),
    /// The certification request of a host whose certificates people sign, or what they signed.
    Enrol(Enrol),
    /// How the agent is, and the entries of the caller: those whose identity it can name.
    Status {
        /// Settings file that the caller's environment names; none means the usual place.
        #[serde(default)]
        settings: Option<String>,
        /// The usual place, as the caller has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usual_settings: Option<String>,
    },
    /// A person signs in.
    Login(Login),
    /// A person signs out.
    Logout(Logout),
    /// A run of `credmint exec`.
    Run(RunWanted),
    /// What is kept is encrypted under a passphrase.
    Lock(Passphrase),
    /// It is decrypted.
    Unlock(Passphrase),
    /// The agent drops everything and ends.
    Stop,
    /// A request of a later version.
    #[serde(other)]
    Unknown,
}

impl Ask {
    /// Fills in what the asking process knows last: its settings, unless it chose some, and the time that remains.
    pub fn fill_in(&mut self, named: Option<String>, usual: Option<String>, remaining_ms: u64) {
        let (settings, usual_settings) = match self {
            Self::Get(got)
            | Self::Store { got, .. }
            | Self::Forget(got)
            | Self::Explain(got)
            | Self::Anchor(got)
            | Self::Services(got)
            | Self::Listen(got) => {
                got.deadline_ms = remaining_ms;
                (&mut got.settings, &mut got.usual_settings)
            }
            Self::Certificate(CertificateWanted { got, .. }) | Self::Enrol(Enrol { got, .. }) => {
                got.deadline_ms = remaining_ms;
                (&mut got.settings, &mut got.usual_settings)
            }
            // Its deadline is the person's, not the request's.
            Self::Login(login) => (&mut login.settings, &mut login.usual_settings),
            Self::Run(run) => (&mut run.settings, &mut run.usual_settings),
            Self::Logout(logout) => (&mut logout.settings, &mut logout.usual_settings),
            Self::Status { settings, usual_settings } => (settings, usual_settings),
            Self::Lock(_) | Self::Unlock(_) | Self::Stop | Self::Unknown => return,
        };
        *settings = settings.take().or(named);
        *usual_settings = usual_settings.take().or(usual);
    }

    /// Says what the run is about, unless the caller said it.
    pub fn say_phase(&mut self, phase: impl FnOnce() -> Option<String>) {
        let said = match self {
            Self::Get(got) | Self::Explain(got) => &mut got.phase,
            Self::Run(run) => &mut run.phase,
            _ => return,
        };
        if said.is_none() {
            *said = phase();
        }
    }

    /// Says of which build its caller is, where that counts; an empty one says nothing, and is served by every agent.
    pub fn say_build(&mut self, build: &str) {
        match self {
            Self::Get(got) | Self::Listen(got) => build.clone_into(&mut got.build),
            Self::Login(login) => build.clone_into(&mut login.build),
            Self::Run(run) => build.clone_into(&mut run.build),
            _ => {}
        }
    }
}

/// What a request about a host is about.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Got {
    /// Hostname in comparison form.
    pub hostname: String,
    /// Name of the program that asks.
    #[serde(default)]
    pub program: String,
    /// The helper's own arguments: with `terraform-credentials-vault-pki` and `-oidc` they are the settings.
    #[serde(default)]
    pub args: Vec<String>,
    /// Settings file that the caller's environment names; none means the usual place.
    #[serde(default)]
    pub settings: Option<String>,
    /// The usual place, as the caller has it: the agent may have been started from another home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_settings: Option<String>,
    /// What remains of the caller's deadline, in milliseconds.
    #[serde(default)]
    pub deadline_ms: u64,
    /// The caller's build; empty: it does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build: String,
    /// What the caller says that the run is about, `plan` or `apply`; none: it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

/// What the agent answers; `need` may come once before the last, a sign-in tells what the person has to do, and a person
/// may have to be asked.
#[derive(Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reply {
    /// Names that the agent wants from the caller; the next frame is a [`Supply`].
    Need(Need),
    /// A credential.
    Credential(Credential),
    /// We are not responsible for that host.
    None,
    /// It did not work, and why.
    Failure(FailureOnWire),
    /// It is done (store, forget, stop).
    Done,
    /// How the agent is.
    Status(Status),
    /// The route, explained.
    Explanation(Box<Explanation>),
    /// A trust anchor in PEM.
    Anchor {
        /// Certificate.
        certificate_pem: String,
    },
    /// The certificate of a host.
    Certificate(CertificateReport),
    /// A certification request, for people to sign.
    Request(RequestStatus),
    /// The services of a host.
    Services(ServicesOffered),
    /// What people signed is kept.
    Enrolled(EntryStatus),
    /// Sign-in: where the person goes.
    Visit(Visit),
    /// Sign-in: what the person approves elsewhere.
    Approve(Approve),
    /// Somebody else signs in for this identity already, or is asked something at this terminal; it is waited for.
    Waiting,
    /// Sign-in: what was pasted is not the address of this sign-in; the client may send another one.
    Again {
        /// Why, in words.
        why: String,
    },
    /// Signed in.
    SignedIn(SessionStatus),
    /// A run has begun; it ends with the connection, or when the caller says so.
    RunOpen(RunOpen),
    /// A run has ended.
    RunOver(RunOver),
    /// Signed out.
    LoggedOut {
        /// What was ended, in words.
        done: Vec<String>,
        /// What could not be ended, and why.
        failed: Vec<String>,
        /// What the operating system's store may still have, and why: the next agent would go on with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remains: Vec<String>,
    },
    /// A person is to be asked first; unless that happens elsewhere, the next frame is a [`crate::Confirmed`].
    Confirm(Confirm),
    /// A reply of a later version.
    #[serde(other)]
    Unknown,
}

impl Reply {
    /// Tells whether another frame follows.
    #[must_use]
    pub fn is_progress(&self) -> bool {
        matches!(
            self,
            Self::Need(_)
                | Self::Visit(_)
                | Self::Approve(_)
                | Self::Waiting
                | Self::Again { .. }
                | Self::RunOpen(_)
                | Self::Confirm(_)
        )
    }
}

/// The last reply, as the client hands it to its caller.
pub type Answer = Reply;

/// Names of what this route reads from the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// Environment variables.
    #[serde(default)]
    pub environment: Vec<String>,
    /// Files.
    #[serde(default)]
    pub files: Vec<String>,
}

/// What the caller found; what is absent there is absent here.
#[derive(Default, Serialize, Deserialize)]
pub struct Supply {
    /// Values by name.
    #[serde(default)]
    pub environment: BTreeMap<String, WireSecret>,
    /// Contents by path; UTF-8 only.
    #[serde(default)]
    pub files: BTreeMap<String, WireSecret>,
    /// Files that are there and could not be read: why, by path.
    #[serde(default)]
    pub unreadable: BTreeMap<String, String>,
}

/// The credentials object (`protocol-spec/credentials-object.md`).
#[derive(Default, Serialize, Deserialize)]
pub struct Credential {
    /// Bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<WireSecret>,
    /// Certification path, end-entity certificate first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificate_pem: Option<String>,
    /// PKCS #8 private key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_private_key_pem: Option<WireSecret>,
    /// Trust anchors for the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ca_certificate_pem: Option<String>,
    /// User name that goes with the token where a client wants one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// Names keys of AWS; it comes with the next two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_key_id: Option<String>,
    /// What requests to AWS are signed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_access_key: Option<WireSecret>,
    /// What goes with each of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_token: Option<WireSecret>,
    /// The account that the keys are for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// End of life, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// A failure, as it travels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FailureOnWire {
    /// Word of the kind.
    pub kind: String,
    /// What failed.
    pub what: String,
    /// The next thing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether somebody else would answer in our place: the caller must keep its client from going on without us.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub usurped: bool,
}

impl From<FailureOnWire> for Failure {
    /// Makes the text printable again: it came over a stream.
    fn from(wire: FailureOnWire) -> Self {
        let mut failure = Self::new(FailureKind::from_word(&wire.kind), wire.what);
        failure.usurped = wire.usurped;
        match wire.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<&Failure> for FailureOnWire {
    fn from(failure: &Failure) -> Self {
        Self {
            kind: failure.kind.word().to_owned(),
            what: failure.what.clone(),
            hint: failure.hint.clone(),
            usurped: failure.usurped,
        }
    }
}
