//! Roles of every kind against requests of every kind. What a real server says to the same is in `tests/stories`.

use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

fn role(options: Value) -> Role {
    let mut role = json!({
        "allow_any_name": true, "enforce_hostnames": false, "key_type": "any", "cn_validations": ["disabled"],
        "allowed_uri_sans": ["*"], "issuer_ref": "default",
    });
    role.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    Role::of(&role)
}

fn judged(options: Value, key: KeyAlgorithm, names: &Names, ttl: Option<Duration>) -> Vec<Finding> {
    judge("client", Some(&role(options)), None, Wanted { key, names, ttl }, NOW)
}

fn common(name: &str) -> Names {
    Names { common_name: Some(name.into()), ..Names::default() }
}

/// Gives effect and words of the only finding; nothing if there is none.
#[track_caller]
fn only(findings: Vec<Finding>) -> Option<(Effect, String, String)> {
    assert!(findings.len() < 2, "{findings:?}");
    findings.into_iter().next().map(|found| (found.effect, found.what, found.hint.unwrap_or_default()))
}

#[test]
fn key_type_and_bits_by_every_key_of_ours_vault_4595() {
    use KeyAlgorithm::*;
    let all = KeyAlgorithm::ALL;
    for (key_type, bits, taken) in [
        ("any", 0, all.to_vec()),
        ("any", 256, all.to_vec()),
        ("rsa", 0, vec![Rsa2048, Rsa3072, Rsa4096]),
        ("rsa", 2048, vec![Rsa2048, Rsa3072, Rsa4096]),
        ("rsa", 3072, vec![Rsa3072, Rsa4096]),
        ("rsa", 8192, vec![]),
        ("ec", 0, vec![EcdsaP256, EcdsaP384]),
        ("ec", 224, vec![EcdsaP256, EcdsaP384]),
        ("ec", 256, vec![EcdsaP256, EcdsaP384]),
        ("ec", 384, vec![EcdsaP384]),
        ("ec", 521, vec![]),
        // A role of before `key_bits` had a default of its own for each type.
        ("ec", 2048, vec![]),
        ("ed25519", 0, vec![Ed25519]),
        ("ed25519", 2048, vec![Ed25519]),
        ("dsa", 0, vec![]),
    ] {
        for key in all {
            let options = json!({ "key_type": key_type, "key_bits": bits });
            let found = only(judged(options, key, &common("a"), None));
            assert_eq!(found.is_none(), taken.contains(&key), "{key_type} {bits} {}: {found:?}", key.word());
            if let Some((effect, what, hint)) = found {
                assert_eq!(effect, Effect::Refuses);
                assert!(what.contains("role client") && what.contains(key.word()), "{what}");
                let remedy =
                    taken.first().map_or("administrator".to_owned(), |key| format!("key = \"{}\"", key.word()));
                assert!(hint.contains(&remedy), "{hint}");
            }
        }
    }
}

#[test]
fn key_type_any_with_bits_for_rsa_is_called_unknown_and_not_refused_vault_pr_16246() {
    let options = || json!({ "key_type": "any", "key_bits": 2048 });
    let (effect, what, _) = only(judged(options(), KeyAlgorithm::EcdsaP256, &common("a"), None)).unwrap();
    assert_eq!((effect, what.contains("key_bits = 2048")), (Effect::Unknown, true), "{what}");
    assert_eq!(only(judged(options(), KeyAlgorithm::Ed25519, &common("a"), None)), None);
    assert_eq!(only(judged(options(), KeyAlgorithm::Rsa2048, &common("a"), None)), None);
}

#[test]
fn the_key_that_a_role_names_is_found_vault_1104() {
    let fits = |key_type: &str, bits: u64| {
        fit(&role(json!({ "key_type": key_type, "key_bits": bits })), KeyAlgorithm::EcdsaP256)
    };
    assert_eq!(fits("rsa", 0), Some(KeyAlgorithm::Rsa2048));
    assert_eq!(fits("rsa", 3072), Some(KeyAlgorithm::Rsa3072));
    assert_eq!(fits("ec", 384), Some(KeyAlgorithm::EcdsaP384));
    assert_eq!(fits("ed25519", 2048), Some(KeyAlgorithm::Ed25519));
    assert_eq!(fits("any", 2048), Some(KeyAlgorithm::EcdsaP256));
    assert_eq!((fits("ec", 521), fits("dsa", 0)), (None, None));
}

