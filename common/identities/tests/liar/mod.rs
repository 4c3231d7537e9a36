//! An OpenID Provider that is honest until a test makes it lie: one claim, key, answer or member of its metadata at a time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use aws_lc_rs::{digest, hmac};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use credmint_https::Https;
use credmint_identities::{Callback, Caller, Provider, SignInError};
use credmint_settings::{ClientAuthentication, OidcIdentity, OidcTokenKind, Peer, RedirectHost, Remember, Source};
use credmint_vocabulary::{Deadline, Timestamp};
use url::{Url, form_urlencoded};

use crate::fake::{Fake, Said, Seen, said};

pub(crate) const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);

pub(crate) fn https() -> Https {
    Https::new("test")
}

pub(crate) fn in_ten_seconds() -> Deadline {
    Deadline::after(Instant::now(), Duration::from_secs(10))
}

pub(crate) fn redirect() -> Url {
    Url::parse("http://127.0.0.1:7777/callback").unwrap()
}

pub(crate) fn settings(issuer: &str) -> OidcIdentity {
    OidcIdentity {
        issuer: issuer.to_owned(),
        client: ClientAuthentication::None { client_id: "cli".into() },
        scopes: None,
        resources: vec!["https://api.example".into()],
        authorization_parameters: [("login_hint".to_owned(), "alice".to_owned())].into(),
        redirect_ports: Vec::new(),
        remember: Remember::Memory,
        redirect_host: RedirectHost::Address,
        redirect_path: "/callback".into(),
        token: OidcTokenKind::Id,
        browser: None,
        sign_in_timeout: Duration::from_secs(180),
        lifetime: None,
        peer: Peer::default(),
    }
}

pub(crate) fn with_secret(issuer: &str) -> OidcIdentity {
    let secret = Source::Env("CLIENT_SECRET".into());
    OidcIdentity { client: ClientAuthentication::Post { client_id: "cli".into(), secret }, ..settings(issuer) }
}

pub(crate) fn query(url: &Url) -> BTreeMap<String, String> {
    url.query_pairs().into_owned().collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Signature {
    Right,
    None,
    Hmac,
    OtherKey,
}

struct Lies {
    issuer: String,
    asked: BTreeMap<String, String>,
    metadata: BTreeMap<String, String>,
    claims: BTreeMap<String, String>,
    answers: BTreeMap<String, Said>,
    signature: Signature,
    key_id: String,
    key_hidden: bool,
    kind: OidcTokenKind,
}

pub(crate) struct Liar {
    fake: Fake,
    lies: Arc<Mutex<Lies>>,
}

impl Liar {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let lies = Arc::new(Mutex::new(Lies::none(&address)));
        let told = Arc::clone(&lies);
        let keys = [pair(), pair()];
        let fake = Fake::on(listener, move |seen| told.lock().unwrap().answer(seen, &address, &keys));
        Self { fake, lies }
    }

    fn lies(&self) -> MutexGuard<'_, Lies> {
        self.lies.lock().unwrap()
    }

    fn lying(self, lie: impl FnOnce(&mut Lies)) -> Self {
        lie(&mut self.lies());
        self
    }

    pub(crate) fn metadata(self, name: &str, value: &str) -> Self {
        self.lying(|lies| drop(lies.metadata.insert(name.into(), value.into())))
    }

    pub(crate) fn claim(self, name: &str, value: &str) -> Self {
        self.lying(|lies| drop(lies.claims.insert(name.into(), value.into())))
    }

    pub(crate) fn answer(self, path: &str, answer: Said) -> Self {
        self.say(path, answer);
        self
    }

    pub(crate) fn say(&self, path: &str, answer: Said) {
        self.lies().answers.insert(path.into(), answer);
    }

    pub(crate) fn unsay(&self, path: &str) {
        self.lies().answers.remove(path);
    }

    pub(crate) fn unsigned(self) -> Self {
        self.lying(|lies| lies.signature = Signature::None)
    }

    pub(crate) fn signed_with_the_public_key(self) -> Self {
        self.lying(|lies| lies.signature = Signature::Hmac)
    }

    pub(crate) fn signed_by_another_key(self) -> Self {
        self.lying(|lies| lies.signature = Signature::OtherKey)
    }

    pub(crate) fn key_id(self, id: &str) -> Self {
        self.lying(|lies| lies.key_id = id.into())
    }

    pub(crate) fn keys_after_one_fetch(self) -> Self {
        self.lying(|lies| lies.key_hidden = true)
    }

    pub(crate) fn access_token(self) -> Self {
        self.lying(|lies| lies.kind = OidcTokenKind::Access)
    }

    pub(crate) fn issuer_path(self, path: &str) -> Self {
        let issuer = self.at(path);
        self.lying(|lies| lies.issuer = issuer)
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.fake.address)
    }

    pub(crate) fn issuer(&self) -> String {
        self.lies().issuer.clone()
    }

    pub(crate) async fn provider(&self) -> Result<Provider, SignInError> {
        let token = self.lies().kind;
        let own = OidcIdentity { token, ..settings(&self.issuer()) };
        Provider::discover(&own, &Caller::default(), &https(), in_ten_seconds()).await
    }

    /// Plays the browser's way there.
    pub(crate) fn remember(&self, url: &Url) {
        self.lies().asked = query(url);
    }

    /// Plays the way back.
    pub(crate) fn callback(&self) -> Callback {
        Callback::of_query(&format!("code=canary-code&state={}", self.lies().asked["state"])).unwrap()
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.fake.paths()
    }

    pub(crate) fn forms(&self, path: &str) -> Vec<BTreeMap<String, String>> {
        let seen = self.fake.seen().into_iter().filter(|seen| seen.path == path);
        seen.map(|seen| form_urlencoded::parse(seen.body.as_bytes()).into_owned().collect()).collect()
    }

    pub(crate) fn form(&self, path: &str) -> BTreeMap<String, String> {
        self.forms(path).pop().unwrap()
    }
}

