//! A person signs in at OpenBao, which alone is registered with the OpenID Provider; its client token serves the issuers there.

use std::thread::sleep;
use std::time::Duration;

use credmint_stories::{Company, HOST, User, terraform, wait_until};
use credmint_test_kit::browser::link;
use credmint_test_kit::http::Request;
use credmint_test_kit::run::Running;
use credmint_test_kit::{Browser, OpenBao, OpenIdProvider};
use serde_json::{Value, json};

/// The settings of the person `me`; stories that run side by side cannot all have the usual port.
fn person(bao: &OpenBao, lines: &str) -> String {
    let address = bao.address();
    format!("[identity.me]\nkind = \"vault-oidc\"\naddress = \"{address}\"\nredirect_ports = 0\n{lines}\n\n")
}

/// The settings of an issuer that takes the sign-in's own token, with these lines.
fn issuer(bao: &OpenBao, kind: &str, lines: &str) -> String {
    let address = bao.address();
    format!(
        "[issuer.vault]\nkind = \"{kind}\"\naddress = \"{address}\"\nauth = {{ method = \"identity\" }}\n{lines}\n\n"
    )
}

fn token_host() -> String {
    format!("[host.\"{HOST}\"]\nidentity = \"me\"\nissuer = \"vault\"\ndeliver = \"token\"\n\n")
}

/// A company whose OpenBao signs its people in, with a role for them.
fn company(role: Value) -> Company {
    let company = Company::found();
    let policy = company.pki.policy_for("registry-client");
    company.bao.oidc_auth("oidc", &company.provider);
    company.bao.oidc_role("oidc", "people", &[&policy], role);
    company
}

/// Signs in by the scripted browser; gives what `credmint login` printed.
#[track_caller]
fn signs_in(user: &User) -> String {
    let mut login = user.login(&["--no-browser"]);
    let url = credmint_stories::address(&mut login);
    let page = Browser::of("alice").sign_in(&url);
    assert_eq!(page.status, 200, "{}", page.body);
    let output = login.output().success();
    output.stdout
}

/// Looks a token up as OpenBao has it.
fn status_of(bao: &OpenBao, token: &str) -> u16 {
    bao.with_token(token).call("GET", "auth/token/lookup-self", None).status
}

#[test]
fn the_sign_ins_token_gets_the_certificate_and_logout_ends_it_at_openbao() {
    let (company, mut user) = (company(json!({})), User::move_in());
    user.setup(company.registry.address());
    let pki = issuer(&company.bao, "vault-pki", "role = \"registry-client\"\ncommon_name = \"{email}\"\nttl = \"1h\"");
    let host = company.host("me", "").replace("registry-cert", "vault");
    user.settings(&(person(&company.bao, "role = \"people\"") + &pki + &host));

    // 1. Signed in by the browser: who it is comes from the role's claim mappings.
    let said = signs_in(&user);
    assert!(said.contains("Signed in as alice@corp.example"), "{said}");
    let sessions = user.sessions();
    assert_eq!(sessions[0]["issuer"], company.bao.address());
    assert_eq!(company.bao.logins().len(), 1);
    // 2. That very token has the certificate signed; nothing else logs in.
    let session = user.got("token");
    user.canary.watch("session token of the bridge", session.clone());
    let answer = user.ask_bridge("localhost", ".well-known/terraform.json", &session);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!((company.pki.minted(), company.bao.logins().len()), (1, 1));
    if let Some(terraform) = terraform() {
        terraform.init(&user.home, &user.work).success();
        assert_eq!((company.pki.minted(), company.bao.logins().len()), (1, 1));
    }
    // 3. Signed out, the token is over at OpenBao, and nobody is signed in.
    let said = user.credmint(&["logout", "me"]).stdout;
    assert!(said.contains("with all leases of its token"), "{said}");
    assert!(company.bao.logins().is_empty() && user.sessions().is_empty());
    let output = user.get().output();
    assert_eq!(output.code, Some(77), "{}", output.stderr);
    assert!(output.stderr.contains("hint: credmint login me"), "{}", output.stderr);
    user.canary.check(&user.home);
}

