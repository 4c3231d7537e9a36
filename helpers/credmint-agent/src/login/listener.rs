//! Where the browser comes back to: one port on loopback, for the length of one sign-in.
//! Ports come in, the query of each callback of the browser that began goes out with a way to answer it.
//! Judges nothing but the form of a request: whether a callback is the right one is said by who waits for it.

use std::cell::RefCell;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use credmint_local_machine::is_another_users;
use credmint_vocabulary::{Failure, FailureKind};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use url::Url;
use zeroize::Zeroizing;

use super::begin::{Begin, Redirection};
use super::pages::Page;
use crate::loopback;

/// Listens until it is dropped; then nothing is left but the page that is just being shown.
pub(crate) struct Redirect {
    door: Rc<Door>,
    arrivals: mpsc::Receiver<Arrival>,
    accepting: Vec<AbortHandle>,
    _open: watch::Sender<()>,
}

/// What a browser does.
pub(crate) enum Arrival {
    /// Comes back to the callback's path.
    Callback {
        /// What stands behind the question mark; it may hold an authorization code.
        query: Zeroizing<String>,
        /// Takes the page that the browser is to show.
        answer: oneshot::Sender<Page>,
    },
    /// Opens the address of the beginning, and is not the first to do so.
    BegunTwice,
}

impl Redirect {
    /// Listens on the first of these ports that is free, on both loopback families; 0, or none named, means any port.
    pub(crate) async fn listen(ports: &[u16], path: &str) -> Result<Self, Failure> {
        let mut taken = Vec::new();
        for port in tried(ports) {
            match loopback::bind(port).await {
                Ok(bound) => return Ok(Self::on(bound, path)),
                Err((_, error)) if port == 0 && loopback::is_taken(&error) => {}
                Err((address, error)) if loopback::is_taken(&error) => taken.push(address),
                Err((address, error)) => return Err(unable(&format!("{address}: {error}"))),
            }
        }
        Err(all_taken(&taken))
    }

    fn on(bound: Vec<(SocketAddr, TcpListener)>, path: &str) -> Self {
        let (sender, arrivals) = mpsc::channel(MOST_WAITING);
        let (open, closed) = watch::channel(());
        let port = bound.first().map_or(0, |(address, _)| address.port());
        let door = Rc::new(Door { port, path: path.to_owned(), purpose: RefCell::default(), arrivals: sender, closed });
        let limit = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let accept = |(_, listener)| {
            tokio::task::spawn_local(accept(Rc::clone(&door), listener, Arc::clone(&limit))).abort_handle()
        };
        let accepting = bound.into_iter().map(accept).collect();
        Self { door, arrivals, accepting, _open: open }
    }

    /// Gives the address for the issuer; `host` is the name that is registered there.
    pub(crate) fn address(&self, host: &str) -> String {
        address(host, self.door.port, &self.door.path)
    }

    /// Gives an address of ours that leads the first browser that opens it to the issuer; only that one may come back.
    pub(crate) fn begin(&self, host: &str, issuer: &Url) -> Result<String, Failure> {
        let begin = Begin::new(issuer)?;
        let address = format!("{}{}", origin(host, self.door.port), *begin.path());
        self.door.purpose.replace(Purpose::Leads(Rc::new(begin)));
        Ok(address)
    }

    /// Has the browser that comes back show that its address is to be pasted.
    pub(crate) fn shows_what_to_paste(&self) {
        self.door.purpose.replace(Purpose::Pasted);
    }

    /// Waits for the next callback.
    pub(crate) async fn arrival(&mut self) -> Option<Arrival> {
        self.arrivals.recv().await
    }
}

impl Drop for Redirect {
    fn drop(&mut self) {
        self.accepting.iter().for_each(AbortHandle::abort);
    }
}

/// Gives the redirect URI of a port (RFC 8252 §7.3).
pub(crate) fn address(host: &str, port: u16, path: &str) -> String {
    format!("{}{path}", origin(host, port))
}

