//! An HTTP proxy as companies have them: it makes tunnels (CONNECT), and may demand that a client proves itself.
//!
//! A port comes in where every tunnel ends, whatever name was asked for; the lines that asked go out. Looks into no tunnel.
//! A fake, because a real proxy would dial names that are nobody's here. (RFC 9110 section 9.3.6, 15.5.8.)

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::encoding;

/// A proxy that runs until the test ends.
pub struct Proxy {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

/// For whom there is a tunnel, and where it ends.
#[derive(Clone)]
struct Way {
    leads_to: Option<u16>,
    /// What has to be proved, as the field has it.
    proof: Option<String>,
}

impl Proxy {
    /// Starts one whose tunnels all end at this port of loopback.
    pub fn start(leads_to: u16) -> Self {
        Self::run(Way { leads_to: Some(leads_to), proof: None })
    }

    /// Starts one whose tunnels are for whoever has this name and password, `name:password`.
    pub fn for_whom_knows(password: &str, leads_to: u16) -> Self {
        let proof = format!("Basic {}", encoding::base64(password.as_bytes()));
        Self::run(Way { leads_to: Some(leads_to), proof: Some(proof) })
    }

    /// Starts one that makes no tunnel for anybody who does not prove who they are.
    pub fn that_wants_a_password() -> Self {
        Self::run(Way { leads_to: None, proof: None })
    }

    fn run(way: Way) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let proxy = Self { port: listener.local_addr().expect("bound").port(), asked: Arc::default() };
        let asked = Arc::clone(&proxy.asked);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (asked, way) = (Arc::clone(&asked), way.clone());
                std::thread::spawn(move || serve(client, &way, &asked));
            }
        });
        proxy
    }

    /// Gives its address, as settings have it.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Lists the first lines of the requests that it got.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

fn serve(mut client: TcpStream, way: &Way, asked: &Mutex<Vec<String>>) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let line = head.lines().next().unwrap_or_default().to_owned();
    asked.lock().expect("no panic").push(line);
    let field = |line: &str| line.to_ascii_lowercase().starts_with("proxy-authorization: ");
    let shown = head.lines().find(|line| field(line)).and_then(|line| line.split_once(": "));
    let is_proved = way.proof.as_deref().is_none_or(|proof| shown.is_some_and(|(_, value)| value == proof));
    let Some(port) = way.leads_to.filter(|_| is_proved) else {
        let no = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"corp\"\r\nContent-Length: 0\r\n\r\n";
        return client.write_all(no.as_bytes()).ok();
    };
    let server = TcpStream::connect(("127.0.0.1", port)).ok()?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").ok()?;
    let (there, back) = (client.try_clone().ok()?, server.try_clone().ok()?);
    let up = std::thread::spawn(move || pass(there, server));
    pass(back, client);
    up.join().ok()
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
