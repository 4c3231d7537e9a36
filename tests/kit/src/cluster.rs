//! A fake of a Kubernetes API server, as far as it says who somebody is: an authenticator of tokens, and one list.
//!
//! A fake, because a test cannot install a real cluster. It verifies a token with the keys that the real OpenID Provider publishes, as a real API server
//! does with `--oidc-issuer-url`, and believes the subject that an nginx with client certificates in front of it passes on. An issuer and an
//! audience come in, the lines go out by which an nginx leads to it; it answers on loopback until the test process ends.

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::OpenIdProvider;
use crate::arrived::{Arrived, answer_json};
use crate::encoding::unix_time;
use crate::jwt;

/// The API server of one cluster.
pub struct Cluster {
    port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// Who asked for the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The user that the token is of; empty: there was none, or it was refused.
    pub user: String,
    /// The subject of the client certificate; empty if there was none.
    pub subject: String,
}

impl Cluster {
    /// Starts one that trusts tokens of this provider for an audience; the user is the email address.
    pub fn start(provider: &OpenIdProvider, audience: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let port = listener.local_addr().expect("its address").port();
        let (issuer, audience, seen) = (provider.issuer().to_owned(), audience.to_owned(), Arc::default());
        let kept = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &issuer, &audience, &kept);
            }
        });
        Self { port, seen }
    }

    /// Gives the `location` that leads to it.
    pub fn nginx(&self) -> String {
        let subject = "proxy_set_header X-Subject $ssl_client_s_dn;";
        format!("location ~ ^/apis?/ {{ proxy_pass http://127.0.0.1:{}; {subject} }}\n", self.port)
    }

    /// Lists who asked for the list.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("nobody panicked").clone()
    }
}

fn answer(stream: TcpStream, issuer: &str, audience: &str, kept: &Mutex<Vec<Seen>>) -> std::io::Result<()> {
    let arrived = Arrived::read(&stream)?;
    let user = |token: &str| {
        let claims = jwt::judge(token, issuer, audience, unix_time()).ok()?;
        Some(claims["email"].as_str().unwrap_or_default().to_owned())
    };
    let (status, body) = match (arrived.method.as_str(), arrived.target.as_str()) {
        ("GET", "/api/v1/namespaces") => {
            let bearer = arrived.header("authorization").strip_prefix("Bearer ").and_then(user);
            let own = Seen { user: bearer.unwrap_or_default(), subject: arrived.header("x-subject").to_owned() };
            let is_known = !own.user.is_empty();
            kept.lock().expect("nobody panicked").push(own);
            if is_known { ("200 OK", list()) } else { ("401 Unauthorized", unauthorized()) }
        }
        _ => ("404 Not Found", json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404 })),
    };
    answer_json(&stream, status, &body)
}

fn list() -> Value {
    json!({ "kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": [] })
}

fn unauthorized() -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "Unauthorized", "reason": "Unauthorized", "code": 401,
    })
}
