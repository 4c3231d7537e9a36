//! Policy: another role for plan and apply, and who may ask from where.
//! OpenBao, the OpenID Provider and terraform are real; where a plan has to start a program, a script that is called terraform does.

#![expect(clippy::expect_used, reason = "a story stops at what is not as it should be")]

use std::path::Path;

use credmint_stories::{User, env_identity, terraform};
use credmint_test_kit::home::executable;
use credmint_test_kit::{OpenBao, OpenIdProvider, Output};
use serde_json::{Value, json};

/// A home with a provider whose plans have a role of their own at a Vault.
struct Place {
    user: User,
    bao: OpenBao,
    provider: OpenIdProvider,
}

impl Place {
    fn with(lines: &str) -> Self {
        let (provider, bao, mut user) = (OpenIdProvider::start(), OpenBao::start_tls(), User::move_in());
        bao.jwt_auth("jwt", provider.issuer());
        for role in ["reader", "writer"] {
            bao.policy(role, "path \"secret/*\" { capabilities = [\"read\"] }");
            bao.jwt_role("jwt", role, "vault", &[role]);
        }
        user.secret_variable("WORKLOAD_TOKEN", "subject token", &provider.token_for("alice", "vault", 3600));
        let issuer = |name: &str| {
            format!(
                "[issuer.{name}]\nkind = \"vault-token\"\naddress = \"{}\"\nca = \"{}\"\nauth = {{ method = \"jwt\", role = \"{name}\" }}\n\n",
                bao.address(),
                bao.ca_file().display()
            )
        };
        let table = format!("[provider.prod]\nidentity = \"job\"\nissuer = \"writer\"\n{lines}\n");
        user.settings(&(env_identity("WORKLOAD_TOKEN") + &issuer("reader") + &issuer("writer") + &table));
        let script = "#!/bin/sh\nout=$(credmint-kubernetes prod $MORE) || exit $?\necho \"${#out}\"\n";
        for name in ["terraform", "make"] {
            let file = user.home.write(&format!("bin/{name}"), script);
            set_executable(&file);
        }
        let beside = executable("credmint-kubernetes").parent().expect("a directory").display().to_string();
        let path = format!("{beside}:/usr/local/bin:/usr/bin:/bin");
        user.home.set("PATH", path);
        Self { user, bao, provider }
    }

    /// Runs a script of the home, which starts our program.
    fn script(&self, name: &str, arguments: &[&str], more: &str) -> Output {
        let run = self.user.home.run(self.user.home.path().join("bin").join(name)).args(arguments.iter().copied());
        run.env("MORE", more).output()
    }

    /// Lists the issuers of what is kept.
    fn issuers(&self) -> Vec<String> {
        let status: Value = self.user.credmint(&["status", "--json"]).json();
        let entries = status.pointer("/agent/entries").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut issuers: Vec<String> =
            entries.iter().filter_map(|entry| Some(entry["issuer"].as_str()?.to_owned())).collect();
        issuers.sort();
        issuers
    }
}

fn set_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("an executable");
}

