//! Recognisable secrets and free ports.
//!
//! Nothing comes in; random text and port numbers go out. Reads the kernel's random source and binds loopback, no more.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};

/// Makes a random secret of 128 bits that begins with a word by which a person recognises it.
pub fn secret(word: &str) -> String {
    let mut bytes = [0_u8; 16];
    fill(&mut bytes);
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{word}-{digits}")
}

/// Finds a port that is free on both loopback families at this moment; the server that gets it is checked afterwards. It
/// lies below the ports that the kernel gives to outgoing connections, one of which could take it before the server does.
pub fn free_port() -> u16 {
    let is_free = |port: &u16| {
        let families = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        // A machine without IPv6 has the other family alone.
        families.iter().all(|&family| match TcpListener::bind((family, *port)) {
            Ok(_) => true,
            Err(error) => family.is_ipv6() && error.kind() != ErrorKind::AddrInUse,
        })
    };
    (0..100).map(|_| 10_000 + random_number() % 10_000).find(is_free).expect("a free port")
}

fn random_number() -> u16 {
    let mut bytes = [0_u8; 2];
    fill(&mut bytes);
    u16::from_le_bytes(bytes)
}

fn fill(bytes: &mut [u8]) {
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(bytes)).expect("/dev/urandom");
}
