//! A peer: a real server that a test starts on loopback, and that ends with the test.
//!
//! A command comes in, a running child with a log and a directory of its own goes out. It is told apart from strangers by
//! the kernel: before the first write the kit asks whether the listener is this very child.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::processes;

/// A server that the test started.
pub struct Peer {
    name: String,
    child: Child,
    directory: TempDir,
}

/// Makes a private directory for a peer.
pub fn directory() -> TempDir {
    tempfile::Builder::new().prefix("peer-").tempdir().expect("a directory below TMPDIR")
}

/// Says where `tests/peers/setup` installs, in the repository whose test runs.
pub fn installed(path: &str) -> PathBuf {
    let file = repository().join("target/peers").join(path);
    file.canonicalize().unwrap_or_else(|_| panic!("target/peers/{path} is not there; run tests/peers/setup"))
}

/// Cargo tells a test at run time where its package lies; what was so when the kit was compiled may be another checkout.
pub(crate) fn repository() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let above = Path::new(&package).ancestors().find(|path| path.join("tests/peers/setup").is_file());
    above.expect("a repository with tests/peers/setup").to_owned()
}

impl Peer {
    /// Starts a server in its own directory with an empty environment, but for PATH, HOME and what the command sets.
    pub fn start(name: &str, directory: TempDir, command: &mut Command) -> Self {
        let log = File::create(directory.path().join("log")).expect("a log");
        let set: Vec<_> =
            command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
        command.env_clear();
        for (name, value) in set {
            command.env(name, value.unwrap_or_default());
        }
        command.env("PATH", search_path()).env("HOME", directory.path());
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("the log twice")).stderr(log);
        let child = command.spawn().unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        Self { name: name.to_owned(), child, directory }
    }

    /// Gives its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Gives its directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Reads what it printed so far.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Says whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits until something can be read off the peer; `None` if it ends before.
    pub fn wait_until<T>(&mut self, mut ready: impl FnMut(&Self) -> Option<T>) -> Option<T> {
        let start = Instant::now();
        loop {
            if let Some(found) = ready(self) {
                return Some(found);
            }
            if self.has_ended() {
                return None;
            }
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "{} is not ready after a minute:\n{}",
                self.name,
                self.log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until this very child listens on the port; `false` if it ended instead, for example because a stranger has it.
    pub fn wait_for_listener(&mut self, port: u16) -> bool {
        self.wait_until(|peer| processes::listens(peer.pid(), port).then_some(())).is_some()
    }

    /// Panics with the end of the log.
    pub fn fail(&self, what: &str) -> ! {
        panic!("{}: {what}\n{}", self.name, self.log())
    }

    /// Ends the server, as far as it still runs.
    pub fn stop(&mut self) {
        if !self.has_ended() {
            processes::signal(self.pid(), rustix::process::Signal::TERM);
            let start = Instant::now();
            while !self.has_ended() && start.elapsed() < Duration::from_secs(2) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Gives the caller's search path, with the directories where Debian keeps servers.
pub fn search_path() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/sbin:/sbin")
}