#[test]
fn a_plan_gets_the_narrower_role_and_an_apply_the_wider_one() {
    let place = Place::with("plan_issuer = \"reader\"");
    // 1. Nobody knows: the narrower one.
    place.user.home.run("credmint-kubernetes").arg("prod").answer().output().success();
    assert_eq!(place.issuers(), ["reader"]);
    // 2. A plan gets what is kept already, and an apply that is said within it gets no more.
    for more in ["", "--phase apply", "--phase plan"] {
        place.script("terraform", &["-chdir=apply", "plan", "-out=apply"], more).success();
    }
    assert_eq!((place.issuers(), place.bao.logins().len()), (vec!["reader".to_owned()], 1));
    // 3. The real terraform applies.
    let home = &place.user.home;
    let command = "out=$(credmint-kubernetes prod) && test -n \"$out\"";
    let main = format!(
        "resource \"terraform_data\" \"x\" {{\n  provisioner \"local-exec\" {{\n    command = {}\n  }}\n}}\n",
        json!(command)
    );
    let directory = home.write("infra/main.tf", main);
    let directory = directory.parent().expect("a directory");
    if let Some(terraform) = terraform() {
        terraform.init(home, directory).success();
        terraform.run(home, directory, &["apply", "-auto-approve", "-no-color"]).output().success();
    } else {
        place.script("terraform", &["apply"], "").success();
    }
    assert_eq!(place.issuers(), ["reader", "writer"]);
    // 4. Where nothing can be seen, it is said.
    home.run("credmint-kubernetes").args(["--phase", "apply", "prod"]).answer().output().success();
    home.run("credmint-kubernetes").arg("prod").env("CREDMINT_PHASE", "apply").answer().output().success();
    assert_eq!(place.bao.logins().len(), 2, "both are kept");
    let wrong = home.run("credmint-kubernetes").arg("prod").env("CREDMINT_PHASE", "destroy").answer().output();
    assert!(wrong.code == Some(64) && wrong.stderr.contains("`destroy` is no phase"), "{wrong:?}");
    // 5. People see which, and why.
    let explained = place.user.credmint(&["explain", "provider/prod"]).stdout;
    assert!(explained.contains("in a plan  reader: vault-token"), "{explained}");
    assert!(explained.contains("not known: no terraform or tofu"), "{explained}");
    place.user.canary.check(&place.user.home);
}

#[test]
fn a_child_that_answers_once_looks_at_its_own_parents() {
    let mut place = Place::with("plan_issuer = \"reader\"");
    place.user.home.set("CREDMINT_AGENT", "once");
    let roles = || -> Vec<String> {
        let lookup = |accessor: String| place.bao.write("auth/token/lookup-accessor", json!({ "accessor": accessor }));
        place.bao.logins().into_iter().map(lookup).map(|found| found["data"]["meta"]["role"].to_string()).collect()
    };
    place.script("terraform", &["plan"], "").success();
    place.script("terraform", &["destroy", "-auto-approve"], "").success();
    let mut roles = roles();
    roles.sort();
    assert_eq!(roles, ["\"reader\"", "\"writer\""]);
    place.user.canary.check(&place.user.home);
}

#[test]
fn who_is_not_allowed_is_refused_with_what_was_seen() {
    let place = Place::with("allow = { commands = [\"terraform\"], phases = [\"plan\"], directories = [\"~/infra\"] }");
    let infra = place.user.home.make_directory("infra/prod");
    let script = |name: &str, subcommand: &str, directory: &Path| {
        let file = place.user.home.path().join("bin").join(name);
        place.user.home.run(file).arg(subcommand).env("MORE", "").in_directory(directory).output()
    };
    script("terraform", "plan", &infra).success();
    let (apply, make) = (script("terraform", "apply", &infra), script("make", "plan", &infra));
    let elsewhere = script("terraform", "plan", &place.user.home.path());
    for (refused, words) in [
        (apply, "it is for the phase plan alone, and this is the phase apply (terraform apply, process"),
        (make, "it is for terraform alone, and what asks is credmint-kubernetes, of make"),
        (elsewhere, "it is for runs in ~/infra alone, and this one is in /"),
    ] {
        assert!(refused.code != Some(0) && refused.stdout.is_empty(), "{refused:?}");
        assert!(refused.stderr.contains(words) && refused.stderr.contains("hint: "), "{}", refused.stderr);
    }
    assert_eq!(place.bao.logins().len(), 1);
    let explained = place.user.credmint(&["explain", "provider/prod"]).stdout;
    assert!(explained.contains("only started by terraform, in ~/infra, in the phase plan"), "{explained}");
    place.user.canary.check(&place.user.home);
}