#[test]
fn a_short_token_is_renewed_while_it_is_used_and_a_revoked_one_is_over() {
    let (company, mut user) = (company(json!({ "token_ttl": "16s", "token_max_ttl": "1h" })), User::move_in());
    user.settings(
        &(person(&company.bao, "role = \"people\"") + &issuer(&company.bao, "vault-token", "") + &token_host()),
    );
    signs_in(&user);

    // 1. The very token is handed out, and lives on: the same one, for longer than its life.
    let token = user.got("token");
    user.canary.watch("client token", token.clone());
    let end = |user: &User| user.sessions()[0]["until"].as_str().map(ToOwned::to_owned);
    let first = end(&user);
    wait_until("the token is renewed", || end(&user) > first);
    assert_eq!((user.got("token"), status_of(&company.bao, &token)), (token.clone(), 200));
    // 2. Somebody revokes it: at the next renewal the session is over, and that is said.
    company.bao.with_token(&token).write("auth/token/revoke-self", json!({}));
    let is_over = |user: &User| user.sessions()[0]["over"] == true;
    let over = (0..2).any(|_| {
        (0..250).any(|_| {
            is_over(&user) || {
                sleep(Duration::from_millis(20));
                false
            }
        })
    });
    assert!(over, "{:?}", user.sessions());
    let output = user.get().output();
    assert_eq!(output.code, Some(77), "{}", output.stderr);
    assert!(output.stderr.contains("hint: credmint login me"), "{}", output.stderr);
    assert_eq!(user.home.run("credmint").args(["needs-login", "me"]).output().code, Some(0));
    user.canary.check(&user.home);
}

#[test]
fn a_token_that_openbao_has_ended_is_noticed_at_its_next_use() {
    let (company, mut user) = (company(json!({})), User::move_in());
    let inline = format!("[host.\"{HOST}\"]\nidentity = \"me\"\nissuer = \"vault\"\ndeliver = \"inline\"\n\n");
    let pki = issuer(&company.bao, "vault-pki", "role = \"registry-client\"\ncommon_name = \"{email}\"");
    user.settings(&(person(&company.bao, "role = \"people\"") + &pki + &inline));
    signs_in(&user);

    // 1. Signed in; then somebody at OpenBao ends it.
    company.bao.write("auth/token/revoke-accessor", json!({ "accessor": company.bao.logins()[0] }));
    // 2. The first certificate is refused: not for the policy, but because the sign-in is over.
    let output = user.get().output();
    assert_eq!(output.code, Some(77), "{}", output.stderr);
    let said = &output.stderr;
    assert!(said.contains("sign-in of `me` is over") && said.contains("hint: credmint login me"), "{said}");
    assert!(output.took < Duration::from_secs(1), "{:?}", output.took);
    assert_eq!(user.sessions()[0]["over"], true);
    // 3. Signing in again makes it work at once, and the agent's end ends that at OpenBao.
    signs_in(&user);
    let object = user.get().output().success().json();
    user.canary.watch_pem("client private key", object["client_private_key_pem"].as_str().unwrap_or_default());
    user.credmint(&["agent", "stop"]);
    company.bao.wait_for("the sign-in ends with the agent", |client| client.logins().is_empty());
    user.canary.check(&user.home);
}

/// Waits for a code like those of the provider, and the page to approve it on.
#[track_caller]
fn code_and_page(login: &mut Running<'_>, provider: &OpenIdProvider) -> (String, String) {
    let start = format!("{}/device", provider.issuer());
    let is_group = |group: &str| group.len() == 4 && group.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_code = |word: &&str| word.split_once('-').is_some_and(|(one, two)| is_group(one) && is_group(two));
    let page = login.shows("where to approve", |text| link(text, &start));
    (login.shows("the code", |text| text.split_whitespace().find(is_code).map(ToOwned::to_owned)), page)
}

/// Known case: CVE-2026-33757 of OpenBao (a sign-in that somebody else began is approved): there is a code to compare.
#[test]
fn another_device_approves_where_the_role_has_it_so_openbao_cve_2026_33757() {
    let (company, mut user) = (company(json!({ "callback_mode": "device", "poll_interval": 1 })), User::move_in());
    user.settings(
        &(person(&company.bao, "role = \"people\"") + &issuer(&company.bao, "vault-token", "") + &token_host()),
    );

    // 1. The code is shown to be compared, with the warning.
    let mut login = user.login(&["--device"]);
    let (code, page) = code_and_page(&mut login, &company.provider);
    login.shows("the warning", |text| text.contains("Nobody else should have sent you this").then_some(()));
    let approved = Browser::of("alice").approve(&page, &code);
    assert!(approved.body.contains("Sign-in Success"), "{}", approved.body);
    login.output().success();
    let token = user.got("token");
    user.canary.watch("client token", token.clone());
    assert_eq!(status_of(&company.bao, &token), 200);
    user.credmint(&["logout", "--all"]);
    assert_eq!(status_of(&company.bao, &token), 403);
    // 2. Without the word it goes the same way: a role has one mode. A person who says no is believed.
    let mut login = user.login(&["--no-browser"]);
    let (code, page) = code_and_page(&mut login, &company.provider);
    Browser::of("mallory").refusing().approve(&page, &code);
    let output = login.output();
    assert_eq!(output.code, Some(77), "{}", output.stderr);
    assert!(
        output.stderr.contains("declined") && output.stderr.contains("hint: credmint login me"),
        "{}",
        output.stderr
    );
    user.canary.check(&user.home);
}

