//! A key with its certification request, ready before anybody is asked.
//! The settings' templates and the subject token come in, key and request go out.
//! The key never leaves the agent: what is sent is the request.

use credmint_client_identity::{
    Asked, AssembleError, Bundle, ClientIdentity, Difference, Names, PrivateKey, SigningRequest,
};
use credmint_identities::SubjectToken;
use credmint_settings::Wanted;
use credmint_vocabulary::{Timestamp, printable};

use crate::error::GrantError;
use crate::template::{Known, fill, fill_list};
use crate::vault_pki::{generate_key, known};

/// Holds a key, the request for it, and what the request asks for.
pub(crate) struct Prepared {
    pub(crate) key: PrivateKey,
    pub(crate) request: SigningRequest,
    pub(crate) asked: Asked,
}

impl Prepared {
    /// Makes a key and asks for the names that the templates give.
    pub(crate) async fn new(wanted: &Wanted, subject: Option<&SubjectToken>) -> Result<Self, GrantError> {
        let names = names(wanted, known(subject))?;
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

fn names(wanted: &Wanted, known: Known<'_>) -> Result<Names, GrantError> {
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