/// Gives the ports that are tried, in order. Of any port the other family may have just the same one taken: it is tried again.
fn tried(ports: &[u16]) -> Vec<u16> {
    let ports = if ports.is_empty() { &[0] } else { ports };
    let times = |port: u16| if port == 0 { TRIES_OF_ANY_PORT } else { 1 };
    ports.iter().flat_map(|port| std::iter::repeat_n(*port, times(*port))).collect()
}

fn origin(host: &str, port: u16) -> String {
    let host = match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.to_owned(),
    };
    format!("http://{host}:{port}")
}

/// Says what is done with who comes.
#[derive(Default)]
enum Purpose {
    /// Nothing yet.
    #[default]
    Opens,
    /// One browser is led to the issuer, and awaited.
    Leads(Rc<Begin>),
    /// The address that a browser ends at is pasted by the person.
    Pasted,
}

/// What every connection knows.
struct Door {
    port: u16,
    path: String,
    purpose: RefCell<Purpose>,
    arrivals: mpsc::Sender<Arrival>,
    closed: watch::Receiver<()>,
}

/// Accepts no more at once than a browser needs: another user of the machine cannot use up our file descriptors.
async fn accept(door: Rc<Door>, listener: TcpListener, limit: Arc<Semaphore>) {
    loop {
        let Ok(permit) = Arc::clone(&limit).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) if loopback::is_crowded_out(&limit, MOST_CONNECTIONS, &stream) => {}
            Ok((stream, _)) => drop(tokio::task::spawn_local(serve(Rc::clone(&door), stream, permit))),
            // Out of file descriptors, or the peer gave up: others still come.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Serves a connection until the listening ends; a page that is due then is still sent, a connection that only waits is closed.
async fn serve(door: Rc<Door>, stream: TcpStream, _permit: OwnedSemaphorePermit) {
    let mut closed = door.closed.clone();
    let ends = stream.local_addr().ok().zip(stream.peer_addr().ok());
    let service = service_fn(|request| answer(Rc::clone(&door), ends, request));
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(MOST_BUFFERED)
            .serve_connection(TokioIo::new(stream), service)
    );
    tokio::select! {
        // An error means that the browser went away or spoke no HTTP: there is nobody to tell.
        _ = connection.as_mut() => {}
        _ = closed.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(LAST_PAGE, connection).await;
        }
    }
}

/// The two addresses of a connection, ours first.
type Ends = Option<(SocketAddr, SocketAddr)>;

async fn answer(door: Rc<Door>, ends: Ends, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let page = match asked(&door, ends, &request) {
        Ok(Asked::Begin(redirection)) => return Ok(redirection),
        Ok(Asked::Callback(query)) => ask(&door, query).await,
        Err(page) => page,
    };
    Ok(page.response())
}

/// What a person's browser asks for.
enum Asked {
    Begin(Redirection),
    Callback(Zeroizing<String>),
}

/// Takes what a person's browser asks for when it begins or comes back; all else is none of our business.
fn asked(door: &Door, ends: Ends, request: &Request<Incoming>) -> Result<Asked, Page> {
    let headers = request.headers();
    if loopback::own_name(headers, door.port).is_none() {
        return Err(Page::Stray);
    }
    if request.method() != Method::GET || is_prefetch(headers) {
        return Err(Page::Nothing);
    }
    if ends.is_some_and(|(near, far)| is_another_users(near, far)) {
        return Err(Page::Stray);
    }
    let (path, query) = (request.uri().path(), request.uri().query());
    let back = query.filter(|_| path == door.path);
    match (&*door.purpose.borrow(), back) {
        (Purpose::Leads(begin), _) if begin.is_at(path) => first(door, begin, headers),
        (Purpose::Leads(begin), Some(query)) if begin.is_known(headers, door.port) => {
            Ok(Asked::Callback(Zeroizing::new(query.to_owned())))
        }
        (Purpose::Pasted, Some(_)) => Err(Page::Paste),
        (_, Some(_)) => Err(Page::Stray),
        _ => Err(Page::Nothing),
    }
}

