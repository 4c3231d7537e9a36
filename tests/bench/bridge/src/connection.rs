//! A client that costs next to nothing: one connection, HTTP/1.1, bodies read and dropped.
//! A road comes in, answers go out.
//! The same code on every road, so that what differs is the road. Dials loopback only.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use crate::place::HOST;
use crate::roads::Road;

/// A connection that is kept.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    host: String,
    token: String,
    room: Vec<u8>,
}

/// An answer whose body is gone.
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) length: u64,
}

impl Connection {
    /// Connects.
    pub(crate) fn open(road: &Road) -> Self {
        let socket = TcpStream::connect(("127.0.0.1", road.port)).expect("a connection");
        socket.set_nodelay(true).expect("no delay");
        let stream: Box<dyn Stream> = match &road.tls {
            None => Box::new(socket),
            Some(tls) => {
                let name = ServerName::try_from(HOST).expect("a name");
                let session = ClientConnection::new(Arc::clone(tls), name).expect("a TLS session");
                Box::new(StreamOwned::new(session, ReadAhead(BufReader::with_capacity(ROOM, socket))))
            }
        };
        Self { stream, host: road.host.clone(), token: road.token.clone(), room: vec![0; ROOM] }
    }

    /// Asks for a path and reads all of the answer.
    pub(crate) fn get(&mut self, path: &str) -> Answer {
        let (head, mut got) = self.begin(path);
        let length = field(&head, "content-length").map_or(0, |value| value.parse().expect("a length"));
        while got < length {
            got += self.read();
        }
        Answer { head, length }
    }

    /// Asks for a path and reads the head; tells how much of the body came with it.
    pub(crate) fn begin(&mut self, path: &str) -> (String, u64) {
        let (host, token) = (&self.host, &self.token);
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
        self.stream.write_all(request.as_bytes()).and_then(|()| self.stream.flush()).expect("a request");
        let mut head = Vec::new();
        loop {
            let count = usize::try_from(self.read()).expect("a size");
            head.extend_from_slice(self.room.get(..count).unwrap_or_default());
            let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let body = head.len() - end - 4;
            head.truncate(end);
            let head = String::from_utf8(head).expect("text");
            assert!(head.starts_with("HTTP/1.1 2"), "{path}: {head}");
            return (head, body as u64);
        }
    }

    /// Reads some of a body and drops it.
    pub(crate) fn read(&mut self) -> u64 {
        let count = self.stream.read(&mut self.room).expect("bytes");
        assert!(count > 0, "the connection ended");
        count as u64
    }
}

/// Finds a field of a head; names are in lower case here.
pub(crate) fn field(head: &str, name: &str) -> Option<String> {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let found = fields.into_iter().find(|(own, _)| own.eq_ignore_ascii_case(name))?;
    Some(found.1.trim().to_owned())
}

/// Reads and writes.
trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// Reads much at once, as curl does; rustls alone asks for 4 KiB at a time.
struct ReadAhead(BufReader<TcpStream>);

impl Read for ReadAhead {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(room)
    }
}

impl Write for ReadAhead {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.get_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.get_mut().flush()
    }
}

const ROOM: usize = 64 * 1024;