#[test]
fn names_against_domains_and_their_switches() {
    let domains = |more: Value| {
        let mut options = json!({ "allow_any_name": false, "allowed_domains": ["corp.example"] });
        options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        options
    };
    let none = || domains(json!({}));
    let bare = || domains(json!({ "allow_bare_domains": true }));
    let below = || domains(json!({ "allow_subdomains": true }));
    let glob = |on: bool| domains(json!({ "allowed_domains": ["build-*.corp.example"], "allow_glob_domains": on }));
    for (options, name, rule) in [
        (bare(), "corp.example", ""),
        (bare(), "Corp.Example", ""),
        (bare(), "alice@corp.example", ""),
        (none(), "alice@corp.example", "allow_bare_domains is off"),
        (none(), "corp.example", "allow_bare_domains is off"),
        (below(), "a.corp.example", ""),
        (below(), "alice@mail.corp.example", ""),
        (below(), "evilcorp.example", "not below allowed_domains (corp.example)"),
        (below(), "*.corp.example", ""),
        (none(), "a.corp.example", "allow_subdomains is off"),
        (glob(true), "build-07.corp.example", ""),
        (glob(false), "build-07.corp.example", "allow_glob_domains is off"),
        (none(), "localhost", ""),
        (domains(json!({ "allow_localhost": false })), "localhost", "not below"),
        (
            domains(json!({ "allow_wildcard_certificates": false, "allow_subdomains": true })),
            "*.corp.example",
            "wildcard",
        ),
        (below(), "a@*.corp.example", "wildcard"),
        (below(), "a@b@corp.example", "two @"),
        (json!({ "allow_any_name": false }), "a.example", "no allowed_domains"),
        (json!({ "enforce_hostnames": true }), "a.example", ""),
        (json!({ "enforce_hostnames": true }), "*.a.example", ""),
        (json!({ "enforce_hostnames": true }), "alice@a.example", ""),
        (json!({ "enforce_hostnames": true }), "al ice", "enforce_hostnames"),
        (json!({ "enforce_hostnames": true }), "a.*.example", "enforce_hostnames"),
    ] {
        // By way of a DNS name: `cn_validations` has no say in it.
        let names = Names { dns_names: vec![name.into()], ..common("x") };
        let found = only(judged(options, KeyAlgorithm::EcdsaP256, &names, None));
        match found {
            None => assert_eq!(rule, "", "{name}"),
            Some((effect, what, hint)) => {
                assert!(effect == Effect::Refuses && !rule.is_empty() && what.contains(rule), "{name}: {what}");
                assert!(what.contains(name) && !hint.is_empty(), "{what}");
            }
        }
    }
}

#[test]
fn the_common_names_form_by_cn_validations_vault_12659() {
    for (validations, name, refused) in [
        (json!(["email", "hostname"]), "alice@corp.example", false),
        (json!(["hostname"]), "alice@corp.example", true),
        (json!(["email"]), "a.corp.example", true),
        (json!(["email"]), "alice@corp.example", false),
        (json!(["disabled"]), "Alice Smith", false),
        (json!([]), "Alice Smith", false),
        (json!(null), "alice@corp.example", false),
    ] {
        let found =
            only(judged(json!({ "cn_validations": validations }), KeyAlgorithm::EcdsaP256, &common(name), None));
        assert_eq!(found.is_some(), refused, "{validations} {name}: {found:?}");
        assert!(found.is_none_or(|(_, what, hint)| what.contains("cn_validations") && hint.contains("cn_validations")));
    }
    // Not switched off, it is judged like any other name, too.
    let strict =
        json!({ "cn_validations": ["email", "hostname"], "allow_any_name": false, "allowed_domains": ["b.example"] });
    assert!(only(judged(strict, KeyAlgorithm::EcdsaP256, &common("a.example"), None)).unwrap().1.contains("b.example"));
}

#[test]
fn a_common_name_that_is_wanted_and_missing_vault_388() {
    let (effect, what, hint) = only(judged(json!({}), KeyAlgorithm::EcdsaP256, &Names::default(), None)).unwrap();
    assert_eq!((effect, what.contains("require_cn"), hint.contains("common_name")), (Effect::Refuses, true, true));
    assert_eq!(only(judged(json!({ "require_cn": false }), KeyAlgorithm::EcdsaP256, &Names::default(), None)), None);
}

#[test]
fn addresses_and_uris_vault_2770() {
    let names = Names {
        ip_addresses: vec!["10.1.2.3".parse().unwrap()],
        uris: vec!["spiffe://corp.example/alice".into()],
        ..common("a")
    };
    for (options, words) in [
        (json!({}), ""),
        (json!({ "allow_ip_sans": false }), "allow_ip_sans is off"),
        (json!({ "allowed_ip_sans_cidr": ["10.0.0.0/8"] }), ""),
        (json!({ "allowed_ip_sans_cidr": ["192.168.0.0/16"] }), "allowed_ip_sans_cidr (192.168.0.0/16)"),
        (json!({ "allowed_uri_sans": [] }), "allowed_uri_sans is empty"),
        (json!({ "allowed_uri_sans": ["spiffe://corp.example/*"] }), ""),
        (json!({ "allowed_uri_sans": ["spiffe://other/*"] }), "fits none of allowed_uri_sans"),
    ] {
        let found = only(judged(options, KeyAlgorithm::EcdsaP256, &names, None));
        assert!(found.as_ref().map_or("", |found| found.1.as_str()).contains(words), "{words}: {found:?}");
        assert_eq!(found.is_none(), words.is_empty(), "{found:?}");
    }
    let dropped = Names { dns_names: vec!["no_host".into()], ..common("a") };
    let found = only(judged(json!({ "use_csr_sans": false }), KeyAlgorithm::EcdsaP256, &dropped, None)).unwrap();
    assert_eq!((found.0, found.1.contains("use_csr_sans")), (Effect::Changes, true));
}

