//! Settings with a mistake: file, line and the nearest word; never half of them, never an anonymous request.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test arranges the machine by hand, and fails by panicking"
)]

use credmint_faults::{FOREIGN, HELPER, PASS_ON, SETTINGS, User, is_a_failure};
use credmint_test_kit::random;

/// Puts a mistake into settings that work, sees the failure, takes it out again and sees the answer.
fn mistake(text: impl AsRef<[u8]>, words: &[&str]) {
    let user = User::with_a_route_that_works();
    let file = user.settings(text);
    let output = user.get();
    is_a_failure(&output, SETTINGS, words);
    assert!(output.stderr.contains(&file.display().to_string()), "the file is not named: {}", output.stderr);
    user.settings(PASS_ON);
    user.succeeds();
    user.check();
}

fn with(find: &str, put: &str) -> String {
    assert!(PASS_ON.contains(find));
    PASS_ON.replace(find, put)
}

#[test]
fn what_is_not_toml_is_told_with_its_line() {
    mistake(format!("{PASS_ON}identity = = \"x\"\n"), &["config.toml:11"]);
    mistake(format!("{{\"host\": \"{}\"}}", credmint_faults::HOST), &["config.toml:1"]);
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    mistake(format!("{PASS_ON}# {}\n", "x".repeat(8 << 20)), &["longer than"]);
}

#[test]
fn bytes_that_are_no_utf8_are_told() {
    mistake([PASS_ON.as_bytes(), b"# caf\xe9\n"].concat(), &["UTF-8"]);
    let utf16: Vec<u8> = PASS_ON.encode_utf16().flat_map(u16::to_le_bytes).collect();
    mistake([b"\xff\xfe".to_vec(), utf16].concat(), &["UTF-8"]);
}

#[test]
fn a_byte_order_mark_is_told() {
    mistake(format!("\u{feff}{PASS_ON}"), &["config.toml:1", "byte order mark"]);
}

#[test]
fn unknown_keys_are_told_with_the_nearest_word() {
    mistake(with("issuer = \"pass\"", "isuer = \"pass\""), &["config.toml:10", "isuer", "`issuer`"]);
    mistake(with("[identity.job]", "[identiti.job]"), &["config.toml:1", "identiti", "identity"]);
    mistake(with("\"oidc\"", "\"odic\""), &["config.toml:6", "odic", "oidc"]);
}

#[test]
fn a_policy_for_terraform_login_that_there_is_not_is_told() {
    mistake(format!("{PASS_ON}store = \"memroy\"\n"), &["config.toml:11", "memroy", "memory"]);
}

#[test]
fn wrong_types_are_told() {
    mistake(with("path = \"~/token\"", "path = 7"), &["config.toml:3", "path"]);
    mistake(format!("{PASS_ON}minimum_life = 600\n"), &["config.toml:11", "minimum_life"]);
    mistake(with("[identity.job]\nkind = \"file\"\npath = \"~/token\"", "identity = \"job\""), &["config.toml:1"]);
}

#[test]
fn names_that_lead_nowhere_are_told_with_the_nearest_one() {
    mistake(with("identity = \"job\"", "identity = \"jop\""), &["config.toml:9", "jop", "job"]);
    mistake(with("issuer = \"pass\"", "issuer = \"past\""), &["config.toml:10", "past", "pass"]);
}

#[test]
fn a_host_that_is_written_wrongly_is_told_and_not_passed_over() {
    for wrong in [
        "https://registry.corp.example",
        "Registry.corp.example",
        "registry.corp.example:443",
        "registry.corp.example.",
        "registry.corp.example/",
    ] {
        mistake(with("\"registry.corp.example\"", &format!("\"{wrong}\"")), &["config.toml:8"]);
    }
}

#[test]
fn a_secret_in_the_file_is_refused_and_not_repeated() {
    let mut user = User::with_a_route_that_works();
    let secret = user.canary.watch("the secret in the settings", random::secret("client"));
    let exchange = format!(
        "[issuer.pass]\nkind = \"token-exchange\"\nissuer = \"https://id.corp.example\"\nclient_id = \"terraform\"\n\
         client_secret = \"{secret}\""
    );
    let file = user.settings(with("[issuer.pass]\nkind = \"oidc\"", &exchange));
    user.canary.allow_file(file);
    let output = user.get();
    is_a_failure(&output, SETTINGS, &["config.toml:9", "client_secret", "{ env = \"NAME\" }"]);
    user.check();
    user.settings(PASS_ON);
    user.succeeds();
    user.check();
}

#[test]
fn a_mistake_in_a_drop_in_is_told_with_that_file() {
    let user = User::with_a_route_that_works();
    let file = user.home.write(".config/credmint/config.d/broken.toml", "[bridge]\nprot = 7777\n");
    is_a_failure(&user.get(), SETTINGS, &["broken.toml:2", "prot", "`port`"]);
    std::fs::remove_file(file).expect("the drop-in");
    user.succeeds();
    user.check();
}

#[test]
fn a_file_that_is_named_and_missing_is_told() {
    let user = User::with_a_route_that_works();
    let elsewhere = user.home.path().join("no/such.toml");
    let output = user.helper(&["get", credmint_faults::HOST]).env("CREDMINT_CONFIG", &elsewhere).output();
    is_a_failure(&output, SETTINGS, &["no/such.toml", "does not exist", "CREDMINT_CONFIG"]);
    user.succeeds();
    user.check();
}

#[test]
fn a_settings_file_that_is_a_directory_is_told() {
    let user = User::move_in();
    user.home.make_directory(".config/credmint/config.toml");
    is_a_failure(&user.get(), SETTINGS, &["config.toml"]);
    user.check();
}

/// hashicorp/terraform#25938: a helper that breaks for one host breaks all others.
#[test]
fn a_mistake_about_our_host_does_not_touch_others() {
    let user = User::with_a_route_that_works();
    user.settings(format!("{PASS_ON}isuer = \"x\"\n"));
    let foreign = |user: &User| {
        let output = user.helper(&["get", FOREIGN]).output().success();
        assert_eq!(output.stdout, "{}\n");
    };
    // Without an agent, and with one that runs.
    foreign(&user);
    assert!(user.home.agents().is_empty(), "{HELPER} started an agent for a host that no settings name");
    is_a_failure(&user.get(), SETTINGS, &["isuer"]);
    user.settings(PASS_ON);
    user.succeeds();
    user.settings(format!("{PASS_ON}isuer = \"x\"\n"));
    foreign(&user);
    user.check();
}
