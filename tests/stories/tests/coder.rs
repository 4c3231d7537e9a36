//! A provisioner of Coder, with the files of `packaging/coder` themselves: builds of two owners side by side, a template push, tokens of no use, `init`.
//! Terraform, its own AWS SDK, bao, kubectl, OpenBao and the OpenID Provider are real; STS is a strict fake, S3 is moto, the API server an nginx. Coder never ran.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a story stops at what is not so, and reads what its peers wrote"
)]

use credmint_stories::{Company, terraform, wait_until};
use credmint_test_kit::encoding::{base64, claims, unix_time};
use credmint_test_kit::http::Request;
use credmint_test_kit::kubernetes::{KubernetesApi, service_account_claims};
use credmint_test_kit::provisioner::{OWNERS_TOKEN, Provisioner, packaging};
use credmint_test_kit::{Gate, Moto, Output, Registry, Sts, peer, sts};
use serde_json::json;

/// A company with a provisioner, clouds, and the tokens of two owners.
struct Site {
    company: Company,
    sts: Sts,
    moto: Moto,
    provisioner: Provisioner,
    _reviews: KubernetesApi,
}

/// What an owner's access token is for: an API that everybody here trusts.
fn token(company: &Company, owner: &str, ttl: i64) -> String {
    let claims = json!({ "aud": [sts::AUDIENCE, "vault"], "email": format!("{owner}@corp.example") });
    company.provider.token_with(owner, "vault", ttl, claims)
}

fn site() -> Site {
    site_with("")
}

/// Founds it; `aws` is what stands besides in the table of the provider `aws`.
fn site_with(aws: &str) -> Site {
    let company = Company::found();
    let (sts, moto) = (Sts::start(&company.provider), Moto::start());
    company.bao.policy("owner", "path \"auth/token/lookup-self\" { capabilities = [\"read\"] }");
    company.bao.jwt_role("jwt", "workspace-owner", "vault", &["owner"]);
    let pod =
        company.provider.token_with("pod", "vault", 600, service_account_claims("vault", "coder", "coder-provisioner"));
    let reviews = KubernetesApi::start(&pod, "coder", "coder-provisioner");
    company.bao.kubernetes_auth(
        "kubernetes",
        reviews.address(),
        "provisioner",
        &[&company.pki.policy_for("registry-client")],
    );
    let address = company.bao.address().to_owned();
    let bare = address.trim_start_matches("http://").to_owned();
    let registry = &company.registry;
    let ca = std::fs::read_to_string(registry.ca_file()).expect("the registry's authority");
    let places = credmint_test_kit::random::free_port();
    let mut provisioner = Provisioner::install(&[
        ("audience = \"api://workspaces.corp.example\"", "audience = \"vault\"".to_owned()),
        ("https://vault.corp.example:8200", address),
        ("vault.corp.example:8200", bare),
        ("arn:aws:iam::123456789012:role/workspace-owner", sts::ROLE.to_owned()),
        ("session_name = \"{email}\"", format!("session_name = \"{{email}}\"\nendpoint = \"{}\"", sts.address())),
        ("identity = \"owner\"\nissuer = \"aws\"", format!("identity = \"owner\"\nissuer = \"aws\"\n{aws}")),
        ("[identity.owner]", format!("[bridge]\nport = {places}\n\n[identity.owner]")),
        ("/var/run/secrets/credmint/token", "POD_TOKEN".to_owned()),
        (
            "issuer = \"registry\"",
            format!("issuer = \"registry\"\nupstream = \"{}\"\nca = \"REGISTRY_CA\"", registry.address()),
        ),
    ]);
    let place = |name: &str, text: &str| provisioner.place(name, text).display().to_string();
    let (pod_file, ca_file) = (place("pod-token", &pod), place("registry-ca.pem", &ca));
    let settings = std::fs::read_to_string(provisioner.home.root().join("etc/config.toml")).expect("the settings");
    provisioner.place("config.toml", &settings.replace("POD_TOKEN", &pod_file).replace("REGISTRY_CA", &ca_file));
    provisioner.canary.watch("token of the pod", pod);
    provisioner.canary.allow_file(pod_file);
    provisioner.home.set("AWS_EC2_METADATA_DISABLED", "true");
    provisioner.home.set("AWS_ENDPOINT_URL_STS", sts.address());
    Site { company, sts, moto, provisioner, _reviews: reviews }
}

