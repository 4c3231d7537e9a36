//! A request as it arrived at one of the kit's own servers: HTTP/1.1 (RFC 9112) with a body of a stated length, and no more.
//!
//! A connection comes in, a request goes out; a status and a JSON document are answered. Touches that connection alone.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// A request, with header names in lower case.
pub struct Arrived {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Header fields.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Arrived {
    /// Reads one.
    ///
    /// # Errors
    /// When the connection ends before it is whole.
    pub fn read(stream: &TcpStream) -> std::io::Result<Self> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace().map(ToOwned::to_owned);
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(Self { method, target, headers, body })
    }

    /// Gives a header field; empty if there is none.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// Answers with a JSON document, and with nothing after it.
///
/// # Errors
/// When the connection ends before it is written.
pub fn answer_json(mut stream: &TcpStream, status: &str, body: &Value) -> std::io::Result<()> {
    let body = body.to_string();
    let head = "Content-Type: application/json\r\nConnection: close";
    write!(stream, "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}
