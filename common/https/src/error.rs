//! Why nothing came back, as decisions of the caller.
//! Host, port and a word of the cause come in; a sentence for people goes out.
//! Holds no path, no query, no header and no body: those may be secret.

use std::path::PathBuf;

use credmint_vocabulary::{FailureKind, Timestamp};

/// Says why a request has no answer. `peer` is host and port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpsError {
    /// An address that nothing is sent to.
    #[error("the address {address} cannot be used: {why}")]
    Address {
        /// Scheme, host and port.
        address: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The file of trust anchors.
    #[error("the trust anchors in {} cannot be used: {why}", path.display())]
    Ca {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Neither the system nor the settings have a trust anchor.
    #[error("there are no trust anchors on this machine, and the settings name none")]
    NoAnchors,
    /// The proxy's address.
    #[error("the proxy in the settings cannot be used: {why}")]
    Proxy {
        /// What is wrong with it.
        why: &'static str,
    },
    /// The proxy made no tunnel.
    #[error("the proxy made no tunnel to {peer}: {why}")]
    Tunnel {
        /// Where to.
        peer: String,
        /// What the proxy said.
        why: String,
    },
    /// The client identity cannot be used with this TLS library.
    #[error("the client certificate cannot be presented: {why}")]
    Identity {
        /// What is wrong with it.
        why: String,
    },
    /// The name has no address.
    #[error("the name of {peer} has no address: {why}")]
    Resolve {
        /// Who was asked.
        peer: String,
        /// What the resolver said.
        why: String,
    },
    /// Nobody took the connection.
    #[error("no connection to {peer}: {why}")]
    Connect {
        /// Who was asked.
        peer: String,
        /// What the operating system said.
        why: String,
    },
    /// The deadline passed.
    #[error("{peer} did not answer in time")]
    Timeout {
        /// Who was asked.
        peer: String,
    },
    /// The server's certificate is of an authority that is not trusted.
    #[error("{peer} presents a certificate of an authority that is not trusted here")]
    UnknownAuthority {
        /// Who was asked.
        peer: String,
    },
    /// The server's certificate is for somebody else.
    #[error("the certificate of {peer} is for another name ({})", if presented.is_empty() { "it has none" } else { presented })]
    WrongName {
        /// Who was asked.
        peer: String,
        /// Names that it has, comma-separated.
        presented: String,
    },
    /// The server's certificate is over.
    #[error("the certificate of {peer} has expired{}", not_after.map(|at| format!(" at {at}")).unwrap_or_default())]
    CertificateExpired {
        /// Who was asked.
        peer: String,
        /// When.
        not_after: Option<Timestamp>,
    },
    /// The server's certificate has not begun.
    #[error("the certificate of {peer} is not valid yet")]
    CertificateNotYetValid {
        /// Who was asked.
        peer: String,
    },
    /// The server's certificate is good, and none of the keys on its path is one of the pins.
    #[error("{peer} is not who the settings pin: its key is {seen}")]
    NotPinned {
        /// Who was asked.
        peer: String,
        /// The server's own key, as a pin.
        seen: String,
    },
    /// The server's certificate has another fault.
    #[error("the certificate of {peer} cannot be accepted: {why}")]
    ServerCertificate {
        /// Who was asked.
        peer: String,
        /// Which.
        why: String,
    },
    /// The server wants another client certificate, or one at all.
    #[error("{peer} refused the client certificate: {why}")]
    ClientCertificateRefused {
        /// Who was asked.
        peer: String,
        /// What its alert says.
        why: &'static str,
    },
    /// Both sides found no common ground.
    #[error("no TLS connection with {peer}: {why}")]
    Handshake {
        /// Who was asked.
        peer: String,
        /// Why.
        why: String,
    },
    /// More than we take.
    #[error("the answer of {peer} is larger than {limit} bytes")]
    TooLarge {
        /// Who was asked.
        peer: String,
        /// How much we take.
        limit: usize,
    },
    /// A connection that broke, or spoke no HTTP.
    #[error("the connection with {peer} broke: {why}")]
    Stream {
        /// Who was asked.
        peer: String,
        /// Why.
        why: String,
    },
}

impl HttpsError {
    /// Says whose turn it is.
    #[must_use]
    pub const fn kind(&self) -> FailureKind {
        match self {
            Self::Address { .. } | Self::Ca { .. } | Self::NoAnchors | Self::Proxy { .. } => FailureKind::Settings,
            Self::ClientCertificateRefused { .. } | Self::NotPinned { .. } => FailureKind::Refused,
            Self::Identity { .. } => FailureKind::Internal,
            _ => FailureKind::Unreachable,
        }
    }

    /// Gives the next thing to do, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::UnknownAuthority { .. } | Self::NoAnchors => {
                "if the authority is a private one, name the PEM file of its certificate in the settings: ca = \"/path/to/ca.pem\""
            }
            Self::NotPinned { .. } => {
                "ask the server's operator whether it has a new key; if that is the one, add it to pins in the settings"
            }
            Self::CertificateNotYetValid { .. } => "compare this machine's clock with the server's",
            Self::Address { .. } => "use an https:// address; http:// is for loopback only",
            Self::Proxy { .. } => "write proxy = \"http://host:port\"",
            Self::Tunnel { why, .. } if why.contains(WANTS_PROOF) => {
                "credmint proves itself to no proxy: name one in the settings that lets this server through without a password"
            }
            Self::Tunnel { .. } => "see whether the proxy is the right one: proxy in the settings",
            Self::Ca { .. } => "check the path in the settings (ca), and whether the file is there",
            Self::Resolve { .. } | Self::Connect { .. } | Self::Timeout { .. } => {
                "see whether the server runs, and whether the settings have its right address"
            }
            Self::Handshake { .. } => "check scheme and port of the address in the settings",
            Self::ClientCertificateRefused { .. } => {
                "see `credmint status` for the certificate, and ask the server's operator which authority it accepts"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// How the proxy's client says that the answer was 407.
/// What a proxy is said to want that answers 407; hyper-util says it so, too.
pub(crate) const WANTS_PROOF: &str = "authorization required";
