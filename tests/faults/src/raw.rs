//! Bytes over loopback, for what no well-behaved client sends.
//!
//! A port and bytes come in, whatever came back goes out as text. Touches loopback only.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub use credmint_test_kit::random::free_port;

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code; 0 when it was no HTTP.
    pub status: u16,
    /// The status line and the header fields.
    pub head: String,
    /// What came after them.
    pub body: Vec<u8>,
}

/// Sends bytes to a port of 127.0.0.1 and reads until the server closes or has been silent for 12 seconds.
#[must_use]
pub fn send(port: u16, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a listener");
    stream.set_read_timeout(Some(Duration::from_secs(12))).expect("a time limit");
    // A server may answer and close before it has read everything.
    let _ = stream.write_all(bytes);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(all.len());
    let head = String::from_utf8_lossy(&all[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    Answer { status, head, body: all.get(end + 4..).unwrap_or_default().to_vec() }
}

/// Sends one request with these header fields; `Host` names the port unless it is among them.
#[must_use]
pub fn request(port: u16, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        text.push_str(&format!("Host: 127.0.0.1:{port}\r\n"));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    send(port, format!("{text}\r\n").as_bytes())
}

impl Answer {
    /// Gives a header field's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        fields.filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }

    /// Gives the status line.
    #[must_use]
    pub fn status_line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }
}
