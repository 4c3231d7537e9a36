//! `credmint setup` on real files, in an empty home: what it installs, edits, keeps, refuses and takes back.
//! Each case runs the executable beside a stand-in for the helper, which is never started.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, clippy::expect_used, reason = "a test runs the program and looks at its files")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const HOST: &str = "registry.corp.example";

/// An empty home, gone at the end.
struct Home(PathBuf);

struct Outcome {
    out: String,
    err: String,
    code: Option<i32>,
}

impl Home {
    fn new(name: &str) -> Self {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("setup-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&home));
        fs::create_dir_all(home.join("bin")).expect("made");
        fs::hard_link(env!("CARGO_BIN_EXE_credmint"), home.join("bin/credmint")).expect("linked");
        fs::write(home.join("bin/terraform-credentials-credmint"), "stand-in").expect("written");
        Self(home)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().expect("a parent")).expect("made");
        fs::write(self.path(name), text).expect("written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| format!("{name}: {error}"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.path("bin/credmint"));
        command.env_clear().env("HOME", &self.0).current_dir(&self.0).arg("setup").arg(HOST).args(arguments);
        command
    }

    fn setup(&self, arguments: &[&str]) -> Outcome {
        outcome(&mut self.command(arguments))
    }

    /// Lists every file with its content, so that two states can be compared.
    fn state(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut all = Vec::new();
        collect(&self.0, &mut all);
        all.sort();
        all
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn outcome(command: &mut Command) -> Outcome {
    let output = command.output().expect("runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Outcome { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

fn collect(directory: &Path, all: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if fs::symlink_metadata(&path).expect("there").is_dir() {
            collect(&path, all);
        } else {
            all.push((path.clone(), fs::read(&path).unwrap_or_default()));
        }
    }
}

#[test]
fn empty_home_gets_helper_and_blocks_and_loses_them_again() {
    let home = Home::new("empty");
    let before = home.state();
    let first = home.setup(&["--upstream", "https://127.0.0.1:8443"]);
    assert_eq!((first.code, first.err.as_str()), (Some(0), ""), "{}", first.out);
    assert!(first.out.contains("Still missing in") && first.out.ends_with(&format!("Next: credmint explain {HOST}\n")));
    let helper = home.path(".terraform.d/plugins/terraform-credentials-credmint");
    assert_eq!(fs::read_link(&helper).expect("a link"), home.path("bin/terraform-credentials-credmint"));
    assert_eq!(fs::read_dir(helper.parent().expect("a parent")).expect("a directory").count(), 1);
    assert!(home.read(".terraformrc").contains("credentials_helper \"credmint\" {}"));
    assert!(home.read(".terraformrc").contains(&format!("/{HOST}/v1/providers/\"")));
    assert!(
        home.read(&format!(".config/credmint/config.d/{HOST}.toml"))
            .contains("\nupstream = \"https://127.0.0.1:8443\"\n")
    );
    let after = home.state();
    let second = home.setup(&["--upstream", "https://127.0.0.1:8443"]);
    assert!(second.out.starts_with("Nothing to change.\n") && home.state() == after, "{}", second.out);
    assert_eq!(home.setup(&["--remove"]).code, Some(0));
    assert_eq!(home.state(), before);
}

#[test]
fn removal_gives_back_every_byte_and_keeps_the_mode() {
    let home = Home::new("bytes");
    let text = "# mine\r\ncredentials \"app.terraform.io\" {\r\n  token = \"x\"\r\n}\r\n\r\n# end";
    home.write(".terraformrc", text);
    fs::set_permissions(home.path(".terraformrc"), fs::Permissions::from_mode(0o640)).expect("set");
    let before = home.state();
    let first = home.setup(&[]);
    assert!(!first.out.contains("terraform.io") && first.code == Some(0), "{}{}", first.out, first.err);
    assert_eq!(fs::metadata(home.path(".terraformrc")).expect("there").mode() & 0o777, 0o640);
    assert_eq!(home.setup(&["--remove"]).code, Some(0));
    assert_eq!(home.state(), before);
    assert_eq!(fs::metadata(home.path(".terraformrc")).expect("there").mode() & 0o777, 0o640);
}

#[test]
fn dry_run_changes_nothing() {
    let home = Home::new("dry");
    let before = home.state();
    let outcome = home.setup(&["--dry-run", "--upstream", "https://127.0.0.1:8443"]);
    assert!(outcome.out.contains("    + host \"registry.corp.example\" {") && outcome.code == Some(0));
    assert_eq!(home.state(), before);
}

#[test]
fn what_is_in_the_way_is_told_and_nothing_is_changed() {
    let cases = [
        ("broken", "host \"x\" {\n", "is not HCL", "mend "),
        ("other", "credentials_helper \"vault\" {}\n", "names another credentials helper, `vault`", "take the block"),
        ("json", "{ \"disable_checkpoint\": true }\n", "is not HCL", "mend "),
    ];
    for (name, text, what, hint) in cases {
        let home = Home::new(name);
        home.write(".terraformrc", text);
        let before = home.state();
        let outcome = home.setup(&["--upstream", "https://127.0.0.1:8443"]);
        assert_eq!(outcome.code, Some(78), "{name}");
        assert!(outcome.err.contains(what) && outcome.err.contains(&format!("\nhint: {hint}")), "{}", outcome.err);
        assert_eq!(home.state(), before, "{name}");
    }
}

#[test]
fn what_only_hcl_1_reads_is_no_obstacle() {
    let home = Home::new("hcl-1");
    let text = "provider_installation {\n  dev_overrides { \"x/y\" = \"/p\" }\n  direct {}\n}\n\
                \"host\" \"a.example\" { services { \"modules.v1\" = \"https://a.example/\" } }\n";
    home.write(".terraformrc", text);
    let before = home.state();
    assert_eq!(home.setup(&["--upstream", "https://127.0.0.1:8443"]).code, Some(0));
    assert!(home.read(".terraformrc").starts_with(text));
    assert_eq!(home.setup(&["--remove"]).code, Some(0));
    assert_eq!(home.state(), before);
}

#[test]
fn second_helper_in_the_directory_is_told() {
    let home = Home::new("tfrc");
    home.write(".terraform.d/more.tfrc", "\ncredentials_helper \"vault\" {}\n");
    let outcome = home.setup(&[]);
    assert!(outcome.code == Some(78) && outcome.err.contains("more.tfrc: line 2"), "{}", outcome.err);
}

#[test]
fn read_only_file_is_told_and_left() {
    let home = Home::new("read-only");
    home.write(".terraformrc", "# mine\n");
    fs::set_permissions(home.path(".terraformrc"), fs::Permissions::from_mode(0o444)).expect("set");
    let before = home.state();
    let outcome = home.setup(&[]);
    assert!(outcome.code == Some(78) && outcome.err.contains("is read-only"), "{}", outcome.err);
    assert_eq!(home.state(), before);
}

#[test]
fn symbolic_link_stays_one() {
    let home = Home::new("symlink");
    home.write("dotfiles/terraformrc", "# mine\n");
    symlink("dotfiles/terraformrc", home.path(".terraformrc")).expect("linked");
    assert_eq!(home.setup(&[]).code, Some(0));
    assert_eq!(fs::read_link(home.path(".terraformrc")).expect("a link"), Path::new("dotfiles/terraformrc"));
    assert!(home.read("dotfiles/terraformrc").starts_with("# mine\n\n# Written by `credmint setup`"));
    assert_eq!(home.setup(&["--remove"]).code, Some(0));
    assert_eq!(home.read("dotfiles/terraformrc"), "# mine\n");
}

#[test]
fn file_named_by_the_environment_is_the_one() {
    let home = Home::new("named");
    let outcome = outcome(home.command(&[]).env("TF_CLI_CONFIG_FILE", "own.tfrc"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.err);
    assert!(home.path("own.tfrc").exists() && !home.path(".terraformrc").exists());
    // The older name counts where that is not set, or empty.
    for (newer, is_used) in [("own.tfrc", false), ("", true)] {
        let command = &mut home.command(&[]);
        let both = self::outcome(command.env("TERRAFORM_CONFIG", "older.tfrc").env("TF_CLI_CONFIG_FILE", newer));
        assert_eq!((both.code, home.path("older.tfrc").exists()), (Some(0), is_used), "{}", both.err);
    }
}

#[test]
fn tofu_has_its_own_file_or_reads_the_one_of_terraform() {
    let home = Home::new("tofu");
    assert_eq!(home.setup(&["--tool", "tofu"]).code, Some(0));
    assert!(home.path(".tofurc").exists() && !home.path(".terraformrc").exists());
    let home = Home::new("tofu-legacy");
    home.write(".terraformrc", "# both\n");
    assert_eq!(home.setup(&["--tool", "tofu"]).code, Some(0));
    assert!(home.read(".terraformrc").contains("credentials_helper") && !home.path(".tofurc").exists());
}

#[test]
fn tofu_keeps_its_own_directories_if_it_has_them() {
    let home = Home::new("tofu-xdg");
    home.write(".config/opentofu/more.tfrc", "# mine\n");
    let run = |data: Option<&str>| {
        let mut command = home.command(&["--tool", "tofu"]);
        command.env("XDG_CONFIG_HOME", home.path(".config")).envs(data.map(|data| ("XDG_DATA_HOME", home.path(data))));
        outcome(&mut command)
    };
    assert_eq!(run(Some(".data")).code, Some(0));
    assert!(home.path(".config/opentofu/tofurc").exists() && !home.path(".terraform.d").exists());
    assert!(home.path(".data/opentofu/plugins/terraform-credentials-credmint").exists());
    assert!(run(Some(".data")).out.starts_with("Nothing to change."));
    let moved = run(None);
    assert!(moved.out.starts_with("note: ") && moved.out.contains("tofu then reads it in place of"), "{}", moved.out);
}

#[test]
fn helper_stays_while_the_other_tool_needs_it() {
    let home = Home::new("both");
    home.write(".tofurc", "# tofu\n");
    assert_eq!(home.setup(&["--tool", "terraform"]).code, Some(0));
    assert_eq!(home.setup(&["--tool", "tofu"]).code, Some(0));
    assert_eq!(home.setup(&["--tool", "tofu", "--remove"]).code, Some(0));
    assert!(home.path(".terraform.d/plugins/terraform-credentials-credmint").exists());
    assert_eq!(home.setup(&["--tool", "terraform", "--remove"]).code, Some(0));
    assert!(fs::symlink_metadata(home.path(".terraform.d/plugins/terraform-credentials-credmint")).is_err());
}

#[test]
fn settings_that_say_the_same_need_no_drop_in_and_other_ones_are_an_error() {
    let home = Home::new("settings");
    home.write(
        ".config/credmint/config.toml",
        "[bridge]\nport = 7411\n[identity.job]\nkind = \"env\"\nvariable = \"T\"\n[issuer.ca]\nkind = \"local-ca\"\n\
         [host.\"registry.corp.example\"]\nidentity = \"job\"\nissuer = \"ca\"\nupstream = \"https://127.0.0.1:8443\"\n",
    );
    let outcome = home.setup(&["--upstream", "https://127.0.0.1:8443"]);
    assert!(
        outcome.out.ends_with(&format!("Done.\n\nNext: credmint explain {HOST}\n")),
        "{}{}",
        outcome.out,
        outcome.err
    );
    assert!(home.read(".terraformrc").contains("http://127.0.0.1:7411/registry.corp.example/v1/modules/"));
    assert!(!home.path(".config/credmint/config.d").exists());
    let outcome = home.setup(&["--upstream", "https://127.0.0.1:9"]);
    assert!(outcome.code == Some(78) && outcome.err.contains("already says that the upstream"), "{}", outcome.err);
}

#[test]
fn token_needs_no_host_block() {
    let home = Home::new("token");
    home.write(
        ".config/credmint/config.toml",
        "[identity.job]\nkind = \"env\"\nvariable = \"T\"\n[issuer.o]\nkind = \"oidc\"\n\
         [host.\"registry.corp.example\"]\nidentity = \"job\"\nissuer = \"o\"\n",
    );
    assert_eq!(home.setup(&[]).code, Some(0));
    let text = home.read(".terraformrc");
    assert!(text.contains("credentials_helper") && !text.contains("\nhost "), "{text}");
    assert_eq!(home.setup(&["--remove"]).code, Some(0));
    assert!(!home.path(".terraformrc").exists());
}

#[test]
fn what_would_shadow_the_helper_is_refused_or_told() {
    let home = Home::new("shadow");
    home.write(".terraform.d/plugins/linux_amd64/terraform-credentials-credmint_v1.0.0", "");
    let refused = home.setup(&[]);
    assert!(refused.code == Some(78) && refused.err.contains("would be run in place"), "{}", refused.err);
    fs::remove_file(home.path(".terraform.d/plugins/linux_amd64/terraform-credentials-credmint_v1.0.0")).expect("gone");
    home.write(".terraformrc", "credentials \"registry.corp.example\" {\n}\n");
    let told = outcome(home.command(&[]).env("TF_TOKEN_registry_corp_example", "x"));
    assert_eq!(told.out.matches("\nnote: ").count() + usize::from(told.out.starts_with("note: ")), 2, "{}", told.out);
}
