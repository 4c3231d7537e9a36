//! Certificates that are not what was asked for, and servers whose own cannot be trusted.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test arranges the machine by hand, and fails by panicking"
)]

use std::io::{Read, Write};

use credmint_faults::fake::Fake;
use credmint_faults::vault::Lie;
use credmint_faults::{HELPER, JOB, REFUSED, UNREACHABLE, User, host, unix_now, unsigned_jwt, vault};
use credmint_test_kit::{Authority, Gate, OpenBao, Registry};
use serde_json::json;

fn user() -> User {
    let mut user = User::move_in();
    user.token(&unsigned_jwt(&json!({ "sub": "alice", "email": "alice@corp.example", "exp": unix_now() + 900 })));
    user
}

fn user_of(fake: &Fake) -> User {
    let user = user();
    user.settings(JOB.to_owned() + &vault::certificate(&fake.address(), "") + &host("cert", "deliver = \"inline\""));
    user
}

fn lie(lie: Lie, status: i32, words: &[&str]) {
    let fake = Fake::start(vault::signing(lie));
    let user = user_of(&fake);
    user.fails(status, &[&["issuer cert"], words].concat());
    fake.then(vault::signing(Lie::default()));
    user.recovers();
    user.check();
}

fn status(user: &User) -> String {
    user.home.run("credmint").arg("status").output().success().stdout
}

#[test]
fn a_certificate_for_another_key_is_refused_csi_driver_33() {
    lie(Lie { other_key: true, ..Lie::default() }, REFUSED, &["another key"]);
}

#[test]
fn a_certificate_that_is_over_is_refused() {
    lie(Lie { begins_in: -7200, ..Lie::default() }, REFUSED, &["expired"]);
}

#[test]
fn a_clock_two_minutes_behind_the_issuer_is_no_failure_but_a_note() {
    let fake = Fake::start(vault::signing(Lie { begins_in: 100, date_ahead: 100, ..Lie::default() }));
    let user = user_of(&fake);
    user.succeeds();
    let status = status(&user);
    assert!(status.contains("clock") && status.contains("behind"), "{status}");
    user.check();
}

#[test]
fn a_clock_further_behind_is_told_in_seconds() {
    lie(
        Lie { begins_in: 400, date_ahead: 400, ..Lie::default() },
        REFUSED,
        &["clock", "behind", "400 s", "set this machine's clock"],
    );
}

#[test]
fn a_certificate_of_the_far_future_is_refused_by_whatever_clock() {
    lie(Lie { begins_in: 86_400, ..Lie::default() }, REFUSED, &["valid only in", "clock"]);
}

#[test]
fn warnings_of_a_success_are_kept_for_status() {
    let warnings = vec!["TTL of \"24h\" exceeded the role's maximum\u{1b}[31m".to_owned()];
    let fake = Fake::start(vault::signing(Lie { warnings, ..Lie::default() }));
    let user = user_of(&fake);
    assert_eq!(user.succeeds().stderr, "", "Terraform takes nothing but the answer");
    let status = status(&user);
    assert!(status.contains("exceeded the role's maximum") && !status.contains('\u{1b}'), "{status}");
    user.check();
}

#[test]
fn a_certificate_that_is_not_for_clients_is_refused() {
    let bao = OpenBao::start();
    let pki = bao.pki("pki");
    pki.role("servers", json!({ "client_flag": false, "server_flag": true, "key_usage": ["DigitalSignature"] }));
    pki.role("registry-client", json!({}));
    let token = bao.make_token(&[&pki.policy_for("servers"), &pki.policy_for("registry-client")], "5m");
    let mut user = user();
    let token = user.canary.watch("Vault token", token);
    user.canary.allow_file(user.home.write("vault-token", token));
    let settings = |role: &str| {
        let auth = "auth = { method = \"token\", token = { file = \"~/vault-token\" } }";
        format!(
            "{JOB}[issuer.cert]\nkind = \"vault-pki\"\naddress = \"{}\"\n{auth}\nrole = \"{role}\"\n\
             common_name = \"{{email}}\"\n\n{}",
            bao.address(),
            host("cert", "deliver = \"inline\"")
        )
    };
    user.settings(settings("servers"));
    user.fails(REFUSED, &["client authentication", "client_flag"]);
    user.settings(settings("nobody"));
    user.fails(REFUSED, &["403", "role"]);
    user.settings(settings("registry-client"));
    user.succeeds();
    user.check();
}