#[test]
fn what_only_the_server_knows_is_unknown_and_not_guessed() {
    let names = Names { uris: vec!["spiffe://corp/alice".into()], ..common("alice.corp.example") };
    let template = "{{identity.entity.name}}.corp.example";
    for options in [
        json!({ "allow_any_name": false, "allowed_domains": [template], "allowed_domains_template": true,
                "cn_validations": ["hostname"], "allow_bare_domains": true }),
        json!({ "allow_any_name": false, "allow_token_displayname": true, "cn_validations": ["hostname"] }),
        json!({ "allowed_uri_sans": ["spiffe://corp/{{identity.entity.name}}"], "allowed_uri_sans_template": true }),
    ] {
        let (effect, what, _) = only(judged(options, KeyAlgorithm::EcdsaP256, &names, None)).unwrap();
        assert_eq!((effect, what.contains("cannot be judged")), (Effect::Unknown, true), "{what}");
    }
}

#[test]
fn lives_beyond_the_role_and_the_authority_vault_k8s_operator_500() {
    let authority = |left: u64, beyond: Option<&str>| Authority {
        subject: "CN=Issuing".into(),
        not_after: NOW.plus(Duration::from_secs(left)),
        beyond: beyond.map(Into::into),
    };
    let (day, year) = (24 * HOUR, 365 * 86_400);
    for (options, asked, authority, expected) in [
        (json!({ "max_ttl": 7200 }), Some(HOUR), authority(year, None), vec![]),
        (json!({ "max_ttl": 7200 }), Some(day), authority(year, None), vec![(Effect::Changes, "max_ttl = 2h")]),
        (
            json!({ "not_after": "2030-01-01T00:00:00Z" }),
            None,
            authority(year, None),
            vec![(Effect::Changes, "not_after")],
        ),
        (json!({}), Some(day), authority(3600, Some("err")), vec![(Effect::Warns, "in 1h"), (Effect::Refuses, "err")]),
        (
            json!({ "ttl": "24h" }),
            None,
            authority(3600, Some("err")),
            vec![(Effect::Warns, "in 1h"), (Effect::Refuses, "1d")],
        ),
        (json!({ "max_ttl": 60 }), None, authority(3600, Some("err")), vec![(Effect::Warns, "in 1h")]),
        (
            json!({}),
            Some(day),
            authority(3600, Some("truncate")),
            vec![(Effect::Warns, ""), (Effect::Changes, "truncate")],
        ),
        (json!({}), Some(day), authority(3600, Some("permit")), vec![(Effect::Warns, ""), (Effect::Changes, "permit")]),
        (json!({}), Some(day), authority(3600, None), vec![(Effect::Warns, ""), (Effect::Unknown, "unless")]),
        (json!({}), Some(HOUR), authority(86_400, None), vec![(Effect::Warns, "in 1d")]),
        (json!({}), Some(HOUR), authority(0, None), vec![(Effect::Refuses, "it is over")]),
    ] {
        let (names, role) = (common("a"), role(options.clone()));
        let wanted = Wanted { key: KeyAlgorithm::EcdsaP256, names: &names, ttl: asked };
        let found = judge("client", Some(&role), Some(&authority), wanted, NOW);
        assert_eq!(found.len(), expected.len(), "{options}: {found:?}");
        for (finding, (effect, words)) in found.iter().zip(expected) {
            assert!(finding.effect == effect && finding.what.contains(words), "{words}: {finding:?}");
        }
    }
}

#[test]
fn certificates_that_are_not_for_clients() {
    let uses = |options: Value| only(judged(options, KeyAlgorithm::EcdsaP256, &common("a"), None)).map(|found| found.0);
    assert_eq!(uses(json!({ "client_flag": false })), Some(Effect::Refuses));
    assert_eq!(uses(json!({ "client_flag": false, "server_flag": false })), Some(Effect::Changes));
    assert_eq!(uses(json!({ "client_flag": false, "ext_key_usage": ["ClientAuth"] })), None);
    assert_eq!(uses(json!({ "client_flag": false, "ext_key_usage_oids": ["1.3.6.1.5.5.7.3.2"] })), None);
    assert_eq!(
        uses(json!({ "client_flag": false, "server_flag": false, "ext_key_usage": ["EmailProtection"] })),
        Some(Effect::Refuses)
    );
}

#[test]
fn a_request_that_fits_is_left_in_peace() {
    let names = Names {
        dns_names: vec!["a.corp.example".into()],
        email_addresses: vec!["alice@corp.example".into()],
        ip_addresses: vec!["::1".parse().unwrap()],
        uris: vec!["spiffe://x".into()],
        ..common("alice@corp.example")
    };
    assert_eq!(judged(json!({}), KeyAlgorithm::Ed25519, &names, Some(HOUR)), []);
}
