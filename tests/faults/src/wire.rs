//! A fake server that speaks plain http byte for byte: it fakes ending, resetting, lying and sending ahead at an exact place in a
//! connection, which no real server can be made to do.
//!
//! What to do with a connection comes in; how many connections came goes out. It listens on a free port of 127.0.0.1.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The server; it lives as long as the test.
pub struct Wire {
    port: u16,
    connections: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
}

/// One connection to it.
pub struct Visitor {
    /// Where to write to.
    pub stream: TcpStream,
    /// Counts connections from 0.
    pub number: usize,
    reader: BufReader<TcpStream>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Wire {
    /// Starts it.
    pub fn start(visit: impl Fn(Visitor) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let port = listener.local_addr().expect("its address").port();
        let (connections, heads) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (count, log, visit) = (Arc::clone(&connections), Arc::clone(&heads), Arc::new(visit));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (number, visit) = (count.fetch_add(1, Ordering::SeqCst), Arc::clone(&visit));
                let reader = BufReader::new(stream.try_clone().expect("the same connection"));
                let visitor = Visitor { stream, number, reader, heads: Arc::clone(&log) };
                thread::spawn(move || visit(visitor));
            }
        });
        Self { port, connections, heads }
    }

    /// Gives its address.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Counts the connections so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Gives the heads of the requests so far.
    #[must_use]
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("the heads").clone()
    }
}

impl Visitor {
    /// Reads the next head; `None` when the client closed.
    pub fn head(&mut self) -> Option<String> {
        let mut head = String::new();
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        self.heads.lock().expect("the heads").push(head.clone());
        Some(head)
    }

    /// Ends the connection with a reset (RFC 9293 §3.10.7.4), as a server does whose process is gone.
    pub fn reset(self) {
        rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO)).expect("a socket option");
    }
}
