//! Files in, settings or the first mistake out: what no single vector can show.

#![expect(clippy::expect_used, reason = "a test stops at what is not as it should be")]

use std::path::PathBuf;
use std::time::Duration;

use credmint_client_identity::KeyAlgorithm;
use credmint_settings::*;
use credmint_vocabulary::Hostname;

const IDENTITY: &str = "[identity.me]\nkind = \"env\"\nvariable = \"TOKEN\"\n";
const ISSUER: &str = "[issuer.own]\nkind = \"oidc\"\n";
const HOST: &str = "[host.\"a.example\"]\nidentity = \"me\"\nissuer = \"own\"\n";

#[test]
fn no_file_at_all_is_responsible_for_nothing() {
    assert_eq!(read(&[]), Ok(Settings::default()));
    assert!(Settings::default().route(&hostname("a.example").into()).is_none());
}

#[test]
fn the_file_of_the_design_is_read() {
    let text = r#"
[identity.builder]
kind = "kubernetes"
audience = "vault"
[identity.job]
kind = "env"
variable = "WORKLOAD_TOKEN"
[issuer.registry-cert]
kind = "vault-pki"
address = "https://vault.corp.example:8200/"
auth = { method = "jwt", role = "terraform" }
mount = "/teams/pki/"
role = "registry-client"
common_name = "{email}"
ttl = "1h"
[host."registry.corp.example"]
identity = ["builder", "job"]
issuer = "registry-cert"
upstream = "https://10.0.0.7:8443"
ca = "/etc/corp/ca.pem"
"#;
    let settings = files(&[("config.toml", text)]).expect("settings");
    let route = settings.route(&hostname("registry.corp.example").into()).expect("a route");
    assert_eq!(route.identities().map(|(name, _)| name).collect::<Vec<_>>(), ["builder", "job"]);
    assert_eq!((route.issuer_name, route.host.deliver), ("registry-cert", Deliver::Bridge));
    assert_eq!(route.host.peer.ca, Some(PathBuf::from("/etc/corp/ca.pem")));
    let Issuer::VaultPki(pki) = route.issuer else { panic!("{:?}", route.issuer) };
    assert_eq!((pki.mount.as_str(), pki.ttl), ("teams/pki", Some(Duration::from_secs(3_600))));
    assert_eq!(pki.login.address, "https://vault.corp.example:8200");
    assert_eq!(pki.login.auth, VaultAuth::Jwt { mount: "jwt".to_owned(), role: "terraform".to_owned() });
}

#[test]
fn defaults_are_those_of_the_page() {
    let text = format!(
        "{IDENTITY}[identity.pod]\nkind = \"kubernetes\"\n[identity.run]\nkind = \"command\"\ncommand = [\"x\"]\n\
         [issuer.own]\nkind = \"local-ca\"\n{HOST}"
    );
    let settings = files(&[("config.toml", &text)]).expect("settings");
    let path = PathBuf::from("/var/run/secrets/kubernetes.io/serviceaccount/token");
    assert_eq!(settings.identities["pod"], Identity::Kubernetes { path, audience: None });
    let command = CommandSource { argv: vec!["x".to_owned()], timeout: Duration::from_secs(5) };
    assert_eq!(settings.identities["run"], Identity::Command(command));
    let Issuer::LocalCa(ca) = &settings.issuers["own"] else { panic!("another issuer") };
    assert_eq!((ca.key, ca.common_name.as_str(), ca.ttl.as_secs()), (KeyAlgorithm::EcdsaP256, "{sub}", 3_600));
    assert_eq!((settings.agent, settings.bridge), (AgentSettings::default(), Bridge::default()));
}

#[test]
fn tables_of_several_files_are_merged_key_by_key() {
    let drop_in = "[identity.me]\nvariable = \"TOKEN\"\n[host.\"a.example\"]\nminimum_life = \"1m\"\n";
    let main = format!("[identity.me]\nkind = \"env\"\n{ISSUER}{HOST}");
    let settings = files(&[("config.toml", &main), ("10-corp.toml", drop_in)]).expect("settings");
    assert_eq!(settings.identities["me"], Identity::Env { variable: "TOKEN".to_owned() });
    assert_eq!(settings.hosts[&hostname("a.example")].minimum_life, Some(Duration::from_secs(60)));
}

