//! A fake of the aws auth method of HashiCorp's Vault: OpenBao has none.
//!
//! Nothing comes in but a login; a client token goes out when the signed request is whole and names this server. It does not verify the
//! signature, which the fake in the issuers' own tests does: this one is for the way from the caller's environment to the login. It answers on
//! loopback until it is dropped with the test process.

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::arrived::{Arrived, answer_json};
use crate::random;

/// What it wants in `X-Vault-AWS-IAM-Server-ID`.
pub const SERVER_ID: &str = "vault.corp.example";

/// A Vault with the aws method at `aws`, and the role `dev`.
pub struct VaultAws {
    address: String,
    token: String,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl VaultAws {
    /// Starts one.
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let address = format!("http://{}", listener.local_addr().expect("its address"));
        let (token, bodies) = (random::secret("s"), Arc::new(Mutex::new(Vec::new())));
        let (given, kept) = (token.clone(), Arc::clone(&bodies));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &given, &kept);
            }
        });
        Self { address, token, bodies }
    }

    /// Gives its address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Gives the client token that a login gets.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Gives all that was sent to it, with what is base64 in it decoded.
    pub fn sent(&self) -> Vec<String> {
        self.bodies.lock().expect("nobody panicked").clone()
    }
}

fn answer(stream: TcpStream, token: &str, kept: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let arrived = Arrived::read(&stream)?;
    let body: Value = serde_json::from_slice(&arrived.body).unwrap_or_default();
    let field = |name: &str| {
        let text = body[name].as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    };
    let (url, form, headers) = (field("iam_request_url"), field("iam_request_body"), field("iam_request_headers"));
    kept.lock()
        .expect("nobody panicked")
        .push(format!("{} {}{body}{url}{form}{headers}", arrived.method, arrived.target));
    let headers: Value = serde_json::from_str(&headers).unwrap_or_default();
    let good = (arrived.method.as_str(), arrived.target.as_str()) == ("POST", "/v1/auth/aws/login")
        && body["role"] == "dev"
        && url == "https://sts.eu-central-1.amazonaws.com/"
        && form == "Action=GetCallerIdentity&Version=2011-06-15"
        && headers["x-vault-aws-iam-server-id"][0] == SERVER_ID
        && headers["authorization"][0].as_str().is_some_and(|value| value.contains("x-vault-aws-iam-server-id"));
    let (status, body) = match good {
        true => {
            ("200 OK", json!({ "auth": { "client_token": token, "lease_duration": 600, "token_type": "service" } }))
        }
        false => ("400 Bad Request", json!({ "errors": ["error making upstream request"] })),
    };
    answer_json(&stream, status, &body)
}
