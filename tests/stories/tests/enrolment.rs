//! Enrolment at a real OpenBao with roles of every kind: what is granted, what is refused, and by which rule.

#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use credmint_stories::{Company, HOST, User, file_identity};
use serde_json::{Value, json};

/// A company, a user with a token, and whether the login may read roles.
struct Desk {
    company: Company,
    user: User,
    identity: String,
}

impl Desk {
    fn open(may_read: bool) -> Self {
        let (company, mut user) = (Company::found(), User::move_in());
        let read = if may_read { "path \"+/roles/*\" { capabilities = [\"read\"] }" } else { "" };
        company.bao.policy("any-role", &format!("path \"+/sign/*\" {{ capabilities = [\"update\"] }}\n{read}"));
        company.bao.write(
            "auth/jwt/role/terraform",
            json!({
                "role_type": "jwt", "user_claim": "sub", "bound_audiences": ["vault"], "token_policies": ["any-role"],
            }),
        );
        let token = user.token_file(&company.provider.token_for("alice", "vault", 300));
        Self { identity: file_identity(&token), company, user }
    }

    /// Writes settings for a role of a mount, and more lines of the issuer.
    fn ask_of(&self, mount: &str, role: &str, lines: &str) {
        let issuer = format!(
            "[issuer.registry-cert]\nkind = \"vault-pki\"\naddress = \"{}\"\nauth = {{ method = \"jwt\", role = \"terraform\" }}\n\
             mount = \"{mount}\"\nrole = \"{role}\"\n{lines}\n",
            self.company.bao.address()
        );
        let host = self.company.host("job", "deliver = \"inline\"\n");
        self.user.settings(&(self.identity.clone() + &issuer + &host));
    }

    /// Asks for a certificate; the text that `openssl` makes of it, or the failure.
    fn enrol(&mut self) -> Result<String, String> {
        let output = self.user.get().output();
        if output.code != Some(0) {
            return Err(output.stderr);
        }
        let object = output.json();
        self.user.canary.watch_pem("client private key", object["client_private_key_pem"].as_str().unwrap_or_default());
        let pem = object["client_certificate_pem"].as_str().unwrap_or_default().to_owned();
        Ok(self.user.home.run("openssl").args(["x509", "-noout", "-text"]).input(pem).output().success().stdout)
    }

    fn notes(&self) -> String {
        let status = self.user.credmint(&["status", "--json"]).json();
        status["agent"]["entries"][0]["notes"].to_string()
    }

    fn cert(&self) -> Value {
        self.user.credmint(&["cert", HOST, "--json"]).json()["certificate"].clone()
    }
}

/// Kinds of roles, and the keys of ours that each takes.
const KINDS: [(&str, u64, &[&str]); 8] = [
    ("any", 0, &["ecdsa-p256", "ecdsa-p384", "ed25519", "rsa-2048", "rsa-3072"]),
    ("any", 2048, &["ecdsa-p256", "ecdsa-p384", "ed25519", "rsa-2048", "rsa-3072"]),
    ("rsa", 0, &["rsa-2048", "rsa-3072"]),
    ("rsa", 3072, &["rsa-3072"]),
    ("ec", 0, &["ecdsa-p256", "ecdsa-p384"]),
    ("ec", 256, &["ecdsa-p256", "ecdsa-p384"]),
    ("ec", 384, &["ecdsa-p384"]),
    ("ed25519", 0, &["ed25519"]),
];

#[test]
fn every_key_at_a_role_of_every_kind_is_granted_or_refused_by_name_vault_4595() {
    let mut desk = Desk::open(true);
    for (key_type, bits, taken) in KINDS {
        let role = format!("{key_type}-{bits}");
        desk.company.pki.role(&role, json!({ "key_type": key_type, "key_bits": bits, "max_ttl": "2h" }));
        for key in ["ecdsa-p256", "ecdsa-p384", "ed25519", "rsa-2048", "rsa-3072"] {
            desk.ask_of("pki", &role, &format!("common_name = \"{{email}}\"\nkey = \"{key}\"\n"));
            match desk.enrol() {
                Ok(text) => {
                    assert!(taken.contains(&key), "{role} granted {key}");
                    assert!(text.contains("CN = alice@corp.example"), "{text}");
                }
                Err(words) => {
                    assert!(!taken.contains(&key), "{role} refused {key}: {words}");
                    assert!(words.contains("key_type = ") || words.contains("key_bits = "), "{words}");
                    assert!(words.contains(&format!("of role {role}")), "{words}");
                    assert!(words.contains(&format!("hint: set key = \"{}\"", taken[0])), "{words}");
                }
            }
        }
    }
    desk.user.canary.check(&desk.user.home);
}