#[test]
fn what_openbao_does_not_allow_is_told_with_what_to_allow() {
    let (company, user) = (company(json!({})), User::move_in());
    let login = |lines: &str, words: &[&str]| {
        user.settings(&(person(&company.bao, lines) + &issuer(&company.bao, "vault-token", "") + &token_host()));
        let output = user.login(words).output();
        assert_ne!(output.code, Some(0), "{}", output.stdout);
        output.stderr
    };
    // 1. A redirect URI that the role does not have: OpenBao says nothing, we name it exactly.
    let said = login("role = \"people\"\nredirect_host = \"127.0.0.1\"", &["--no-browser"]);
    let uri =
        said.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:") && word.ends_with("/oidc/callback"));
    assert!(uri.is_some() && said.contains("hint: add http://127.0.0.1:"), "{said}");
    assert!(said.contains("allowed_redirect_uris of the role people"), "{said}");
    // 2. A role that is not there, a method that is not there, a namespace that is not there.
    let said = login("role = \"peple\"", &["--no-browser"]);
    assert!(said.contains("there is no such role") && said.contains("peple"), "{said}");
    let said = login("role = \"people\"\nmount = \"sso\"", &["--no-browser"]);
    assert!(said.contains("no such auth method") && said.contains("auth/sso"), "{said}");
    // 3. A code for another device, where the role has none.
    let said = login("role = \"people\"", &["--device"]);
    assert!(said.contains("callback_mode device") && said.contains("hint: credmint login me --no-browser"), "{said}");
    // 4. A token of another Vault: the settings say so before anything is sent.
    let elsewhere = issuer(&company.bao, "vault-token", "").replace("http://127.0.0.1", "http://localhost");
    user.settings(&(person(&company.bao, "") + &elsewhere + &token_host()));
    let said = user.login(&["--no-browser"]).output().stderr;
    assert!(said.contains("sent to its own server and namespace alone"), "{said}");
    user.canary.check(&user.home);
}

#[test]
fn strangers_at_the_door_change_nothing_and_an_address_can_be_pasted() {
    let (company, mut user) = (company(json!({})), User::move_in());
    user.settings(
        &(person(&company.bao, "role = \"people\"") + &issuer(&company.bao, "vault-token", "") + &token_host()),
    );
    let mut login = user.login(&["--no-browser"]);
    let url = credmint_stories::address(&mut login);
    // 1. Stray requests and a wrong state change nothing: the way back is the one of Vault's own command line.
    let (origin, _) = url.split_once("/begin/").expect("an address of ours");
    let status = |path: &str| Request::new("GET", &format!("{origin}{path}")).send().status;
    assert_eq!((status("/favicon.ico"), status("/callback?state=wrong&code=x")), (404, 404));
    assert_eq!(status("/oidc/callback?state=wrong&code=x"), 400);
    let page = Browser::of("alice").sign_in(&url);
    assert!(page.body.contains("alice@corp.example"), "{}", page.body);
    login.output().success();
    let token = user.got("token");
    user.canary.watch("client token", token);
    // 2. On a machine whose browser is elsewhere the address is pasted.
    let mut login = user.home.run("credmint").args(["login", "me", "--paste"]).typed().start();
    let url = login.shows("the page", |text| link(text, &format!("{}/auth?", company.provider.issuer())));
    let mut elsewhere = Browser::of("bob");
    login.type_line(&elsewhere.sent_back(&url));
    let output = login.output().success();
    assert!(output.stdout.contains("Signed in as bob@corp.example"), "{}", output.stdout);
    let token = user.got("token");
    user.canary.watch("client token of the second", token);
    user.canary.check(&user.home);
}

/// A user whose host gets the sign-in's own token, at a company with this role.
fn with_tokens(role: Value) -> (Company, User) {
    let (company, user) = (company(role), User::move_in());
    user.settings(
        &(person(&company.bao, "role = \"people\"") + &issuer(&company.bao, "vault-token", "") + &token_host()),
    );
    (company, user)
}

