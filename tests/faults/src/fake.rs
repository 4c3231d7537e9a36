//! A fake HTTP/1.1 server: it fakes being slow, silent, lying, talkative or broken, which no real peer can be made to be.
//!
//! A script comes in that says how to act on each request; the requests it got go out. It listens on a free port of
//! 127.0.0.1, speaks plain http, takes one request a connection, and knows nothing of what it is asked for.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// All header fields as they were written.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

/// What to do about a request.
#[derive(Debug, Clone)]
pub enum Act {
    /// Answers with a status, header fields and a body; length and type are added.
    Answer(u16, Vec<(String, String)>, Vec<u8>),
    /// Sends bytes as they are, then closes.
    Bytes(Vec<u8>),
    /// Says nothing and holds the connection.
    Silence,
    /// Waits, then acts.
    Later(Duration, Box<Self>),
}

type Script = Box<dyn FnMut(&Received) -> Act + Send>;

/// A server that acts as told.
pub struct Fake {
    port: u16,
    script: Arc<Mutex<Script>>,
    received: Arc<Mutex<Vec<Received>>>,
    over: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Fake {
    /// Starts one with a script.
    pub fn start(script: impl FnMut(&Received) -> Act + Send + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").expect("a loopback port"), script)
    }

    /// Starts one on a listener that is there.
    pub fn on(listener: TcpListener, script: impl FnMut(&Received) -> Act + Send + 'static) -> Self {
        let port = listener.local_addr().expect("its address").port();
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(Box::new(script)));
        let received = Arc::new(Mutex::new(Vec::new()));
        let over = Arc::new(AtomicBool::new(false));
        let (acts, log, end) = (Arc::clone(&script), Arc::clone(&received), Arc::clone(&over));
        let serve = move || {
            for stream in listener.incoming().flatten() {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                let (acts, log, end) = (Arc::clone(&acts), Arc::clone(&log), Arc::clone(&end));
                // A client that goes away is its own business.
                thread::spawn(move || drop(visit(stream, &acts, &log, &end)));
            }
        };
        Self { port, script, received, over, listener: Some(thread::spawn(serve)) }
    }

    /// Starts one that answers every request with this.
    pub fn always(act: Act) -> Self {
        Self::start(move |_| act.clone())
    }

    /// Acts by another script from now on.
    pub fn then(&self, script: impl FnMut(&Received) -> Act + Send + 'static) {
        *self.script.lock().expect("the script") = Box::new(script);
    }

    /// Gives its address.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Gives its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Gives what it was asked so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().expect("the requests").clone()
    }

    /// Counts the requests whose path ends in this.
    #[must_use]
    pub fn count(&self, end: &str) -> usize {
        self.received().iter().filter(|received| received.path.ends_with(end)).count()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        if let Some(listener) = self.listener.take() {
            drop(listener.join());
        }
    }
}

impl Act {
    /// Answers with JSON.
    #[must_use]
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::Answer(status, vec![("Content-Type".into(), "application/json".into())], body.to_string().into_bytes())
    }

    /// Answers with a status and one header field.
    #[must_use]
    pub fn status(status: u16, name: &str, value: &str) -> Self {
        Self::Answer(status, vec![(name.into(), value.into())], Vec::new())
    }

    /// Adds a header field to an answer.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        if let Self::Answer(_, headers, _) = &mut self {
            headers.push((name.into(), value.into()));
        }
        self
    }

    fn perform(self, stream: &mut TcpStream, over: &AtomicBool) -> std::io::Result<()> {
        match self {
            Self::Answer(status, headers, body) => {
                let mut head = format!("HTTP/1.1 {status} Whatever\r\nConnection: close\r\n");
                headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
                if status != 204 {
                    head.push_str(&format!("Content-Length: {}\r\n", body.len()));
                }
                stream.write_all(&[head.as_bytes(), b"\r\n", &body].concat())
            }
            Self::Bytes(bytes) => stream.write_all(&bytes),
            Self::Silence => {
                for _ in 0..600 {
                    if over.load(Ordering::SeqCst) {
                        break;
                    }
                    thread::sleep(Duration::from_millis(50));
                }
                Ok(())
            }
            Self::Later(after, act) => {
                thread::sleep(after);
                act.perform(stream, over)
            }
        }
    }
}

fn visit(
    mut stream: TcpStream,
    script: &Mutex<Script>,
    log: &Mutex<Vec<Received>>,
    over: &AtomicBool,
) -> std::io::Result<()> {
    let request = read(&mut BufReader::new(stream.try_clone()?))?;
    log.lock().expect("the requests").push(request.clone());
    let act = (script.lock().expect("the script"))(&request);
    act.perform(&mut stream, over)
}

fn read(reader: &mut impl BufRead) -> std::io::Result<Received> {
    let (mut first, mut head, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut words = first.split(' ').map(ToOwned::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    Ok(Received { method, path, head, body })
}