impl Site {
    fn owner(&mut self, name: &str) -> String {
        let token = token(&self.company, name, 600);
        self.provisioner.canary.watch(&format!("token of {name}"), token)
    }

    /// A template that asks AWS while it plans: the state of another workspace, in a bucket.
    fn asks_aws(&self) -> String {
        let moto = self.moto.address();
        let state = json!({ "version": 4, "terraform_version": "1.0.0", "serial": 1, "lineage": "l", "resources": [],
            "outputs": { "region": { "value": "eu-north", "type": "string" } } });
        for (path, body) in [("states", String::new()), ("states/base", state.to_string())] {
            let authorization = "AWS4-HMAC-SHA256 Credential=stub/20261201/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=stub";
            let put = Request::new("PUT", &format!("{moto}/{path}")).header("Authorization", authorization).body(body);
            let answer = put.send();
            assert!(answer.status == 200 || answer.status == 409, "{}", answer.body);
        }
        format!(
            "data \"terraform_remote_state\" \"base\" {{\n  backend = \"s3\"\n  config = {{\n    bucket = \"states\"\n    key = \"base\"\n    \
             region = \"{}\"\n    profile = \"owner\"\n    use_path_style = true\n    endpoints = {{ s3 = \"{moto}\", sts = \"{}\" }}\n  }}\n}}\n\n\
             output \"region\" {{ value = data.terraform_remote_state.base.outputs.region }}\n",
            sts::REGION,
            self.sts.address()
        )
    }

    /// A step of an apply that runs a line of the shell.
    fn step(name: &str, line: &str) -> String {
        format!(
            "resource \"terraform_data\" \"{name}\" {{\n  provisioner \"local-exec\" {{\n    command = <<-EOT\n{line}\n    EOT\n  }}\n}}\n\n"
        )
    }

    fn bao(&self) -> String {
        let program = peer::installed("bin/bao");
        let address = self.company.bao.address();
        let line = format!(
            "BAO_ADDR={address} VAULT_ADDR={address} SHELL=/bin/sh {} read -field=display_name auth/token/lookup-self",
            program.display()
        );
        Self::step("vault", &line)
    }

    /// Looks for what was handed out, too.
    fn check(mut self) {
        for secret in self.sts.secrets() {
            self.provisioner.canary.watch("secret of AWS", secret);
        }
        self.provisioner.check();
    }
}

/// An API server that knows who has which token.
fn api(owners: [(&str, &str); 2]) -> Registry {
    let known = owners.map(|(name, token)| {
        format!("if ($http_authorization = \"Bearer {token}\") {{ return 200 '\"{name} at the cluster\"'; }}")
    });
    let inside = format!("default_type application/json; {} return 401;", known.concat());
    Registry::behind(Gate::Open).nginx(&format!("location = /whoami {{ {inside} }}\n")).start()
}

fn kubectl(site: &Site, api: &Registry) -> String {
    let program = credmint_test_kit::home::executable("credmint-kubernetes").display().to_string();
    let exec = json!({ "apiVersion": "client.authentication.k8s.io/v1", "command": program, "args": ["cluster"], "interactiveMode": "Never" });
    let ca = base64(&std::fs::read(api.ca_file()).expect("the authority"));
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": api.address(), "certificate-authority-data": ca } }],
        "users": [{ "name": "u", "user": { "exec": exec } }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
    });
    let file = site.provisioner.place("kubeconfig", &config.to_string());
    Site::step("cluster", &format!("kubectl --kubeconfig {} get --raw /whoami", file.display()))
}

/// What terraform printed, without the frame around an error.
fn told(output: &Output) -> String {
    let lines = format!("{}\n{}", output.stdout, output.stderr);
    let words: Vec<&str> =
        lines.lines().flat_map(|line| line.trim_start_matches(['│', '╷', '╵', ' ']).split_whitespace()).collect();
    words.join(" ")
}

