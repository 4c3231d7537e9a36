//! Arguments in, the settings of the same file or the first mistake out.

#![expect(clippy::expect_used, reason = "a test stops at what is not as it should be")]

use std::path::PathBuf;

use credmint_settings::*;
use credmint_vocabulary::Hostname;

const VAULT_PKI: &str = "terraform-credentials-vault-pki";
const OIDC: &str = "terraform-credentials-oidc";

#[test]
fn vault_pki_arguments_make_the_settings_of_the_same_file() {
    let from_arguments = arguments(
        VAULT_PKI,
        &[
            "--host=a.example",
            "--host=b.example:8443",
            "--identity-file=/run/token",
            "--address=https://vault.corp.example:8200",
            "--namespace=teams/a",
            "--auth=kubernetes",
            "--auth-mount=clusters/one",
            "--auth-role=terraform",
            "--mount=pki/int",
            "--role=client",
            "--key=ed25519",
            "--common-name={email}",
            "--dns-name=a.corp.example",
            "--dns-name=b.corp.example",
            "--email-address={email}",
            "--ip-address=10.0.0.7",
            "--uri=spiffe://corp.example/{sub}",
            "--ttl=1h",
            "--vault-ca=/etc/vault.pem",
            "--vault-ca-only",
            "--ca=/etc/registry.pem",
            "--minimum-life=20m",
            "--confirm",
        ],
    );
    let host = |name: &str| {
        format!(
            "[host.\"{name}\"]\nidentity = \"args\"\nissuer = \"args\"\n\
             ca = \"/etc/registry.pem\"\nminimum_life = \"20m\"\nconfirm = true\n"
        )
    };
    let text = format!(
        "[identity.args]\nkind = \"file\"\npath = \"/run/token\"\n[issuer.args]\nkind = \"vault-pki\"\n\
         address = \"https://vault.corp.example:8200\"\nnamespace = \"teams/a\"\n\
         auth = {{ method = \"kubernetes\", mount = \"clusters/one\", role = \"terraform\" }}\nmount = \"pki/int\"\n\
         role = \"client\"\nkey = \"ed25519\"\ncommon_name = \"{{email}}\"\n\
         dns_names = [\"a.corp.example\", \"b.corp.example\"]\nemail_addresses = \"{{email}}\"\n\
         ip_addresses = \"10.0.0.7\"\nuris = \"spiffe://corp.example/{{sub}}\"\nttl = \"1h\"\n\
         ca = \"/etc/vault.pem\"\nca_only = true\n{}{}",
        host("a.example"),
        host("b.example:8443")
    );
    assert_eq!(from_arguments, files(&[("config.toml", &text)]));
    assert!(from_arguments.is_ok(), "{from_arguments:?}");
}

#[test]
fn oidc_arguments_pass_the_token_on() {
    let settings = arguments(OIDC, &["--host=a.example", "--identity-env=TOKEN", "--audience=a"]).expect("settings");
    assert_eq!(settings.issuers["args"], Issuer::Oidc(OidcToken { audience: Some("a".to_owned()) }));
    assert_eq!(settings.hosts[&hostname("a.example")].deliver, Deliver::Token);
    let settings = arguments(OIDC, &["--host=a.example", "--identity-kubernetes"]).expect("settings");
    assert_eq!(settings.issuers["args"], Issuer::Oidc(OidcToken::default()));
}

#[test]
fn oidc_arguments_make_a_token_exchange() {
    let settings = arguments(
        OIDC,
        &[
            "--host=a.example",
            "--identity-command=print-token --audience x",
            "--issuer=https://id.corp.example",
            "--client-id=terraform",
            "--client-auth=post",
            "--client-secret-file=/run/secret",
            "--exchange-audience=a",
            "--exchange-audience=b",
            "--resource=https://a.example",
            "--scope=x",
            "--deliver=bridge",
            "--upstream=https://10.0.0.7",
        ],
    );
    let settings = settings.expect("settings");
    let Identity::Command(command) = &settings.identities["args"] else { panic!("another identity") };
    assert_eq!(command.argv, ["print-token", "--audience", "x"]);
    let Issuer::TokenExchange(exchange) = &settings.issuers["args"] else { panic!("another issuer") };
    assert_eq!((exchange.audience.len(), exchange.scopes.as_slice()), (2, &["x".to_owned()][..]));
    let secret = Source::File(PathBuf::from("/run/secret"));
    assert_eq!(exchange.client, ClientAuthentication::Post { client_id: "terraform".to_owned(), secret });
}

