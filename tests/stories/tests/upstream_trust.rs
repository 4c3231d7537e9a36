//! How the bridge trusts and is trusted: renewals under way, sessions taken up again, pins, authorities that change.
#![expect(
    clippy::disallowed_methods,
    reason = "a story replaces the file of an authority, and gives its registry a large file"
)]

use std::fs;
use std::thread;

use credmint_stories::{Company, HOST, User, file_identity, wait_until};
use credmint_test_kit::certificates::Authority;
use credmint_test_kit::http::Answer;
use credmint_test_kit::processes;
use credmint_test_kit::{Gate, Registry};

const VERSIONS: &str = "v1/modules/corp/network/aws/versions";

/// Gives settings whose certificates live for so long.
fn settings(user: &mut User, company: &Company, ttl: &str, more: &str) {
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let issuer = company.issuer_with(&format!("common_name = \"{{email}}\"\nttl = \"{ttl}\"\n"));
    let host = company.host("job", &format!("upstream = \"{}\"\n{more}", company.registry.address()));
    user.settings(&(file_identity(&token) + &issuer + &host));
}

fn ask(user: &User, session: &str) -> Answer {
    user.ask_bridge("127.0.0.1", VERSIONS, session)
}

#[test]
fn a_download_goes_on_over_the_old_connection_while_the_certificate_is_renewed() {
    let (mut company, mut user) = (Company::found(), User::move_in());
    let slow = "location /v1/slow/ { limit_rate 400k; types { } default_type text/plain; }";
    company.registry = Registry::behind(Gate::ClientCertificate(company.pki.path())).nginx(slow).start();
    let length = 4_000_000;
    fs::create_dir_all(company.registry.site().join("v1/slow")).expect("a directory");
    fs::write(company.registry.site().join("v1/slow/file"), "x".repeat(length)).expect("a file");
    settings(&mut user, &company, "9s", "");

    // 1. A download of ten seconds, over a certificate of nine.
    let session = user.got("token");
    thread::scope(|scope| {
        let download = scope.spawn(|| user.ask_bridge("127.0.0.1", "v1/slow/file", &session));
        // 2. Meanwhile it is renewed, and what is asked from now on is asked with the new one.
        wait_until("the certificate is renewed", || {
            let _ = user.get().output();
            company.pki.minted() > 1
        });
        assert_eq!(ask(&user, &session).status, 200);
        assert!(!download.is_finished(), "the download is under way");
        let now = company.registry.wait_for_requests(1);
        // 3. The download comes to its end, with the certificate that it began with.
        let answer = download.join().expect("downloaded");
        assert_eq!((answer.status, answer.body.len()), (200, length));
        let all = company.registry.wait_for_requests(now.len() + 1);
        let serial_of =
            |path: &str| all.iter().rev().find(|one| one.path.ends_with(path)).map(|one| one.serial.clone());
        let (old, new) = (serial_of("/slow/file"), serial_of("/versions"));
        assert!(old.is_some() && new.is_some() && old != new, "{old:?} {new:?}");
    });
    user.canary.check(&user.home);
}

#[test]
fn the_last_good_certificate_serves_until_it_ends_while_renewals_fail_rolesanywhere_200() {
    let (company, mut user) = (Company::found(), User::move_in());
    settings(&mut user, &company, "9s", "");
    let session = user.got("token");
    assert_eq!(ask(&user, &session).status, 200);
    // 1. OpenBao is sealed; the helper asks for a renewal, and still has an answer.
    company.bao.seal();
    wait_until("a renewal fails", || {
        let renews = user.credmint(&["explain", HOST]).stdout.contains("kept       nothing");
        renews && user.get().output().code == Some(0)
    });
    assert_eq!(ask(&user, &session).status, 200, "the old one is good");
    // 2. At its end the failure is clear.
    let mut last = ask(&user, &session);
    wait_until("the certificate ends", || {
        last = ask(&user, &session);
        last.status != 200
    });
    assert!(last.head.contains("sealed"), "{}", last.head);
    assert_eq!(company.registry.requests().iter().filter(|request| request.verify != "SUCCESS").count(), 0);
    // 3. Unsealed, it goes on by itself.
    company.bao.unseal();
    wait_until("it goes on", || ask(&user, &session).status == 200);
    user.canary.check(&user.home);
}

