//! What stands behind nginx: reads one request a connection and signs it, lets it wait, or refuses it.
//!
//! A connection on loopback comes in, an answer in the forms of RFC 7030 §4 goes out. Whoever reaches it by another way than
//! nginx could claim any certificate; it listens on loopback for the length of a test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::{Asked, Policy, State, lock, pkcs7};

/// Starts it; gives its port.
pub(super) fn start(state: Arc<Mutex<State>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its number").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            serve(stream, &state);
        }
    });
    port
}

/// What is sent back.
struct Said {
    status: u16,
    headers: String,
    body: String,
}

fn said(status: u16, headers: &str, body: impl Into<String>) -> Said {
    Said { status, headers: headers.to_owned(), body: body.into() }
}

fn serve(stream: TcpStream, state: &Mutex<State>) {
    let mut stream = BufReader::new(stream);
    let Some((mut asked, verified)) = read(&mut stream) else { return };
    let said = answer(&asked, verified, &lock(state));
    asked.status = said.status;
    lock(state).asked.push(asked);
    let Said { status, headers, body } = said;
    let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    // The client may have gone away.
    drop(stream.get_mut().write_all(format!("{head}{body}").as_bytes()));
}

fn read(stream: &mut BufReader<TcpStream>) -> Option<(Asked, bool)> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split_whitespace().nth(1)?.to_owned();
    let (mut asked, mut verified, mut length) = (Asked { path, ..Asked::default() }, false, 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => value.clone_into(&mut asked.authorization),
            "x-client-verify" => verified = value == "SUCCESS",
            "x-client-subject" => value.clone_into(&mut asked.certificate),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    asked.body = String::from_utf8(body).ok()?;
    Some((asked, verified))
}

fn answer(asked: &Asked, verified: bool, state: &State) -> Said {
    let believed = state.bearer.contains(&asked.authorization);
    match asked.path.rsplit('/').next() {
        Some("cacerts") => {
            let both = format!("{}{}", state.root.certificate(), state.below.certificate());
            said(200, PKCS7, pkcs7(&both))
        }
        Some("simpleenroll") if !believed && !verified => {
            said(401, "WWW-Authenticate: Bearer\r\nContent-Type: text/plain\r\n", "this token is not known here")
        }
        Some("simplereenroll") if !verified || !state.renews => {
            said(403, "Content-Type: text/plain\r\n", "this certificate may not renew itself")
        }
        Some("simpleenroll" | "simplereenroll") => decided(asked, state),
        _ => said(404, "", ""),
    }
}

fn decided(asked: &Asked, state: &State) -> Said {
    match state.policy {
        Policy::Wait(seconds) => said(202, &format!("Retry-After: {seconds}\r\n"), ""),
        Policy::Refuse => said(403, "Content-Type: text/plain\r\n", "no certificates on Mondays"),
        Policy::Sign => {
            let request =
                format!("-----BEGIN CERTIFICATE REQUEST-----\n{}-----END CERTIFICATE REQUEST-----\n", asked.body);
            let leaf = state.below.sign_request(&request, -30, state.life + 30);
            said(200, PKCS7, pkcs7(&leaf))
        }
    }
}

const PKCS7: &str =
    "Content-Type: application/pkcs7-mime; smime-type=certs-only\r\nContent-Transfer-Encoding: base64\r\n";
