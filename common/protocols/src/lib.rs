//! The wire formats of the programs that ask us: one file each, bytes in, words out, and back.
//! Arguments and streams of others come in as they are, requests go out; answers come in, bytes go out.
//! Pure: reads no stream, no environment and no clock.

mod answer;
pub mod aws;
pub mod aws_container;
pub mod docker;
pub mod git;
pub mod github;
pub mod google;
pub mod google_account;
mod host;
pub mod id_token;
pub mod kubernetes;
pub mod plain;
mod program;
pub mod terraform;
pub mod vault;

pub use answer::{AccessKeys, AnswerError, Credential};
pub use program::{Asked, CallError, named};
