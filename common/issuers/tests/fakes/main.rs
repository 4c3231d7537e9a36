//! Issuers against fakes on loopback: for what the real servers cannot be made to do, or not at a wanted moment.
//!
//! A real OpenBao is never sealed half-way through a mint, redirects to no stranger, signs no certificate for another
//! key, has the right clock and repeats no secret in its errors. What it can do is told in `tests/stories`.
#![expect(clippy::unwrap_used, reason = "this is a test")]

mod aws_sts;
mod clouds;
mod est;
mod exchange;
mod fake;
mod google_x509;
mod mutual;
mod pki;
mod roles_anywhere;
mod step_ca;
mod vault_answers;
mod vault_aws;
mod vault_defaults;
mod world;
