//! `credmint lock` and `unlock`: what is kept is encrypted where it stands, and works again without signing in.

use credmint_stories::{
    AS_IT_IS, Company, HOST, User, address, file_identity, person, terraform, token_host, wait_until,
};
use credmint_test_kit::{Authority, Browser, OpenIdProvider, Output, memory};
use serde_json::json;

const PASSPHRASE: &str = "correct horse battery staple";

fn lock(user: &User) {
    with_passphrase(user, "lock", PASSPHRASE).success();
}

fn with_passphrase(user: &User, verb: &str, passphrase: &str) -> Output {
    user.home.run("credmint").args([verb]).input(format!("{passphrase}\n")).output()
}

/// Says what every refusal of a locked agent says.
fn is_locked(output: &Output) -> bool {
    output.code == Some(77)
        && output.stderr.contains("credmint is locked")
        && output.stderr.contains("hint: credmint unlock")
}

#[test]
fn a_locked_agent_holds_nothing_in_the_clear_and_goes_on_after_unlock_without_signing_in() {
    let (company, mut user) = (Company::found(), User::move_in());
    user.settings(&(person(&company.provider, "") + &company.issuer() + &company.host("me", "deliver = \"inline\"\n")));

    // 1. Signed in, with a certificate; all of it is in memory, where it belongs.
    user.signs_in(&company.provider, "alice");
    let key = user.got("client_private_key_pem");
    user.canary.watch_pem("client private key", &key);
    user.canary.watch("passphrase", PASSPHRASE);
    let agent = user.home.agent().pid;
    let body: String = key.lines().filter(|line| !line.starts_with("-----")).collect();
    let der = credmint_test_kit::encoding::from_base64(&body);
    let refresh = company.provider.issued().remove(0).refresh_token;
    let readable = memory::is_readable(agent);
    assert!(!readable || memory::holds(agent, &der) && memory::holds(agent, refresh.as_bytes()));
    // 2. Locked, none of it is, and neither is the passphrase.
    lock(&user);
    if readable {
        for name in ["client private key", "refresh token 0", "ID token 0", "access token 0", "passphrase"] {
            user.canary.memory_lacks(agent, name);
        }
    }
    // 3. Nothing is handed out, nobody signs in, and what there is still shows by name.
    assert!(is_locked(&user.get().output()));
    assert!(is_locked(&user.login(&["--no-browser"]).output()));
    let status = user.credmint(&["status"]).stdout;
    assert!(status.contains("locked since") && status.contains("me (signed in)") && status.contains(HOST), "{status}");
    let again = with_passphrase(&user, "lock", PASSPHRASE);
    assert!(again.code == Some(77) && again.stderr.contains("locked already"), "{}", again.stderr);
    // 4. Unlocked, the same key serves, without a browser and without another login at OpenBao.
    with_passphrase(&user, "unlock", PASSPHRASE).success();
    assert!(user.got("client_private_key_pem") == key, "the same key");
    assert_eq!(company.bao.logins().len(), 1);
    assert!(!user.credmint(&["status"]).stdout.contains("locked since"));
    // 5. It is whole: signed out, issuer and OpenBao are told.
    user.credmint(&["logout", "me"]);
    assert!(!company.provider.is_active(&refresh));
    company.bao.wait_for("the login ends with the session", |client| client.logins().is_empty());
    user.canary.check(&user.home);
}

#[test]
fn terraform_is_told_that_credmint_is_locked_and_the_bridge_goes_on_after_unlock() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());
    let subject = company.provider.token_for("alice", "vault", 300);
    let token = user.token_file(&subject);
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));

    // 1. A run that is let in by the bridge.
    let session = user.got("token");
    let session = user.canary.watch("session token", session);
    let versions = "v1/modules/corp/network/aws/versions";
    assert_eq!(user.ask_bridge("127.0.0.1", versions, &session).status, 200);
    // 2. Locked, the agent has neither the run's token nor what the caller supplied; Terraform prints why it gets nothing.
    lock(&user);
    let agent = user.home.agent().pid;
    if memory::is_readable(agent) {
        user.canary.memory_lacks(agent, "session token");
        user.canary.memory_lacks(agent, "subject token");
    }
    let refused = terraform.init(&user.home, &user.work);
    assert_ne!(refused.code, Some(0));
    let said = format!("{}{}", refused.stdout, refused.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("credmint is locked") && said.contains("credmint unlock"), "{said}");
    assert_eq!(user.ask_bridge("127.0.0.1", versions, &session).status, 401);
    // 3. Unlocked, the same run goes on, and so does Terraform.
    with_passphrase(&user, "unlock", PASSPHRASE).success();
    assert_eq!(user.ask_bridge("127.0.0.1", versions, &session).status, 200);
    terraform.init(&user.home, &user.work).success();
    user.canary.check(&user.home);
}

