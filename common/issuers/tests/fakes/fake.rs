//! A server on loopback that answers what a test says, and keeps what it was asked.
//! One request a connection, HTTP/1.1, on a port of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What came in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// What goes out.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    status: u16,
    headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

pub(crate) fn said(status: u16, body: impl Into<String>) -> Said {
    Said { status, headers: Vec::new(), body: body.into() }
}

impl Said {
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// The server; it ends with the test.
pub(crate) struct Fake {
    pub(crate) address: String,
    pub(crate) seen: Arc<Mutex<Vec<Seen>>>,
    pub(crate) task: JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Fake {
    pub(crate) async fn start(answer: impl Fn(&Seen) -> Said + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), answer)
    }

    /// Serves on a listener of the test's.
    pub(crate) fn on(listener: TcpListener, answer: impl Fn(&Seen) -> Said + Send + Sync + 'static) -> Self {
        let address = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serve(stream, &kept, &answer).await;
            }
        });
        Self { address, seen, task }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.path).collect()
    }
}

/// Answers one request, and keeps it.
pub(crate) async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    kept: &Mutex<Vec<Seen>>,
    answer: &(impl Fn(&Seen) -> Said + Send + Sync),
) {
    let mut stream = BufReader::new(stream);
    let Some(seen) = read(&mut stream).await else { return };
    let said = answer(&seen);
    kept.lock().unwrap().push(seen);
    let mut text = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", said.status);
    for (name, value) in &said.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n{}", said.body.len(), said.body));
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut (impl AsyncBufRead + Unpin)) -> Option<Seen> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let mut seen = Seen { method: words.next()?, path: words.next()?, ..Seen::default() };
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        seen.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = seen.headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    seen.body = String::from_utf8(body).unwrap();
    Some(seen)
}