#[test]
fn a_new_connection_takes_the_tls_session_up_again() {
    let (mut company, mut user) = (Company::found(), User::move_in());
    let each = "keepalive_timeout 0; ssl_session_cache shared:sessions:1m;";
    company.registry = Registry::behind(Gate::ClientCertificate(company.pki.path())).http1().nginx(each).start();
    settings(&mut user, &company, "1h", "");
    let session = user.got("token");
    for _ in 0..3 {
        assert_eq!(ask(&user, &session).status, 200);
    }
    let requests = company.registry.wait_for_requests(3);
    let resumed: Vec<bool> = requests.iter().map(|request| request.is_resumed).collect();
    assert_eq!(resumed, [false, true, true], "one full handshake, and two that go on from it");
    assert!(requests.iter().all(|request| request.verify == "SUCCESS"));
    user.canary.check(&user.home);
}

#[test]
fn a_server_without_the_pin_is_refused_by_name_and_the_refusal_has_the_pin() {
    let (company, mut user) = (Company::found(), User::move_in());
    let another = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    settings(&mut user, &company, "1h", &format!("pins = \"{another}\""));
    // 1. The authority is right, the name is right, the key is another.
    let refused = ask(&user, &user.got("token"));
    assert_eq!(refused.status, 401);
    let (_, seen) = refused.head.split_once("its key is ").expect("the key");
    let seen = seen.split([';', '\r']).next().unwrap_or_default();
    assert!(refused.head.contains(HOST) && seen.starts_with("sha256//") && seen != another, "{}", refused.head);
    assert!(company.registry.requests().is_empty());
    // 2. With the pin that it names, beside the first one.
    settings(&mut user, &company, "1h", &format!("pins = [\"{another}\", \"{seen}\"]"));
    assert_eq!(ask(&user, &user.got("token")).status, 200);
    user.canary.check(&user.home);
}

#[test]
fn an_authority_that_is_replaced_on_disk_counts_without_a_restart_ghostunnel_219() {
    let (company, mut user) = (Company::found(), User::move_in());
    let ca = company.registry.ca_file();
    let right = fs::read_to_string(&ca).expect("the authority");
    fs::write(&ca, Authority::new("Another").certificate()).expect("another authority");
    settings(&mut user, &company, "1h", "");
    // 1. The server's authority is not the one of the file.
    let session = user.got("token");
    let refused = ask(&user, &session);
    assert!(refused.status == 502 && refused.head.contains("not trusted"), "{}", refused.head);
    // 2. The file is put right; the same session, the same agent, the same certificate.
    fs::write(&ca, right).expect("the right authority");
    wait_until("the new authority counts", || ask(&user, &session).status == 200);
    assert_eq!(company.pki.minted(), 1);
    user.canary.check(&user.home);
}

#[test]
fn a_server_that_has_another_authority_at_the_next_connection_is_refused_until_it_has_its_own_again() {
    let (mut company, mut user) = (Company::found(), User::move_in());
    settings(&mut user, &company, "1h", "");
    let session = user.got("token");
    assert_eq!(ask(&user, &session).status, 200);
    let so_far = company.registry.requests().len();
    company.registry.stop();
    // 1. The same address and name, with a certificate of somebody else's authority.
    let ca = company.registry.ca_file();
    let (certificate, key) = (ca.with_file_name("server.pem"), ca.with_file_name("server.key"));
    let own = [&certificate, &key].map(|file| fs::read_to_string(file).expect("a file"));
    let serves = |pem: &str, key_pem: &str| {
        fs::write(&certificate, pem).expect("a certificate");
        fs::write(&key, key_pem).expect("a key");
        let directory = ca.parent().expect("its directory").display().to_string();
        user.home.run("nginx").args(["-p", &directory, "-c", "nginx.conf", "-e", "error.log"]).start()
    };
    let other = Authority::new("Another").server(&[HOST, "127.0.0.1"]);
    let another = serves(&other.certificate, &other.key);
    let refused = || {
        let answer = ask(&user, &session);
        let line = answer.head.lines().next().unwrap_or_default();
        answer.status == 502 && line.contains(HOST) && line.contains("not trusted") && line.contains("hint: ")
    };
    wait_until("it is refused with what to do", refused);
    assert_eq!(company.registry.requests().len(), so_far, "nothing was asked of it");
    processes::end(another.pid());
    // 2. Its own is back, and the session goes on.
    let right = serves(&own[0], &own[1]);
    wait_until("its own certificate is back", || ask(&user, &session).status == 200);
    processes::end(right.pid());
    drop((another, right));
    user.canary.check(&user.home);
}
