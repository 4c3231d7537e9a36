//! The expose census: every door through which a secret leaves its type, counted, with the reason for each file.
//! A new one is a line here, reviewed. The idea is cargo's, which manages with 13.

use std::collections::BTreeMap;

use credmint_house::code::{without_comments, without_tests};
use credmint_house::{nothing, rust_files};

/// Path, how often `.expose(` stands in its code, and why it must.
const CENSUS: &[(&str, usize, &str)] = &[
    ("common/agent-protocol/src/wire_secret.rs", 1, "a frame carries secrets on purpose; it is wiped on drop"),
    (
        "common/client-identity/src/private_key.rs",
        7,
        "PKCS #8 goes to the signer, to its public half, to PEM and to a copy that is wiped; PEM comes in",
    ),
    ("common/client-identity/src/signing.rs", 1, "PKCS #8 goes to the library that signs with it"),
    ("common/https/src/passage.rs", 2, "the caller's own proxy is read, and shown its password"),
    ("common/https/src/tls.rs", 1, "rustls takes the private key for the handshake"),
    (
        "common/identities/src/aws/caller_keys.rs",
        3,
        "keys out of variables, and each part checked to be one that a header can carry",
    ),
    ("common/identities/src/aws/identity_request.rs", 1, "the session token into the header that is signed"),
    (
        "common/identities/src/aws/machine.rs",
        6,
        "addresses and the token of the platform into the request; the token marked sensitive",
    ),
    ("common/identities/src/aws/signature.rs", 1, "the secret access key into the key that signs (SigV4)"),
    (
        "common/identities/src/aws/web_identity.rs",
        6,
        "the token into the form that is posted; names out of variables and of the answer",
    ),
    ("common/identities/src/claims.rs", 1, "claims are decoded from the token, which is not kept"),
    ("common/identities/src/client_assertion.rs", 1, "the client's key signs the assertion (RFC 7523)"),
    ("common/identities/src/client_authentication.rs", 2, "client secret or assertion into the form that is posted"),
    ("common/identities/src/file.rs", 1, "a file with nothing but blanks counts as absent"),
    ("common/identities/src/sign_in/authorization.rs", 1, "the callback's state is compared, in constant time"),
    (
        "common/identities/src/sign_in/callback.rs",
        4,
        "a pasted URL is read; issuer and refusal of a callback are no secrets",
    ),
    ("common/identities/src/sign_in/device.rs", 1, "the device code into the form that is posted"),
    ("common/identities/src/sign_in/redeem.rs", 1, "oauth2 takes the authorization code for its request"),
    ("common/identities/src/sign_in/refresh.rs", 1, "oauth2 takes the refresh token for its request"),
    ("common/identities/src/sign_in/revoke.rs", 1, "the token that is revoked into the form that is posted"),
    ("common/identities/src/spiffe.rs", 1, "the address of the Workload API out of the caller's variable; no secret"),
    ("common/identities/src/subject_token.rs", 3, "trimmed, checked for control characters, digested"),
    ("common/identities/src/token_endpoint.rs", 1, "client secret into the Basic header (RFC 6749 §2.3.1)"),
    (
        "common/identities/src/token_request.rs",
        6,
        "address and job out of the platform's variables, its bearer token into the header",
    ),
    ("common/identities/src/way.rs", 2, "oauth2 takes the client secret or assertion for its request"),
    ("common/issuers/src/access_keys.rs", 1, "keys of AWS are checked to be ones that a header can carry"),
    (
        "common/issuers/src/aws/refusal.rs",
        2,
        "code and message of an error answer, which are shown after the sanitising",
    ),
    (
        "common/issuers/src/aws/role.rs",
        4,
        "the session token into its header, marked sensitive; names and times out of the answer",
    ),
    ("common/issuers/src/aws_sts.rs", 1, "the token into the form that is posted"),
    ("common/issuers/src/azure.rs", 1, "the token as the client's assertion into the form that is posted"),
    ("common/issuers/src/cloud.rs", 1, "a bearer token into the header, marked sensitive"),
    ("common/issuers/src/est.rs", 2, "token or password into the Authorization header, marked sensitive"),
    ("common/issuers/src/google_sts.rs", 1, "the token into the form that is posted"),
    ("common/issuers/src/grant.rs", 1, "a granted token is checked to be one that stands in a header"),
    ("common/issuers/src/step_ca.rs", 1, "the token into the body of `/1.0/sign`"),
    ("common/issuers/src/token_exchange.rs", 2, "subject and actor token into the form"),
    (
        "common/issuers/src/vault/login.rs",
        5,
        "token, signed request or secret ID into the body of the login; a path out of a source",
    ),
    (
        "common/issuers/src/vault/sign_in/begin.rs",
        2,
        "the callback's state is compared; the nonce into the body that begins a sign-in",
    ),
    ("common/issuers/src/vault/sign_in/poll.rs", 2, "state and nonce into the body that asks whether it is approved"),
    (
        "common/issuers/src/vault/sign_in/redeem.rs",
        1,
        "state, code and nonce into the query that Vault wants, which is wiped",
    ),
    ("common/issuers/src/vault/transport.rs", 1, "the client token into the header, marked sensitive"),
    ("common/os-store/src/manifest.rs", 1, "the manifest of a kept value is read, and the value may stand in it"),
    (
        "common/os-store/src/os_store.rs",
        1,
        "the operating system's store takes the value that a person asked it to keep",
    ),
    ("common/os-store/src/whole.rs", 1, "the chunks of a kept value are put together"),
    ("common/protocols/src/answer.rs", 3, "a token is checked, and secrets are written into an answer that is wiped"),
    ("common/protocols/src/git.rs", 1, "the token is written for git"),
    ("common/protocols/src/github.rs", 1, "the token is written as gh writes it"),
    (
        "common/protocols/src/google_account.rs",
        1,
        "what opens an endpoint of a run into the header that Google's libraries are told",
    ),
    (
        "common/protocols/src/plain.rs",
        4,
        "token, keys and private key into what a shell reads, in a buffer that is wiped",
    ),
    ("common/protocols/src/vault.rs", 1, "the token is written for vault and bao"),
    ("common/protocols/src/terraform.rs", 1, "the token is checked before it is printed for Terraform"),
    (
        "helpers/credmint-agent/src/bridge/forward.rs",
        1,
        "the bearer token into the upstream's header, marked sensitive",
    ),
    (
        "helpers/credmint-agent/src/bridge/carrier/authority.rs",
        1,
        "the TLS library reads the key of a server's certificate from where it lies",
    ),
    ("helpers/credmint-agent/src/bridge/rewrite.rs", 1, "the capability into the URL that it is"),
    (
        "helpers/credmint-agent/src/confirm/mod.rs",
        1,
        "the caller's display into the environment of the program that asks; no secret, but supplied like one",
    ),
    (
        "helpers/credmint-agent/src/login/begin.rs",
        2,
        "the word into the address that it is, the cookie into its header",
    ),
    ("helpers/credmint-agent/src/lock/passphrase.rs", 1, "Argon2 takes the passphrase"),
    (
        "helpers/credmint-agent/src/sessions/remembering.rs",
        2,
        "what the store kept is read; digests tell one refresh token from another",
    ),
    ("helpers/credmint-agent/src/recipe.rs", 2, "what the caller supplied is digested into the entry's key"),
    (
        "helpers/credmint-agent/src/terraform_login/codes.rs",
        5,
        "codes and markers are compared in constant time; the verifier is digested; a marker is made and known by its mark",
    ),
    (
        "helpers/credmint-agent/src/terraform_login/run.rs",
        1,
        "the one-use code into the address that Terraform waits at",
    ),
    (
        "helpers/credmint-agent/src/terraform_login/store.rs",
        2,
        "the object of store is read, and its token checked to be one that a header can carry",
    ),
    (
        "helpers/credmint-agent/src/terraform_login/token.rs",
        1,
        "the marker, which opens nothing, into the answer of the token endpoint",
    ),
    ("helpers/credmint/src/lock.rs", 1, "the two times that a passphrase was typed are compared"),
    (
        "helpers/credmint/src/exec/proxy.rs",
        1,
        "the token of a run's proxy into the address that the program finds it at",
    ),
    (
        "helpers/credmint/src/exec/variables.rs",
        1,
        "the session token of a run into the environment of the program that the run is for",
    ),
    ("helpers/credmint/src/demo/client.rs", 2, "the demo shows lines of what the real client printed"),
    (
        "helpers/credmint/src/demo/command.rs",
        1,
        "the demo's made-up person has its token in its environment, as a user would",
    ),
    ("helpers/credmint/src/demo/needles.rs", 2, "the demo looks for its own secrets where they must not be"),
    ("helpers/credmint/src/demo/played.rs", 1, "the demo plays the client: the session token into its request"),
    ("helpers/credmint/src/demo/session.rs", 1, "the demo plays the client: the helper's answer is read"),
    ("helpers/credmint/src/demo/stage.rs", 1, "what `credmint` printed for the demo's person is shown"),
    ("helpers/credmint/src/demo/tls.rs", 1, "the demo's registry takes its own server key for the handshake"),
];

