//! What helpers, `credmint` and the agent say to each other: one JSON object a frame, over any stream.
//! A request goes out, the agent may ask back what the caller's environment and files hold, the answer comes in.
//! Opens nothing: the stream is given. Specification: `protocol-spec/agent-protocol.md`.

mod brief;
mod certificate;
mod client;
mod confirm;
mod enrol;
mod explanation;
mod frame;
mod lock;
mod message;
mod run;
mod services;
mod sign_in;
mod status;
mod wire_secret;

pub use brief::Brief;
pub use certificate::{CertificateDetails, CertificateReport, CertificateWanted, Finding, SelfCheck};
pub use client::{AskError, Stream, ask, attend, converse, receive, say};
pub use confirm::{Confirm, Confirmed};
pub use enrol::{Enrol, RequestStatus};
pub use explanation::{Explanation, FailureSeen, IdentityClaims, PhaseSeen};
pub use frame::{Frame, FrameError, MAXIMUM_FRAME, decode, decode_length};
pub use lock::{LockStatus, Passphrase};
pub use message::{Answer, Ask, BUILD, Credential, FailureOnWire, Got, Need, Reply, Request, Supply, VERSION};
pub use run::{ProxyWanted, RunEnd, RunHost, RunMirror, RunOpen, RunOver, RunProvider, RunProxy, RunStatus, RunWanted};
pub use services::ServicesOffered;
pub use sign_in::{Approve, Login, Logout, Pasted, SessionStatus, Visit};
pub use status::{EntryStatus, ProviderStatus, Status};
pub use wire_secret::WireSecret;
