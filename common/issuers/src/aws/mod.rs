//! What the issuers of AWS have in common.
//! Roles, keys and refusals come in, keys and sentences go out; signing and reading XML is shared with the identities.
//! Dials nowhere.

pub(crate) mod json_refusal;
pub(crate) mod refusal;
pub(crate) mod role;
