//! Providers: what git and bao ask for and take, and the forms that the SDKs of Google, Kubernetes, docker, GitHub and AWS read.
//! git and bao are the real ones; the other clients have stories of their own, and here the exact forms are held.

use credmint_stories::{User, env_identity, file_identity};
use credmint_test_kit::home::executable;
use credmint_test_kit::{OpenBao, OpenIdProvider, Output};
use serde_json::{Value, json};

const GITLAB: &str = "gitlab.corp.example";

/// A home whose settings pass the token of WORKLOAD_TOKEN on, for one provider.
fn home_with(provider: &OpenIdProvider, lines: &str) -> (User, String) {
    let mut user = User::move_in();
    let token = provider.token_for("alice", GITLAB, 3600);
    user.secret_variable("WORKLOAD_TOKEN", "subject token", &token);
    let table =
        format!("[issuer.x]\nkind = \"oidc\"\n\n[provider.prod]\nidentity = \"job\"\nissuer = \"x\"\n{lines}\n");
    user.settings(&(env_identity("WORKLOAD_TOKEN") + &table));
    (user, token)
}

fn prints(user: &User, program: &str, arguments: &[&str], input: &str) -> Output {
    user.home.run(program).args(arguments.iter().copied()).input(input).answer().output()
}

#[test]
fn the_real_git_gets_a_bearer_token_or_a_password_and_asks_on_for_other_hosts() {
    let provider = OpenIdProvider::start();
    let (user, token) = home_with(&provider, "hosts = [\"gitlab.corp.example\"]\nusername = \"ci\"");
    let helper = format!("credential.helper={}", executable("git-credential-credmint").display());
    let fill = |input: &str| {
        let git = user.home.run("git").args(["-c", &helper, "credential", "fill"]);
        git.env("GIT_TERMINAL_PROMPT", "0").env("GIT_CONFIG_NOSYSTEM", "1").input(input).answer().output()
    };
    // 1. A git that takes bearer tokens says so.
    let bearer = fill("capability[]=authtype\nprotocol=https\nhost=gitlab.corp.example\n\n").success().stdout;
    assert!(bearer.contains("authtype=Bearer\n") && bearer.contains(&format!("credential={token}\n")), "no bearer");
    // 2. One that does not gets a user name and a password.
    let basic = fill("protocol=https\nhost=gitlab.corp.example\n\n").success().stdout;
    assert!(basic.contains("username=ci\n") && basic.contains(&format!("password={token}\n")), "no password");
    // 3. Without TLS, and for hosts of others, git is left to itself.
    for place in ["protocol=http\nhost=gitlab.corp.example\n\n", "protocol=https\nhost=github.com\n\n"] {
        let output = fill(place);
        assert!(output.code != Some(0) && !output.stdout.contains(&token), "{}", output.stderr);
    }
    // 4. What git brings is not kept.
    let store = prints(&user, "git-credential-credmint", &["store"], "protocol=https\nhost=x.example\npassword=p\n\n");
    assert_eq!((store.code, store.stdout.as_str(), store.stderr.as_str()), (Some(0), "", ""));
    user.canary.check(&user.home);
}

#[test]
fn the_real_bao_takes_the_token_of_its_helper() {
    let (provider, bao, mut user) = (OpenIdProvider::start(), OpenBao::start_tls(), User::move_in());
    bao.policy("reader", "path \"secret/*\" { capabilities = [\"read\"] }");
    bao.jwt_auth("jwt", provider.issuer());
    bao.jwt_role("jwt", "terraform", "vault", &["reader"]);
    let token = user.token_file(&provider.token_for("alice", "vault", 300));
    let (address, ca) = (bao.address().to_owned(), bao.ca_file());
    let host = address.trim_start_matches("https://").to_owned();
    let issuer = format!(
        "[issuer.vault]\nkind = \"vault-token\"\naddress = \"{address}\"\nca = \"{}\"\n\
         auth = {{ method = \"jwt\", role = \"terraform\" }}\n\n",
        ca.display()
    );
    let table = format!("[provider.vault]\nidentity = \"job\"\nissuer = \"vault\"\nhosts = [\"{host}\"]\n");
    user.settings(&(file_identity(&token) + &issuer + &table));
    let got = user.home.run("credmint-vault").arg("get").env("VAULT_ADDR", &address).answer().output().success().stdout;
    let got = user.canary.watch("token of the helper", got);
    assert!(!got.is_empty() && !got.ends_with('\n'), "the clients refuse a line break");
    let helper = executable("credmint-vault");
    let configuration = user.home.write("bao.hcl", format!("token_helper = \"{}\"\n", helper.display()));
    let lookup = user.home.run(credmint_test_kit::peer::installed("bin/bao"));
    let lookup = lookup.args(["token", "lookup", "-format=json"]).env("BAO_CONFIG_PATH", configuration.as_os_str());
    let lookup = lookup.env("BAO_ADDR", &address).env("BAO_CACERT", ca.as_os_str()).env("SHELL", "/bin/sh");
    let found = lookup.answer().output().success().json();
    assert_eq!(found.pointer("/data/path"), Some(&json!("auth/jwt/login")));
    assert_eq!(bao.logins().len(), 1, "one login for both");
    user.canary.check(&user.home);
}

