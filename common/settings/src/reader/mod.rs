//! Gives the tree its meaning: one file a part of the settings, each with its keys beside what reads them.
//! The tree of all files, or of the arguments, comes in; [`Settings`] or the first mistake goes out.
//! Reads no file and no environment.

mod anywhere;
mod aws;
mod aws_caller;
mod certificate_issuer;
mod client;
mod cloud;
mod enrolment;
mod fields;
mod host;
mod identity;
mod issuer;
mod item;
mod oidc;
mod policy;
mod shape;
mod source;
mod spiffe;
mod vault;
mod vault_oidc;
mod whole;
mod workload;

#[cfg(test)]
mod reference;

pub(crate) use fields::is_secret_word;
pub(crate) use whole::settings;
