//! `credmint exec --carrier proxy`: the real terraform reaches a host behind mutual TLS by its own name, and all others as before.
use credmint_stories::{Company, HOST, User, file_identity, terraform};
use credmint_test_kit::Run;
use credmint_test_kit::home::executable;

/// A user of the company who has settings, and neither a helper nor a CLI configuration.
fn user_of(company: &Company) -> User {
    let mut user = User::move_in();
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let upstream = format!("upstream = \"{}\"", company.registry.address());
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", &upstream)));
    user
}

fn exec<'home>(user: &'home User, words: &[&str]) -> Run<'home> {
    let run = user.home.run(executable("credmint")).args(["exec", "--carrier", "proxy", "--"]);
    let run = run.args(words.iter().copied()).in_directory(&user.work).env("TF_IN_AUTOMATION", "1");
    run.deadline(std::time::Duration::from_secs(120))
}

#[test]
fn init_finds_a_registry_by_its_own_name_and_documents() {
    let Some(_) = terraform() else { return };
    let company = Company::found();
    let user = user_of(&company);

    // 1. Discovery, a module and a provider: no `host` block says where they are.
    let init = exec(&user, &["terraform", "init", "-input=false", "-no-color"]).output().success();
    assert_eq!(init.stderr, "");
    let requests = company.registry.requests();
    assert!(requests.iter().any(|request| request.path == "/.well-known/terraform.json"), "{requests:?}");
    assert!(requests.len() >= 9 && requests.iter().all(|request| request.verify == "SUCCESS"), "{requests:?}");
    assert!(requests.iter().all(|request| request.authorization.is_empty() && request.host == HOST));
    assert_eq!(company.pki.minted(), 1);
    user.canary.check(&user.home);
}

#[test]
fn the_proxy_is_for_who_has_its_token_and_its_authority_for_the_hosts_of_the_run() {
    let company = Company::found();
    let user = user_of(&company);
    let shell = |line: &str| exec(&user, &["/bin/sh", "-c", line]).env("NO_PROXY", ".corp.example,other").output();

    // 1. Another program than terraform: OpenSSL believes the authority of the run, and the client certificate is presented.
    let url = format!("https://{HOST}/v1/modules/corp/network/aws/versions");
    let output = shell(&format!("curl -sSf {url}")).success();
    assert!(output.stdout.contains("1.0.0"), "{}", output.stdout);
    // 2. Without the token there is no tunnel, to nobody.
    let port = "p=${HTTPS_PROXY##*:}";
    for to in [url.as_str(), "https://127.0.0.1:9/"] {
        for wrong in ["", "credmint:guess@", "credmint:$TF_TOKEN_registry_corp_example@"] {
            let line = format!("{port}; curl -sS --noproxy '' -x http://{wrong}127.0.0.1:$p {to}");
            let output = shell(&line);
            assert!(output.stderr.contains("407"), "{wrong} {to}: {}", output.stderr);
        }
    }
    // 3. What cannot be reached is said; the run's own port is not dialled.
    let output = shell(&format!("{port}; curl -sS --noproxy '' -x $HTTPS_PROXY https://127.0.0.1:$p/"));
    assert!(output.stderr.contains("502"), "{}", output.stderr);
    // 4. The authority is constrained, its file is private, and only what exempts the host is taken out.
    let line = "openssl x509 -in $SSL_CERT_FILE -noout -text; stat -c %a $SSL_CERT_FILE; echo no=$NO_PROXY; grep -c 'PRIVATE KEY' $SSL_CERT_FILE";
    let output = shell(line);
    let is_constrained = output.stdout.contains("X509v3 Name Constraints: critical");
    assert!(is_constrained && output.stdout.contains(&format!("DNS:{HOST}")), "{}", output.stdout);
    assert!(output.stdout.contains("\n600\nno=other\n0\n"), "{}", output.stdout);
    user.canary.check(&user.home);
}

#[test]
fn a_token_of_ours_never_reaches_the_upstream_however_a_program_presents_it() {
    let company = Company::found();
    let user = user_of(&company);
    let url = format!("https://{HOST}/v1/modules/corp/network/aws/versions");
    let token = "$TF_TOKEN_registry_corp_example";
    let proxy = "$(echo $HTTPS_PROXY | sed 's/.*credmint:\\(.*\\)@.*/\\1/')";
    for presents in [
        format!("-H \"Authorization: Bearer {token}\""),
        format!("-H \"Authorization: bearer {token}\""),
        format!("-H \"Authorization: Token token={token}\""),
        format!("-u \"me:{token}\""),
        // git, npm and others have a token for a name.
        format!("-u \"{token}:\""),
        format!("-u \"{token}:x-oauth-basic\""),
        format!("-H \"Authorization: bearer {proxy}\""),
    ] {
        exec(&user, &["/bin/sh", "-c", &format!("curl -sSf {presents} {url}")]).output().success();
        let seen = company.registry.requests();
        assert!(seen.iter().all(|request| request.authorization.is_empty()), "{presents}: {seen:?}");
    }
    // What is the client's own is passed on.
    exec(&user, &["/bin/sh", "-c", &format!("curl -sSf -u me:own {url}")]).output().success();
    assert!(company.registry.requests().last().is_some_and(|last| !last.authorization.is_empty()));
    user.canary.check(&user.home);
}
