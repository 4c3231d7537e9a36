//! Where the helper fails the person sees why: on the terminal, in Terraform's own error, and in `credmint status`.

use credmint_stories::{Company, HOST, User, env_identity, file_identity, terraform, wait_until};
use credmint_test_kit::{Authority, Gate, Home, Registry, Terraform};

const VERSIONS: &str = "v1/modules/corp/network/aws/versions";
const INIT: [&str; 3] = ["init", "-input=false", "-no-color"];
const MODULE: &str =
    "module \"network\" {\n  source  = \"registry.corp.example/corp/network/aws\"\n  version = \"1.0.0\"\n}\n";

fn provider_alone(home: &Home) -> std::path::PathBuf {
    let text = credmint_test_kit::terraform::CONFIGURATION.replace(MODULE, "");
    home.write("provider/main.tf", text);
    home.path().join("provider")
}

/// What Terraform wrapped into lines and boxes, as one line.
fn unwrapped(text: &str) -> String {
    let words = text.split(['\n', '\r', '│', '╷', '╵', '|', '\'', '"']).flat_map(str::split_whitespace);
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_missing_identity_is_told_on_the_terminal_on_stderr_and_in_status() {
    let Some(terraform) = terraform() else { return };
    let (company, user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());
    user.settings(&(env_identity("WORKLOAD_TOKEN") + &company.issuer() + &company.host("job", "")));
    let why = format!("no identity has an answer for {HOST} (job: WORKLOAD_TOKEN is not set)");

    // 1. Providers: Terraform shows the helper's stderr.
    let output = terraform.run(&user.home, &provider_alone(&user.home), &INIT).output();
    assert_ne!(output.code, Some(0));
    let shown = unwrapped(&output.stderr);
    assert!(shown.contains(&why) && shown.contains(&format!("hint: credmint explain {HOST}")), "{shown}");
    // 2. Modules: Terraform hides it, so it stands on the terminal, before Terraform's own words.
    let output = terraform.run(&user.home, &user.work, &INIT).terminal().output();
    assert_ne!(output.code, Some(0));
    let shown = unwrapped(&output.stdout);
    assert!(shown.contains(&format!("terraform-credentials-credmint: {why}")), "{shown}");
    // 3. It can be read afterwards, and the hint leads further.
    let status = user.credmint(&["status"]).stdout;
    assert!(status.contains(&why) && status.contains("terraform-credentials-credmint"), "{status}");
    let explained = user.home.run("credmint").args(["explain", HOST]).output();
    assert!(explained.stdout.contains("WORKLOAD_TOKEN"), "{}{}", explained.stdout, explained.stderr);
    // 4. Nobody asked anonymously.
    assert_eq!(company.registry.requests().len(), 0);
    user.canary.check(&user.home);
}

#[test]
fn what_goes_wrong_behind_the_bridge_stands_in_terraforms_own_error() {
    let Some(terraform) = terraform() else { return };
    let (mut company, mut user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    let short = company.issuer_with("common_name = \"{email}\"\nttl = \"2s\"\n");
    user.settings(&(file_identity(&token) + &short + &company.host("job", "")));
    let session = user.got("token");
    let session = user.canary.watch("session token", session);
    let variable = format!("TF_TOKEN_{}", HOST.replace('.', "_"));

    // 1. TF_TOKEN_… goes before every helper: the bridge does not know it, and says what to look for.
    for (work, status) in [(user.work.clone(), 401), (provider_alone(&user.home), 428)] {
        let output = terraform.run(&user.home, &work, &INIT).env(&variable, "something-else-entirely").output();
        let shown = unwrapped(&output.stderr);
        assert!(shown.contains(&format!("{status} the bridge does not know this session for {HOST}")), "{shown}");
        assert!(shown.contains("hint: is a TF_TOKEN_ variable"), "{shown}");
    }
    // 2. OpenBao is sealed while a run has its session, and the certificate ends: the run is told.
    company.bao.seal();
    wait_until("the certificate is over", || user.ask_bridge("127.0.0.1", VERSIONS, &session).status != 200);
    user.canary.allow_variable(&variable);
    let output = terraform.run(&user.home, &user.work, &INIT).env(&variable, &session).output();
    let shown = unwrapped(&output.stderr);
    assert!(shown.contains("sealed") && shown.contains("hint: "), "{shown}");
    // 3. A new run has no session: its helper fails, Terraform goes on without, and is told where to look.
    let shown = unwrapped(&terraform.init(&user.home, &user.work).stderr);
    assert!(shown.contains(&format!("401 no credential for {HOST}: its helper failed")), "{shown}");
    assert!(shown.contains("hint: credmint status"), "{shown}");
    assert!(user.credmint(&["status"]).stdout.contains("sealed"));
    // 4. OpenBao is back, and the registry is gone: another cause, another sentence.
    company.bao.unseal();
    wait_until("the failure is remembered no more", || user.get().output().code == Some(0));
    company.registry.stop();
    let output = terraform.init(&user.home, &user.work);
    let shown = unwrapped(&output.stderr);
    assert!(shown.contains(&format!("502 {HOST}:")) && shown.contains("hint: "), "{shown}");
    user.canary.check(&user.home);
}

#[test]
fn an_issuer_that_refuses_is_quoted_by_its_name_and_its_reason() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());

    // 1. A token for another audience: OpenBao's JWT method refuses the login.
    let token = user.token_file(&company.provider.token_for("alice", "somebody-else", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));
    let output = terraform.run(&user.home, &provider_alone(&user.home), &INIT).output();
    let shown = unwrapped(&output.stderr);
    assert!(shown.contains("issuer registry-cert") && shown.contains("audience"), "{shown}");
    // 2. A failure is remembered for seconds only: a new token, and the next run succeeds.
    user.token_file(&company.provider.token_for("alice", "vault", 300));
    Terraform::write_configuration(&user.home, "work");
    terraform.init(&user.home, &user.work).success();
    // 3. The last failure is still there to be read.
    assert!(user.credmint(&["status"]).stdout.contains("audience"));
    user.canary.check(&user.home);
}

#[test]
fn a_registry_that_refuses_the_certificate_is_named_with_the_subject() {
    let Some(terraform) = terraform() else { return };
    let (mut company, mut user) = (Company::found(), User::move_in());

    // 1. The registry trusts another authority than the one that signs our certificates.
    company.registry = Registry::behind(Gate::ClientCertificate(Authority::new("Others").certificate().into())).start();
    user.setup(company.registry.address());
    let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
    user.settings(&(file_identity(&token) + &company.issuer() + &company.host("job", "")));
    // 2. Terraform's own error says who refuses whom, for modules and for providers.
    for (work, status) in [(user.work.clone(), 401), (provider_alone(&user.home), 428)] {
        let shown = unwrapped(&terraform.init(&user.home, &work).stderr);
        let why = format!("{status} {HOST} refuses the client certificate of CN=alice@corp.example");
        assert!(shown.contains(&why) && shown.contains("hint: "), "{shown}");
    }
    assert!(company.registry.requests().iter().all(|request| request.verify.starts_with("FAILED")));
    user.canary.check(&user.home);
}
