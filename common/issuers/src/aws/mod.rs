//! What the issuers of AWS have in common.
//! Answers in XML and requests that want a signature come in, texts and signatures go out.
//! Dials nowhere.

pub(crate) mod json_refusal;
pub(crate) mod refusal;
pub(crate) mod role;
pub(crate) mod signature;
pub(crate) mod xml;
