//! `credmint setup provider`: the file of each client from an empty home, with the client that then asks; and every byte back.
//! git and bao are the real ones; of the others, the program that the file names is started as its client would.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a story stops where its home is not as it should be, and reads it"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use credmint_stories::{User, env_identity, file_identity};
use credmint_test_kit::home::files_below;
use credmint_test_kit::{OpenBao, OpenIdProvider, Output};
use serde_json::{Value, json};

const PASS_ON: &str = "[issuer.x]\nkind = \"oidc\"\n\n";

/// Runs `credmint setup provider`, with whatever else there is on its command line.
fn setup(user: &User, arguments: &[&str]) -> Output {
    user.home.run("credmint").args(["setup", "provider"]).args(arguments.iter().copied()).output()
}

/// Sets up, again, and takes back: the second run changes nothing, and every file is as before.
fn and_back(user: &User, arguments: &[&str], between: impl FnOnce()) {
    let before = state(user);
    let first = setup(user, &[arguments, &["--yes"]].concat()).success().stdout;
    assert!(first.contains("Done."), "{first}");
    let set_up = state(user);
    assert!(setup(user, arguments).success().stdout.contains("Nothing to change."));
    assert_eq!(state(user), set_up);
    between();
    setup(user, &[arguments, &["--remove"]].concat()).success();
    assert_eq!(state(user), before);
    assert!(setup(user, &[arguments, &["--remove"]].concat()).success().stdout.contains("Nothing to change."));
}

/// Lists what a person has, with mode and content; not the agent's own files.
fn state(user: &User) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let home = user.home.path();
    let is_own = |path: &Path| path.starts_with(home.join(".local/state")) || path.starts_with(home.join("work"));
    let mut all: Vec<_> = files_below(&home).into_iter().filter(|path| !is_own(path)).collect();
    all.sort();
    let mode = |path: &Path| std::fs::symlink_metadata(path).expect("there").permissions().mode();
    all.into_iter().map(|path| (path.clone(), mode(&path), std::fs::read(&path).unwrap_or_default())).collect()
}

fn home_with(lines: &str) -> (User, String, OpenIdProvider) {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let token = provider.token_for("alice", "gitlab.corp.example", 3600);
    user.secret_variable("WORKLOAD_TOKEN", "subject token", &token);
    user.settings(&format!(
        "{}{PASS_ON}[provider.prod]\nidentity = \"job\"\nissuer = \"x\"\n{lines}\n",
        env_identity("WORKLOAD_TOKEN")
    ));
    (user, token, provider)
}

#[test]
fn the_real_git_asks_after_setup_and_its_other_helpers_never_see_the_token() {
    let (user, token, _provider) = home_with("hosts = [\"gitlab.corp.example\"]");
    let fill = |host: &str| {
        let git = user.home.run("git").args(["credential", "fill"]).env("GIT_TERMINAL_PROMPT", "0");
        git.env("GIT_CONFIG_NOSYSTEM", "1").input(format!("protocol=https\nhost={host}\n\n")).answer().output()
    };
    let approve = |user: &User| {
        let input = format!("protocol=https\nhost=gitlab.corp.example\nusername=oauth2\npassword={token}\n\n");
        user.home
            .run("git")
            .args(["credential", "approve"])
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .input(input)
            .output()
            .success();
    };
    for before in ["[user]\n\tname = Me\n[credential]\n\thelper = store\n", "; odd\r\n[credential]\r\n\thelper = store"]
    {
        user.home.write(".gitconfig", before);
        and_back(&user, &["prod", "--for", "git"], || {
            assert!(
                fill("gitlab.corp.example").success().stdout.contains(&format!("password={token}\n")),
                "{before:?}"
            );
            assert_ne!(fill("other.corp.example").code, Some(0));
            // git hands what worked to its helpers: `store` would write it into a file.
            approve(&user);
            assert!(!user.home.path().join(".git-credentials").exists());
        });
        assert_eq!(user.home.read(".gitconfig"), before);
    }
    std::fs::remove_file(user.home.path().join(".gitconfig")).expect("removed");
    and_back(&user, &["prod", "--for", "git"], || {
        assert!(fill("gitlab.corp.example").success().stdout.contains(&token));
    });
    user.canary.check(&user.home);
}

