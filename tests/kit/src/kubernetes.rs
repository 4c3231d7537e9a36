//! A fake of the one call of a Kubernetes API server that the `kubernetes` auth method makes: the token review.
//!
//! A fake, because a test cannot install a real cluster. A token comes in at its start, an address goes out; it answers
//! `authenticated` for that token and for no other, on loopback, until it is dropped with the test process.

use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};

use crate::arrived::{Arrived, answer_json};
use crate::encoding::claims;

/// An API server that knows one service account.
pub struct KubernetesApi {
    address: String,
}

impl KubernetesApi {
    /// Starts one that accepts this token as that of `system:serviceaccount:<namespace>:<name>`.
    pub fn start(token: &str, namespace: &str, name: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let address = format!("http://{}", listener.local_addr().expect("its address"));
        let (token, user) = (token.to_owned(), format!("system:serviceaccount:{namespace}:{name}"));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &token, &user);
            }
        });
        Self { address }
    }

    /// Gives its address, as `kubernetes_host` wants it.
    pub fn address(&self) -> &str {
        &self.address
    }
}

/// The claims by which a projected service-account token names its audience, always in a list, and its account.
pub fn service_account_claims(audience: &str, namespace: &str, name: &str) -> Value {
    let account = json!({ "name": name, "uid": "11111111-2222-3333-4444-555555555555" });
    json!({
        "aud": [audience],
        "sub": format!("system:serviceaccount:{namespace}:{name}"),
        "kubernetes.io": { "namespace": namespace, "serviceaccount": account },
    })
}

fn accepted(token: &str, user: &str) -> Value {
    let claims = claims(token);
    let user = json!({ "username": user, "uid": claims["kubernetes.io"]["serviceaccount"]["uid"] });
    json!({ "authenticated": true, "audiences": claims["aud"], "user": user })
}

fn answer(stream: TcpStream, token: &str, user: &str) -> std::io::Result<()> {
    let arrived = Arrived::read(&stream)?;
    let mut review: Value = serde_json::from_slice(&arrived.body)?;
    let known = review["spec"]["token"] == token;
    review["status"] = if known { accepted(token, user) } else { json!({ "authenticated": false }) };
    answer_json(&stream, "201 Created", &review)
}
