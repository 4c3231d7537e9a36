//! The words that every room shares: who is meant, what is secret, until when, and what went wrong.
//! Text and numbers come in, checked values go out.
//! Touches nothing: no files, no network, no clock, no environment. Time is always a parameter.

mod deadline;
mod expiry;
mod failure;
mod hostname;
mod no_proxy;
mod phase;
mod printable;
mod route_name;
mod secret;

pub use deadline::Deadline;
pub use expiry::{Expiry, ExpiryError, Timestamp};
pub use failure::{Failure, FailureKind};
pub use hostname::{Hostname, HostnameError};
pub use no_proxy::{NoProxy, is_loopback};
pub use phase::Phase;
pub use printable::printable;
pub use route_name::{RouteName, RouteNameError};
pub use secret::Secret;
