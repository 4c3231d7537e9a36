//! One question to the kernel about one TCP socket: whose it is, without its tables of all.
//! The two addresses of a connection come in, what the kernel says of the socket with the first as its own goes out.
//! Opens a netlink socket for the question, which any user may; asks for no more. `sock_diag(7)`, `netlink(7)`.

use std::net::{IpAddr, SocketAddr};

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, netlink};
use rustix::net::{recv, send, socket_with};

use super::loopback_peer::rows::Row;

/// What the kernel found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The socket.
    This(Row),
    /// Not the socket, but one that listens at its address.
    Listener,
    /// Neither; or nothing is known of TCP here, which is told in the same words.
    Nothing,
}

/// Asks for the socket with this address that is connected to that one; `None` where there is nobody to ask.
pub(super) fn find(own: SocketAddr, other: SocketAddr) -> Option<Found> {
    let kind = (AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC);
    let kernel = socket_with(kind.0, kind.1, kind.2, Some(netlink::SOCK_DIAG)).ok()?;
    send(&kernel, &question(own, other), SendFlags::empty()).ok()?;
    let mut reply = [0; LONGEST_REPLY];
    // The kernel has answered by now, or does not.
    let (_, length) = recv(&kernel, &mut reply, RecvFlags::DONTWAIT).ok()?;
    read(reply.get(..length)?)
}

/// Writes a `nlmsghdr` and an `inet_diag_req_v2` for one socket, whatever its state and its number.
fn question(own: SocketAddr, other: SocketAddr) -> Vec<u8> {
    let family = if own.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let family = u8::try_from(family.as_raw()).unwrap_or_default();
    let protocol = u8::try_from(ipproto::TCP.as_raw().get()).unwrap_or_default();
    let mut message = Vec::with_capacity(LENGTH_OF_A_QUESTION);
    for word in [u32::try_from(LENGTH_OF_A_QUESTION).unwrap_or_default(), BY_FAMILY_REQUESTED, 1, 0] {
        message.extend(word.to_ne_bytes());
    }
    message.extend([family, protocol, 0, 0]);
    message.extend(u32::MAX.to_ne_bytes());
    message.extend([own.port().to_be_bytes(), other.port().to_be_bytes()].concat());
    message.extend([octets(own.ip()), octets(other.ip())].concat());
    // Of whatever interface, with whatever cookie.
    message.extend(0_u32.to_ne_bytes());
    message.extend([0xff; 8]);
    message
}

fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        }
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// Reads an `inet_diag_msg`, or an error.
fn read(reply: &[u8]) -> Option<Found> {
    let word = |at: usize| reply.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_ne_bytes);
    match word(4)? & 0xffff {
        BY_FAMILY => match *reply.get(17)? {
            LISTENS => Some(Found::Listener),
            state => Some(Found::This(Row { uid: word(80)?, is_open: state == ESTABLISHED })),
        },
        ERROR if word(16)? == Errno::NOENT.raw_os_error().unsigned_abs().wrapping_neg() => Some(Found::Nothing),
        _ => None,
    }
}

const LENGTH_OF_A_QUESTION: usize = 16 + 56;
const LONGEST_REPLY: usize = 1024;
/// `SOCK_DIAG_BY_FAMILY`, and as the second word of a header: the type, then `NLM_F_REQUEST`.
const BY_FAMILY: u32 = 20;
const BY_FAMILY_REQUESTED: u32 =
    u32::from_ne_bytes(if cfg!(target_endian = "little") { [20, 0, 1, 0] } else { [0, 20, 0, 1] });
/// `NLMSG_ERROR`.
const ERROR: u32 = 2;
/// `TCP_ESTABLISHED` and `TCP_LISTEN`.
const ESTABLISHED: u8 = 1;
const LISTENS: u8 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    /// Whether this kernel can be asked at all: some have it as a module that nobody may load, and then the tables count.
    fn can_be_asked(listener: SocketAddr) -> bool {
        find(listener, SocketAddr::new(listener.ip(), 1)) == Some(Found::Listener)
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test is both ends")]
    fn an_end_is_found_by_its_two_addresses_and_the_listener_answers_for_what_is_gone() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let at = listener.local_addr().unwrap();
            if !can_be_asked(at) {
                continue;
            }
            let far = TcpStream::connect(at).unwrap();
            let (near, from) = listener.accept().unwrap();
            let own = Found::This(Row { uid: crate::own_uid(), is_open: true });
            assert_eq!((find(from, at).as_ref(), find(at, from).as_ref()), (Some(&own), Some(&own)), "{address}");
            drop(far);
            assert!(!matches!(find(from, at), Some(Found::This(Row { is_open: true, .. }))), "{address}");
            drop((near, listener));
            let gone = SocketAddr::new(at.ip(), 1);
            assert_eq!(find(gone, from), Some(Found::Nothing), "{address}");
        }
    }

    #[test]
    fn what_is_no_answer_is_none() {
        assert_eq!((read(&[]), read(&[0; 15]), read(&[0; 128])), (None, None, None));
        let refused =
            |code: i32| [&[36_u32, ERROR, 1, 7].map(u32::to_ne_bytes).concat()[..], &code.to_ne_bytes()].concat();
        assert_eq!((read(&refused(-2)), read(&refused(-13)), read(&refused(0))), (Some(Found::Nothing), None, None));
        let cut = [&[72_u32, BY_FAMILY, 1, 7].map(u32::to_ne_bytes).concat()[..], &[2, ESTABLISHED]].concat();
        assert_eq!(read(&cut), None);
    }
}
