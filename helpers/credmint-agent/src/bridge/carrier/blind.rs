//! A tunnel to a host that is none of the run's: bytes are passed on, and nobody looks at them.
//! A place comes in, a connection to it goes out, straight or through the proxy that the caller had; then bytes, both ways.
//! Dials by the room that does, and never leads to the run's own port.

use std::net::SocketAddr;

use credmint_https::{HttpsError, Passage, passage};
use credmint_vocabulary::{Failure, FailureKind, is_loopback};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncWriteExt, copy_bidirectional};

use super::WayOut;
use super::place::Place;

/// Connects to a place.
pub(super) async fn dial(to: &Place, way_out: &WayOut, own_port: u16) -> Result<Passage, Failure> {
    let is_direct = is_loopback(to.name()) || way_out.no_proxy.exempts(to.name(), to.port());
    let proxy = way_out.proxy.as_ref().filter(|_| !is_direct);
    let there = passage(&to.to_string(), proxy).await.map_err(|error| failure(&error))?;
    if leads_back(there.first, own_port) {
        return Err(Failure::new(FailureKind::Refused, format!("{to} leads back to this run")));
    }
    Ok(there)
}

/// Tells our own port, also where IPv4 is written as IPv6 (`::ffff:127.0.0.1`).
fn leads_back(to: SocketAddr, own_port: u16) -> bool {
    to.ip().to_canonical().is_loopback() && to.port() == own_port
}

/// Passes bytes until both sides are done, or one is gone.
pub(super) async fn pass(upgrade: OnUpgrade, there: Passage) {
    let Ok(here) = upgrade.await else { return };
    let (mut here, Passage { mut stream, said, .. }) = (TokioIo::new(here), there);
    // Who goes away early has nobody to tell.
    if here.write_all(&said).await.is_ok() {
        copy_bidirectional(&mut here, &mut stream).await.unwrap_or_default();
    }
}

fn failure(error: &HttpsError) -> Failure {
    let hint = match error {
        HttpsError::Tunnel { .. } | HttpsError::Proxy { .. } => "see HTTPS_PROXY of the shell that ran `credmint exec`",
        _ => "see whether the server runs, and whether it needs a proxy (HTTPS_PROXY) from here",
    };
    Failure::new(FailureKind::Unreachable, error.to_string()).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_port_is_known_in_every_spelling_of_loopback() {
        let leads = |to: &str| leads_back(to.parse().expect("an address"), 4000);
        for own in ["127.0.0.1:4000", "127.8.8.8:4000", "[::1]:4000", "[::ffff:127.0.0.1]:4000"] {
            assert!(leads(own), "{own}");
        }
        for other in ["127.0.0.1:4001", "192.0.2.1:4000", "[::ffff:192.0.2.1]:4000"] {
            assert!(!leads(other), "{other}");
        }
    }
}