#[test]
fn secrets_are_exposed_only_where_the_census_says() {
    let counted = count();
    let listed: BTreeMap<&str, usize> = CENSUS.iter().map(|(path, number, _)| (*path, *number)).collect();
    let mut found = Vec::new();
    for (path, number) in &counted {
        match listed.get(path.as_str()) {
            Some(known) if known == number => {}
            Some(known) => found.push(format!("{path}: {number}, the census says {known}")),
            None => found.push(format!("{path}: {number}, not in the census")),
        }
    }
    let gone = listed.keys().filter(|path| !counted.contains_key(**path));
    found.extend(gone.map(|path| format!("{path}: none any more, the census still lists it")));
    nothing("`.expose(` and the census in tests/house/tests/expose_census.rs disagree", &found);
}

#[test]
fn every_line_of_the_census_has_a_reason() {
    let without = CENSUS.iter().filter(|(_, _, why)| why.len() < 20).map(|(path, ..)| (*path).to_owned());
    nothing("a line of the census has no reason", &without.collect::<Vec<_>>());
}

fn count() -> BTreeMap<String, usize> {
    let files = rust_files(&["common/", "helpers/", "packaging/"]);
    let in_code = files.into_iter().filter(|f| !f.is_test);
    let counted = in_code.map(|f| (without_comments(without_tests(&f.text)).matches(".expose(").count(), f.path));
    counted.filter(|(number, _)| *number > 0).map(|(number, path)| (path, number)).collect()
}