/// Sets what a provisioner of Coder sets for each plan, empty where there is nothing.
fn job(place: &mut Place, build: &str, transition: &str) {
    for (name, value) in [
        ("CODER_AGENT_URL", "https://coder.corp.example"),
        ("CODER_WORKSPACE_BUILD_ID", build),
        ("CODER_WORKSPACE_TRANSITION", transition),
        ("CODER_WORKSPACE_OWNER_SESSION_TOKEN", ""),
    ] {
        place.user.home.set(name, value);
    }
}

#[test]
fn a_template_push_falls_back_to_few_rights_and_a_build_never_does_coder_9120() {
    let mut place =
        Place::with("when_absent = \"fallback\"\nfallback_identity = \"pod\"\nfallback_issuer = \"reader\"");
    let token = place.provider.token_for("provisioner", "vault", 3600);
    let file = place.user.secret_file("pod-token", "pod token", &token);
    let pod = format!("[identity.pod]\nkind = \"file\"\npath = \"{}\"\n", file.display());
    place.user.home.write(".config/credmint/config.d/pod.toml", pod);
    let ask = |place: &Place| place.user.home.run("credmint-kubernetes").arg("prod").answer().output();
    // 1. A push has no user: few rights.
    place.user.home.set("WORKLOAD_TOKEN", "");
    job(&mut place, "", "start");
    ask(&place).success();
    assert_eq!(place.issuers(), ["reader"]);
    // 2. A start whose owner has no token is refused, and told why; the end of a workspace is not.
    job(&mut place, "b1", "start");
    let refused = ask(&place);
    assert!(refused.code == Some(77), "{refused:?}");
    assert!(refused.stderr.contains("the owner of this workspace has no token at Coder"), "{}", refused.stderr);
    assert!(refused.stderr.contains("job: WORKLOAD_TOKEN is not set"), "{}", refused.stderr);
    job(&mut place, "b2", "stop");
    ask(&place).success();
    // 3. What is there and broken is never passed over.
    job(&mut place, "", "start");
    place.user.home.set("WORKLOAD_TOKEN", "no token");
    let broken = ask(&place);
    assert!(broken.code != Some(0) && broken.stderr.contains("has a character at position"), "{broken:?}");
    // 4. Elsewhere than at a provisioner it means nothing.
    place.user.home.set("WORKLOAD_TOKEN", "");
    job(&mut place, "", "");
    let elsewhere = ask(&place);
    assert!(elsewhere.stderr.contains("no identity has an answer for provider/prod"), "{}", elsewhere.stderr);
    assert_eq!((place.issuers(), place.bao.logins().len()), (vec!["reader".to_owned()], 1));
    let explained = place.user.credmint(&["explain", "provider/prod"]).stdout;
    assert!(explained.contains("a job without a user gets what reader grants to pod"), "{explained}");
    place.user.canary.check(&place.user.home);
}

#[test]
fn a_placeholder_looks_like_keys_is_kept_nowhere_and_is_said_coder_9120() {
    let mut place = Place::with("");
    let issuer = "[issuer.aws]\nkind = \"aws-sts\"\nrole_arn = \"arn:aws:iam::123456789012:role/terraform\"\n\
                  region = \"eu-central-1\"\nendpoint = \"http://127.0.0.1:9\"\n";
    let table = |word: &str| {
        format!("{issuer}\n[provider.aws]\nidentity = \"job\"\nissuer = \"aws\"\nwhen_absent = \"{word}\"\n")
    };
    let write = |place: &Place, word: &str| place.user.home.write(".config/credmint/config.d/aws.toml", table(word));
    let ask = |place: &Place| place.user.home.run("credmint-aws").arg("aws").answer().output();
    place.user.home.set("WORKLOAD_TOKEN", "");
    job(&mut place, "", "stop");
    write(&place, "refuse");
    let refused = ask(&place);
    assert!(refused.code == Some(77) && refused.stdout.is_empty(), "{refused:?}");
    assert!(refused.stderr.contains("a template push or a dry run of Coder has no user"), "{}", refused.stderr);
    assert!(refused.stderr.contains("hint: set when_absent of provider/aws"), "{}", refused.stderr);
    write(&place, "placeholder");
    let keys = ask(&place).success().json();
    assert_eq!((&keys["Version"], &keys["AccessKeyId"]), (&json!(1), &json!("CREDMINTPLACEHOLDER0")));
    assert!(keys["Expiration"].is_string() && keys["SessionToken"].is_string());
    assert!(place.issuers().is_empty(), "it is no entry");
    for words in [&["status"][..], &["explain", "provider/aws"][..]] {
        let said = place.user.credmint(words).stdout;
        assert!(said.contains("placeholder"), "{words:?}: {said}");
    }
    place.user.canary.check(&place.user.home);
}

