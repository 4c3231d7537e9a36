//! What users of programs of our kind have reported about sign-in, storage, refresh and PKI: each is some test's name.
//!
//! The cases stand here by repository and number, as the names of tests have them; the tests' names are read from the source.
//! A case that no test covers yet is in a list of its own, which may only shrink.

use credmint_house::code::without_comments;
use credmint_house::{nothing, rust_files};

/// A case, and the words of which one has to stand in the name of a test.
const CASES: &[(&str, &[&str])] = &[
    ("many browsers at once", &["kubelogin_904", "kubelogin_1330"]),
    ("a port in use, a lock for ever", &["kubelogin_354", "kubelogin_826", "kubelogin_851", "vault_15421"]),
    ("a port that Windows keeps back", &["kiro_571"]),
    ("one loopback family only", &["zitadel_926", "balena_cli_1765", "muster_1280"]),
    ("no browser on a remote host", &["smallstep_cli_132", "smallstep_cli_293", "smallstep_cli_619"]),
    ("a stray request ends the login", &["vault_plugin_auth_jwt"]),
    ("a login that somebody else began", &["cve_2026_33757", "granted_765"]),
    ("an expired refresh token hangs", &["oidc_agent_507", "oidc_agent_641"]),
    ("two processes, one refresh token", &["coder_17069"]),
    ("offline_access refused or not granted", &["kubelogin_405", "kubelogin_396"]),
    ("a token that dies after it was handed out", &["coder_22429"]),
    ("2560 bytes on Windows", &["wincred_18"]),
    ("a store that refuses loses the login", &["kubelogin_1255", "zero_937"]),
    ("a locked keyring hangs", &["docker_credential_helpers_82", "gcx_964", "go_keyring_88"]),
    ("key type and bits of a role", &["vault_4595", "vault_pr_16246", "vault_1104", "certify_209"]),
    ("names that a role takes elsewhere", &["vault_12659", "vault_2770", "vault_388"]),
    ("a path that is not whole", &["vault_2465", "vault_2121", "vault_pr_15306", "vault_pr_17772"]),
    ("a life beyond the authority's", &["vault_k8s_operator_500"]),
    ("renewal by what has expired", &["vault_26367", "teleport_17866", "teleport_13091"]),
    ("sleep of the machine", &["smallstep_certificates_10", "spire_1562", "spire_2061"]),
    ("a clock behind the issuer's", &["istio_32176", "netbird_1942"]),
    ("good credentials lost on a failed refresh", &["rolesanywhere_200"]),
    ("an issuer's rate limit", &["rolesanywhere_31", "granted_912"]),
    ("sealed, standby and busy are one", &["openbao_api_client"]),
    ("proxies and loopback", &["kubelogin_48", "teleport_9072"]),
    ("somebody else's identity from the cache", &["azure_kubelogin_104", "azure_kubelogin_137", "kubelogin_1132"]),
    ("a prompt for each refresh", &["kubelogin_1569", "oidc_agent_611"]),
    ("a login that was not kept", &["entireio_2495", "credential_tfcred"]),
    ("an old value from the other store", &["antigravity_cli_1037"]),
    ("a logout that did nothing", &["cargo_16955"]),
    ("a newline behind a token", &["cargo_13770"]),
    ("control bytes in a host", &["cve_2020_5260", "cve_2020_11008"]),
    ("escape codes in messages", &["cve_2024_50349"]),
    ("a new key with the old certificate", &["csi_driver_33", "kubernetes_61803"]),
    ("one prompt a read", &["onepassword_140", "aws_vault_219"]),
    ("one device flow a process", &["incus_337"]),
    ("a damaged entry blocks the login", &["doppler_529"]),
    ("no keyring", &["compose_cli_510", "codex_multi_auth_631"]),
];

/// Cases that no test covers yet. Whoever covers one takes it out.
const TO_COME: &[&str] = &[];

#[test]
fn every_case_is_the_name_of_a_test_or_still_to_come() {
    let tests = names_of_tests();
    assert!(tests.len() > 500, "only {} tests were found", tests.len());
    let is_covered = |words: &[&str]| tests.iter().any(|name| words.iter().any(|word| has(name, word)));
    let mut found = Vec::new();
    for (case, words) in CASES {
        match (is_covered(words), TO_COME.contains(case)) {
            (false, false) => found.push(format!("{case}: no test has one of {} in its name", words.join(", "))),
            (true, true) => found.push(format!("{case}: covered; take it out of TO_COME")),
            _ => {}
        }
    }
    let unknown = TO_COME.iter().filter(|name| !CASES.iter().any(|(case, _)| case == *name));
    found.extend(unknown.map(|name| format!("{name}: no case of the list")));
    nothing("tests and the known failures in tests/house/tests/known_failures.rs disagree", &found);
}

#[test]
fn a_number_is_not_the_beginning_of_another() {
    assert!(has("it_works_vault_388", "vault_388") && has("vault_388_and_more", "vault_388"));
    assert!(!has("it_works_vault_3881", "vault_388") && !has("it_works_myvault_388", "vault_388"));
}

/// Tells whether the word stands in the name, whole.
fn has(name: &str, word: &str) -> bool {
    format!("_{name}_").contains(&format!("_{word}_"))
}

/// Finds the functions behind a test attribute.
fn names_of_tests() -> Vec<String> {
    let mut names = Vec::new();
    for file in rust_files(&["common/", "helpers/", "tests/", "protocol-spec/"]) {
        let text = without_comments(&file.text);
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            let function = line.trim_start_matches("async ").strip_prefix("fn ");
            if let Some(function) = function.filter(|_| std::mem::take(&mut is_test)) {
                names.push(function.split('(').next().unwrap_or_default().to_owned());
            }
        }
    }
    names
}
