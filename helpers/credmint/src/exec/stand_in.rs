//! Stands in at the port of a run whose agent has gone: nobody else gets the port, and the next request says what happened.
//! A port comes in; each request is answered with the same reason phrase.
//! Reads no further than the head of a request, and keeps nothing of it.

use std::io::{Read, Write};
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
    read_head(stream);
    let mut stream = stream;
    // Who has gone away needs no answer.
    drop(stream.write_all(ANSWER.as_bytes()));
}

/// Reads to the end of a request's head, but from nobody for long, in however small pieces it comes: the next one waits.
fn read_head(mut stream: &TcpStream) {
    let (start, mut last, mut buffer) = (Instant::now(), Vec::new(), [0; 4096]);
    while let Some(left) = PATIENCE.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
        let read = stream.set_read_timeout(Some(left)).and_then(|()| stream.read(&mut buffer));
        let Ok(count @ 1..) = read else { return };
        last.extend_from_slice(buffer.get(..count).unwrap_or_default());
        if last.windows(END.len()).any(|part| part == END) {
            return;
        }
        last.drain(..last.len().saturating_sub(END.len() - 1));
    }
}

const ANSWER: &str = "HTTP/1.1 502 the credmint agent ended during this run; hint: run the command again\r\n\
                      Connection: close\r\nContent-Length: 0\r\n\r\n";
const PATIENCE: Duration = Duration::from_secs(1);
const END: &[u8] = b"\r\n\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_drips_is_answered_after_a_second_and_who_asks_at_once() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("binds");
        let address = listener.local_addr().expect("bound");
        let took = |whole: &'static str, pause: Duration| {
            let asking = thread::spawn(move || {
                #[expect(clippy::disallowed_methods, reason = "a test is its own client")]
                let mut stream = TcpStream::connect(address).expect("connects");
                for byte in whole.as_bytes().chunks(if pause.is_zero() { whole.len() } else { 1 }) {
                    drop(stream.write_all(byte));
                    thread::sleep(pause);
                }
            });
            let (stream, _) = listener.accept().expect("a client");
            let start = Instant::now();
            answer(&stream);
            let took = start.elapsed();
            drop(stream);
            asking.join().expect("ends");
            took
        };
        assert!(took("GET / HTTP/1.1\r\nHost: x\r\n\r\n", Duration::ZERO) < PATIENCE);
        let dripped = took("GET / HTTP/1.1\r\nHost: x.example\r\n", Duration::from_millis(60));
        assert!((PATIENCE..2 * PATIENCE).contains(&dripped), "{dripped:?}");
    }
}
