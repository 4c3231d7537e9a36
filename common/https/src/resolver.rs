//! Names to addresses, all of them, of both families.
//! A name comes in, addresses without port go out; `localhost` is this machine, whatever a resolver says.
//! Asks the operating system's resolver. RFC 6761 §6.3; happy eyeballs (RFC 8305) is the connector's.

use std::future::Future;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::{fmt, vec};

use credmint_vocabulary::printable;
use hyper_util::client::legacy::connect::dns::Name;

/// Resolves for both the pooled client and the upstream's connector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolver;

/// Says that a name has no address; found again in the chain of causes by its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoAddress(pub(crate) String);

impl fmt::Display for NoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoAddress {}

async fn lookup(name: String) -> Result<vec::IntoIter<SocketAddr>, NoAddress> {
    if name == "localhost" {
        let both = vec![SocketAddr::from((Ipv6Addr::LOCALHOST, 0)), SocketAddr::from((Ipv4Addr::LOCALHOST, 0))];
        return Ok(both.into_iter());
    }
    let found = tokio::net::lookup_host((name.as_str(), 0)).await;
    let all: Vec<_> = found.map_err(|error| NoAddress(printable(&error.to_string(), 160)))?.collect();
    if all.is_empty() { Err(NoAddress("the resolver gave none".to_owned())) } else { Ok(all.into_iter()) }
}

impl reqwest::dns::Resolve for Resolver {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let name = name.as_str().to_owned();
        Box::pin(async move { Ok(Box::new(lookup(name).await?) as reqwest::dns::Addrs) })
    }
}

impl tower_service::Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = NoAddress;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(lookup(name.as_str().to_owned()))
    }
}