#[test]
fn a_wrong_passphrase_makes_the_next_try_wait_whoever_makes_it() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let token = user.token_file(&provider.token_for("alice", HOST, 300));
    user.settings(&(file_identity(&token) + AS_IT_IS + &token_host("\"job\"", "as-it-is")));
    let _ = user.got("token");
    lock(&user);
    // 1. Six at once: one is looked at, the others are told to wait. The right one among them is no exception.
    let tries: Vec<Output> = std::thread::scope(|all| {
        let wrong = || all.spawn(|| with_passphrase(&user, "unlock", "wrong"));
        let running: Vec<_> = (0..6).map(|_| wrong()).collect();
        running.into_iter().map(|one| one.join().expect("ended")).collect()
    });
    let looked_at = tries.iter().filter(|one| one.stderr.contains("the passphrase is wrong")).count();
    let told_to_wait = tries.iter().filter(|one| one.stderr.contains("has to wait")).count();
    assert!(looked_at >= 1 && looked_at + told_to_wait == 6, "{looked_at} and {told_to_wait}");
    assert!(tries.iter().all(|one| one.code == Some(77) && one.stderr.contains("s, then credmint unlock")));
    let status = user.credmint(&["status", "--json"]).json();
    assert_eq!(status["agent"]["locked"]["wrong_tries"], looked_at);
    // 2. An empty one is no try.
    assert_eq!(with_passphrase(&user, "unlock", "").code, Some(64));
    // 3. After the wait the right one opens.
    wait_until("unlocked", || with_passphrase(&user, "unlock", PASSPHRASE).code == Some(0));
    let _ = user.got("token");
    user.canary.check(&user.home);
}

#[test]
fn a_locked_session_can_be_signed_out_and_the_agent_stopped() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&(person(&provider, "") + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
    user.signs_in(&provider, "alice");
    lock(&user);
    // 1. Signed out: dropped, and said to be alive at the issuer, because nobody has the token to revoke.
    let output = user.home.run("credmint").args(["logout", "me"]).output();
    assert!(output.code == Some(69) && output.stderr.contains("credmint was locked"), "{}", output.stderr);
    assert!(user.sessions().is_empty());
    // 2. Stopped, with everything.
    user.credmint(&["agent", "stop"]);
    let gone = user.credmint(&["unlock"]);
    assert!(gone.stdout.contains("no agent is running"), "{}", gone.stdout);
    assert_eq!(user.credmint(&["lock"]).stdout.trim(), "no agent is running: nothing is kept that could be locked");
    user.canary.check(&user.home);
}

/// Locks, looks for a secret in the agent's memory where that can be read, is refused, and unlocks.
#[track_caller]
fn lacks_while_locked(user: &User, name: &str) {
    lock(user);
    let agent = user.home.agent().pid;
    if memory::is_readable(agent) {
        user.canary.memory_lacks(agent, name);
    }
    assert!(is_locked(&user.get().output()));
    with_passphrase(user, "unlock", PASSPHRASE).success();
}

/// Takes the body of a private key, as the agent holds it.
#[track_caller]
fn got_key(user: &mut User, name: &str) -> String {
    let key = user.got("client_private_key_pem");
    user.canary.watch_pem(name, &key);
    key
}