#[test]
fn each_of_two_builds_side_by_side_gets_its_owners_credentials_coder_9120() {
    let Some(_) = terraform() else { return };
    let mut site = site();
    let tokens = ["alice", "bob"].map(|name| (name, site.owner(name)));
    let api = api([(tokens[0].0, &tokens[0].1), (tokens[1].0, &tokens[1].1)]);
    let template = site.asks_aws() + &site.bao() + &kubectl(&site, &api);
    let provisioner = &site.provisioner;
    let built: Vec<Output> = std::thread::scope(|scope| {
        let builds = tokens.each_ref().map(|(name, token)| {
            let job = provisioner.build(name, token, "start", &template);
            scope.spawn(move || {
                provisioner.plans(&job).success();
                provisioner.applies(&job)
            })
        });
        builds.into_iter().map(|build| build.join().expect("a build")).collect()
    });
    for ((name, _), output) in tokens.iter().zip(built) {
        let log = told(&output.success());
        for words in [format!("jwt-{name}"), format!("{name} at the cluster"), "eu-north".to_owned()] {
            assert!(log.contains(&words), "{name}: {words}: {log}");
        }
        let session = format!("{name}@corp.example");
        let signed = site
            .sts
            .asked("GetCallerIdentity")
            .into_iter()
            .filter(|call| call.session == session && call.refused.is_empty());
        assert!(signed.count() > 0, "{:?}", site.sts.asked("GetCallerIdentity"));
    }
    // One exchange an owner, however many asked; and one agent for both.
    assert_eq!(site.sts.asked("AssumeRoleWithWebIdentity").len(), 2);
    assert_eq!(site.provisioner.home.agents().len(), 1);
    let files = std::fs::read_dir(site.provisioner.home.path()).expect("HOME").flatten();
    let names: Vec<_> = files.map(|entry| entry.file_name()).collect();
    assert!(names.iter().all(|name| name == ".kube"), "nothing in HOME but kubectl's cache: {names:?}");
    site.check();
}

/// Speaks the agent protocol itself: asks for a route, answers `need` with a token or with nothing, and tells what it got.
const HOSTILE: &str = r#"
use strict; use IO::Socket::UNIX;
sub frame { my ($s, $t) = @_; print $s pack('N', length $t), $t; $s->flush }
sub reply { my ($s) = @_; my ($h, $t) = ('', ''); read($s, $h, 4) == 4 or return 'nothing'; read($s, $t, unpack('N', $h)); $t }
sub ask { my ($ask, $host, $own) = @_;
  my $s = IO::Socket::UNIX->new(Peer => $ENV{CREDMINT_SOCKET}) or die "no agent";
  frame($s, qq({"version":1,"ask":"$ask","hostname":"$host","program":"credmint-vault","args":[],"settings":"$ENV{CREDMINT_CONFIG}","deadline_ms":9000}));
  my $t = reply($s);
  if ($t =~ /"need"/) { my $e = $own eq '' ? '' : qq("CODER_WORKSPACE_OWNER_OIDC_ACCESS_TOKEN":"$own"); frame($s, qq({"environment":{$e},"files":{},"unreadable":{}})); $t = reply($s) }
  $t }
for my $own ('', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.') {
  for my $name ('provider/vault', 'provider/aws', 'provider/cluster') {
    my $t = ask('get', $name, $own); print $t =~ /"reply":"failure"/ ? "refused $name\n" : "GOT $name $t\n" } }
print ask('get', 'provider/aws', $ENV{CODER_WORKSPACE_OWNER_OIDC_ACCESS_TOKEN}) =~ /"reply":"credential"/ ? "own keys\n" : "no keys\n";
my $t = ask('status', '', ''); print "status $t\n";
"#;