#[test]
fn each_vault_auth_method_has_its_arguments() {
    let login = |args: &[&str]| {
        let fixed = ["--host=a.example", "--identity-env=T", "--address=https://v.example", "--role=r"];
        let settings = arguments(VAULT_PKI, &[&fixed, args].concat()).expect("settings");
        let Issuer::VaultPki(pki) = &settings.issuers["args"] else { panic!("another issuer") };
        pki.login.auth.clone()
    };
    let env = |name: &str| Source::Env(name.to_owned());
    assert!(matches!(login(&["--auth=jwt"]), VaultAuth::Jwt { .. }));
    assert_eq!(login(&["--auth=token", "--token-env=V"]), VaultAuth::Token { token: env("V") });
    let approle = login(&["--auth=approle", "--role-id=b", "--secret-id-env=S"]);
    let expected = VaultAuth::AppRole { mount: "approle".to_owned(), role_id: "b".to_owned(), secret_id: env("S") };
    assert_eq!(approle, expected);
    let cert = login(&["--auth=cert", "--certificate-env=C", "--certificate-key-env=K"]);
    assert!(
        matches!(cert, VaultAuth::Cert { certificate, key, role: None, .. } if certificate == env("C") && key == env("K"))
    );
}

#[test]
fn nobody_has_to_ask_where_the_login_is_the_machines() {
    let args = ["--host=a.example", "--address=https://v.example", "--auth=token", "--token-file=/t", "--role=r"];
    let settings = arguments(VAULT_PKI, &args).expect("settings");
    assert!(settings.identities.is_empty() && settings.hosts[&hostname("a.example")].identities.is_empty());
}

#[test]
fn arguments_in_another_form_are_told_by_number() {
    let host = "--host=a.example";
    for (args, sentence, hint) in [
        (vec!["--hots=a"], " argument 1: unknown argument `--hots`", "did you mean `--host`?"),
        (vec!["--host"], " argument 1: `--host` has no value", "write --host=VALUE, with an equals sign"),
        (
            vec!["a.example"],
            " argument 1: not an argument of the form --key=value",
            "write the value behind an equals sign: --key=value",
        ),
        (vec![host, host], " argument 2: `--host` names this host twice", "keep one of the two"),
        (vec!["--host=A.example"], " argument 1: the hostname has upper-case letters", "write `a.example`"),
        (vec![host, "--ca-only=yes"], " argument 2: `--ca-only` takes no value", "write --ca-only alone"),
        (
            vec![host, "--identity-env=A", "--audience=a", "--audience=b"],
            " argument 4: `--audience` stands there twice",
            "keep one of the two",
        ),
        (
            vec![host, "--identity-env=A", "--audience="],
            " argument 3: `--audience` is empty",
            "leave it out, or give it a value",
        ),
    ] {
        assert_told(OIDC, &args, sentence, hint);
    }
}

#[test]
fn values_of_arguments_are_judged_as_in_a_file() {
    let host = "--host=a.example";
    for (args, sentence, hint) in [
        (
            vec![host, "--deliver=brigde", "--identity-env=T"],
            " argument 2: unknown value `brigde` for `--deliver`",
            "did you mean `bridge`?",
        ),
        (
            vec![host, "--identity-env=A", "--identity-file=/b"],
            " argument 3: `--identity-env` and `--identity-file` are two identities",
            "keep one of the two",
        ),
        (
            vec![host, "--identity-file=token"],
            " argument 2: `--identity-file` is not an absolute path",
            "begin it with `/`, or with `~/` for the caller's home",
        ),
        (
            vec![host, "--identity-command="],
            " argument 2: `--identity-command` names no program",
            "[\"program\", \"argument\"]; no shell reads it",
        ),
    ] {
        assert_told(OIDC, &args, sentence, hint);
    }
}

#[test]
fn arguments_that_do_not_go_together_are_told() {
    let host = "--host=a.example";
    for (args, sentence, hint) in [
        (
            vec![host, "--identity-env=A", "--upstream=https://u.example"],
            " argument 3: `--upstream` has no meaning unless the bridge delivers",
            "add --deliver=bridge, or leave `--upstream` out",
        ),
        (
            vec![
                host,
                "--identity-env=A",
                "--issuer=https://i",
                "--client-id=c",
                "--client-secret-env=A",
                "--client-secret-file=/a",
            ],
            " argument 6: `--client-secret-env` and `--client-secret-file` contradict each other",
            "keep one of the two",
        ),
        (
            vec![host, "--identity-env=A", "--issuer=https://i", "--client-id=c", "--audience=x"],
            " argument 5: `--audience` has no meaning in a token exchange",
            "--exchange-audience=NAME is what the exchange asks for",
        ),
        (
            vec![host, "--identity-env=A", "--issuer=https://i", "--client-id=c", "--issuer-ca-only"],
            " argument 5: `--issuer-ca-only` has no meaning without `--issuer-ca`",
            "add `--issuer-ca`",
        ),
        (
            vec![host, "--identity-env=A", "--issuer=https://i"],
            ": missing argument `--client-id`",
            "kind \"token-exchange\" needs `--client-id`",
        ),
        (
            vec![host, "--identity-env=A", "--client-id=c"],
            ": missing argument `--issuer`",
            "`--issuer` for discovery, or `--token-endpoint` directly",
        ),
        (
            vec!["--identity-env=A"],
            ": missing argument `--host`",
            "--host=NAME says which host this is for; it may stand there more than once",
        ),
    ] {
        assert_told(OIDC, &args, sentence, hint);
    }
}

