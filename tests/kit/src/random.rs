//! Recognisable secrets and free ports.
//!
//! Nothing comes in; random text and port numbers go out. Reads the kernel's random source and binds loopback, no more.

use std::fs::File;
use std::io::Read;
use std::net::TcpListener;

/// Makes a random secret of 128 bits that begins with a word by which a person recognises it.
pub fn secret(word: &str) -> String {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes)).expect("/dev/urandom");
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{word}-{digits}")
}

/// Finds a port of loopback that nobody listens on at this moment; the server that gets it is checked afterwards.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
    listener.local_addr().expect("its address").port()
}