#[test]
fn a_template_that_asks_the_agent_itself_gets_nothing_of_another_owner() {
    let Some(_) = terraform() else { return };
    let mut site = site();
    let alice = site.owner("alice");
    let bob = site.owner("bob");
    // 1. Alice's build leaves her entries in the agent.
    let job = site.provisioner.build("alice", &alice, "start", &(site.asks_aws() + &site.bao()));
    site.provisioner.plans(&job).success();
    site.provisioner.applies(&job).success();
    let granted = site.sts.granted();
    // 2. Bob's template has a program of its own, and the socket is his user's as it is hers.
    let program = site.provisioner.place("hostile.pl", HOSTILE);
    let job =
        site.provisioner.build("bob", &bob, "start", &Site::step("hostile", &format!("perl {}", program.display())));
    site.provisioner.plans(&job).success();
    let log = told(&site.provisioner.applies(&job).success());
    assert_eq!(["refused provider/", "own keys", "GOT"].map(|words| log.matches(words).count()), [6, 1, 0], "{log}");
    // By Bob's token there are keys for Bob, made for him.
    let exchanges = site.sts.asked("AssumeRoleWithWebIdentity");
    assert_eq!(exchanges.last().map(|call| call.session.as_str()), Some("bob@corp.example"));
    assert!(log.contains("status {") && log.contains("\"other_entries\":"), "{log}");
    assert!(!log.contains("alice"), "who else builds is not told: {log}");
    assert_eq!(site.sts.granted(), granted + 1);
    site.check();
}

#[test]
fn a_template_push_is_refused_with_a_sentence_or_gets_what_the_settings_say_coder_9120() {
    let Some(_) = terraform() else { return };
    // 1. By default: refused, and terraform shows why.
    let site = site();
    let template = site.asks_aws();
    let output = site.provisioner.plans(&site.provisioner.job("push", &template));
    let log = told(&output);
    assert!(output.code == Some(1) && log.contains("a template push or a dry run of Coder has no user"), "{log}");
    // The build of an owner without a token is told so; but one that ends a workspace is not kept from it by what asks nobody.
    let output = site.provisioner.plans(&site.provisioner.build("carol", "", "start", &template));
    assert!(told(&output).contains("the owner of this workspace has no token at Coder"), "{}", told(&output));
    let job = site.provisioner.build("carol", "", "destroy", &Site::step("nothing", "true"));
    site.provisioner.plans(&job).success();
    site.provisioner.applies(&job).success();
    assert_eq!(site.sts.asked("AssumeRoleWithWebIdentity").len(), 0);
    site.check();
    // 2. Keys that open nothing: configured without asking AWS, the plan goes on.
    let site = site_with("when_absent = \"placeholder\"");
    let skips = "use_path_style = true\n    skip_credentials_validation = true\n    skip_requesting_account_id = true";
    let template = site.asks_aws().replace("use_path_style = true", skips);
    site.provisioner.plans(&site.provisioner.job("push", &template)).success();
    let job = site.provisioner.build("carol", "", "stop", &template);
    site.provisioner.plans(&job).success();
    assert_eq!(site.sts.granted(), 0);
    site.check();
}

#[test]
fn a_token_of_no_use_is_said_before_anybody_is_asked_coder_20991() {
    let Some(_) = terraform() else { return };
    let mut site = site();
    let template = site.asks_aws();
    let graph = site.company.provider.token_for("alice", "https://graph.microsoft.com", 600);
    let over = token(&site.company, "alice", -60);
    let opaque = "an-opaque-access-token-of-an-issuer".to_owned();
    for (name, token, words) in
        [("opaque", opaque, "opaque"), ("graph", graph, "graph.microsoft.com"), ("over", over, "expired at")]
    {
        let token = site.provisioner.canary.watch(name, token);
        let job = site.provisioner.build(name, &token, "start", &template);
        // The wrapper says it before terraform starts; where only a provider asks, terraform shows what its program says.
        let wrapped = site.provisioner.plans(&job);
        let bare = site.provisioner.bare(&job, &["plan", "-no-color", "-input=false"]).output();
        for (output, code) in [(wrapped, 77), (bare, 1)] {
            let log = told(&output);
            assert!(
                output.code == Some(code) && log.contains(words) && log.contains("identity owner"),
                "{name}: {log}"
            );
        }
    }
    assert_eq!(site.sts.asked("AssumeRoleWithWebIdentity").len(), 0, "nobody was asked");
    site.check();
}

