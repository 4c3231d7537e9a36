//! Plays Terraform where there is none: asks the helper, then the bridge, for one module.
//! A home and the workload's token come in, one line a request goes out.
//! Speaks HTTP/1.0 to loopback only. `protocol-spec/helper-protocol.md` §8: the archive is asked for without the token.

use std::io::{Read, Write};
use std::net::TcpStream;

use credmint_vocabulary::{Failure, FailureKind, Secret};

use super::home::Home;
use super::registry::{DOWNLOAD, VERSIONS};
use super::{HOST, session};

struct Answer {
    status: u16,
    location: Option<String>,
    length: usize,
}

/// Fetches the module as Terraform does.
pub(crate) fn init(home: &Home, token: &Secret<String>, port: u16) -> Result<Vec<String>, Failure> {
    let session = session::ask_helper(home, token)?;
    let base = format!("/{HOST}");
    let mut lines = vec![format!("helper get {HOST}: a session token of {} characters", session.len())];
    fetch(port, &format!("{base}{VERSIONS}"), Some(&session), &mut lines)?;
    let download = fetch(port, &format!("{base}{DOWNLOAD}"), Some(&session), &mut lines)?;
    let archive = download.location.ok_or_else(|| failed("the answer names no archive"))?;
    let archive = path_of(&archive, port).ok_or_else(|| failed("the archive is not on the bridge"))?;
    let answer = fetch(port, &archive, None, &mut lines)?;
    lines.push(format!("archive of {} bytes", answer.length));
    Ok(lines)
}

fn fetch(port: u16, path: &str, session: Option<&Secret<String>>, lines: &mut Vec<String>) -> Result<Answer, Failure> {
    let answer = get(port, path, session).map_err(|error| failed(&error.to_string()))?;
    let shown = if session.is_some() { path } else { "(the capability URL of the archive)" };
    lines.push(format!("GET {shown}: {}", answer.status));
    if answer.status >= 300 { Err(failed(&format!("the bridge answered {}", answer.status))) } else { Ok(answer) }
}

#[expect(clippy::disallowed_methods, reason = "plays Terraform's part towards the bridge on loopback")]
fn get(port: u16, path: &str, session: Option<&Secret<String>>) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n")?;
    if let Some(session) = session {
        write!(stream, "Authorization: Bearer {}\r\n", session.expose())?;
    }
    stream.write_all(b"\r\n")?;
    let mut bytes = Vec::new();
    stream.take(1 << 20).read_to_end(&mut bytes)?;
    read(&bytes).ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}

fn read(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(bytes.get(..end)?).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("x-terraform-get").then(|| value.trim().to_owned())
    };
    Some(Answer { status, location: head.lines().find_map(header), length: bytes.len() - end - 4 })
}

/// Gives the path on the bridge of an absolute or relative URL.
fn path_of(location: &str, port: u16) -> Option<String> {
    let hosts = [format!("http://127.0.0.1:{port}"), format!("http://localhost:{port}")];
    let path = hosts.iter().find_map(|host| location.strip_prefix(host.as_str())).unwrap_or(location);
    path.starts_with('/').then(|| path.to_owned())
}

fn failed(why: &str) -> Failure {
    Failure::new(FailureKind::Unreachable, format!("the played client: {why}")).hint("credmint demo --keep")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_locations_are_read_as_terraform_does() {
        let answer = read(b"HTTP/1.0 204 No Content\r\nX-Terraform-Get: /a.zip\r\n\r\n").expect("an answer");
        assert_eq!((answer.status, answer.location.as_deref(), answer.length), (204, Some("/a.zip"), 0));
        assert_eq!(path_of("http://127.0.0.1:7/c/a.zip", 7).as_deref(), Some("/c/a.zip"));
        assert_eq!(path_of("https://elsewhere/a.zip", 7), None);
    }
}