#[test]
fn what_terraform_login_may_bring_is_said_by_the_host() {
    let text = |lines: &str| format!("{IDENTITY}{ISSUER}{HOST}{lines}");
    let store = |lines: &str| files(&[("config.toml", &text(lines))]).map(|s| s.hosts[&hostname("a.example")].store);
    assert_eq!(store(""), Ok(Store::SignIn));
    for (word, policy) in [("sign-in", Store::SignIn), ("memory", Store::Memory), ("refuse", Store::Refuse)] {
        assert_eq!(store(&format!("store = \"{word}\"\n")), Ok(policy));
    }
    let error = store("store = \"memory\"\ndeliver = \"bridge\"\n").expect_err("not through the bridge");
    assert!(
        error.to_string().starts_with("config.toml:9") && error.hint().is_some_and(|hint| hint.contains("deliver")),
        "{error}"
    );
}

#[test]
fn the_same_value_in_two_files_is_fine() {
    let all = format!("{IDENTITY}{ISSUER}{HOST}[bridge]\nport = 1\n");
    assert_eq!(files(&[("a.toml", &all), ("b.toml", &all)]), files(&[("a.toml", &all)]));
}

#[test]
fn another_value_in_another_file_is_told_with_both_places() {
    let main = format!("{IDENTITY}{ISSUER}{HOST}");
    let expected = pair("b.toml:2: `variable` has another value in a.toml:3", "keep one of the two");
    assert_eq!(told(files(&[("a.toml", &main), ("b.toml", "[identity.me]\nvariable = \"OTHER\"\n")])), expected);
    let expected = pair("c.toml:3: `port` has another value in b.toml:2", "keep one of the two");
    let ports = [("a.toml", main.as_str()), ("b.toml", "[bridge]\nport = 1\n"), ("c.toml", "\n[bridge]\nport = 2\n")];
    assert_eq!(told(files(&ports)), expected);
}

#[test]
fn a_table_and_a_value_of_the_same_name_do_not_merge() {
    let expected = pair("b.toml:2: `me` has another value in a.toml:1", "keep one of the two");
    assert_eq!(told(files(&[("a.toml", IDENTITY), ("b.toml", "[identity]\nme = \"env\"\n")])), expected);
}

#[test]
fn values_that_are_tables_are_compared_and_not_merged() {
    let table =
        |auth: &str| format!("[issuer.x]\nkind = \"vault-token\"\naddress = \"https://v.example\"\nauth = {auth}\n");
    let (one, other) = (table("{ method = \"jwt\", role = \"x\" }"), table("{ role = \"x\", method = \"jwt\" }"));
    assert!(files(&[("a.toml", &one), ("b.toml", &other)]).is_ok());
    let expected = pair("b.toml:4: `auth` has another value in a.toml:4", "keep one of the two");
    assert_eq!(told(files(&[("a.toml", &one), ("b.toml", &table("{ method = \"jwt\" }"))])), expected);
}

#[test]
fn a_mistake_in_a_drop_in_names_the_drop_in() {
    let expected = pair("10-corp.toml:1: unknown table or key `hots`", "did you mean `host`?");
    assert_eq!(told(files(&[("config.toml", IDENTITY), ("10-corp.toml", "[hots.x]\n")])), expected);
}

#[test]
fn names_may_be_defined_in_a_later_file() {
    assert!(files(&[("a.toml", HOST), ("b.toml", ISSUER), ("c.toml", IDENTITY)]).is_ok());
}

#[test]
fn the_first_mistake_of_a_table_is_the_topmost() {
    let text = "[identity.me]\nkind = \"env\"\nzzz = 1\naaa = 1\nvariable = \"X\"\n";
    assert_eq!(told(files(&[("config.toml", text)])).0, "config.toml:3: unknown key `zzz`");
}

#[test]
fn lines_are_counted_in_files_with_carriage_returns() {
    let text = "[identity.me]\r\nkind = \"env\"\r\nvariable = 7\r\n";
    assert_eq!(
        told(files(&[("config.toml", text)])).0,
        "config.toml:3: expected a string for `variable`, found an integer"
    );
}

