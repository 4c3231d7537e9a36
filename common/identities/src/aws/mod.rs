//! What identities and issuers of AWS have in common, and the caller's own keys of AWS.
//! Answers in XML and requests that want a signature come in, texts and signatures go out.
//! Dials nowhere but for the caller's keys, and there by `https` alone.

pub(crate) mod caller_keys;
pub(crate) mod identity_request;
mod machine;
pub mod signature;
mod web_identity;
pub mod xml;
