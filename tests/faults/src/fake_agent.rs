//! A fake agent on the socket of a home: one that hangs, dies, talks nonsense or another version of the protocol.
//!
//! What it does with each connection comes in; how many came goes out. The real agent cannot be made to do any of this.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use credmint_test_kit::Home;

/// What the fake does when somebody has sent a request.
#[derive(Debug, Clone)]
pub enum Act {
    /// Answers with this object in a frame.
    Reply(String),
    /// Sends bytes that are no frame.
    Bytes(Vec<u8>),
    /// Closes at once.
    Close,
    /// Says nothing and holds the connection.
    Hang,
}

/// A listener on the agent's socket, in this very process, so that its user number is right.
pub struct FakeAgent {
    path: PathBuf,
    count: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl FakeAgent {
    /// Listens where the helpers of this home look for the agent.
    #[must_use]
    pub fn of(home: &Home, act: Act) -> Self {
        let directory = home.runtime_directory().join("credmint");
        private_directory(&directory);
        Self::at(&directory.join("agent.sock"), act)
    }

    /// Listens at a path.
    #[must_use]
    pub fn at(path: &Path, act: Act) -> Self {
        let listener = UnixListener::bind(path).expect("a socket");
        let (count, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, log, end) = (Arc::clone(&count), Arc::clone(&requests), Arc::clone(&over));
        let serve = move || {
            for stream in listener.incoming().flatten() {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                seen.fetch_add(1, Ordering::SeqCst);
                let (act, log, end) = (act.clone(), Arc::clone(&log), Arc::clone(&end));
                thread::spawn(move || drop(visit(stream, &act, &log, &end)));
            }
        };
        Self { path: path.to_owned(), count, requests, over, listener: Some(thread::spawn(serve)) }
    }

    /// Counts the connections so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Gives the requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("the requests").clone()
    }
}

impl Drop for FakeAgent {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        drop(UnixStream::connect(&self.path));
        if let Some(listener) = self.listener.take() {
            drop(listener.join());
        }
        drop(std::fs::remove_file(&self.path));
    }
}

fn visit(mut stream: UnixStream, act: &Act, log: &Mutex<Vec<String>>, over: &AtomicBool) -> std::io::Result<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut json = vec![0; u32::from_be_bytes(length).min(1 << 20) as usize];
    stream.read_exact(&mut json)?;
    log.lock().expect("the requests").push(String::from_utf8_lossy(&json).into_owned());
    match act {
        Act::Reply(text) => {
            let length = u32::try_from(text.len()).expect("a short text").to_be_bytes();
            stream.write_all(&[&length, text.as_bytes()].concat())
        }
        Act::Bytes(bytes) => stream.write_all(bytes),
        Act::Close => Ok(()),
        Act::Hang => {
            for _ in 0..600 {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                thread::sleep(Duration::from_millis(50));
            }
            Ok(())
        }
    }
}

/// Makes a directory with mode 0700.
pub fn private_directory(path: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).expect("a private directory");
}
