//! A certification request, signed with the key that it is for.
//! Key and names come in, PEM goes out; the key itself is not in it.
//! Touches nothing. RFC 2986; the common name stands in the subject, all other names in the extension request.

use rcgen::ExtendedKeyUsagePurpose;

use crate::names::Names;
use crate::private_key::{KeyError, PrivateKey};

/// Holds a certification request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningRequest {
    pem: String,
}

/// Says why there is no request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A subject alternative name that is not ASCII: a domain wants Punycode, a URI percent-encoding.
    #[error("the name `{0}` has characters that a certificate cannot carry")]
    Name(String),
    /// The key cannot sign.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The cryptographic library refused to sign.
    #[error("the certification request could not be signed")]
    Signing,
}

impl SigningRequest {
    /// Asks for a certificate with these names, for client authentication.
    ///
    /// # Errors
    /// A name that no certificate can carry, or a key that does not sign.
    pub fn new(key: &PrivateKey, names: &Names) -> Result<Self, RequestError> {
        let mut params = names.params().map_err(RequestError::Name)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let signed = params.serialize_request(&*key.signer()?).map_err(|_| RequestError::Signing)?;
        Ok(Self { pem: signed.pem().map_err(|_| RequestError::Signing)? })
    }

    /// Lends the PEM text.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }
}
