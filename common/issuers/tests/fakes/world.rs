//! What the tests of this folder share: settings, subject tokens, and one way to ask an issuer.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use credmint_client_identity::ClientIdentity;
use credmint_https::Https;
use credmint_identities::{Caller, SubjectToken};
use credmint_issuers::{Authorities, Before, Grant, GrantError, PendingRequests, World, grant};
use credmint_settings::{Issuer, Peer, Source, VaultAuth, VaultLogin, VaultToken};
use credmint_vocabulary::{Deadline, Secret, Timestamp};

/// Must never be seen in an error, a note or a `Debug`.
pub(crate) const CANARY: &str = "hvs.CANARYcanary0123456789CANARY";

#[expect(clippy::disallowed_methods, reason = "a test has no other clock")]
pub(crate) fn now() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}

pub(crate) fn soon() -> Deadline {
    Deadline::after(Instant::now(), Duration::from_secs(10))
}

/// Makes a JWT with these claims and no signature.
pub(crate) fn jwt(claims: &str) -> SubjectToken {
    SubjectToken::new(Secret::new(format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims)))).unwrap()
}

pub(crate) fn alice() -> SubjectToken {
    jwt(r#"{"sub":"alice","email":"alice@corp.example"}"#)
}

pub(crate) fn login(address: &str) -> VaultLogin {
    let auth = VaultAuth::Jwt { mount: "jwt".into(), role: "dev".into() };
    VaultLogin { address: address.into(), namespace: None, auth, peer: Peer::default() }
}

/// Logs in with a token of the caller's variable `VAULT`.
pub(crate) fn with_token(address: &str) -> VaultLogin {
    VaultLogin { auth: VaultAuth::Token { token: Source::Env("VAULT".into()) }, ..login(address) }
}

pub(crate) fn vault_token(login: VaultLogin) -> Issuer {
    Issuer::VaultToken(Box::new(VaultToken { login }))
}

pub(crate) fn caller(vault: &str) -> Caller {
    let mut caller = Caller::default();
    caller.environment.insert("VAULT".into(), Secret::from(vault));
    caller
}

pub(crate) async fn ask(issuer: &Issuer, subject: Option<&SubjectToken>, caller: &Caller) -> Result<Grant, GrantError> {
    ask_again(issuer, subject, caller, (&PendingRequests::default(), None)).await
}

/// Asks with what there is of earlier times: requests that wait, and the present certificate.
pub(crate) async fn ask_again(
    issuer: &Issuer,
    subject: Option<&SubjectToken>,
    caller: &Caller,
    (requests, present): (&PendingRequests, Option<&Arc<ClientIdentity>>),
) -> Result<Grant, GrantError> {
    let (https, authorities) = (Https::new("test"), Authorities::default());
    let before = Before { requests, entry: [0; 32], present };
    let world = World {
        https: &https,
        caller,
        authorities: &authorities,
        certificate: None,
        before,
        now: now(),
        deadline: soon(),
    };
    grant("issuer", issuer, subject, &world).await
}

pub(crate) async fn ask_as_alice(issuer: &Issuer) -> Result<Grant, GrantError> {
    ask(issuer, Some(&alice()), &Caller::default()).await
}

/// Panics if the canary shows anywhere.
pub(crate) fn shows_nothing(error: &GrantError) {
    let all = format!("{error} {error:?} {error:#?} {:?}", error.hint());
    assert!(!all.to_lowercase().contains("canary"), "{all}");
}

/// An answer to a login that gives this token.
pub(crate) fn logged_in(token: &str) -> String {
    format!(r#"{{"auth":{{"client_token":"{token}","lease_duration":300,"token_type":"service"}}}}"#)
}