/// Leads the first browser on. A second one ends the sign-in: which of the two is the person's, nobody can tell.
fn first(door: &Door, begin: &Begin, headers: &HeaderMap) -> Result<Asked, Page> {
    match begin.lead(headers, (door.port, &door.path)) {
        Some(Ok(redirection)) => Ok(Asked::Begin(redirection)),
        Some(Err(failure)) => Err(Page::Refused(failure)),
        None => {
            // A full channel means that it is being ended by another one.
            let _ = door.arrivals.try_send(Arrival::BegunTwice);
            Err(Page::Used)
        }
    }
}

/// Browsers fetch on a guess, too; nobody sees the page, and a code can be used once.
pub(crate) fn is_prefetch(headers: &HeaderMap) -> bool {
    let says = |name| headers.get(name).and_then(|value| value.to_str().ok()).is_some_and(is_word_of_prefetch);
    ["sec-purpose", "purpose", "x-purpose", "x-moz"].into_iter().any(says)
}

fn is_word_of_prefetch(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    ["prefetch", "prerender", "preview"].iter().any(|word| value.contains(word))
}

async fn ask(door: &Door, query: Zeroizing<String>) -> Page {
    let (answer, page) = oneshot::channel();
    if door.arrivals.send(Arrival::Callback { query, answer }).await.is_err() {
        return Page::Ended;
    }
    page.await.unwrap_or(Page::Ended)
}

fn all_taken(taken: &[SocketAddr]) -> Failure {
    let ports: Vec<String> = taken.iter().map(SocketAddr::to_string).collect();
    match ports.as_slice() {
        [] => unable("no port is free"),
        ports => unable(&format!("another program holds {}, or the system keeps it back", ports.join(", "))),
    }
}

fn unable(why: &str) -> Failure {
    Failure::new(FailureKind::Settings, format!("the sign-in cannot listen for the browser: {why}"))
}

