//! A real OpenID Provider: npm `oidc-provider`, on loopback, with the clients of `tests/peers/openid-provider`.
//!
//! Nothing comes in; an issuer, its clients' secrets, and tokens that it signed go out. Every token comes from its real
//! token endpoint (RFC 6749 section 4.4).

use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::certificates::Authority;
use crate::encoding::{base64, claims};
use crate::http::{Answer, Request};
use crate::peer::{self, Peer};
use crate::{certificates, random};

/// The tokens of one answer to the client `cli`; an empty text is one that was not in it.
pub struct Issued {
    /// What it was given for.
    pub grant_type: String,
    /// The access token.
    pub access_token: String,
    /// The ID token.
    pub id_token: String,
    /// The refresh token.
    pub refresh_token: String,
}

impl Issued {
    fn of(line: &Value) -> Self {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        Self {
            grant_type: text("grant_type"),
            access_token: text("access_token"),
            id_token: text("id_token"),
            refresh_token: text("refresh_token"),
        }
    }
}

/// A provider that the test started.
pub struct OpenIdProvider {
    peer: Peer,
    port: u16,
    issuer: String,
    secret: String,
    post_secret: String,
    mint_secret: String,
    vault_secret: String,
    private_key: String,
}

impl OpenIdProvider {
    /// Starts one whose tokens live for five minutes.
    pub fn start() -> Self {
        Self::start_with_ttl(300)
    }

    /// Starts one whose tokens live for so many seconds.
    pub fn start_with_ttl(ttl: u32) -> Self {
        Self::start_with(ttl, &[])
    }

    /// Starts one that speaks https, with a certificate of an authority of one's own.
    pub fn start_tls(authority: &Authority) -> Self {
        Self::start_tls_as("127.0.0.1", authority, &[])
    }

    /// Starts one that is known by a name and a path and not by its address; only a proxy leads there. Its tokens live for so many seconds.
    pub fn start_as((host, path): (&str, &str), ttl: u32, authority: &Authority) -> Self {
        let ttl = ttl.to_string();
        Self::start_tls_as(host, authority, &[("ISSUER_HOST", host), ("ISSUER_PATH", path), ("TTL", &ttl)])
    }

