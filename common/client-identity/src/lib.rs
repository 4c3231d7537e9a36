//! One identity object for mutual TLS: private key, certification request, certification path, validity.
//! Bytes come in, bytes go out, never a path.
//! Touches nothing else. RFC 2986 (requests), RFC 5280 (certificates), RFC 5958 (keys).

mod again;
mod algorithm;
mod authority;
mod bundle;
mod certificate;
mod constraints;
mod description;
mod difference;
mod identity;
mod names;
mod path;
mod pem;
mod pkcs7;
mod private_key;
mod request;
mod signing;

pub use algorithm::KeyAlgorithm;
pub use authority::{Authority, AuthorityError, PublicAuthority};
pub use bundle::Bundle;
pub use description::Description;
pub use difference::{Asked, Difference};
pub use identity::{AssembleError, ClientIdentity};
pub use names::Names;
pub use private_key::{KeyError, PrivateKey};
pub use request::{RequestError, SigningRequest};
pub use signing::Signature;
