//! Who is asking: a projected service-account token that rotates, a program, a client in its own name, the first of several.

use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use credmint_stories::{HOST, User, token_host, wait_until};
use credmint_test_kit::OpenIdProvider;
use credmint_test_kit::encoding::claims;
use credmint_test_kit::kubernetes::service_account_claims;

const PASSED_ON: &str = "[issuer.as-it-is]\nkind = \"oidc\"\n\n";

/// Writes a projected volume as the kubelet does: files in a directory of this generation, reached by a link that is
/// replaced as a whole.
fn project(user: &mut User, volume: &Path, generation: &str, token: &str) -> io::Result<()> {
    let name = format!("{}/..{generation}/token", volume.display());
    user.secret_file(&name, generation, token);
    let fresh = volume.join("..data_tmp");
    symlink(format!("..{generation}"), &fresh)?;
    std::fs::rename(&fresh, volume.join("..data"))
}

#[test]
fn a_projected_token_is_read_anew_after_each_rotation() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let token = |ttl| provider.token_with("x", "vault", ttl, service_account_claims("registry", "builds", "terraform"));

    // 1. A volume with a token in it.
    let volume = user.home.make_directory("volume");
    let [first, second] = [300, 200].map(token);
    project(&mut user, &volume, "first", &first).expect("the first generation");
    symlink("..data/token", volume.join("token")).expect("a link to the token");
    let path = volume.join("token");
    let identity = |audience: &str| {
        format!("[identity.pod]\nkind = \"kubernetes\"\npath = \"{}\"\naudience = \"{audience}\"\n\n", path.display())
    };
    user.settings(&(identity("registry") + PASSED_ON + &token_host("\"pod\"", "as-it-is")));
    assert_eq!(user.got("token"), first);
    // 2. The kubelet rotates it, and the next answer has the new one.
    project(&mut user, &volume, "second", &second).expect("the second generation");
    assert_eq!(user.got("token"), second);
    // 3. A token for somebody else's audience is sent nowhere.
    user.settings(&(identity("vault") + PASSED_ON + &token_host("\"pod\"", "as-it-is")));
    let output = user.get().output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(output.stderr.contains("vault") && output.stderr.contains("registry"), "{}", output.stderr);
    // 4. Without its volume there is no identity, and no answer.
    std::fs::remove_file(volume.join("..data")).expect("the volume goes");
    assert!(user.get().output().stderr.contains("is not there"));
    user.canary.check(&user.home);
}

#[test]
fn a_programs_output_is_an_identity_if_it_comes_in_time() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let token = provider.token_for("alice", HOST, 300);
    let file = user.token_file(&token);
    let identity = |command: &str| {
        let host = token_host("\"cloud\"", "as-it-is");
        format!("[identity.cloud]\nkind = \"command\"\ncommand = {command}\ntimeout = \"1s\"\n\n{PASSED_ON}{host}")
    };

    // 1. A program that prints a token; no shell reads its arguments.
    user.settings(&identity(&format!("[\"cat\", \"{}\"]", file.display())));
    assert_eq!(user.got("token"), token);
    // 2. One that fails: its status is told, its output is not.
    user.settings(&identity(&format!("[\"sh\", \"-c\", \"cat {0}; cat {0} >&2; exit 3\"]", file.display())));
    let output = user.get().output();
    assert!(output.code != Some(0) && output.stdout.is_empty());
    assert!(output.stderr.contains("identity cloud") && output.stderr.contains('3'), "{}", output.stderr);
    // 3. One that hangs is ended after its second, and what it started with it.
    user.settings(&identity("[\"sh\", \"-c\", \"sleep 61 & sleep 62; echo late\"]"));
    let output = user.get().output();
    assert!(output.code != Some(0) && output.stderr.contains("within 1 s"), "{}", output.stderr);
    assert!(output.took.as_secs() < 5, "{:?}", output.took);
    wait_until("nothing is left of it", || user.home.processes().iter().all(|process| process.name != "sleep"));
    user.canary.check(&user.home);
}

#[test]
fn a_client_asks_in_its_own_name() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let issuer = provider.issuer();
    let key = user.secret_file("client-key.pem", "client key", provider.ci_jwt_key());
    user.secret_variable("CLIENT_SECRET", "client secret", provider.ci_secret());
    let clients = [
        ("ci", "client_secret_basic", "client_secret = { env = \"CLIENT_SECRET\" }".to_owned()),
        ("ci-jwt", "private_key_jwt", format!("client_key = {{ file = \"{}\" }}", key.display())),
    ];
    for (at, (client, way, line)) in clients.into_iter().enumerate() {
        // 1. Client credentials (RFC 6749 section 4.4) for one resource.
        let identity = format!(
            "[identity.service]\nkind = \"client-credentials\"\nissuer = \"{issuer}\"\nclient_id = \"{client}\"\n{line}\n\
             resource = \"https://{HOST}\"\nscopes = [\"registry\"]\n\n"
        );
        user.settings(&(identity + PASSED_ON + &token_host("\"service\"", "as-it-is")));
        let token = user.got("token");
        let claims = claims(&user.canary.watch(client, token));
        assert_eq!((&claims["aud"], &claims["client_id"]), (&format!("https://{HOST}").into(), &client.into()));
        // 2. Asked again it is the same token: the provider was asked once.
        assert_eq!(user.got("token").len(), user.got("token").len());
        let asked = provider.requests();
        assert_eq!((asked.len(), &asked[at]["authentication"]), (at + 1, &way.into()), "{asked:?}");
    }
    user.canary.check(&user.home);
}

#[test]
fn the_first_identity_with_an_answer_counts() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let [pod, job] = ["pod", "job"].map(|name| provider.token_for(name, HOST, 300));

    // 1. A pod's token if there is one, else the job's variable, else nobody.
    let path = user.home.path().join("pod-token");
    let identities = format!(
        "[identity.pod]\nkind = \"file\"\npath = \"{}\"\n\n[identity.job]\nkind = \"env\"\nvariable = \"JOB_TOKEN\"\n\n",
        path.display()
    );
    user.settings(&(identities + PASSED_ON + &token_host("[\"pod\", \"job\"]", "as-it-is")));
    let nobody = user.get().output();
    assert_eq!((nobody.code, nobody.stdout.as_str()), (Some(77), ""), "{}", nobody.stderr);
    assert!(
        nobody.stderr.contains("pod: ") && nobody.stderr.contains("job: JOB_TOKEN is not set"),
        "{}",
        nobody.stderr
    );
    // 2. The second answers; then the first does.
    user.secret_variable("JOB_TOKEN", "job token", &job);
    assert_eq!(user.got("token"), job);
    user.secret_file("pod-token", "pod token", &pod);
    assert_eq!(user.got("token"), pod);
    user.canary.check(&user.home);
}