#[test]
fn mistakes_in_vault_arguments_are_told_by_number() {
    let fixed = ["--host=a.example", "--identity-env=T", "--address=https://v.example"];
    for (more, sentence, hint) in [
        (vec!["--auth=jwt"], ": missing argument `--role`", "kind \"vault-pki\" needs `--role`"),
        (vec!["--role=r"], ": missing argument `--auth`", "kind \"vault-pki\" needs `--auth`"),
        (
            vec!["--role=r", "--auth-role=x"],
            ": missing argument `--auth`",
            "methods: jwt, kubernetes, approle, cert, token, aws, identity",
        ),
        (
            vec!["--role=r", "--auth=kubernetes"],
            ": missing argument `--auth-role`",
            "method \"kubernetes\" needs `--auth-role`",
        ),
        (
            vec!["--role=r", "--auth=approle", "--role-id=x"],
            ": missing argument `--secret-id-env`",
            "method \"approle\" needs `--secret-id-env`",
        ),
        (
            vec!["--role=r", "--auth=jwt", "--role-id=x"],
            " argument 6: `--role-id` has no meaning with method \"jwt\"",
            "arguments of method \"jwt\": --auth-mount, --auth-role",
        ),
        (vec!["--role=r", "--auth=jtw"], " argument 5: unknown method `jtw`", "did you mean `jwt`?"),
        (
            vec!["--role=r", "--auth=jwt", "--deliver=token"],
            " argument 6: a certificate cannot be delivered as a token",
            "deliver it by \"bridge\", or \"inline\" to a client that reads PEM properties",
        ),
        (
            vec!["--role=r", "--auth=jwt", "--ttl=60"],
            " argument 6: `--ttl` has no unit",
            "seconds are written \"60s\"; other units are d, h and m",
        ),
        (
            vec!["--role=r", "--auth=jwt", "--vault-ca-only"],
            " argument 6: `--vault-ca-only` has no meaning without `--vault-ca`",
            "add `--vault-ca`",
        ),
    ] {
        let args = [&fixed[..], &more].concat();
        assert_told(VAULT_PKI, &args, sentence, hint);
    }
}

#[test]
fn an_identity_is_asked_for_in_the_words_of_arguments() {
    let expected = pair(
        "terraform-credentials-oidc: missing argument `--identity`",
        "--identity-env=NAME, --identity-file=/path, --identity-kubernetes or --identity-command=PROGRAM says who is asking",
    );
    assert_eq!(told(arguments(OIDC, &["--host=a.example"])), expected);
}

#[test]
fn a_secret_in_an_argument_is_refused_and_not_repeated() {
    for (program, argument, sources) in [
        (VAULT_PKI, "--token=canary", "--token"),
        (VAULT_PKI, "--secret-id=canary", "--secret-id"),
        (VAULT_PKI, "--jwt=canary", "--identity"),
        (OIDC, "--client-secret=canary", "--client-secret"),
        (OIDC, "--actor-token=canary", "--actor-token"),
        (OIDC, "--client-key=canary", "--client-key"),
        (OIDC, "--token=canary", "--identity"),
        (OIDC, "--password=canary", "--identity"),
    ] {
        let name = argument.split('=').next().unwrap_or_default();
        let sentence =
            format!("{program} argument 1: `{name}` would put a secret into the arguments, which others can read");
        let hint = format!("name its source: {sources}-env=NAME or {sources}-file=/path");
        assert_eq!(told(arguments(program, &[argument])), (sentence, hint));
    }
    for args in [["--identity-env=s.canary"], ["s.canary"], ["--identity-file=canary"]] {
        let error = arguments(OIDC, &[&["--host=a.example"][..], &args].concat()).expect_err("a mistake");
        assert!(!format!("{error}{error:?}").contains("canary"), "{error}");
    }
}

#[test]
fn another_program_takes_no_settings_from_arguments() {
    let (sentence, _) = told(arguments("terraform-credentials-credmint", &["--host=a.example"]));
    assert_eq!(sentence, "terraform-credentials-credmint: this program takes no settings from arguments");
}

fn files(texts: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let owned: Vec<_> = texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    read(&owned)
}

fn arguments(program: &str, args: &[&str]) -> Result<Settings, SettingsError> {
    from_args(program, &args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
}

fn assert_told(program: &str, args: &[&str], sentence: &str, hint: &str) {
    assert_eq!(told(arguments(program, args)), pair(&format!("{program}{sentence}"), hint), "{args:?}");
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