impl Lies {
    fn none(address: &str) -> Self {
        Self {
            issuer: format!("{address}/realm"),
            asked: BTreeMap::new(),
            metadata: BTreeMap::new(),
            claims: BTreeMap::new(),
            answers: BTreeMap::new(),
            signature: Signature::Right,
            key_id: "k".into(),
            key_hidden: false,
            kind: OidcTokenKind::Id,
        }
    }

    fn answer(&mut self, seen: &Seen, address: &str, keys: &[EcdsaKeyPair; 2]) -> Said {
        if let Some(answer) = self.answers.get(&seen.path) {
            return answer.clone();
        }
        let body = match seen.path.as_str() {
            "/realm/.well-known/openid-configuration" => self.document(address),
            "/realm/keys" if std::mem::take(&mut self.key_hidden) => r#"{"keys":[]}"#.to_owned(),
            "/realm/keys" => key_set(&keys[0]),
            "/token" => self.tokens(keys),
            "/device" => DEVICE.replace("ADDRESS", address),
            "/revoke" => String::new(),
            _ => return said(404, ""),
        };
        said(200, body).header("content-type", "application/json")
    }

    fn document(&self, address: &str) -> String {
        let own = |path: &str| format!(r#""{address}/{path}""#);
        let honest = [
            ("issuer", format!(r#""{}""#, self.issuer)),
            ("authorization_endpoint", own("authorize")),
            ("token_endpoint", own("token")),
            ("device_authorization_endpoint", own("device")),
            ("revocation_endpoint", own("revoke")),
            ("jwks_uri", own("realm/keys")),
            ("response_types_supported", r#"["code"]"#.to_owned()),
            ("subject_types_supported", r#"["public"]"#.to_owned()),
            ("id_token_signing_alg_values_supported", r#"["ES256","HS256","none"]"#.to_owned()),
            ("scopes_supported", r#"["openid","offline_access"]"#.to_owned()),
        ];
        object(honest, &self.metadata)
    }

    fn tokens(&self, keys: &[EcdsaKeyPair; 2]) -> String {
        let access = "canary-access";
        let hash = digest::digest(&digest::SHA256, access.as_bytes());
        let honest = [
            ("iss", format!(r#""{}""#, self.issuer)),
            ("sub", r#""alice""#.to_owned()),
            ("aud", r#""cli""#.to_owned()),
            ("iat", NOW.unix().to_string()),
            ("exp", (NOW.unix() + 300).to_string()),
            ("nonce", format!(r#""{}""#, self.asked.get("nonce").map_or("", String::as_str))),
            ("at_hash", format!(r#""{}""#, URL_SAFE_NO_PAD.encode(&hash.as_ref()[..16]))),
        ];
        let id = self.signed(&object(honest, &self.claims), keys);
        format!(
            r#"{{"access_token":"{access}","token_type":"Bearer","expires_in":60,"refresh_token":"canary-refresh",
                "scope":"openid offline_access","id_token":"{id}"}}"#
        )
    }

    fn signed(&self, claims: &str, keys: &[EcdsaKeyPair; 2]) -> String {
        let algorithm = match self.signature {
            Signature::None => "none",
            Signature::Hmac => "HS256",
            _ => "ES256",
        };
        let header = format!(r#"{{"alg":"{algorithm}","kid":"{}","typ":"JWT"}}"#, self.key_id);
        let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let sign = |key: &EcdsaKeyPair| key.sign(&SystemRandom::new(), text.as_bytes()).unwrap().as_ref().to_vec();
        let signature = match self.signature {
            Signature::Right => sign(&keys[0]),
            Signature::OtherKey => sign(&keys[1]),
            Signature::None => Vec::new(),
            Signature::Hmac => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, keys[0].public_key().as_ref());
                hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
            }
        };
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

const DEVICE: &str = r#"{"device_code":"canary-device","user_code":"ABCD-EFGH","verification_uri":"ADDRESS/device-page",
    "verification_uri_complete":"javascript:alert(1)","expires_in":600}"#;

fn object<const N: usize>(honest: [(&str, String); N], lies: &BTreeMap<String, String>) -> String {
    let mut members: BTreeMap<_, _> = honest.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    members.extend(lies.clone());
    let members = members.iter().filter(|(_, value)| *value != "null");
    format!("{{{}}}", members.map(|(name, value)| format!(r#""{name}":{value}"#)).collect::<Vec<_>>().join(","))
}

fn pair() -> EcdsaKeyPair {
    EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap()
}

fn key_set(key: &EcdsaKeyPair) -> String {
    let point = key.public_key().as_ref();
    let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..65]));
    format!(r#"{{"keys":[{{"kty":"EC","crv":"P-256","kid":"k","use":"sig","alg":"ES256","x":"{x}","y":"{y}"}}]}}"#)
}