/// nginx is no Vault, but what is wrong here is told before anybody speaks HTTP.
fn server(registry: &Registry, more: &str, words: &[&str]) {
    let user = user();
    let issuer = |more: &str| JOB.to_owned() + &vault::token(registry.address(), more) + &host("vault", "");
    user.settings(issuer(more));
    user.fails(UNREACHABLE, &[&["issuer vault", "127.0.0.1:"], words].concat());
    assert!(registry.requests().is_empty(), "no request may be sent: {:?}", registry.requests());

    let bao = OpenBao::start_tls();
    bao.approle("approle", "build", &["default"]);
    let ca = format!("ca = \"{}\"\nca_only = true", bao.ca_file().display());
    user.settings(JOB.to_owned() + &vault::token(bao.address(), &ca) + &host("vault", ""));
    // The way there is free: now it is OpenBao itself that says no.
    user.fails(REFUSED, &["auth"]);
    user.check();
}

fn trusted(registry: &Registry) -> String {
    format!("ca = \"{}\"", registry.ca_file().display())
}

#[test]
fn an_unknown_authority_is_told_with_what_to_write() {
    server(&Registry::behind(Gate::Open).start(), "", &["authority that is not trusted", "ca = "]);
}

#[test]
fn another_authority_than_the_one_of_the_settings_is_told() {
    let registry = Registry::behind(Gate::Open).start();
    let other = Authority::new("Somebody Else");
    let file = registry.site().join("other.pem");
    std::fs::write(&file, other.certificate()).expect("a file");
    server(&registry, &format!("ca = \"{}\"\nca_only = true", file.display()), &["authority that is not trusted"]);
}

#[test]
fn a_certificate_for_another_name_is_told_with_its_names() {
    let registry = Registry::behind(Gate::Open).names(&["other.corp.example"]).start();
    server(&registry, &trusted(&registry), &["another name", "other.corp.example"]);
}

#[test]
fn a_server_certificate_that_has_expired_is_told_with_its_end() {
    let registry = Registry::behind(Gate::Open).expired().start();
    server(&registry, &trusted(&registry), &["expired", "2020-01-02"]);
}

#[test]
fn a_server_that_speaks_no_tls_is_told() {
    let fake = Fake::start(vault::signing(Lie::default()));
    let user = user();
    let address = fake.address().replace("http:", "https:");
    user.settings(JOB.to_owned() + &vault::token(&address, "") + &host("vault", ""));
    // The fake closes when it cannot read a request; Go's and nginx's servers say 400 in plain text.
    user.fails(UNREACHABLE, &["no TLS connection", "closed"]);
    let plain = Talkative::start(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.");
    user.settings(JOB.to_owned() + &vault::token(&plain.0, "") + &host("vault", ""));
    user.fails(UNREACHABLE, &["no TLS connection"]);
    user.settings(JOB.to_owned() + &vault::token(&fake.address(), "") + &host("vault", ""));
    user.succeeds();
    user.check();
}

/// Fakes a server that says the same to everybody who connects, whatever they say.
struct Talkative(String);

impl Talkative {
    fn start(text: &'static [u8]) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = format!("https://{}", listener.local_addr().expect("its address"));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut hello = [0; 5];
                drop(stream.read_exact(&mut hello));
                drop(stream.write_all(text));
                drop(stream.shutdown(std::net::Shutdown::Write));
                drop(std::io::copy(&mut stream, &mut std::io::sink()));
            }
        });
        Self(address)
    }
}

#[test]
fn a_file_of_anchors_that_is_missing_or_none_is_told() {
    let registry = Registry::behind(Gate::Open).start();
    let user = user();
    let missing = user.home.path().join("no-such-ca.pem");
    let ca = format!("ca = \"{}\"", missing.display());
    user.settings(JOB.to_owned() + &vault::token(registry.address(), &ca) + &host("vault", ""));
    user.fails(credmint_faults::SETTINGS, &["trust anchors", "no-such-ca.pem"]);
    user.home.write("no-such-ca.pem", "this is no certificate");
    user.recovers_from(credmint_faults::SETTINGS, "no-such-ca.pem");
    std::fs::copy(registry.ca_file(), &missing).expect("the right anchors");
    // Trusted now; nginx has no auth method, which is another failure.
    user.recovers_from(REFUSED, "404");
    assert!(!registry.wait_for_requests(1).is_empty(), "{HELPER} got through");
    user.check();
}
