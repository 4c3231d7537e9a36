//! Listening on loopback: one port on both families, and only under our own names.
//! A port comes in, bound listeners go out; a request's headers come in, whether they name us goes out.
//! Binds loopback and nothing else.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use credmint_local_machine::is_another_users;
use http::{HeaderMap, header};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;

/// Binds a port on both loopback families, or on none if somebody else holds one; 0 means any port, the same on both.
pub(crate) async fn bind(port: u16) -> Result<Vec<(SocketAddr, TcpListener)>, (SocketAddr, io::Error)> {
    let (mut bound, mut port) = (Vec::new(), port);
    for family in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
        let wanted = SocketAddr::new(family, port);
        match listen(wanted).and_then(|listener| Ok((listener.local_addr()?, listener))) {
            Ok((address, listener)) => {
                port = address.port();
                bound.push((address, listener));
            }
            Err(error) if family.is_ipv6() && is_family_missing(&error) => {}
            Err(error) => return Err((wanted, error)),
        }
    }
    Ok(bound)
}

/// As `TcpListener::bind`, with a queue for a crowd: what finds no place in it has to try again after a second, and then after more.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // On Windows that would share the port with whoever wants it.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(LONGEST_QUEUE)
}

/// A machine without IPv6 has no `::1`.
fn is_family_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported)
        || error.raw_os_error().is_some_and(|code| EAFNOSUPPORT.contains(&code))
}

/// Tells whether somebody else has the port: Windows says "access denied" of a port in one of its excluded ranges.
pub(crate) fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied)
}

/// Gives the name by which a request reached us, if it is ours and the only one: a page that got here by DNS rebinding has another.
pub(crate) fn own_name(headers: &HeaderMap, port: u16) -> Option<&str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().filter(|_| hosts.next().is_none())?.to_str().ok()?;
    ["127.0.0.1", "[::1]", "localhost"].iter().any(|name| host == format!("{name}:{port}")).then_some(host)
}

/// Tells whether a connection is turned away at once: when half of the places are taken, other users of the machine, as far as
/// the kernel tells who they are, get none of the other half. Before that nobody reads the kernel's long tables.
pub(crate) fn is_crowded_out(places: &Semaphore, most: usize, stream: &TcpStream) -> bool {
    let ends = || stream.local_addr().ok().zip(stream.peer_addr().ok());
    places.available_permits() < most / 2 && ends().is_some_and(|(near, far)| is_another_users(near, far))
}

/// The system takes less if it allows less.
const LONGEST_QUEUE: u32 = 4096;
/// `EAFNOSUPPORT` on Linux, macOS and Windows, for which the standard library has no kind of its own.
const EAFNOSUPPORT: [i32; 3] = [97, 47, 10_047];

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn any_port_is_the_same_on_both_families_and_nobody_elses() {
        let bound = bind(0).await.expect("bound");
        let ports: Vec<u16> = bound.iter().map(|(address, _)| address.port()).collect();
        assert!(ports.iter().all(|port| *port == ports[0] && *port != 0), "{ports:?}");
        let (address, error) = bind(ports[0]).await.expect_err("taken");
        assert!(is_taken(&error) && address.port() == ports[0]);
        drop(bound);
        assert!(bind(ports[0]).await.is_ok(), "dropped is given back");
    }

    #[tokio::test]
    async fn half_a_port_is_none_zitadel_926() {
        let (_, other) = bind(0).await.expect("bound").pop().expect("one");
        let port = other.local_addr().expect("bound").port();
        assert!(bind(port).await.is_err());
    }

    #[test]
    fn a_port_that_windows_keeps_back_is_taken_kiro_571() {
        let refused = |kind| is_taken(&io::Error::from(kind));
        assert!(refused(io::ErrorKind::PermissionDenied) && refused(io::ErrorKind::AddrInUse));
        assert!(!refused(io::ErrorKind::AddrNotAvailable) && !refused(io::ErrorKind::OutOfMemory));
    }

    #[test]
    fn only_loopback_names_with_our_port_are_ours() {
        let named = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().expect("a value"));
            own_name(&headers, 8250).is_some()
        };
        assert!(named("127.0.0.1:8250") && named("[::1]:8250") && named("localhost:8250"));
        assert!(!named("evil.example:8250") && !named("127.0.0.1:1") && !named("127.0.0.1"));
        assert!(own_name(&HeaderMap::new(), 8250).is_none());
        let ours = || (header::HOST, "localhost:8250".parse().expect("a value"));
        assert!(
            own_name(&HeaderMap::from_iter([ours(), ours()]), 8250).is_none(),
            "two readers could take two of them"
        );
    }
}