#[test]
fn a_new_sign_in_ends_the_token_of_the_one_before_unless_a_run_has_it() {
    let (company, mut user) = with_tokens(json!({}));

    // 1. Nothing was made of the first token: it is revoked when the second is there.
    signs_in(&user);
    let first = company.bao.logins();
    signs_in(&user);
    company.bao.wait_for("the older token ends", |client| client.logins().len() == 1);
    assert_ne!(company.bao.logins(), first);
    // 2. A run has the second: it works on, while whoever comes now gets the third.
    let second = user.got("token");
    user.canary.watch("second token", second.clone());
    signs_in(&user);
    let third = user.got("token");
    user.canary.watch("third token", third.clone());
    assert_ne!(second, third);
    assert_eq!((status_of(&company.bao, &second), status_of(&company.bao, &third)), (200, 200));
    user.credmint(&["logout", "me"]);
    assert_eq!(status_of(&company.bao, &third), 403);
    user.canary.check(&user.home);
}

#[test]
fn a_sealed_openbao_is_named_at_the_sign_in_and_at_the_logout() {
    let (company, mut user) = with_tokens(json!({}));
    company.bao.seal();
    let output = user.login(&["--no-browser"]).output();
    assert_eq!(output.code, Some(69), "{}", output.stderr);
    assert!(output.stderr.contains("sealed") && output.stderr.contains("hint: "), "{}", output.stderr);
    // 1. Unsealed, it works; what is kept goes on while it is sealed again.
    company.bao.unseal();
    company.bao.wait_for("it is there again", |client| client.call("GET", "sys/auth", None).status == 200);
    signs_in(&user);
    let token = user.got("token");
    user.canary.watch("client token", token.clone());
    company.bao.seal();
    assert_eq!(user.got("token"), token);
    // 2. Signed out here, and said that it lives on there.
    let output = user.home.run("credmint").args(["logout", "me"]).output();
    assert_eq!(output.code, Some(69), "{}", output.stderr);
    assert!(output.stderr.contains("signed out here, but not at"), "{}", output.stderr);
    assert!(user.sessions().is_empty());
    user.canary.check(&user.home);
}

#[test]
fn a_batch_token_serves_is_not_renewed_and_logout_says_that_it_lives_on() {
    let (company, mut user) = with_tokens(json!({ "token_type": "batch" }));
    signs_in(&user);
    assert!(user.sessions()[0]["renews"].is_null(), "{:?}", user.sessions());
    let token = user.got("token");
    user.canary.watch("batch token", token.clone());
    assert_eq!(status_of(&company.bao, &token), 200);
    let output = user.home.run("credmint").args(["logout", "me"]).output();
    assert_eq!(output.code, Some(69), "{}", output.stderr);
    assert!(output.stderr.contains("cannot revoke a batch token: it ends by itself"), "{}", output.stderr);
    assert!(user.sessions().is_empty());
    user.canary.check(&user.home);
}

#[test]
fn a_token_with_a_fixed_end_is_over_then_and_nobody_is_asked_in_vain() {
    let (_company, mut user) = with_tokens(json!({ "token_explicit_max_ttl": "8s" }));
    signs_in(&user);
    let token = user.got("token");
    user.canary.watch("client token", token);
    // It cannot be renewed beyond that, and whoever asks then is told to sign in.
    wait_until("the sign-in is over", || {
        user.home.run("credmint").args(["needs-login", "me"]).output().code == Some(0)
    });
    let output = user.get().output();
    assert_eq!(output.code, Some(77), "{}", output.stderr);
    assert!(output.stderr.contains("hint: credmint login me"), "{}", output.stderr);
    user.canary.check(&user.home);
}

#[test]
fn a_namespace_that_is_not_there_is_named() {
    let (company, user) = (company(json!({})), User::move_in());
    let spaced = |text: String| text.replacen("kind = ", "namespace = \"teams/nowhere\"\nkind = ", 1);
    let settings = spaced(person(&company.bao, "role = \"people\"")) + &spaced(issuer(&company.bao, "vault-token", ""));
    user.settings(&(settings + &token_host()));
    let output = user.login(&["--no-browser"]).output();
    assert_ne!(output.code, Some(0), "{}", output.stdout);
    assert!(output.stderr.contains("namespace") && output.stderr.contains("credmint login me"), "{}", output.stderr);
    user.canary.check(&user.home);
}
