//! Certification authorities beside Vault: EST, step-ca, and people who sign by hand.
//! Tables of the file become one struct a kind.
//! Holds addresses and templates only; `credmint-issuers` talks to them.

use std::time::Duration;

use credmint_client_identity::KeyAlgorithm;

use crate::issuer::Peer;
use crate::source::Source;

/// Says which names a certificate is asked for: templates over the identity's claims.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NameTemplates {
    /// `common_name`: template over the identity's claims, for example `{email}`.
    pub common_name: Option<String>,
    /// `dns_names`: templates.
    pub dns_names: Vec<String>,
    /// `email_addresses`: templates.
    pub email_addresses: Vec<String>,
    /// `ip_addresses`: templates.
    pub ip_addresses: Vec<String>,
    /// `uris`: templates.
    pub uris: Vec<String>,
}

impl NameTemplates {
    /// Lists all templates.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &String> {
        let lists = [&self.dns_names, &self.email_addresses, &self.ip_addresses, &self.uris];
        self.common_name.iter().chain(lists.into_iter().flatten())
    }
}

/// Says which certificate is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// `key`: algorithm of the key that we make (default ECDSA P-256).
    pub key: KeyAlgorithm,
    /// Its names.
    pub names: NameTemplates,
}

/// `kind = "est"`: RFC 7030.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Est {
    /// `address`: with the path of EST and its label, without a slash at the end.
    pub address: String,
    /// `auth`: how the first request proves who asks.
    pub auth: EstAuth,
    /// The certificate.
    pub wanted: Wanted,
    /// How to reach it.
    pub peer: Peer,
}

/// `auth = { method = "…" }` of EST: RFC 7030 §3.2.3, §3.3.2.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EstAuth {
    /// `bearer`: the identity's token.
    Bearer,
    /// `basic`: a user name and a password from a source.
    Basic {
        /// User name.
        username: String,
        /// Where the password is found.
        password: Source,
    },
    /// `cert`: a client identity that is there already, presented over TLS.
    Cert {
        /// Source of the certification path in PEM.
        certificate: Source,
        /// Source of the private key (PKCS #8 PEM).
        key: Source,
    },
}

/// `kind = "step-ca"`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StepCa {
    /// `address`: `https://host:port`, without a slash at the end.
    pub address: String,
    /// The certificate.
    pub wanted: Wanted,
    /// `ttl`: life to ask for; without it the provisioner decides.
    pub ttl: Option<Duration>,
    /// How to reach it.
    pub peer: Peer,
}

/// `kind = "offline"`: people sign, by whatever way the request reaches them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Offline {
    /// The certificate.
    pub wanted: Wanted,
}