#[test]
fn columns_are_counted_in_characters() {
    let error = files(&[("config.toml", "identity = { \"äöü\" = 7 }\n")]).expect_err("a mistake");
    assert_eq!((error.line, error.column), (1, 22));
}

#[test]
fn deep_nesting_is_a_mistake_and_no_overflow() {
    for text in [format!("a = {}", "[".repeat(60_000)), format!("a{} = 1", ".a".repeat(30_000))] {
        assert!(told(files(&[("config.toml", &text)])).0.contains("not TOML"), "{}", text.len());
    }
}

#[test]
fn a_file_that_is_no_text_is_told_without_a_line() {
    let error = SettingsError::not_utf8("config.toml", 17);
    assert_eq!(error.to_string(), "config.toml: the file is not UTF-8, from byte 17 on");
    assert_eq!(error.hint(), Some("save it as UTF-8; a PowerShell redirection writes UTF-16"));
}

#[test]
fn a_file_that_is_too_large_is_told_with_the_bound() {
    let error = SettingsError::too_large("config.toml", 65_536);
    assert_eq!(error.to_string(), "config.toml: the file is larger than 65536 bytes");
    assert_eq!(error.hint(), Some("is this the settings file? CREDMINT_CONFIG names another one"));
}

#[test]
fn client_authentication_follows_from_what_is_there() {
    let client = |more: &str| {
        let text =
            format!("[issuer.x]\nkind = \"token-exchange\"\nissuer = \"https://i.example\"\nclient_id = \"c\"\n{more}");
        let settings = files(&[("config.toml", &text)]).expect("settings");
        let Issuer::TokenExchange(exchange) = &settings.issuers["x"] else { panic!("another issuer") };
        exchange.client.clone()
    };
    let client_id = || "c".to_owned();
    let secret = || Source::Env("S".to_owned());
    assert_eq!(client(""), ClientAuthentication::None { client_id: client_id() });
    assert_eq!(
        client("client_secret = { env = \"S\" }"),
        ClientAuthentication::Basic { client_id: client_id(), secret: secret() }
    );
    let post = client("client_secret = { env = \"S\" }\nclient_auth = \"post\"");
    assert_eq!(post, ClientAuthentication::Post { client_id: client_id(), secret: secret() });
    let key = client("client_key = { env = \"S\" }\nclient_key_id = \"1\"");
    let key_id = Some("1".to_owned());
    assert_eq!(key, ClientAuthentication::PrivateKeyJwt { client_id: client_id(), key: secret(), key_id });
}

fn files(texts: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let owned: Vec<_> = texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    read(&owned)
}

/// What a person reads: the sentence and the hint.
fn told(result: Result<Settings, SettingsError>) -> (String, String) {
    let error = result.expect_err("a mistake");
    (error.to_string(), error.hint.unwrap_or_default())
}

fn pair(sentence: &str, hint: &str) -> (String, String) {
    (sentence.to_owned(), hint.to_owned())
}

fn hostname(text: &str) -> Hostname {
    Hostname::from_comparison_form(text).expect("a hostname")
}

#[cfg(unix)]
#[test]
fn the_audit_goes_to_a_file_or_to_the_systems_log_and_a_file_is_never_taken_for_that() {
    let audit = |value: &str| files(&[("config.toml", &format!("[bridge]\naudit = \"{value}\"\n"))]);
    let goes = |value: &str| audit(value).expect("settings").bridge.audit;
    assert_eq!(goes("syslog"), Some(Audit::Syslog(None)));
    assert_eq!(goes("syslog:/run/x/log"), Some(Audit::Syslog(Some("/run/x/log".into()))));
    assert_eq!(goes("~/syslog"), Some(Audit::File("~/syslog".into())));
    for wrong in ["syslog:", "syslog:log", "syslogd", "syslog/audit", "audit.jsonl", "./syslog"] {
        assert!(audit(wrong).is_err(), "{wrong}");
    }
    let told = audit("syslog:log").expect_err("no socket").to_string();
    assert!(told.contains("config.toml:2") && told.contains("neither a path nor the system's log"), "{told}");
}
