//! Who is on the other end of a connection over loopback, as far as the kernel tells.
//! The two addresses of a connection come in, whether it is another user's goes out.
//! Asks the kernel (`sock_diag(7)`); where that answers nobody, reads its tables of TCP sockets (`proc_pid_net(5)`).

use std::net::SocketAddr;

/// Tells whether the far end of a connection over loopback is certainly another user's, or gone so that nobody can say.
/// Root counts as ourselves. Where the kernel tells nothing of it, on other systems or for a peer outside our network namespace, it is not.
#[cfg(target_os = "linux")]
#[must_use]
pub fn is_another_users(near: SocketAddr, far: SocketAddr) -> bool {
    by_question(near, far).unwrap_or_else(|| by_tables(near, far))
}

#[cfg(target_os = "linux")]
fn is_ours(row: &rows::Row) -> bool {
    row.is_open && (row.uid == crate::own_uid() || row.uid == 0)
}

/// Asks for the one socket: in a crowd that has to take no longer than for one.
#[cfg(target_os = "linux")]
fn by_question(near: SocketAddr, far: SocketAddr) -> Option<bool> {
    use crate::socket_diag::{Found, find};
    if let Found::This(row) = find(far, near)? {
        return Some(!is_ours(&row));
    }
    // Not there: it comes from outside this namespace, or it was reset, and then our listener answers for our own end.
    match find(near, far)? {
        Found::This(row) => Some(!row.is_open),
        Found::Listener => Some(true),
        Found::Nothing => None,
    }
}

#[cfg(target_os = "linux")]
fn by_tables(near: SocketAddr, far: SocketAddr) -> bool {
    let whose = |rows: &str| rows::find(rows, far, near).map(|row| is_ours(&row));
    match tables(far).map(|tables| whose(&tables)) {
        None | Some(Some(true)) => false,
        Some(Some(false)) => true,
        // As above, but that no listener has a row with both ends.
        Some(None) => tables(near).is_some_and(|again| !rows::find(&again, near, far).is_some_and(|row| row.is_open)),
    }
}

/// Tells nothing here.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub const fn is_another_users(_near: SocketAddr, _far: SocketAddr) -> bool {
    false
}

/// Reads both tables: a socket for both families has its IPv4 connections in the one for IPv6.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "files are read in local-machine: these are the kernel's")]
fn tables(end: SocketAddr) -> Option<String> {
    let second = std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    if end.is_ipv6() {
        return Some(second).filter(|table| !table.is_empty());
    }
    Some(std::fs::read_to_string("/proc/net/tcp").ok()? + &second)
}

/// The rows of the tables, whatever system compiles them.
#[cfg(any(target_os = "linux", test))]
pub(super) mod rows {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    /// What a row says of a socket.
    #[derive(Debug, PartialEq, Eq)]
    pub(crate) struct Row {
        pub(crate) uid: u32,
        pub(crate) is_open: bool,
    }

    /// Finds the socket with this address that is connected to that one.
    pub(super) fn find(table: &str, own: SocketAddr, other: SocketAddr) -> Option<Row> {
        // Tables have thousands of rows when it matters: the one is searched for, and no other is taken apart.
        let ends = [(own, other), (mapped(own), mapped(other))].map(|(a, b)| format!(" {} {} ", word(a), word(b)));
        let (_, rest) = ends.iter().find_map(|ends| table.split_once(ends.as_str()))?;
        let mut fields = rest.lines().next()?.split_ascii_whitespace();
        let is_open = fields.next()? == ESTABLISHED;
        Some(Row { uid: fields.nth(3)?.parse().ok()?, is_open })
    }

    /// Writes an address as the kernel does: words of 32 bits in the machine's order, in hexadecimal.
    fn word(address: SocketAddr) -> String {
        let octets = match address.ip() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let word = |four: &[u8]| {
            let four: [u8; 4] = four.try_into().unwrap_or_default();
            format!("{:08X}", u32::from_ne_bytes(four))
        };
        format!("{}:{:04X}", octets.chunks(4).map(word).collect::<String>(), address.port())
    }

    fn mapped(address: SocketAddr) -> SocketAddr {
        let ip: Option<Ipv4Addr> = if let IpAddr::V4(ip) = address.ip() { Some(ip) } else { None };
        ip.map_or(address, |ip| SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()))
    }

    const ESTABLISHED: &str = "01";
}

#[cfg(test)]
mod tests {
    use super::rows::{Row, find};
    use super::*;
    #[cfg(target_endian = "little")]
    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1
   2: 0000000000000000FFFF00000100007F:C351 0000000000000000FFFF00000100007F:1F90 06 00000000:00000000 00:00000000 00000000     0        0 3 1
   3: 00000000000000000000000001000000:C352 00000000000000000000000001000000:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 4 1";

    #[test]
    #[cfg(target_endian = "little")]
    fn a_row_is_found_by_both_ends() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let found = |own: &str, other: &str| find(TABLE, at(own), at(other));
        let open = |uid| Some(Row { uid, is_open: true });
        assert_eq!(found("127.0.0.1:50000", "127.0.0.1:8080"), open(1001));
        assert_eq!(found("[::1]:50002", "[::1]:8080"), open(1000));
        assert_eq!(found("127.0.0.1:50001", "127.0.0.1:8080"), Some(Row { uid: 0, is_open: false }), "as IPv6");
        assert_eq!(found("127.0.0.1:8080", "127.0.0.1:50000"), None, "the other end is another row");
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[expect(clippy::disallowed_methods, reason = "the test is both ends")]
    fn our_own_connection_is_ours_and_one_that_was_closed_is_nobodys() {
        use std::net::{TcpListener, TcpStream};
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (near, from) = listener.accept().unwrap();
            let near = near.local_addr().map(|address| (address, near)).unwrap();
            assert!(!is_another_users(near.0, from) && !by_tables(near.0, from));
            drop(far);
            assert!(is_another_users(near.0, from), "whoever sends and leaves has the kernel call it root's");
            assert!(by_tables(near.0, from), "the tables say the same");
        }
    }
}
