//! A tunnel to a host of the run, opened: TLS ends here, and each request goes the way of the bridge.
//! A client's connection comes in, answers of the upstream go out, unchanged: the client has the host's own name for everything.
//! Takes the session token out and puts the credential in; leads nowhere but to that host. `protocol-spec/bridge-protocol.md` §10.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use credmint_vocabulary::{Failure, Hostname};
use http::{HeaderValue, Method, Request, Response, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroizing;

use super::Tunnel;
use super::place::Place;
use crate::bridge::forward::{answer_to, refused};
use crate::bridge::head;
use crate::bridge::listen::http;
use crate::bridge::reply::Body;
use crate::bridge::run::Way;
use crate::bridge::target::{Asker, Target};
use crate::bridge::visit::{AnsweredBy, Visit, asker, upstream_url};

/// Serves a client until it goes away.
pub(super) async fn serve(tunnel: &Tunnel, host: Hostname, server: Arc<ServerConfig>, upgrade: OnUpgrade) {
    let handshake = async {
        let stream = TokioIo::new(upgrade.await.ok()?);
        TlsAcceptor::from(server).accept(stream).await.ok()
    };
    // Who believes our authority in nothing, or is too slow, has heard so by TLS.
    let Ok(Some(stream)) = timeout(HANDSHAKE_TIMEOUT, handshake).await else { return };
    let service = service_fn(|request| answer(tunnel, &host, request));
    http().serve_connection(TokioIo::new(stream), service).await.unwrap_or_default();
}

async fn answer(tunnel: &Tunnel, host: &Hostname, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let asker = who_asks(host, &request);
    let visited = visit(tunnel, host, asker, &request);
    let way = Way { port: tunnel.port, run: Some(Rc::clone(&tunnel.run)) };
    Ok(answer_to(&tunnel.agent, &way, (asker, Some(host.clone())), visited, request).await)
}

/// Tells which of Terraform's clients asks. It sends a token to what is an API, and none for files.
fn who_asks(host: &Hostname, request: &Request<Incoming>) -> Asker {
    if !request.headers().contains_key(header::AUTHORIZATION) {
        return Asker::Files;
    }
    let path_and_query = request.uri().path().to_owned();
    asker(Some(&Target::Api { hostname: host.clone(), path_and_query }), request.headers())
}

/// Finds what a request has the right to: whatever is at that host.
fn visit(tunnel: &Tunnel, host: &Hostname, asker: Asker, request: &Request<Incoming>) -> Result<Visit, Failure> {
    tunnel.agent.lock.check()?;
    is_for(host, request)?;
    let run = tunnel.run.number();
    let bridge = tunnel.agent.bridge.as_ref().ok_or_else(|| refused("there is no bridge"))?;
    let recipe = bridge.sessions.of_run(host, run, Instant::now());
    let recipe = recipe.ok_or_else(|| {
        refused(&format!("the credential of {host} has ended during this run")).hint("run the command again")
    })?;
    let is_ours = |token: &[u8]| bridge.sessions.is_ours(token);
    let url = upstream_url(host, request.uri().path_and_query().map_or("/", |path| path.as_str()))?;
    Ok(Visit {
        recipe,
        shown: shown(url.path()),
        url,
        asker,
        own: String::new(),
        is_by_its_name: true,
        has_own_authorization: is_own(head::authorization(request.headers())?, is_ours),
        run: Some(run),
        is_head: request.method() == Method::HEAD,
        answered_by: AnsweredBy::Upstream,
    })
}

/// Refuses what is not for the host that the tunnel was made to, or comes from a browser or another proxy.
fn is_for(host: &Hostname, request: &Request<Incoming>) -> Result<(), Failure> {
    if matches!(*request.method(), Method::TRACE | Method::CONNECT) {
        return Err(refused("nothing is traced here"));
    }
    head::is_of_a_program(request.headers())?;
    let (mut fields, place) = (request.headers().get_all(header::HOST).iter(), Place::of_host(host));
    let named = |text: &str| Place::of_field(text).is_some_and(|named| named == place);
    let is_field = fields.next().and_then(|field| field.to_str().ok()).is_some_and(named) && fields.next().is_none();
    let is_target = request.uri().authority().is_none_or(|authority| named(authority.as_str()));
    if is_field && is_target { Ok(()) } else { Err(refused("the request was made for another host")) }
}

/// Tells whether an `Authorization` is the client's own. It is not as soon as one of our tokens is anywhere in it: as a bearer
/// whose scheme is in lower case, as the password or the name of Basic, as a parameter.
fn is_own(field: Option<&HeaderValue>, is_ours: impl Fn(&[u8]) -> bool) -> bool {
    let has_ours = |text: &[u8]| text.split(|byte| !is_of_token(*byte)).any(&is_ours);
    let hides_ours = |word: &[u8]| {
        let digits = word.split(|byte| *byte == b'=').next().unwrap_or_default();
        BASE64_STANDARD_NO_PAD.decode(digits).is_ok_and(|pair| has_ours(&Zeroizing::new(pair)))
    };
    field.is_none_or(|field| {
        let text = field.as_bytes();
        !has_ours(text) && !text.split(u8::is_ascii_whitespace).any(hides_ours)
    })
}

/// Tells the characters that our tokens have: those of base64url (RFC 4648 §5).
fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Shows a path without what may be a secret of the upstream: addresses of uploads and states have long segments.
fn shown(path: &str) -> String {
    let shown = |segment| if str::len(segment) > LONGEST_SHOWN { "*" } else { segment };
    path.split('/').map(shown).collect::<Vec<_>>().join("/")
}

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST_SHOWN: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_segments_of_a_path_are_not_shown() {
        let secret = "a".repeat(41);
        assert_eq!(shown(&format!("/_archivist/v1/object/{secret}")), "/_archivist/v1/object/*");
        assert_eq!(shown("/v1/modules/acme/network/aws/versions"), "/v1/modules/acme/network/aws/versions");
    }

    #[test]
    fn a_session_of_ours_is_never_the_clients_own() {
        let is = |field: &'static str| is_own(Some(&HeaderValue::from_static(field)), |token| token == b"ours");
        assert!(is_own(None, |_| true) && is("Bearer theirs") && is("Basic dTpw") && is("Digest x"));
        // `u:ours`, `ours:`, `ours:x-oauth-basic`, the last two without what fills it up.
        for field in ["Bearer ours", "bearer ours", "BEARER  ours", "Token token=ours, x=y", "Token \"ours\"", "ours"]
            .into_iter()
            .chain([
                "Basic dTpvdXJz",
                "basic dTpvdXJz",
                "Basic b3Vyczo=",
                "Basic b3Vyczo",
                "Basic b3Vyczp4LW9hdXRoLWJhc2lj",
            ])
        {
            assert!(!is(field), "{field}");
        }
        assert!(is("Bearer not-ours") && is("Basic !") && is("Basic ="));
    }
}
