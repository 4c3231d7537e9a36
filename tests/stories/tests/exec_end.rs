//! What a run of `credmint exec --provider` is given: for how long, to whom, and that it is revoked with the end of the run.
//! OpenBao and the OpenID Provider are real.

use std::time::{Duration, Instant};

use credmint_stories::{User, env_identity};
use credmint_test_kit::home::executable;
use credmint_test_kit::processes::{self, Signal};
use credmint_test_kit::rabbitmq::RabbitMq;
use credmint_test_kit::run::Running;
use credmint_test_kit::{OpenBao, OpenIdProvider, Run};
use serde_json::json;

/// A home with a provider whose issuer is a login at OpenBao.
struct Place {
    user: User,
    bao: OpenBao,
    _provider: OpenIdProvider,
    settings: String,
}

impl Place {
    fn with(lines: &str) -> Self {
        let (provider, bao, mut user) = (OpenIdProvider::start(), OpenBao::start_tls(), User::move_in());
        bao.jwt_auth("jwt", provider.issuer());
        bao.jwt_role("jwt", "terraform", "vault", &["default"]);
        user.secret_variable("WORKLOAD_TOKEN", "subject token", &provider.token_for("alice", "vault", 3600));
        user.canary.allow_variable("VAULT_TOKEN");
        let issuer = format!(
            "[issuer.bao]\nkind = \"vault-token\"\naddress = \"{}\"\nca = \"{}\"\nauth = {{ method = \"jwt\", role = \"terraform\" }}\n\n",
            bao.address(),
            bao.ca_file().display()
        );
        let table = format!("[provider.prod]\nidentity = \"job\"\nissuer = \"bao\"\n{lines}\n");
        let settings = env_identity("WORKLOAD_TOKEN") + &issuer + &table;
        user.settings(&settings);
        Self { user, bao, _provider: provider, settings }
    }

    fn exec(&self, line: &str) -> Run<'_> {
        self.user.home.run(executable("credmint")).args(["exec", "--provider", "prod", "--", "/bin/sh", "-c", line])
    }

    /// Starts a run that waits, and gives the token that its program has.
    fn waiting(&self) -> (Running<'_>, String) {
        let mut running = self.exec("echo \"has $VAULT_TOKEN.\"; read go").typed().answer().start();
        let token = running.shows("its token", |text| {
            text.lines().find_map(|line| line.trim().strip_prefix("has ")?.strip_suffix('.').map(str::to_owned))
        });
        (running, token)
    }

    /// Tells whether OpenBao takes a token.
    fn takes(&self, token: &str) -> bool {
        self.bao.with_token(token).call("GET", "auth/token/lookup-self", None).status == 200
    }
}

#[test]
fn what_a_run_was_given_ends_with_it() {
    let mut place = Place::with("");
    // 1. While it goes on the token works, and a second run has the same one.
    let (mut first, token) = place.waiting();
    assert!(place.takes(&token));
    let (mut second, same) = place.waiting();
    assert!(same == token && place.bao.logins().len() == 1);
    // 2. The first ends, and leaves it to the second.
    first.type_line("go");
    assert_eq!(first.output().code, Some(0));
    assert!(place.takes(&token));
    // 3. With the last one it is over, before `credmint exec` is.
    second.type_line("go");
    let ended = second.output();
    assert!(ended.code == Some(0) && ended.stderr.is_empty(), "{}", ended.stderr);
    assert!(!place.takes(&token) && place.bao.logins().is_empty());
    // 4. The next run has one of its own.
    place.exec("test -n \"$VAULT_TOKEN\"").output().success();
    assert!(place.bao.logins().is_empty());
    place.user.canary.watch("client token", &token);
    place.user.canary.check(&place.user.home);
}

#[test]
fn a_run_that_is_killed_leaves_nothing_that_works() {
    let mut place = Place::with("");
    let (running, token) = place.waiting();
    assert!(place.takes(&token));
    processes::signal(running.pid(), Signal::KILL);
    place.bao.wait_for("the token is revoked", |client| client.logins().is_empty());
    assert!(!place.takes(&token));
    drop(running);
    place.user.canary.watch("client token", &token);
    place.user.canary.check(&place.user.home);
}