#[test]
fn what_was_exchanged_in_time_outlives_the_owners_token() {
    let Some(_) = terraform() else { return };
    let mut site = site();
    // 1. A token that has not long to live is exchanged at the first question.
    let short = token(&site.company, "alice", 6);
    let end = claims(&short)["exp"].as_u64().expect("its end");
    let short = site.provisioner.canary.watch("short token", short);
    let keys = |site: &Site| {
        let output =
            site.provisioner.run("credmint-aws").arg("aws").env(OWNERS_TOKEN, short.as_str()).answer().output();
        output.success().json()["AccessKeyId"].clone()
    };
    let first = keys(&site);
    // 2. Its end passes; the keys are good for an hour, and who asks later in the build still gets them.
    wait_until("the token ends", || unix_time() > end);
    assert_eq!(keys(&site), first);
    assert_eq!(site.sts.asked("AssumeRoleWithWebIdentity").len(), 1);
    site.check();
}

#[test]
fn init_reaches_a_private_registry_as_the_provisioner_itself() {
    let Some(_) = terraform() else { return };
    let site = site();
    // No user: neither a variable of Coder nor anything in a home.
    let job = site.provisioner.job("init", credmint_test_kit::terraform::CONFIGURATION);
    site.provisioner.terraform(&job, &["init", "-no-color", "-input=false"]).success();
    let requests = site.company.registry.requests();
    assert!(
        requests.len() >= 9 && requests.iter().all(|request| request.subject == "CN=provisioner.coder.corp.example"),
        "{requests:?}"
    );
    assert_eq!(site.company.pki.minted(), 1);
    site.check();
}

fn packaged(file: &str) -> String {
    std::fs::read_to_string(packaging().join(file)).expect("a file of packaging/coder")
}

#[test]
fn the_files_of_the_package_agree_with_each_other() {
    let settings = packaged("etc/config.toml");
    let wrapper = packaged("bin/terraform");
    let wrapped: Vec<&str> = wrapper
        .lines()
        .find_map(|line| line.strip_prefix("providers='"))
        .expect("the providers")
        .trim_end_matches('\'')
        .split("--provider ")
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    // 1. Who asks by a name finds it in the settings.
    for name in wrapped.into_iter().chain(["aws", "google", "cluster", "vault"]) {
        assert!(settings.contains(&format!("\n[provider.{name}]\n")), "{name}");
    }
    assert!(packaged("etc/aws").contains("/opt/credmint/credmint-aws aws\n"));
    assert!(packaged("etc/google.json").contains("\"/opt/credmint/credmint-google google\""));
    let template = packaged("template/main.tf");
    assert!(template.contains("\"/opt/credmint/credmint-kubernetes\"") && template.contains("[\"cluster\"]"));
    assert!(!template.contains("access_token") && !template.contains("session_token"), "what is read is in the state");
    // 2. Chart and image set the same, to files that there are, and nothing that Coder takes away.
    let (values, image) = (packaged("values.yaml"), packaged("Dockerfile"));
    for (name, value) in [
        ("CREDMINT_CONFIG", "config.toml"),
        ("AWS_CONFIG_FILE", "aws"),
        ("GOOGLE_CREDENTIALS", "google.json"),
        ("VAULT_CONFIG_PATH", "vault"),
        ("BAO_CONFIG_PATH", "vault"),
    ] {
        assert!(values.contains(&format!("name: {name}, value: /etc/credmint/{value} }}")), "{name}");
        assert!(image.contains(&format!("{name}=/etc/credmint/{value}")), "{name}");
        assert!(!packaged(&format!("etc/{value}")).is_empty());
    }
    let is_set = |text: &str| text.lines().any(|line| line.contains("CODER_") && !line.trim().starts_with('#'));
    assert!(!is_set(&values) && !is_set(&image), "stripped before terraform starts");
    assert!(values.contains("ALLOW_EXECUTABLES, value: \"1\"") && image.contains("ALLOW_EXECUTABLES=1 "));
}

#[test]
fn the_template_is_in_terraforms_form() {
    let Some(terraform) = terraform() else { return };
    let home = credmint_test_kit::Home::new();
    let file = home.write("template/main.tf", packaged("template/main.tf"));
    let directory = file.parent().expect("a directory").to_owned();
    let output = terraform.run(&home, &directory, &["fmt", "-check", "-diff"]).output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), ""));
}
