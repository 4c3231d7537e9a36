//! An agent that says what it is told to: for the faults of an agent, which the real one cannot be made to have.
//! Its answer is the text of the file `reply` beside the socket; with `--once` that of `CREDMINT_CONFIG` + `.reply`.
//! Writes its requests, pid, environment and open files beside the socket, and answers until it is killed.
#![allow(
    clippy::expect_used,
    clippy::exit,
    clippy::disallowed_methods,
    reason = "part of the tests: it fails by panicking"
)]

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use credmint_agent_protocol::decode_length;
use credmint_local_machine::{Listening, detach, environment, listen, socket_path};

pub(crate) fn run() {
    if std::env::args().any(|argument| argument == "--once") {
        let base = PathBuf::from(environment::read("CREDMINT_CONFIG").expect("a settings file"));
        return serve(&mut Streams, &base.with_extension("once"), &base.with_extension("reply"));
    }
    let socket = socket_path().expect("a place");
    let folder = socket.parent().expect("a directory").to_owned();
    detach().expect("a session");
    if folder.join("refuse").exists() {
        std::process::exit(3);
    }
    std::thread::sleep(Duration::from_millis(50));
    let Listening::Ours(listener) = listen(&socket).expect("listens") else { return };
    describe(&folder);
    for stream in listener.incoming() {
        let mut stream = stream.expect("a caller");
        if fs::remove_file(folder.join("die")).is_ok() {
            return;
        }
        serve(&mut stream, &folder.join("requests"), &folder.join("reply"));
    }
}

/// Answers one request: each line of the reply is a frame, and a frame is awaited between two.
fn serve(stream: &mut (impl Read + Write), log: &Path, reply: &Path) {
    let reply = fs::read_to_string(reply).expect("a reply");
    for line in reply.lines() {
        note(log, &receive(stream));
        let length = u32::try_from(line.len()).expect("short").to_be_bytes();
        let frame = [&length, line.as_bytes()].concat();
        // The caller may be gone.
        stream.write_all(&frame).and_then(|()| stream.flush()).unwrap_or_default();
    }
}

fn receive(stream: &mut impl Read) -> Vec<u8> {
    let mut head = [0; 4];
    if stream.read_exact(&mut head).is_err() {
        return Vec::new();
    }
    let mut json = vec![0; decode_length(head).expect("a length")];
    stream.read_exact(&mut json).expect("a frame");
    json
}

fn note(log: &Path, bytes: &[u8]) {
    let mut file = fs::OpenOptions::new().append(true).create(true).open(log).expect("a log");
    file.write_all(&[bytes, b"\n"].concat()).expect("a line");
}

/// Writes down what the starting helper left in this process.
fn describe(folder: &Path) {
    let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
    fs::write(folder.join("environment"), names.join("\n")).expect("written");
    let files = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let targets: Vec<String> =
        files.filter_map(|file| fs::read_link(file.path()).ok()).map(|target| target.display().to_string()).collect();
    fs::write(folder.join("open"), targets.join("\n")).expect("written");
    let session = rustix::process::getsid(None).expect("a session") == rustix::process::getpid();
    let here = std::env::current_dir().expect("a directory");
    fs::write(folder.join("session"), format!("{session} {}", here.display())).expect("written");
    fs::write(folder.join("pid"), std::process::id().to_string()).expect("written");
}

/// Joins standard input and output.
struct Streams;

impl Read for Streams {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        std::io::stdin().read(buffer)
    }
}

impl Write for Streams {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        std::io::stdout().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stdout().flush()
    }
}