#[test]
fn a_key_that_the_settings_leave_open_is_the_one_that_the_role_names_vault_pr_16246() {
    // The first login may read roles, the second has to read the refusal.
    for may_read in [true, false] {
        let mut desk = Desk::open(may_read);
        for (key_type, bits, taken) in KINDS {
            let role = format!("{key_type}-{bits}");
            desk.company.pki.role(&role, json!({ "key_type": key_type, "key_bits": bits, "max_ttl": "2h" }));
            desk.ask_of("pki", &role, "common_name = \"{email}\"\n");
            // A role with more bits than its type usually has is told in two refusals: of that, only the role itself tells.
            if (may_read, role.as_str()) == (false, "rsa-3072") {
                let words = desk.enrol().expect_err("refused twice");
                assert!(words.contains("hint: set key in the settings to what the PKI role wants"), "{words}");
                continue;
            }
            let text = desk.enrol().unwrap_or_else(|words| panic!("{role}, {may_read}: {words}"));
            let shown = match taken[0] {
                "ecdsa-p256" => "prime256v1",
                "ecdsa-p384" => "secp384r1",
                "ed25519" => "ED25519",
                "rsa-2048" => "2048 bit",
                _ => "3072 bit",
            };
            assert!(text.contains(shown), "{role}: {text}");
            let notes = desk.notes();
            let told = notes.contains(&format!("key = \\\"{}\\\"", taken[0]));
            assert_eq!(told, taken[0] != "ecdsa-p256", "{role}: {notes}");
        }
        desk.user.canary.check(&desk.user.home);
    }
}

const EMAIL: &str = "common_name = \"{email}\"\n";
const HOSTNAME: &str = "common_name = \"{sub}.corp.example\"\n";
const PERSON: &str = "common_name = \"Alice {sub}\"\n";
const LOCAL: &str = "common_name = \"localhost\"\n";
const STAR: &str = "common_name = \"*.corp.example\"\n";
const ADDRESS: &str = "common_name = \"{email}\"\nip_addresses = \"10.0.0.7\"\n";
const URI: &str = "common_name = \"{email}\"\nuris = \"spiffe://corp/{sub}\"\n";

