//! Who is asking: one file a source of the token that proves it.
//! An identity of the settings and what the caller sent come in, a subject token or its absence goes out.
//! Trusts no claim of a token; reads no environment and no file of its own; dials out through `https` alone.

pub mod aws;

mod absence;
mod ask;
mod caller;
mod claims;
mod client_assertion;
mod client_authentication;
mod client_credentials;
mod coder;
mod command;
mod env;
mod file;
mod kubernetes;
mod oauth_refusal;
mod quotable;
mod sign_in;
mod source;
mod spiffe;
mod subject_token;
mod token_endpoint;
mod token_request;
mod way;
mod workload;

pub use absence::{Absence, absence};
pub use ask::{IdentityError, ask};
pub use aws::caller_keys::AwsCallerError;
pub use aws::identity_request::AWS_METHOD;
pub use caller::{Caller, caller_reads, identity_reads};
pub use claims::Claims;
pub use client_assertion::{AssertionError, client_assertion, signed_jwt};
pub use client_authentication::{ClientProof, ClientProofError, prove, source_name};
pub use coder::{CODER_BUILD, CODER_TRANSITION};
pub use command::{CommandError, tell};
pub use oauth_refusal::OauthRefusal;
pub use quotable::quotable;
pub use sign_in::{
    Authorization, Callback, Device, Poll, Provider, RefreshError, SignInError, Tokens, VaultTraits, endpoint,
};
pub use source::{SourceError, read_source};
pub use spiffe::{SpiffeError, X509Svid, x509_svid};
pub use subject_token::{SubjectToken, SubjectTokenError};
pub use token_endpoint::{TokenEndpoint, TokenEndpointError, encode_form};
pub use way::trust;
pub use workload::WorkloadError;
