//! Every key of the settings file, and every environment name that credmint reads, in one place.
//! Text with its file name comes in, plain structs go out; a mistake is told with file, line and the nearest valid word.
//! Reads no file and no environment itself. Reference: `protocol-spec/settings.md`.

mod host;
mod identity;
mod issuer;
mod route;

pub use host::{AgentSettings, Bridge, Deliver, Host};
pub use identity::{ClientAuthentication, ClientCredentials, CommandSource, Identity};
pub use issuer::{
    Issuer, LocalCa, OidcToken, Peer, TokenExchange, VaultAuth, VaultLogin, VaultPki, VaultSecret, VaultToken,
};
pub use route::{CallerReads, Route, Settings};
pub use source::Source;

mod source;
