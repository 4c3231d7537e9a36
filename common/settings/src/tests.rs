//! What the room promises, from the outside: files and arguments in, settings out.

use super::*;

fn file(name: &str, text: &str) -> (String, String) {
    (name.to_owned(), text.to_owned())
}

fn args(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

fn shown<T>(result: Result<T, SettingsError>) -> String {
    result.map_or_else(|error| format!("{error} | {}", error.hint().unwrap_or_default()), |_| "fine".to_owned())
}

const STORY: &str = r#"
[identity.builder]
kind = "kubernetes"
audience = "vault"
[identity.job]
kind = "env"
variable = "WORKLOAD_TOKEN"
[issuer.registry-cert]
kind = "vault-pki"
address = "https://vault.corp.example:8200"
auth = { method = "jwt", mount = "jwt", role = "terraform" }
mount = "pki"
role = "registry-client"
common_name = "{email}"
ttl = "1h"
[host."registry.corp.example"]
identity = ["builder", "job"]
issuer = "registry-cert"
deliver = "bridge"
upstream = "https://10.0.0.7:8443"
ca = "/etc/corp/ca.pem"
"#;

#[test]
fn the_story_of_the_design_is_read() {
    let settings = read(&[file("config.toml", STORY)]).unwrap();
    let hostname = credmint_vocabulary::Hostname::from_comparison_form("registry.corp.example").unwrap();
    let route = settings.route(&hostname).unwrap();
    assert_eq!(route.issuer_name, "registry-cert");
    assert_eq!(route.identities().map(|(name, _)| name).collect::<Vec<_>>(), ["builder", "job"]);
    assert_eq!(route.host.deliver, Deliver::Bridge);
}

#[test]
fn a_mistyped_key_is_told_with_its_line() {
    let text = STORY.replace("role = \"registry-client\"", "rol = \"registry-client\"");
    assert_eq!(shown(read(&[file("config.toml", &text)])), "config.toml:13: unknown key `rol` | did you mean `role`?");
}

#[test]
fn arguments_make_the_same_settings() {
    let settings = from_args(
        "terraform-credentials-vault-pki",
        &args(&[
            "--host=registry.corp.example",
            "--identity-env=WORKLOAD_TOKEN",
            "--address=https://vault.corp.example:8200",
            "--auth=jwt",
            "--auth-role=terraform",
            "--role=registry-client",
            "--common-name={email}",
            "--ttl=1h",
        ]),
    );
    let settings = settings.map_err(|error| format!("{error} {:?}", error.hint())).unwrap();
    assert_eq!(settings.hosts.values().map(|host| host.deliver).collect::<Vec<_>>(), [Deliver::Inline]);
}