#[test]
fn the_real_bao_asks_after_setup() {
    let (provider, bao, mut user) = (OpenIdProvider::start(), OpenBao::start_tls(), User::move_in());
    bao.jwt_auth("jwt", provider.issuer());
    bao.jwt_role("jwt", "terraform", "vault", &["default"]);
    let token = user.token_file(&provider.token_for("alice", "vault", 300));
    let issuer = format!(
        "[issuer.vault]\nkind = \"vault-token\"\naddress = \"{}\"\nca = \"{}\"\n\
         auth = {{ method = \"jwt\", role = \"terraform\" }}\n\n[provider.vault]\nidentity = \"job\"\nissuer = \"vault\"\n",
        bao.address(),
        bao.ca_file().display()
    );
    let lookup = |user: &User| {
        let run =
            user.home.run(credmint_test_kit::peer::installed("bin/bao")).args(["token", "lookup", "-format=json"]);
        let run =
            run.env("BAO_ADDR", bao.address()).env("BAO_CACERT", bao.ca_file().as_os_str()).env("SHELL", "/bin/sh");
        let found = run.answer().output().success().json();
        assert_eq!(found.pointer("/data/path").and_then(|path| path.as_str()), Some("auth/jwt/login"));
    };
    let host = bao.address().trim_start_matches("https://").to_owned();
    // With hosts the server's address says which provider; without, the name of a link does.
    for hosts in [format!("hosts = [\"{host}\"]\n"), String::new()] {
        user.settings(&format!("{}{issuer}{hosts}", file_identity(&token)));
        user.home.write(".bao", "# mine, and nothing else");
        and_back(&user, &["vault"], || lookup(&user));
    }
    user.home.write(".bao", "token_helper = \"/usr/bin/other\"\n");
    let refused = setup(&user, &["vault"]);
    assert!(refused.code == Some(78) && refused.stderr.contains(".bao:1 names another token_helper"), "{refused:?}");
    assert!(!user.home.path().join(".vault").exists(), "nothing at all is changed");
    user.canary.check(&user.home);
}

