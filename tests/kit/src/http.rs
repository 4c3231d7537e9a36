//! A small client for the peers: plain TCP for loopback http, the program `curl` for https.
//!
//! A request comes in, an [`Answer`] goes out. It follows no redirect, knows no proxy, and keeps secrets out of argv by
//! handing them to `curl` on stdin. It exists so that the tree needs no second TLS stack. (RFC 9112.)

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A request that is being put together.
#[derive(Clone)]
pub struct Request {
    method: String,
    url: String,
    host: Option<String>,
    headers: Vec<(String, String)>,
    body: String,
    ca: Option<PathBuf>,
    options: Vec<String>,
}

/// What a peer answered.
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The whole head, status line included.
    pub head: String,
    /// The body as text.
    pub body: String,
}

impl Answer {
    /// Reads the body as JSON; an empty one is null.
    pub fn json(&self) -> serde_json::Value {
        if self.body.trim().is_empty() {
            return serde_json::Value::Null;
        }
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.body))
    }
}

impl Request {
    /// Begins a request; the URL is absolute.
    pub fn new(method: &str, url: &str) -> Self {
        Self {
            method: method.to_owned(),
            url: url.to_owned(),
            host: None,
            headers: Vec::new(),
            body: String::new(),
            ca: None,
            options: Vec::new(),
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Claims another host in a request over http, as a web page does that has a name lead to loopback.
    #[must_use]
    pub fn as_host(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the body to a form (RFC 6749 appendix B).
    #[must_use]
    pub fn form(self, fields: &[(&str, &str)]) -> Self {
        let pairs: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", percent(value))).collect();
        self.header("Content-Type", "application/x-www-form-urlencoded").body(pairs.join("&"))
    }

    /// Trusts only the authorities of this file for https.
    #[must_use]
    pub fn trusting(mut self, ca: &Path) -> Self {
        self.ca = Some(ca.to_owned());
        self
    }

    /// Gives `curl` one more option for https, for example `cert` with a file.
    #[must_use]
    pub fn option(mut self, name: &str, value: &str) -> Self {
        self.options.push(format!("{name} = {}", quoted(value)));
        self
    }

    /// Sends it and panics if there is no answer.
    pub fn send(self) -> Answer {
        let url = self.url.clone();
        self.try_send().unwrap_or_else(|error| panic!("no answer from {url}: {error}"))
    }

    /// Sends it.
    pub fn try_send(self) -> Result<Answer, String> {
        if self.url.starts_with("https:") { self.by_curl() } else { self.by_tcp().map_err(|error| error.to_string()) }
    }

    fn by_tcp(self) -> std::io::Result<Answer> {
        let rest = self.url.strip_prefix("http://").expect("an http URL");
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut stream = TcpStream::connect(authority)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let host = self.host.as_deref().unwrap_or(authority);
        let mut head = format!("{} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n", self.method);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", self.body.len()));
        stream.write_all(head.as_bytes())?;
        stream.write_all(self.body.as_bytes())?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        parse(&bytes).ok_or_else(|| std::io::Error::other("the answer is not HTTP"))
    }

    fn by_curl(self) -> Result<Answer, String> {
        let mut script = format!("url = {}\nrequest = {}\n", quoted(&self.url), quoted(&self.method));
        for (name, value) in &self.headers {
            script.push_str(&format!("header = {}\n", quoted(&format!("{name}: {value}"))));
        }
        if !self.body.is_empty() {
            script.push_str(&format!("data-binary = {}\n", quoted(&self.body)));
        }
        if let Some(ca) = &self.ca {
            script.push_str(&format!("cacert = {}\n", quoted(&ca.display().to_string())));
        }
        if self.method == "HEAD" {
            script.push_str("head\n");
        }
        script.push_str(&self.options.join("\n"));
        let output = curl(&script);
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        parse(&output.stdout).ok_or_else(|| "the answer is not HTTP".to_owned())
    }
}

fn curl(script: &str) -> std::process::Output {
    let arguments =
        ["--disable", "--silent", "--show-error", "--include", "--noproxy", "*", "--max-time", "30", "--config", "-"];
    let mut child = Command::new("curl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program curl");
    child.stdin.take().expect("its stdin").write_all(script.as_bytes()).expect("curl reads its configuration");
    child.wait_with_output().expect("curl ends")
}

/// Quotes a value for a configuration file of `curl`.
fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', "\\r");
    format!("\"{escaped}\"")
}

/// Percent-encodes everything but the unreserved characters of RFC 3986.
pub fn percent(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(byte)),
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked") && head.starts_with("HTTP/1.1");
    let raw = &bytes[end + 4..];
    // curl has taken the chunks apart already.
    let body = if chunked { unchunk(raw).unwrap_or_else(|| raw.to_vec()) } else { raw.to_vec() };
    Some(Answer { status, head, body: String::from_utf8_lossy(&body).into_owned() })
}

fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|two| two == b"\r\n")?;
        let size =
            usize::from_str_radix(std::str::from_utf8(&rest[..line]).ok()?.split(';').next()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(line + 2..line + 2 + size)?);
        rest = rest.get(line + 4 + size..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, percent};

    #[test]
    fn a_chunked_answer_is_put_together() {
        let answer =
            parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (200, "abcde"));
    }

    #[test]
    fn reserved_characters_are_percent_encoded() {
        assert_eq!(percent("a:b/c d~"), "a%3Ab%2Fc%20d~");
    }
}
