//! Stands in at the port of a run whose agent has gone: nobody else gets the port, and the next request says what happened.
//! A port comes in; each request is answered with the same reason phrase.
//! Reads no further than the head of a request, and keeps nothing of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Listens on both loopback families until the process ends.
pub(crate) fn serve(port: u16) {
    let addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from((Ipv6Addr::LOCALHOST, port))];
    for listener in addresses.into_iter().filter_map(bind) {
        thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(&stream)));
    }
}

/// The agent that goes may hold its listener for a moment.
fn bind(address: SocketAddr) -> Option<TcpListener> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Ok(listener) = TcpListener::bind(address) {
            return Some(listener);
        }
        thread::sleep(Duration::from_millis(10));
    }
    None
}

fn answer(stream: &TcpStream) {
    drop(stream.set_read_timeout(Some(PATIENCE)));
    let mut head = BufReader::new(stream.take(LONGEST_HEAD));
    let mut line = String::new();
    while head.read_line(&mut line).is_ok_and(|count| count > 2) {
        line.clear();
    }
    let mut stream = stream;
    // Who has gone away needs no answer.
    drop(stream.write_all(ANSWER.as_bytes()));
}

const ANSWER: &str = "HTTP/1.1 502 the credmint agent ended during this run; hint: run the command again\r\n\
                      Connection: close\r\nContent-Length: 0\r\n\r\n";
const PATIENCE: Duration = Duration::from_secs(1);
const LONGEST_HEAD: u64 = 64 * 1024;
