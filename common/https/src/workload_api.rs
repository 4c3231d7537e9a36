//! The line to a SPIFFE Workload API: a socket of this machine, without TLS.
//! An address comes in, a client that speaks with what listens there goes out.
//! Dials out, to a Unix socket or a loopback port and nowhere else. SPIFFE Workload Endpoint §4.

use std::error::Error;
use std::io;

use credmint_vocabulary::Deadline;
use spiffe::WorkloadApiClient;
use spiffe::transport::Endpoint;

use crate::error::HttpsError;

/// Connects to a Workload API at `place`: an absolute path, `unix:///…` or `tcp://IP:port` of this machine.
///
/// # Errors
/// An address that is none or of another machine; nobody who listens there.
pub async fn workload_api(place: &str, deadline: Deadline) -> Result<WorkloadApiClient, HttpsError> {
    let endpoint = endpoint(place)?;
    let peer = || place.to_owned();
    let connected = tokio::time::timeout_at(deadline.instant().into(), WorkloadApiClient::connect(endpoint)).await;
    let client = connected.map_err(|_| HttpsError::Timeout { peer: peer() })?;
    client.map_err(|error| HttpsError::Connect { peer: peer(), why: why(&error) })
}

fn endpoint(place: &str) -> Result<Endpoint, HttpsError> {
    let refuse = |why| HttpsError::Address { address: place.to_owned(), why };
    if place.starts_with('/') {
        return Ok(Endpoint::Unix(place.into()));
    }
    match Endpoint::parse(place) {
        Ok(Endpoint::Tcp { host, .. }) if !host.is_loopback() => {
            Err(refuse("it is another machine's: keys are not sent unencrypted"))
        }
        Ok(endpoint) => Ok(endpoint),
        Err(_) => Err(refuse("it is neither a path, nor unix:///PATH, nor tcp://IP:PORT")),
    }
}

/// Says what the operating system said, which stands below the words of the layers above.
fn why(error: &(dyn Error + 'static)) -> String {
    let layers = std::iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source());
    match layers.filter_map(|error| error.downcast_ref::<io::Error>()).last().map(io::Error::kind) {
        Some(io::ErrorKind::NotFound) => "it is not there".to_owned(),
        Some(io::ErrorKind::ConnectionRefused) => "nobody listens there".to_owned(),
        Some(io::ErrorKind::PermissionDenied) => "this user may not open it".to_owned(),
        Some(kind) => kind.to_string(),
        None => "what listens there does not speak HTTP/2".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    async fn refused(place: &str) -> String {
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(10));
        workload_api(place, deadline).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn an_address_is_one_of_this_machine() {
        for place in ["tcp://192.0.2.1:8081", "tcp://[2001:db8::1]:8081"] {
            let told = refused(place).await;
            assert!(told.contains("it is another machine's"), "{told}");
        }
        for place in
            ["", "relative/path", "https://127.0.0.1", "unix://host/path", "tcp://localhost:1", "tcp://127.0.0.1"]
        {
            let told = refused(place).await;
            assert!(told.contains("it is neither a path"), "{place}: {told}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_socket_where_nobody_listens_says_so() {
        assert_eq!(refused("/nonexistent/api.sock").await, "no connection to /nonexistent/api.sock: it is not there");
        let told = refused("unix:///nonexistent/api.sock").await;
        assert_eq!(told, "no connection to unix:///nonexistent/api.sock: it is not there");
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(refused(&format!("tcp://{free}")).await.ends_with("nobody listens there"));
    }
}