#[test]
fn a_profile_of_aws_comes_and_goes_and_nothing_of_somebody_else_is_touched() {
    let (mut user, _, _provider) = home_with("");
    for before in [None, Some(""), Some("[default]\nregion = x"), Some("# a\r\n[profile old]\r\nregion = y\r\n\r\n")] {
        if let Some(text) = before {
            let path = user.home.write(".aws/config", text);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("a mode");
        }
        and_back(&user, &["prod", "--for", "aws"], || {
            let text = user.home.read(".aws/config");
            assert!(text.contains("[profile prod]") && text.contains("/credmint-aws prod"), "{text}");
            let mode = user.home.path().join(".aws").metadata().expect("made").permissions().mode();
            assert!(before.is_some() || mode & 0o077 == 0, "a new directory is private");
        });
    }
    // A symbolic link stays one, and the file behind it is what changes.
    let real = user.home.write("dotfiles/aws", "[default]\n");
    let link = user.home.path().join(".aws/linked");
    std::os::unix::fs::symlink(&real, &link).expect("linked");
    user.home.set("AWS_CONFIG_FILE", link.as_os_str());
    and_back(&user, &["prod", "--for", "aws"], || assert!(user.home.read("dotfiles/aws").contains("[profile prod]")));
    // 2. What is in the way is named with its line, and left alone.
    user.home.write("dotfiles/aws", "[default]\n[profile prod]\nregion = z\n");
    let refused = setup(&user, &["prod", "--for", "aws"]);
    assert!(
        refused.code == Some(78) && refused.stderr.contains(":2 has `[profile prod]` already"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("hint: write there by hand: credential_process = "), "{}", refused.stderr);
    // 3. By hand, and by nobody: what belongs there is printed and not written.
    let printed = setup(&user, &["prod", "--for", "aws", "--print"]).success().stdout;
    assert!(printed.starts_with("[profile prod]\ncredential_process = /"), "{printed}");
    let dry = setup(&user, &["prod", "--for", "git", "--dry-run"]);
    assert!(dry.code == Some(78) && dry.stderr.contains("has no hosts, and git knows nothing else"), "{}", dry.stderr);
    let unsaid = setup(&user, &["prod"]);
    assert!(unsaid.code == Some(64) && unsaid.stderr.contains("--for git"), "{}", unsaid.stderr);
    let unknown = setup(&user, &["staging"]);
    assert!(unknown.code == Some(78) && unknown.stderr.contains("the settings have these: prod"), "{}", unknown.stderr);
    let github = setup(&user, &["prod", "--for", "github"]).success().stdout;
    assert!(github.contains("export GH_PATH=/") && github.contains("add hosts"), "{github}");
    user.canary.check(&user.home);
}

#[test]
fn a_kubeconfig_gets_a_user_and_keeps_everything_else() {
    let (mut user, token, _provider) = home_with("");
    let own =
        "# mine\napiVersion: v1\nkind: Config\nusers:\n- name: old\n  user:\n    token: x # y\ncurrent-context: c";
    for before in [None, Some("apiVersion: v1\nkind: Config\nusers: null\n"), Some(own)] {
        if let Some(text) = before {
            user.home.write(".kube/config", text);
        }
        and_back(&user, &["prod", "--for", "kubernetes"], || {
            let text = user.home.read(".kube/config");
            let command = text.lines().find_map(|line| line.trim().strip_prefix("command: ")).expect("a command");
            let answer: Value = user.home.run(command).arg("prod").answer().output().success().json();
            assert!(
                answer["status"]["token"] == json!(token) && text.contains("      args:\n      - prod\n"),
                "{text}"
            );
        });
    }
    let shown = setup(&user, &["prod", "--for", "kubernetes"]).success().stdout;
    assert!(
        shown.contains("exec {\n") && shown.contains("Next: kubectl config set-context --current --user=prod"),
        "{shown}"
    );
    setup(&user, &["prod", "--for", "kubernetes", "--remove"]).success();
    // Of several files, the first that is there; one in another form is left alone, with what to write.
    let json = user.home.write("cluster.json", "{\"apiVersion\": \"v1\", \"kind\": \"Config\"}");
    user.home.set("KUBECONFIG", format!("{}:{}", user.home.path().join("none").display(), json.display()));
    let refused = setup(&user, &["prod", "--for", "kubernetes"]);
    assert!(
        refused.code == Some(78) && refused.stderr.contains("cluster.json:1 is in flow style"),
        "{}",
        refused.stderr
    );
    let printed = setup(&user, &["prod", "--for", "kubernetes", "--print"]).success().stdout;
    assert!(printed.starts_with("users:\n- name: prod\n") && printed.contains("exec {\n"), "{printed}");
    user.canary.check(&user.home);
}

#[test]
fn docker_and_googles_libraries_are_set_up_and_taken_back() {
    let (user, token, _provider) = home_with("hosts = [\"registry.corp.example\", \"ghcr.io\"]");
    for before in
        [None, Some("{\n\t\"auths\": {\n\t\t\"a\": {}\n\t}\n}"), Some("{\"credHelpers\": {\"gcr.io\": \"gcloud\"}}\n")]
    {
        if let Some(text) = before {
            user.home.write(".docker/config.json", text);
        }
        and_back(&user, &["prod", "--for", "docker"], || {
            let file: Value = serde_json::from_str(&user.home.read(".docker/config.json")).expect("JSON");
            let helper = file["credHelpers"]["ghcr.io"].as_str().expect("a helper");
            let program = format!("docker-credential-{helper}");
            let run = user.home.run(program).arg("get").input("https://ghcr.io").answer().output().success();
            assert!(run.json()["Secret"] == json!(token));
        });
    }
    user.home.write(".docker/config.json", "{\"credHelpers\":\n{\"ghcr.io\": \"pass\"}}");
    let refused = setup(&user, &["prod", "--for", "docker"]);
    assert!(refused.stderr.contains("config.json:2 has another helper for ghcr.io, \"pass\""), "{}", refused.stderr);
    user.home.write(".docker/config.json", "{");
    assert!(setup(&user, &["prod", "--for", "docker"]).stderr.contains("is no JSON: line 1, column 1"));
    // What can be had is listed without asking anybody.
    let list = user.home.run("docker-credential-credmint").arg("list").output().success();
    assert_eq!(list.json(), json!({ "registry.corp.example": "oauth2", "ghcr.io": "oauth2" }));
    assert!(user.credmint(&["status"]).stdout.contains("provider/prod, for registry.corp.example, ghcr.io"));
    // Google: a file with nothing secret in it, and the two variables that lead to it.
    let unknown = setup(&user, &["prod", "--for", "google"]);
    assert!(unknown.code == Some(64) && unknown.stderr.contains("do not tell the audience"), "{}", unknown.stderr);
    let audience = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q";
    let file = user.home.path().join(".config/credmint/google-prod.json");
    let arguments =
        ["prod", "--for", "google", "--audience", audience, "--service-account", "a@p.iam.gserviceaccount.com"];
    and_back(&user, &arguments, || {
        let account: Value = serde_json::from_slice(&std::fs::read(&file).expect("written")).expect("JSON");
        let command = account["credential_source"]["executable"]["command"].as_str().expect("a command");
        let (program, name) = command.split_once(' ').expect("two words");
        let answer: Value = user.home.run(program).arg(name).answer().output().success().json();
        assert!(account["audience"] == json!(audience) && answer["id_token"] == json!(token));
    });
    user.canary.check(&user.home);
}