#[test]
fn what_somebody_else_has_or_the_settings_keep_is_left_alone() {
    let place = Place::with("");
    // A program of the provider asked for it: it never says when it is done.
    place.user.home.run("credmint-kubernetes").arg("prod").answer().output().success();
    place.exec("test -n \"$VAULT_TOKEN\"").output().success();
    assert_eq!(place.bao.logins().len(), 1);
    let place = Place::with("after_run = \"keep\"");
    for _ in 0..2 {
        place.exec("test -n \"$VAULT_TOKEN\"").output().success();
    }
    assert_eq!(place.bao.logins().len(), 1, "kept for the next run");
}

#[test]
fn what_could_not_be_revoked_is_said_and_no_run_waits_for_long() {
    let mut place = Place::with("");
    let (mut running, token) = place.waiting();
    place.bao.freeze();
    let start = Instant::now();
    running.type_line("go");
    let ended = running.output();
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    assert_eq!(ended.code, Some(0), "the program's own");
    assert!(ended.stderr.contains("what the run got for provider/prod could not be revoked: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("it ends by itself at 20"), "{}", ended.stderr);
    place.bao.go_on();
    place.user.canary.watch("client token", &token);
    place.user.canary.check(&place.user.home);
}

#[test]
fn a_run_that_wants_a_shorter_life_has_an_entry_of_its_own() {
    let mut user = User::move_in();
    let issuers = "[issuer.own]\nkind = \"local-ca\"\ncommon_name = \"me\"\n\n\
                   [issuer.pass]\nkind = \"oidc\"\n\n\
                   [issuer.aws]\nkind = \"aws-sts\"\nrole_arn = \"arn:aws:iam::123456789012:role/x\"\nregion = \"eu-central-1\"\nduration = \"1h\"\n\n";
    let provider = |name: &str, issuer: &str, more: &str| {
        format!("[provider.{name}]\nidentity = \"job\"\nissuer = \"{issuer}\"\n{more}\n")
    };
    let all = provider("prod", "own", "exec = \"kubernetes\"")
        + &provider("lab", "pass", "exec = \"gitlab\"")
        + &provider("aws", "aws", "");
    user.secret_variable("WORKLOAD_TOKEN", "subject token", "an-opaque-token-of-a-job");
    ["GITLAB_TOKEN", "KUBE_CLIENT_KEY_DATA"].iter().for_each(|name| user.canary.allow_variable(name));
    user.settings(&(env_identity("WORKLOAD_TOKEN") + issuers + &all));
    let exec = |ttl: &str, name: &str, line: &str| {
        let run = user.home.run(executable("credmint")).args(["exec", "--provider", name, "--ttl", ttl, "--"]);
        run.args(["/bin/sh", "-c", line]).output()
    };
    let lives = || -> Vec<u64> {
        let status = user.credmint(&["status", "--json"]).json();
        let entries = status["agent"]["entries"].as_array().cloned().unwrap_or_default();
        entries.iter().filter_map(|entry| entry["remaining_seconds"].as_u64()).collect()
    };
    let usual = || {
        user.home.run("credmint-kubernetes").arg("prod").answer().output().success();
        assert!(matches!(lives().as_slice(), [3540..=3600]), "{:?}", lives());
    };
    // 1. A quarter of an hour, for who asks for that, whatever is kept for others.
    usual();
    let ends = |seconds| format!("echo \"$KUBE_CLIENT_CERT_DATA\" | openssl x509 -noout -checkend {seconds}");
    let line = format!("{} && ! {}", ends(800), ends(910));
    let quarter = exec("15m", "prod", &line).success();
    assert_eq!(quarter.stderr, "");
    // 2. Who says nothing has the usual one, as before.
    usual();
    // 3. Where nobody can choose, that is said; where it is too short, nothing is started.
    let said = exec("15m", "lab", "true").success().stderr;
    assert!(said.contains("the issuer of provider/lab alone decides how long"), "{said}");
    let short = exec("5m", "aws", "echo started");
    assert!(short.code == Some(64) && short.stdout.is_empty(), "{short:?}");
    assert!(short.stderr.contains("grants nothing that lives for less than 15m"), "{}", short.stderr);
    assert!(short.stderr.contains("hint: credmint exec --ttl 15m --provider aws"), "{}", short.stderr);
    // 4. People see what is asked for.
    let explained = user.credmint(&["explain", "provider/aws"]).stdout;
    assert!(explained.replace("\n             ", " ").contains("to live for 1h"), "{explained}");
    user.canary.check(&user.home);
}

#[test]
fn a_run_of_a_job_without_a_user_gets_what_the_settings_have_for_it_coder_9120() {
    let mut user = User::move_in();
    let tables = "[identity.push]\nkind = \"env\"\nvariable = \"PUSH_TOKEN\"\n\n[issuer.pass]\nkind = \"oidc\"\n\n\
        [issuer.aws]\nkind = \"aws-sts\"\nrole_arn = \"arn:aws:iam::123456789012:role/x\"\nregion = \"eu-central-1\"\n\n\
        [provider.lab]\nidentity = \"job\"\nissuer = \"pass\"\nexec = \"gitlab\"\nwhen_absent = \"fallback\"\nfallback_identity = \"push\"\n\n\
        [provider.aws]\nidentity = \"job\"\nissuer = \"aws\"\nwhen_absent = \"placeholder\"\n";
    user.settings(&(env_identity("WORKLOAD_TOKEN") + tables));
    user.secret_variable("PUSH_TOKEN", "token of pushes", "the-token-of-pushes");
    user.canary.allow_variable("GITLAB_TOKEN");
    let exec = |build: &str| {
        let line = "test ${#GITLAB_TOKEN} = 19 && echo \"$AWS_ACCESS_KEY_ID $AWS_CONTAINER_CREDENTIALS_FULL_URI\"";
        let run = user.home.run(executable("credmint")).args(["exec", "--provider", "lab", "--provider", "aws", "--"]);
        let run = run.args(["/bin/sh", "-c", line]).env("CODER_WORKSPACE_TRANSITION", "start");
        run.env("CODER_WORKSPACE_BUILD_ID", build).output()
    };
    // 1. A template push: the fallback, and keys that open nothing.
    assert_eq!(exec("").success().stdout, "CREDMINTPLACEHOLDER0 \n");
    // 2. A start has a user, who has to be there.
    let started = exec("b");
    assert!(started.code == Some(77) && started.stdout.is_empty(), "{started:?}");
    assert!(started.stderr.contains("the owner of this workspace has no token at Coder"), "{}", started.stderr);
    user.canary.check(&user.home);
}

#[test]
fn a_user_that_an_engine_of_openbao_made_for_a_run_is_gone_with_it() {
    let mut place = Place::with("");
    let broker = RabbitMq::start();
    let (bao, address) = (&place.bao, broker.address());
    bao.write("sys/mounts/rabbitmq", json!({ "type": "rabbitmq" }));
    let connection =
        json!({ "connection_uri": address, "username": "admin", "password": "word", "verify_connection": false });
    bao.write("rabbitmq/config/connection", connection);
    let vhosts = json!({ "/": { "configure": "", "write": "", "read": ".*" } }).to_string();
    bao.write("rabbitmq/roles/reader", json!({ "tags": "monitoring", "vhosts": vhosts }));
    bao.policy("engine", "path \"rabbitmq/creds/reader\" { capabilities = [\"read\"] }");
    bao.jwt_role("jwt", "terraform", "vault", &["engine"]);
    let settings =
        place.settings.replace("vault-token", "vault-secret\"\npath = \"rabbitmq/creds/reader\"\nfield = \"password");
    place.user.settings(&(settings + "exec = \"http\"\n"));
    place.user.canary.allow_variable("TF_HTTP_PASSWORD");
    // 1. The engine makes a user with a lease, and its password is what the program has.
    let leases = |bao: &OpenBao| bao.list("sys/leases/lookup/rabbitmq/creds/reader").len();
    let mut running = place.exec("echo \"has ${#TF_HTTP_PASSWORD}.\"; read go").typed().answer().start();
    let length = running.shows("its password", |text| text.contains("has 36.").then_some(36));
    assert_eq!((length, broker.users().len(), leases(&place.bao)), (36, 1, 1));
    // 2. With the run the lease ends, and with that the user.
    running.type_line("go");
    let ended = running.output();
    assert!(ended.code == Some(0) && ended.stderr.is_empty(), "{}", ended.stderr);
    place.bao.wait_for("the lease is revoked", |_| broker.users().is_empty());
    assert!(place.bao.logins().is_empty() && leases(&place.bao) == 0);
    place.user.canary.check(&place.user.home);
}
