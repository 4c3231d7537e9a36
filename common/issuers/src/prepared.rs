//! A key with its certification request, ready before anybody is asked.
//! The settings' templates and the subject token come in, key and request go out.
//! The key never leaves the agent: what is sent is the request.

use credmint_client_identity::{
    Asked, AssembleError, Bundle, ClientIdentity, Difference, KeyAlgorithm, Names, PrivateKey, SigningRequest,
};
use credmint_identities::SubjectToken;
use credmint_settings::{NameTemplates, Wanted};
use credmint_vocabulary::{Timestamp, printable};

use crate::error::GrantError;
use crate::template::{Known, fill, fill_list};

/// Holds a key, the request for it, and what the request asks for.
pub(crate) struct Prepared {
    pub(crate) key: PrivateKey,
    pub(crate) request: SigningRequest,
    pub(crate) asked: Asked,
}

impl Prepared {
    /// Makes a key and asks for the names that the templates give.
    pub(crate) async fn new(wanted: &Wanted, subject: Option<&SubjectToken>) -> Result<Self, GrantError> {
        let names = names(&wanted.names, known(subject))?;
        let key = generate_key(wanted.key).await?;
        let request = SigningRequest::new(&key, &names)?;
        Ok(Self { key, request, asked: Asked { names, ttl: None } })
    }

    /// Makes a key and asks for what the present certificate has; `None` when that cannot be said again exactly.
    pub(crate) async fn again(wanted: &Wanted, present: &ClientIdentity) -> Result<Option<Self>, GrantError> {
        let key = generate_key(wanted.key).await?;
        let request = SigningRequest::again(&key, present)?;
        Ok(request.map(|request| Self { key, request, asked: Asked { names: present.names(), ttl: None } }))
    }

    /// Puts the identity together; the key is copied, because what came may not be the certificate that is waited for.
    pub(crate) fn assemble(
        &self,
        bundle: Bundle,
        now: Timestamp,
    ) -> Result<(ClientIdentity, Vec<Difference>), AssembleError> {
        ClientIdentity::assemble_bundle(self.key.copied(), bundle, &self.asked, now)
    }
}

/// Fills the templates in.
pub(crate) fn names(wanted: &NameTemplates, known: Known<'_>) -> Result<Names, GrantError> {
    let ip_addresses = fill_list(&wanted.ip_addresses, known)?;
    let address = |text: String| text.parse().map_err(|_| GrantError::IpAddress(printable(&text, 60)));
    Ok(Names {
        common_name: wanted.common_name.as_ref().map(|template| fill(template, known)).transpose()?,
        dns_names: fill_list(&wanted.dns_names, known)?,
        email_addresses: fill_list(&wanted.email_addresses, known)?,
        ip_addresses: ip_addresses.into_iter().map(address).collect::<Result<_, _>>()?,
        uris: fill_list(&wanted.uris, known)?,
    })
}

/// Makes a key; RSA takes long enough to keep others waiting, so it is made aside.
pub(crate) async fn generate_key(algorithm: KeyAlgorithm) -> Result<PrivateKey, GrantError> {
    let make = move || PrivateKey::generate(algorithm);
    match algorithm {
        KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => {
            tokio::task::spawn_blocking(make).await.map_err(|_| GrantError::Interrupted)?.map_err(Into::into)
        }
        _ => make().map_err(Into::into),
    }
}

/// Says what is known about the bearer of the subject token.
pub(crate) fn known(subject: Option<&SubjectToken>) -> Known<'_> {
    match subject.map(|subject| &subject.claims) {
        Some(Some(claims)) => Known::Claims(claims),
        Some(None) => Known::Opaque,
        None => Known::Nobody,
    }
}

/// Seconds that two clocks may differ before it is worth telling.
const TOLERATED: u64 = 5;

/// Tells a difference of the clocks, if it is worth telling.
pub(crate) fn clock_note(ahead: Option<i64>, who: &str) -> Option<String> {
    let ahead = ahead.filter(|ahead| ahead.unsigned_abs() > TOLERATED)?;
    let direction = if ahead > 0 { "ahead of" } else { "behind" };
    Some(format!("this machine's clock is {} s {direction} {who}", ahead.unsigned_abs()))
}
