//! Auth methods: who may log in, by what, and what for.
//!
//! A mount and a role come in; the method is enabled if it is not yet, and the role is written.

use serde_json::{Value, json};

use super::Client;
use crate::certificates::Authority;
use crate::openid_provider::OpenIdProvider;

/// What an AppRole logs in with.
pub struct AppRole {
    /// The public half.
    pub role_id: String,
    /// The secret half.
    pub secret_id: String,
}

impl Client {
    fn enable(&self, kind: &str, mount: &str) {
        let mounted = self.read("sys/auth");
        if mounted["data"].get(format!("{mount}/")).is_none() {
            self.write(&format!("sys/auth/{mount}"), json!({ "type": kind }));
        }
    }

    /// Trusts the tokens of an OpenID Provider, found by discovery, at a mount of the JWT auth method.
    pub fn jwt_auth(&self, mount: &str, issuer: &str) {
        self.enable("jwt", mount);
        self.write(&format!("auth/{mount}/config"), json!({ "oidc_discovery_url": issuer, "bound_issuer": issuer }));
    }

    /// Writes a JWT role for one audience and these policies; more is written to `auth/<mount>/role/<role>`.
    pub fn jwt_role(&self, mount: &str, role: &str, audience: &str, policies: &[&str]) {
        let body = json!({
            "role_type": "jwt", "user_claim": "sub", "bound_audiences": [audience], "token_policies": policies,
            "token_ttl": "5m", "token_max_ttl": "1h",
        });
        self.write(&format!("auth/{mount}/role/{role}"), body);
    }

    /// Logs in by JWT and gives the whole answer.
    pub fn jwt_login(&self, mount: &str, role: &str, token: &str) -> Value {
        self.write(&format!("auth/{mount}/login"), json!({ "role": role, "jwt": token }))
    }

    /// Has people sign in at an OpenID Provider, as its client `vault`, at a mount of the OIDC auth method.
    pub fn oidc_auth(&self, mount: &str, provider: &OpenIdProvider) {
        self.enable("oidc", mount);
        let config = json!({
            "oidc_discovery_url": provider.issuer(), "oidc_client_id": "vault",
            "oidc_client_secret": provider.vault_secret(),
        });
        self.write(&format!("auth/{mount}/config"), config);
    }

    /// Writes an OIDC role that allows the redirect URI of `vault login -method=oidc`, on any port (RFC 8252 section 7.3);
    /// `more` is put over the rest.
    pub fn oidc_role(&self, mount: &str, role: &str, policies: &[&str], more: Value) {
        let mut body = json!({
            "role_type": "oidc", "user_claim": "sub", "oidc_scopes": ["email"], "claim_mappings": { "email": "email" },
            "allowed_redirect_uris": ["http://localhost:8250/oidc/callback"], "token_policies": policies, "token_ttl": "30m",
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        self.write(&format!("auth/{mount}/role/{role}"), body);
    }

    /// Enables AppRole and writes a role; gives both of its halves.
    pub fn approle(&self, mount: &str, role: &str, policies: &[&str]) -> AppRole {
        self.enable("approle", mount);
        let path = format!("auth/{mount}/role/{role}");
        self.write(&path, json!({ "token_policies": policies, "token_ttl": "5m" }));
        let role_id = self.read(&format!("{path}/role-id"));
        let secret_id = self.write(&format!("{path}/secret-id"), json!({}));
        AppRole { role_id: text(&role_id["data"]["role_id"]), secret_id: text(&secret_id["data"]["secret_id"]) }
    }

    /// Enables the `cert` auth method and writes a role that trusts an authority; only over TLS.
    pub fn cert_auth(&self, mount: &str, role: &str, authority_pem: &str, policies: &[&str]) {
        self.enable("cert", mount);
        let body = json!({ "certificate": authority_pem, "token_policies": policies, "token_ttl": "5m" });
        self.write(&format!("auth/{mount}/certs/{role}"), body);
    }

    /// Enables the Kubernetes auth method against an API server that answers token reviews.
    pub fn kubernetes_auth(&self, mount: &str, api_server: &str, role: &str, policies: &[&str]) {
        self.enable("kubernetes", mount);
        // An authority has to be named, though nobody signs anything on loopback http.
        let ca = Authority::new("Kubernetes");
        let config = json!({
            "kubernetes_host": api_server, "disable_local_ca_jwt": true, "kubernetes_ca_cert": ca.certificate(),
        });
        self.write(&format!("auth/{mount}/config"), config);
        let body = json!({
            "bound_service_account_names": ["*"], "bound_service_account_namespaces": ["*"],
            "token_policies": policies, "token_ttl": "5m",
        });
        self.write(&format!("auth/{mount}/role/{role}"), body);
    }

    /// Makes a token with these policies.
    pub fn make_token(&self, policies: &[&str], ttl: &str) -> String {
        let answer = self.write("auth/token/create", json!({ "policies": policies, "ttl": ttl, "no_parent": true }));
        text(&answer["auth"]["client_token"])
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("text in the answer").to_owned()
}