/// That it happens so often is a fault of the machine.
const TRIES_OF_ANY_PORT: usize = 5;
const MOST_WAITING: usize = 8;
const MOST_CONNECTIONS: usize = 64;
const MOST_BUFFERED: usize = 32 * 1024;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
const LAST_PAGE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::task::LocalSet;

    #[expect(clippy::disallowed_methods, reason = "the test is the browser")]
    async fn connected(port: u16) -> TcpStream {
        TcpStream::connect(("127.0.0.1", port)).await.expect("connected")
    }

    /// Sends a request and gives the whole answer.
    async fn sent(port: u16, head: &str) -> String {
        let mut stream = connected(port).await;
        stream.write_all(format!("{head}\r\n\r\n").as_bytes()).await.expect("sent");
        let mut answer = String::new();
        timeout(Duration::from_secs(5), stream.read_to_string(&mut answer)).await.expect("in time").expect("UTF-8");
        answer
    }

    fn get(port: u16, path: &str, more: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}{more}")
    }

    /// Leads to an issuer; gives the path of the beginning.
    fn led(redirect: &Redirect) -> String {
        let issuer = Url::parse("https://id.corp.example/auth?state=s").expect("a URL");
        let address = redirect.begin("localhost", &issuer).expect("begun");
        address.strip_prefix(&format!("http://localhost:{}", redirect.door.port)).expect("ours").to_owned()
    }

    /// Opens the beginning as a browser does; gives the header with the cookie that it got.
    async fn begun(redirect: &Redirect) -> String {
        let path = led(redirect);
        let answer = sent(redirect.door.port, &get(redirect.door.port, &path, "")).await;
        let cookie = answer.split("set-cookie: ").nth(1).and_then(|rest| rest.split(';').next()).expect("a cookie");
        format!("\r\nCookie: {cookie}")
    }

    #[tokio::test]
    async fn the_beginning_is_used_up_by_one_browser_and_not_by_a_guess() {
        LocalSet::new()
            .run_until(async {
                let mut redirect = Redirect::listen(&[], "/callback").await.expect("listening");
                let port = redirect.door.port;
                assert!(sent(port, &get(port, "/begin/x", "")).await.starts_with("HTTP/1.1 404"), "before it is there");
                let path = led(&redirect);
                for (head, status) in [
                    (get(port, "/begin/x", ""), "404"),
                    (get(port, &path, "\r\nSec-Purpose: prefetch"), "404"),
                    (get(port, &path, "\r\nPurpose: prefetch"), "404"),
                    (format!("HEAD {path} HTTP/1.1\r\nHost: localhost:{port}"), "404"),
                    (format!("GET {path} HTTP/1.1\r\nHost: evil.example:{port}"), "400"),
                    (get(port, &path, ""), "302"),
                ] {
                    assert!(sent(port, &head).await.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
                }
                assert!(redirect.arrivals.try_recv().is_err());
                let second = sent(port, &get(port, &path, "")).await;
                assert!(second.starts_with("HTTP/1.1 410") && !second.contains("id.corp.example"), "{second}");
                assert!(matches!(redirect.arrivals.try_recv(), Ok(Arrival::BegunTwice)));
            })
            .await;
    }

    #[tokio::test]
    async fn without_the_cookie_of_the_beginning_nobody_comes_back() {
        LocalSet::new()
            .run_until(async {
                let mut redirect = Redirect::listen(&[], "/callback").await.expect("listening");
                let port = redirect.door.port;
                let callback = |cookie: &str| get(port, "/callback?code=a&state=s", cookie);
                assert!(sent(port, &callback("")).await.starts_with("HTTP/1.1 400"), "before the beginning");
                begun(&redirect).await;
                for cookie in ["", "\r\nCookie: credmint=x", &format!("\r\nCookie: credmint-{port}=x")] {
                    assert!(sent(port, &callback(cookie)).await.starts_with("HTTP/1.1 400"), "{cookie}");
                }
                redirect.shows_what_to_paste();
                assert!(sent(port, &callback("")).await.contains("paste it into the terminal"));
                assert!(redirect.arrivals.try_recv().is_err());
            })
            .await;
    }

    #[tokio::test]
    async fn what_is_no_callback_of_a_person_never_arrives() {
        LocalSet::new()
            .run_until(async {
                let mut redirect = Redirect::listen(&[], "/callback").await.expect("listening");
                let port = redirect.door.port;
                let own = begun(&redirect).await;
                let prefetch = format!("{own}\r\nSec-Purpose: prefetch;prerender");
                for (head, status) in [
                    (get(port, "/favicon.ico", &own), "404"),
                    (get(port, "/", &own), "404"),
                    (get(port, "/callback", &own), "404"),
                    (get(port, "/callback?code=a", &prefetch), "404"),
                    (get(port, "/callback?code=a", &format!("{own}\r\nPurpose: Prefetch")), "404"),
                    (format!("HEAD /callback?code=a HTTP/1.1\r\nHost: localhost:{port}{own}"), "404"),
                    (
                        format!("POST /callback?code=a HTTP/1.1\r\nHost: localhost:{port}{own}\r\nContent-Length: 0"),
                        "404",
                    ),
                    (format!("GET /callback?code=a HTTP/1.1\r\nHost: evil.example:{port}{own}"), "400"),
                ] {
                    let answer = sent(port, &head).await;
                    assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{head}: {answer}");
                }
                assert!(redirect.arrivals.try_recv().is_err());
            })
            .await;
    }

    #[tokio::test]
    async fn a_callback_waits_for_its_page_and_a_stray_one_does_not_end_the_listening() {
        LocalSet::new()
            .run_until(async {
                let mut redirect = Redirect::listen(&[], "/callback").await.expect("listening");
                let port = redirect.door.port;
                let own = begun(&redirect).await;
                for (query, page, status) in [("state=x", Page::Stray, "400"), ("state=y", Page::Ended, "410")] {
                    let head = get(port, &format!("/callback?{query}"), &own);
                    let browser = tokio::task::spawn_local(async move { sent(port, &head).await });
                    let Some(Arrival::Callback { query: came, answer }) = redirect.arrival().await else {
                        panic!("no callback")
                    };
                    assert_eq!(came.as_str(), query);
                    answer.send(page).expect("waited for");
                    assert!(browser.await.expect("answered").starts_with(&format!("HTTP/1.1 {status}")));
                }
            })
            .await;
    }

    #[tokio::test]
    async fn the_end_of_the_listening_closes_the_port_and_tells_the_browser_that_waits() {
        LocalSet::new()
            .run_until(async {
                let mut redirect = Redirect::listen(&[], "/callback").await.expect("listening");
                let port = redirect.door.port;
                let head = get(port, "/callback?a=b", &begun(&redirect).await);
                let idle = connected(port).await;
                let browser = tokio::task::spawn_local(async move { sent(port, &head).await });
                let arrival = redirect.arrival().await.expect("arrived");
                drop((arrival, redirect));
                assert!(browser.await.expect("answered").starts_with("HTTP/1.1 410"));
                assert!(loopback::bind(port).await.is_ok(), "the port is free again");
                let mut rest = Vec::new();
                let mut idle = idle;
                timeout(Duration::from_secs(3), idle.read_to_end(&mut rest)).await.expect("closed").expect("read");
            })
            .await;
    }

    #[tokio::test]
    async fn more_connections_than_a_browser_needs_wait_outside() {
        LocalSet::new()
            .run_until(async {
                let redirect = Redirect::listen(&[], "/callback").await.expect("listening");
                let mut idle = Vec::new();
                // One place is held by the listener of each family, for whom it accepts next.
                for _ in 0..MOST_CONNECTIONS {
                    idle.push(connected(redirect.door.port).await);
                }
                let head = get(redirect.door.port, "/", "\r\nConnection: close\r\n\r\n");
                let mut late = connected(redirect.door.port).await;
                late.write_all(head.as_bytes()).await.expect("sent");
                let mut answer = Vec::new();
                let outside = timeout(Duration::from_millis(200), late.read_to_end(&mut answer)).await;
                assert!(outside.is_err(), "not served yet");
                drop(idle);
                timeout(Duration::from_secs(5), late.read_to_end(&mut answer)).await.expect("in time").expect("read");
                assert!(answer.starts_with(b"HTTP/1.1 404"));
            })
            .await;
    }

    #[tokio::test]
    async fn the_first_free_port_is_taken_and_busy_ones_are_named_kubelogin_354() {
        LocalSet::new()
            .run_until(async {
                let busy = Redirect::listen(&[], "/callback").await.expect("listening");
                let free = {
                    let other = Redirect::listen(&[], "/callback").await.expect("listening");
                    other.door.port
                };
                tokio::task::yield_now().await;
                let second = Redirect::listen(&[busy.door.port, free], "/back/here").await.expect("the second is free");
                assert_eq!(second.address("localhost"), format!("http://localhost:{free}/back/here"));
                let failure =
                    Redirect::listen(&[busy.door.port, free], "/back/here").await.err().expect("both are taken");
                assert!(
                    failure.what.contains(&format!("127.0.0.1:{}, 127.0.0.1:{free}", busy.door.port)),
                    "{failure:?}"
                );
                let any = Redirect::listen(&[busy.door.port, free, 0], "/callback").await.expect("any other is free");
                assert!(![busy.door.port, free].contains(&any.door.port));
            })
            .await;
    }

    #[test]
    fn any_port_is_tried_more_than_once_and_the_others_are_not() {
        assert_eq!((tried(&[]), tried(&[7, 0])), (vec![0; 5], vec![7, 0, 0, 0, 0, 0]));
        assert_eq!(tried(&[7, 8]), [7, 8]);
    }

    #[test]
    fn an_address_is_a_url() {
        assert_eq!(address("127.0.0.1", 8250, "/callback"), "http://127.0.0.1:8250/callback");
        assert_eq!(address("::1", 8250, "/callback"), "http://[::1]:8250/callback");
    }
}