#[test]
fn a_refusal_names_who_was_refused_and_explain_remembers_what_was_said_coder_9120() {
    let mut place = Place::with("plan_issuer = \"reader\"");
    let token = place.provider.token_for("alice", "somebody-else", 3600);
    place.user.secret_variable("WORKLOAD_TOKEN", "another token", &token);
    let refused = place.user.home.run("credmint-kubernetes").arg("prod").answer().output();
    assert_eq!(refused.code, Some(77), "{}", refused.stderr);
    let asked = format!("asked as job (iss {}; sub alice; aud somebody-else)", place.provider.issuer());
    assert!(refused.stderr.contains(&asked), "{}", refused.stderr);
    let explained: Value = place.user.credmint(&["explain", "provider/prod", "--json"]).json();
    let last = explained.pointer("/explanation/last_failure/what").and_then(Value::as_str).unwrap_or_default();
    assert!(last.contains("status 400") && last.contains(&asked), "{explained}");
    let shown = place.user.credmint(&["explain", "provider/prod"]).stdout;
    assert!(shown.contains("  failed     20"), "{shown}");
    // Once it was had, nothing of it is left.
    let token = place.provider.token_for("alice", "vault", 3600);
    place.user.secret_variable("WORKLOAD_TOKEN", "right token", &token);
    place.user.home.run("credmint-kubernetes").arg("prod").answer().output().success();
    assert!(!place.user.credmint(&["explain", "provider/prod"]).stdout.contains("  failed "));
    place.user.canary.check(&place.user.home);
}

#[test]
fn exec_says_what_it_is_about_to_run() {
    let mut place = Place::with("plan_issuer = \"reader\"\nexec = \"gitlab\"\nafter_run = \"keep\"");
    place.user.canary.allow_variable("GITLAB_TOKEN");
    for (name, script) in
        [("terraform", "#!/bin/sh\ntest -n \"$GITLAB_TOKEN\"\n"), ("make", "#!/bin/sh\necho \"$CREDMINT_PHASE\"\n")]
    {
        set_executable(&place.user.home.write(&format!("bin/{name}"), script));
    }
    let bin = place.user.home.path().join("bin").display().to_string();
    let exec = |more: &[&str], command: &[&str]| {
        let program = format!("{bin}/{}", command.first().expect("a program"));
        let run = place.user.home.run("credmint").args(["exec", "--provider", "prod"]).args(more.iter().copied());
        run.arg("--").arg(program).args(command.iter().skip(1).copied()).output().success().stdout
    };
    exec(&[], &["make", "apply"]);
    assert_eq!(place.issuers(), ["reader"], "nobody knows what make does");
    exec(&[], &["terraform", "plan"]);
    assert_eq!(place.issuers(), ["reader"]);
    exec(&[], &["terraform", "-chdir=x", "apply"]);
    assert_eq!(place.issuers(), ["reader", "writer"]);
    assert_eq!(exec(&["--phase", "plan"], &["make"]), "plan\n");
    place.user.canary.check(&place.user.home);
}
