//! The HTTP API of OpenBao, as far as a test sets it up or looks into it.
//!
//! Paths and JSON come in, JSON goes out; an answer that is no success is a panic, but for [`Client::call`].

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::http::{Answer, Request};

/// A client with one token, in one namespace.
#[derive(Clone)]
pub struct Client {
    address: String,
    token: String,
    ca: Option<PathBuf>,
    namespace: Option<String>,
}

impl Client {
    /// Makes one for an address without a path.
    pub fn new(address: &str, token: &str, ca: Option<PathBuf>) -> Self {
        Self { address: address.to_owned(), token: token.to_owned(), ca, namespace: None }
    }

    /// Gives the server's address, as settings have it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Gives the token.
    pub fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn ca(&self) -> Option<&Path> {
        self.ca.as_deref()
    }

    /// Gives the same client with another token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self.clone() }
    }

    /// Makes a namespace if it is not there, and gives a client for it.
    #[must_use]
    pub fn in_namespace(&self, name: &str) -> Self {
        self.must("PUT", &format!("sys/namespaces/{name}"), None);
        Self { namespace: Some(name.to_owned()), ..self.clone() }
    }

    fn request(&self, method: &str, path: &str) -> Request {
        let mut request = Request::new(method, &format!("{}/v1/{path}", self.address));
        request = request.header("X-Vault-Token", &self.token);
        if let Some(ca) = &self.ca {
            request = request.trusting(ca);
        }
        match &self.namespace {
            Some(namespace) => request.header("X-Vault-Namespace", namespace),
            None => request,
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.request("GET", "auth/token/lookup-self").try_send().is_ok_and(|answer| answer.status == 200)
    }

    /// Sends a request and gives whatever is answered.
    pub fn call(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let request = self.request(method, path);
        match body {
            Some(body) => request.header("Content-Type", "application/json").body(body.to_string()).send(),
            None => request.send(),
        }
    }

    /// Sends a request that has to succeed.
    pub fn must(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let answer = self.call(method, path, body);
        assert!((200..300).contains(&answer.status), "OpenBao: {method} {path}: {} {}", answer.status, answer.body);
        answer.json()
    }

    /// Writes.
    pub fn write(&self, path: &str, body: Value) -> Value {
        self.must("POST", path, Some(body))
    }

    /// Reads.
    pub fn read(&self, path: &str) -> Value {
        self.must("GET", path, None)
    }

    /// Deletes.
    pub fn delete(&self, path: &str) {
        self.must("DELETE", path, None);
    }

    /// Lists the keys below a path; none if there is nothing.
    pub fn list(&self, path: &str) -> Vec<String> {
        let answer = self.call("LIST", path, None);
        assert!(matches!(answer.status, 200 | 404), "OpenBao: LIST {path}: {} {}", answer.status, answer.body);
        let keys = answer.json()["data"]["keys"].as_array().cloned().unwrap_or_default();
        keys.iter().filter_map(|key| key.as_str().map(ToOwned::to_owned)).collect()
    }

    /// Writes a policy in HCL.
    pub fn policy(&self, name: &str, hcl: &str) {
        self.write(&format!("sys/policies/acl/{name}"), json!({ "policy": hcl }));
    }

    /// Mounts a KV secrets engine of version 1 or 2.
    pub fn kv(&self, mount: &str, version: u8) {
        let options = json!({ "version": version.to_string() });
        self.write(&format!("sys/mounts/{mount}"), json!({ "type": "kv", "options": options }));
    }

    /// Writes a secret to a KV engine, at the path that its version wants.
    pub fn kv_put(&self, mount: &str, version: u8, path: &str, data: Value) {
        // A version 2 engine answers 400 while it is being upgraded, right after it was mounted.
        let (path, body) = match version {
            1 => (format!("{mount}/{path}"), data),
            _ => (format!("{mount}/data/{path}"), json!({ "data": data })),
        };
        for _ in 0..100 {
            if self.call("POST", &path, Some(body.clone())).status < 300 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("OpenBao does not take the secret at {path}");
    }

    /// Lists the accessors of all tokens that live: one more for each login, one less for each revocation.
    pub fn accessors(&self) -> Vec<String> {
        self.list("auth/token/accessors")
    }

    /// Lists the accessors of the tokens that came from an auth method, the root token left out.
    pub fn logins(&self) -> Vec<String> {
        let is_login = |accessor: &String| {
            let answer = self.call("POST", "auth/token/lookup-accessor", Some(json!({ "accessor": accessor })));
            answer.status == 200
                && answer.json()["data"]["path"].as_str().is_some_and(|path| !path.starts_with("auth/token"))
        };
        self.accessors().into_iter().filter(is_login).collect()
    }
}