#[test]
fn each_client_gets_its_own_form() {
    let provider = OpenIdProvider::start();
    let (user, token) = home_with(&provider, "hosts = [\"github.com\", \"registry.corp.example\"]");
    let json = |output: Output| -> Value { output.success().json() };
    // Google: integer seconds, a minute early.
    let google = json(prints(&user, "credmint-google", &["prod"], ""));
    assert_eq!((&google["version"], &google["success"]), (&json!(1), &json!(true)));
    assert!(google["id_token"] == json!(token) && google["expiration_time"].is_i64());
    // Kubernetes: the version that the client wants, whole.
    let info =
        r#"{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","spec":{"interactive":false}}"#;
    let plugin = user.home.run("credmint-kubernetes").arg("prod").env("KUBERNETES_EXEC_INFO", info).answer();
    let cluster = json(plugin.output());
    assert_eq!(cluster["apiVersion"], json!("client.authentication.k8s.io/v1beta1"));
    assert!(cluster["kind"] == json!("ExecCredential") && cluster["status"]["token"] == json!(token));
    // docker and gh ask by host.
    let registry = json(prints(&user, "docker-credential-credmint", &["get"], "https://registry.corp.example"));
    assert!(registry["Username"] == json!("oauth2") && registry["Secret"] == json!(token));
    let gh = prints(&user, "credmint-github", &["auth", "token", "--hostname", "github.com"], "").success();
    assert_eq!(gh.stdout, format!("{token}\n"));
    // People see the route by the same name.
    let explained = user.credmint(&["explain", "provider/registry.corp.example"]).stdout;
    assert!(explained.contains("provider/") && explained.contains("job"), "{explained}");
    user.canary.check(&user.home);
}

#[test]
fn a_failure_has_the_form_that_its_client_shows() {
    let provider = OpenIdProvider::start();
    let (mut user, _) = home_with(&provider, "");
    // 1. A token where keys are wanted: said, and nothing on standard output.
    let aws = prints(&user, "credmint-aws", &["prod"], "");
    assert!(aws.code == Some(78) && aws.stdout.is_empty(), "{aws:?}");
    assert!(aws.stderr.contains("grants no access keys of AWS") && aws.stderr.contains("hint: "), "{}", aws.stderr);
    // 2. A provider that nobody configured.
    let unknown = prints(&user, "credmint-kubernetes", &["staging"], "");
    assert!(unknown.code == Some(78) && unknown.stderr.contains("no provider/staging"), "{unknown:?}");
    let docker = prints(&user, "docker-credential-credmint", &["get"], "https://index.docker.io/v1/");
    assert_eq!((docker.code, docker.stdout.as_str()), (Some(1), "credentials not found in native keychain\n"));
    // 3. Nobody is there: Google's libraries read the reason on standard output, and nothing else.
    user.home.set("WORKLOAD_TOKEN", "");
    let google = prints(&user, "credmint-google", &["prod"], "");
    assert_eq!((google.code, google.stderr.as_str()), (Some(0), ""));
    let refusal = google.json();
    assert_eq!(refusal["success"], json!(false));
    assert!(refusal["message"].as_str().is_some_and(|text| text.contains("WORKLOAD_TOKEN is not set")), "{refusal}");
    user.canary.check(&user.home);
}

#[test]
fn a_script_prints_a_credential_in_the_form_that_it_wants() {
    let provider = OpenIdProvider::start();
    let (mut user, token) = home_with(&provider, "hosts = [\"gitlab.corp.example\"]\nusername = \"ci\"");
    let print = |user: &User, arguments: &[&str]| {
        let output = user.home.run("credmint").arg("print").args(arguments.iter().copied()).answer().output();
        assert!(output.code != Some(0) || output.stderr.is_empty(), "{}", output.stderr);
        output
    };
    // 1. By the name, by the route's name and by a host; nothing but the token.
    for name in ["prod", "provider/prod", "gitlab.corp.example", "https://GitLab.corp.example/"] {
        assert_eq!(print(&user, &[name]).success().stdout, format!("{token}\n"));
    }
    assert_eq!(print(&user, &["prod", "--format", "vault"]).success().stdout, token);
    // 2. What a shell reads, read by one.
    let line = print(&user, &["prod", "--format", "env", "--variable", "GITLAB_TOKEN"]).success().stdout;
    let shell = user.home.run("/bin/sh").input(format!("{line}printf %s \"$GITLAB_TOKEN\"")).answer().output();
    assert_eq!(shell.success().stdout, token);
    // 3. The forms of clients.
    let all: Value = print(&user, &["prod", "-f", "json"]).success().json();
    assert!(all["token"] == json!(token) && all["username"] == json!("ci") && all["expires_at"].is_string());
    let docker: Value = print(&user, &["prod", "-f", "docker"]).success().json();
    assert_eq!((&docker["ServerURL"], &docker["Username"]), (&json!("https://gitlab.corp.example"), &json!("ci")));
    let git = print(&user, &["prod", "-f", "git"]).success().stdout;
    assert!(git.starts_with("username=ci\n") && git.contains(&format!("password={token}\n")));
    // 4. What there is not, and what nobody configured: one line, the next command, and nothing on standard output.
    let refused = |user: &User, arguments: &[&str], status: i32, words: &str| {
        let output = print(user, arguments);
        assert_eq!((output.code, output.stdout.as_str()), (Some(status), ""), "{arguments:?}");
        assert!(output.stderr.contains(words) && output.stderr.lines().count() == 2, "{}", output.stderr);
    };
    refused(&user, &["prod", "-f", "aws"], 78, "grants no access keys of AWS\nhint: credmint print provider/prod");
    refused(&user, &["prod", "-f", "env"], 78, "--format env --variable NAME");
    refused(&user, &["staging"], 78, "the settings have no provider/staging\n");
    refused(&user, &["prod", "-f", "env", "--variable", "A;id"], 64, "a variable has letters");
    user.home.set("WORKLOAD_TOKEN", "");
    refused(&user, &["prod"], 77, "WORKLOAD_TOKEN is not set");
    user.canary.check(&user.home);
}