    fn start_tls_as(host: &str, authority: &Authority, variables: &[(&str, &str)]) -> Self {
        let (identity, directory) = (authority.server(&[host]), peer::directory());
        let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| directory.path().join(name));
        fs::write(&certificate, identity.certificate).expect("the certificate");
        fs::write(&key, identity.key).expect("its key");
        let [certificate, key] = [certificate, key].map(|file| file.display().to_string());
        // Once it has started it has read them.
        let tls = [("TLS_CERTIFICATE", certificate.as_str()), ("TLS_KEY", key.as_str())];
        Self::start_with(300, &[&tls, variables].concat())
    }

    /// Starts one with variables of `server.mjs` besides: `ISSUER_PATH`, `REFUSES`.
    pub fn start_with(ttl: u32, variables: &[(&str, &str)]) -> Self {
        let directory = peer::directory();
        let (private_key, public_key) = certificates::key_pair();
        let public_key_file = directory.path().join("ci-jwt.pem");
        fs::write(&public_key_file, public_key).expect("the public key");
        let secret = || random::secret("client");
        let (secret, post_secret, mint_secret, vault_secret) = (secret(), secret(), secret(), secret());
        let mut command = Command::new("node");
        let server = peer::installed("openid-provider").join("server.mjs");
        command.args(["--preserve-symlinks", "--preserve-symlinks-main"]).arg(server).arg("0");
        command.env("CI_SECRET", &secret).env("CI_POST_SECRET", &post_secret).env("MINT_SECRET", &mint_secret);
        command.env("VAULT_SECRET", &vault_secret);
        command.env("CI_JWT_PUBLIC_KEY", public_key_file).env("TTL", ttl.to_string());
        command.envs(variables.iter().copied());
        let mut peer = Peer::start("the OpenID Provider", directory, &mut command);
        let issuer = peer
            .wait_until(|peer| peer.log().lines().find_map(|line| line.strip_prefix("ready ").map(ToOwned::to_owned)));
        let issuer = issuer.unwrap_or_else(|| peer.fail("ended while it started"));
        let log = peer.log();
        let port = log.lines().find_map(|line| line.strip_prefix("listening ")?.parse().ok()).expect("a port");
        Self { peer, port, issuer, secret, post_secret, mint_secret, vault_secret, private_key }
    }

    /// Gives the issuer, as settings have it.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Gives the port that it listens on.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Gives the token endpoint.
    pub fn token_endpoint(&self) -> String {
        format!("{}/token", self.issuer)
    }

    /// Gives the secret of the client `ci` (client_secret_basic).
    pub fn ci_secret(&self) -> &str {
        &self.secret
    }

    /// Gives the secret of the client `ci-post` (client_secret_post).
    pub fn ci_post_secret(&self) -> &str {
        &self.post_secret
    }

    /// Gives the secret of the client `vault`, which signs people in for itself.
    pub fn vault_secret(&self) -> &str {
        &self.vault_secret
    }

    /// Gives the private key of the client `ci-jwt` (private_key_jwt, ES256) in PEM form.
    pub fn ci_jwt_key(&self) -> &str {
        &self.private_key
    }

    /// Gets a token for a subject and an audience; its `email` is `<subject>@corp.example`. A negative life makes one
    /// that has expired.
    pub fn token_for(&self, subject: &str, audience: &str, ttl: i64) -> String {
        self.token_with(subject, audience, ttl, json!({ "email": format!("{subject}@corp.example") }))
    }

    /// Gets a token with any claims besides.
    pub fn token_with(&self, subject: &str, audience: &str, ttl: i64, claims: Value) -> String {
        let (ttl, claims) = (ttl.to_string(), claims.to_string());
        let fields = [
            ("grant_type", "client_credentials"),
            ("subject", subject),
            ("audience", audience),
            ("ttl", &ttl),
            ("claims", &claims),
        ];
        self.granted(&self.ask_as("mint", &self.mint_secret, &fields))
    }

    /// Sends a request to the token endpoint as a client with client_secret_basic.
    pub fn ask_as(&self, client: &str, secret: &str, fields: &[(&str, &str)]) -> Answer {
        let authorization = format!("Basic {}", base64(format!("{client}:{secret}").as_bytes()));
        Request::new("POST", &self.token_endpoint()).header("Authorization", &authorization).form(fields).send()
    }

    /// Takes the access token out of an answer.
    pub fn granted(&self, answer: &Answer) -> String {
        assert_eq!(answer.status, 200, "the OpenID Provider refuses: {}", answer.body);
        answer.json()["access_token"].as_str().expect("an access token").to_owned()
    }

    /// Lists what the client `cli` was given: grant_type, access_token, id_token, refresh_token.
    pub fn issued(&self) -> Vec<Issued> {
        let log = self.peer.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("issued ")?).ok());
        lines.map(|line: Value| Issued::of(&line)).collect()
    }

    /// Revokes a token of the client `cli` (RFC 7009), as somebody does who has it.
    pub fn revoke(&self, token: &str) {
        let url = format!("{}/token/revocation", self.issuer);
        let answer = Request::new("POST", &url).form(&[("client_id", "cli"), ("token", token)]).send();
        assert_eq!(answer.status, 200, "the OpenID Provider does not revoke: {}", answer.body);
    }

    /// Says whether a token is alive, by introspection (RFC 7662).
    pub fn is_active(&self, token: &str) -> bool {
        let authorization = format!("Basic {}", base64(format!("ci:{}", self.secret).as_bytes()));
        let request = Request::new("POST", &format!("{}/token/introspection", self.issuer));
        let answer = request.header("Authorization", &authorization).form(&[("token", token)]).send();
        assert_eq!(answer.status, 200, "the OpenID Provider does not say: {}", answer.body);
        answer.json()["active"] == true
    }

    /// Uses a refresh token as the client `cli`.
    pub fn refresh(&self, token: &str) -> Answer {
        let fields = [("grant_type", "refresh_token"), ("client_id", "cli"), ("refresh_token", token)];
        Request::new("POST", &self.token_endpoint()).form(&fields).send()
    }

    /// Lists the requests for revocation by anybody, those of [`OpenIdProvider::revoke`] included.
    pub fn revocations(&self) -> Vec<Value> {
        let log = self.peer.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["endpoint"] == "/token/revocation").collect()
    }

    /// Lists the requests to the token endpoint, those for the kit's own tokens left out: client, authentication,
    /// grant_type, audience, resource, scope, actor, status, error.
    pub fn requests(&self) -> Vec<Value> {
        let log = self.peer.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["grant_type"].is_string() && line["client"] != "mint").collect()
    }

    /// Lists the statuses of all requests with a refresh token.
    pub fn refreshes(&self) -> Vec<u64> {
        let asked = self.requests().into_iter().filter(|request| request["grant_type"] == "refresh_token");
        asked.filter_map(|request| request["status"].as_u64()).collect()
    }

    /// Gives its process id.
    pub fn pid(&self) -> u32 {
        self.peer.pid()
    }

    /// Ends it; its address answers no more.
    pub fn stop(&mut self) {
        self.peer.stop();
    }
}

/// Waits until so many seconds of a token's life remain. Its end stands in the token: an issuer's clock cannot be set.
pub fn wait_for_remaining(token: &str, seconds: u64) {
    let end = claims(token)["exp"].as_u64().expect("an end");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    let left = Duration::from_secs(end).saturating_sub(now);
    std::thread::sleep(left.saturating_sub(Duration::from_secs(seconds)));
}