#[test]
fn an_authority_of_the_agents_own_is_the_same_after_unlock() {
    let mut user = User::move_in();
    user.settings(&format!(
        "[issuer.trial]\nkind = \"local-ca\"\ncommon_name = \"trial\"\n\n\
         [host.\"{HOST}\"]\nissuer = \"trial\"\ndeliver = \"inline\"\n"
    ));
    let key = got_key(&mut user, "client private key");
    let anchor = user.credmint(&["agent", "anchor", HOST]).stdout;
    lacks_while_locked(&user, "client private key");
    // The same certificate, and the same authority for the next one.
    assert!(user.got("client_private_key_pem") == key, "the same key");
    assert_eq!(user.credmint(&["agent", "anchor", HOST]).stdout, anchor);
    user.canary.check(&user.home);
}

#[test]
fn a_request_that_people_sign_waits_through_a_lock() {
    let (authority, mut user) = (Authority::new("Corp People"), User::move_in());
    user.settings(&format!(
        "[issuer.by-hand]\nkind = \"offline\"\ncommon_name = \"build-07\"\n\n\
         [host.\"{HOST}\"]\nissuer = \"by-hand\"\ndeliver = \"inline\"\n"
    ));
    let csr = || user.home.run("credmint").args(["login", HOST, "--csr", "-"]).output();
    let request = csr().success().stdout;
    let signed = user.home.write("in.pem", authority.sign_request(&request, -30, 3600)).display().to_string();
    let complete = || user.home.run("credmint").args(["login", HOST, "--certificate", &signed]).output();
    // 1. Locked, nothing can be made of it, and nothing is lost.
    lock(&user);
    assert!(is_locked(&csr()) && is_locked(&complete()));
    with_passphrase(&user, "unlock", PASSPHRASE).success();
    assert_eq!(csr().success().stdout, request);
    complete().success();
    // 2. The key that waited is the one that serves; from now on it is locked like any other.
    let key = got_key(&mut user, "client private key");
    lacks_while_locked(&user, "client private key");
    assert!(user.got("client_private_key_pem") == key, "the same key");
    user.canary.check(&user.home);
}

#[test]
fn a_token_that_terraform_login_brought_is_locked_too() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let host = token_host("\"me\"", "as-it-is");
    user.settings(&(person(&provider, "") + AS_IT_IS + host.trim_end() + "\nstore = \"memory\"\n"));
    let token = user.canary.watch("pasted token", "pasted-fedcba9876543210-token");
    let store = user.home.run("terraform-credentials-credmint").args(["store", HOST]);
    assert_eq!(store.input(json!({ "token": token }).to_string()).output().code, Some(0));
    assert_eq!(user.got("token"), token);
    lacks_while_locked(&user, "pasted token");
    assert_eq!(user.got("token"), token);
    user.canary.check(&user.home);
}

#[test]
fn a_sign_in_at_openbao_goes_on_after_unlock() {
    let (company, mut user) = (Company::found(), User::move_in());
    company.bao.oidc_auth("oidc", &company.provider);
    company.bao.oidc_role("oidc", "people", &["default"], json!({}));
    let address_line = format!("address = \"{}\"", company.bao.address());
    user.settings(&format!(
        "[identity.me]\nkind = \"vault-oidc\"\n{address_line}\nrole = \"people\"\nredirect_ports = 0\n\n\
         [issuer.vault]\nkind = \"vault-token\"\n{address_line}\nauth = {{ method = \"identity\" }}\n\n{}",
        token_host("\"me\"", "vault")
    ));
    let mut login = user.login(&["--no-browser"]);
    let url = address(&mut login);
    assert_eq!(Browser::of("alice").sign_in(&url).status, 200);
    login.output().success();
    let token = user.got("token");
    user.canary.watch("client token", token.clone());
    // Its memory is not searched: what the HTTP library copied of a header is freed, and not wiped (threat model).
    lock(&user);
    assert!(is_locked(&user.get().output()));
    with_passphrase(&user, "unlock", PASSPHRASE).success();
    // The same token, and it can be revoked.
    assert_eq!(user.got("token"), token);
    user.credmint(&["logout", "me"]);
    assert!(company.bao.logins().is_empty());
    user.canary.check(&user.home);
}