/// What a strict role allows besides, what is asked of it, and the rule that refuses that; none if it is granted.
const NAMES: &[(&str, &str, &str)] = &[
    (r#"{"allow_bare_domains": true}"#, EMAIL, ""),
    ("{}", EMAIL, "allow_bare_domains is off"),
    (r#"{"allow_subdomains": true}"#, HOSTNAME, ""),
    (
        r#"{"allow_subdomains": true, "allowed_domains": ["evil.example"]}"#,
        HOSTNAME,
        "not below allowed_domains (evil.example)",
    ),
    (r#"{"allow_bare_domains": true, "cn_validations": ["hostname"]}"#, EMAIL, "cn_validations has only hostname"),
    (r#"{"allow_any_name": true, "cn_validations": ["disabled"]}"#, PERSON, ""),
    (r#"{"allow_any_name": true}"#, PERSON, "enforce_hostnames wants a hostname"),
    (r#"{"allow_any_name": true}"#, "", "require_cn of role"),
    (r#"{"allow_any_name": true, "require_cn": false}"#, "", ""),
    (r#"{"allow_bare_domains": true}"#, ADDRESS, "allow_ip_sans is off"),
    (
        r#"{"allow_bare_domains": true, "allow_ip_sans": true, "allowed_ip_sans_cidr": ["192.168.0.0/16"]}"#,
        ADDRESS,
        "allowed_ip_sans_cidr",
    ),
    (r#"{"allow_bare_domains": true}"#, URI, "allowed_uri_sans is empty"),
    (r#"{"allow_bare_domains": true, "allowed_uri_sans": ["spiffe://other/*"]}"#, URI, "none of allowed_uri_sans"),
    (r#"{"allow_subdomains": true, "allow_wildcard_certificates": false}"#, STAR, "allow_wildcard_certificates"),
    (r#"{"allow_subdomains": true}"#, STAR, ""),
    (r#"{"allow_glob_domains": true, "allowed_domains": ["a*.corp.example"]}"#, HOSTNAME, ""),
    (r#"{"allowed_domains": ["a*.corp.example"]}"#, HOSTNAME, "allow_glob_domains is off"),
    (r#"{"allow_localhost": true}"#, LOCAL, ""),
    (r#"{"allow_localhost": false}"#, LOCAL, "not below"),
];

#[test]
fn names_that_a_role_refuses_are_told_with_their_rule_vault_12659() {
    let mut desk = Desk::open(true);
    for (at, (more, lines, rule)) in NAMES.iter().enumerate() {
        let mut role = json!({
            "allow_any_name": false, "enforce_hostnames": true, "allow_ip_sans": false, "allowed_uri_sans": [],
            "allowed_domains": ["corp.example"], "cn_validations": ["email", "hostname"], "max_ttl": "2h",
        });
        let more: Value = serde_json::from_str(more).expect("JSON");
        role.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let name = format!("role-{at}");
        desk.company.pki.role(&name, role);
        desk.ask_of("pki", &name, lines);
        match desk.enrol() {
            Ok(_) => {
                assert_eq!(*rule, "", "{more} granted {lines}");
                // What is granted, no rule is said to refuse.
                let findings = desk.cert()["findings"].to_string();
                assert!(!findings.contains("\"refuses\""), "{more}: {findings}");
            }
            Err(words) => {
                assert!(!rule.is_empty() && words.contains(rule) && words.contains(&name), "{more}: {words}");
                assert!(words.contains("hint: "), "{words}");
            }
        }
    }
    desk.user.canary.check(&desk.user.home);
}

#[test]
fn names_arrive_whichever_place_the_role_takes_them_from_vault_2770() {
    let mut desk = Desk::open(true);
    for (name, options) in [
        ("parameters", json!({ "use_csr_common_name": false, "use_csr_sans": false })),
        ("request", json!({ "use_csr_common_name": true, "use_csr_sans": true })),
    ] {
        desk.company.pki.role(name, options);
        let lines = "common_name = \"{sub}\"\ndns_names = \"{sub}.corp.example\"\nemail_addresses = \"{email}\"\n\
                     ip_addresses = \"10.0.0.7\"\nuris = \"spiffe://corp.example/{sub}\"\nttl = \"1h\"\n";
        desk.ask_of("pki", name, lines);
        let text = desk.enrol().expect("granted");
        for words in
            ["CN = alice", "DNS:alice.corp.example", "email:alice@corp.example", "IP Address:10.0.0.7", "URI:spiffe"]
        {
            assert!(text.contains(words), "{name}: {words}: {text}");
        }
        assert_eq!(desk.notes(), "[]", "{name}");
    }
    desk.user.canary.check(&desk.user.home);
}

#[test]
fn a_life_past_the_end_of_the_authority_is_what_is_left_of_it_vault_k8s_operator_500() {
    for may_read in [true, false] {
        let mut desk = Desk::open(may_read);
        let bao = &desk.company.bao;
        bao.write("sys/mounts/short", json!({ "type": "pki" }));
        bao.write(
            "short/root/generate/internal",
            json!({ "common_name": "Short Root", "ttl": "1h", "key_type": "ec" }),
        );
        bao.write("short/roles/client", json!({
            "allow_any_name": true, "enforce_hostnames": false, "cn_validations": ["disabled"], "key_type": "any", "max_ttl": "24h",
        }));
        // 1. OpenBao refuses a life beyond its own end; what is left is asked for, and told.
        desk.ask_of("short", "client", "common_name = \"{email}\"\nttl = \"12h\"\n");
        desk.enrol().expect("granted");
        let notes = desk.notes();
        assert!(notes.contains("the issuing CA ends at ") && notes.contains("asked for 12h, granted "), "{notes}");
        // 2. `cert` warns ahead of time.
        let findings = desk.cert()["findings"].to_string();
        assert!(findings.contains("\"warns\"") && findings.contains("CN=Short Root ends at "), "{findings}");
        assert_eq!(findings.contains("may not be read"), !may_read, "{findings}");
        desk.user.canary.check(&desk.user.home);
    }
}

#[test]
fn a_life_over_the_roles_maximum_is_told_by_its_rule() {
    let mut desk = Desk::open(true);
    desk.company.pki.role("brief", json!({ "max_ttl": "30m", "client_flag": true }));
    desk.ask_of("pki", "brief", "common_name = \"{email}\"\nttl = \"1d\"\n");
    desk.enrol().expect("granted, for a shorter time");
    assert!(desk.notes().contains("granted 30m"), "{}", desk.notes());
    let shown = desk.user.credmint(&["cert", HOST]).stdout;
    assert!(shown.contains("max_ttl = 30m of role brief") && shown.contains("set ttl = \"30m\""), "{shown}");
    // Nothing of the looking is left at OpenBao: the login of the entry alone lives.
    desk.company.bao.wait_for("logins are given back", |bao| bao.logins().len() <= 1);
    desk.user.canary.check(&desk.user.home);
}

#[test]
fn without_the_right_to_read_roles_the_refusal_is_put_in_words() {
    let mut desk = Desk::open(false);
    desk.company.pki.role("rsa", json!({ "key_type": "rsa" }));
    desk.ask_of("pki", "rsa", "common_name = \"{email}\"\nkey = \"ed25519\"\n");
    let words = desk.enrol().expect_err("refused");
    assert!(words.contains("key_type, key_bits") && words.contains("role requires keys of type rsa"), "{words}");
    assert!(words.contains("hint: set key in the settings"), "{words}");
    desk.company.pki.role("strict", json!({ "allow_ip_sans": false }));
    desk.ask_of("pki", "strict", "common_name = \"{email}\"\nip_addresses = \"10.0.0.7\"\n");
    let words = desk.enrol().expect_err("refused");
    assert!(words.contains("allow_ip_sans") && words.contains("hint: leave ip_addresses out"), "{words}");
    desk.user.canary.check(&desk.user.home);
}
