//! git: a repository behind https is cloned with a bearer token, and with a password where the server knows no tokens.
//! git is the real one on both sides, and so is nginx between them; the token is the real OpenID Provider's.

use credmint_stories::{User, env_identity};
use credmint_test_kit::encoding::base64;
use credmint_test_kit::home::executable;
use credmint_test_kit::{Gate, OpenIdProvider, Registry, Repository, Run};

fn git(user: &User) -> Run<'_> {
    user.home.run("git").env("GIT_TERMINAL_PROMPT", "0").env("GIT_CONFIG_NOSYSTEM", "1")
}

/// A server that lets in who sends one of these header fields, and says what it wants.
fn server(repository: &Repository, scheme: &str, field: &str) -> Registry {
    let challenge = format!("add_header WWW-Authenticate '{scheme} realm=\"git\"' always;");
    let gate = format!("if ($http_authorization != \"{field}\") {{ return 401; }}");
    let lines = format!("location /network.git/ {{ {challenge} {gate} {} }}\n", repository.nginx());
    Registry::behind(Gate::Open).nginx(&lines).start()
}

fn clone<'home>(user: &'home User, server: &Registry, into: &str) -> Run<'home> {
    let helper = format!("credential.helper={}", executable("git-credential-credmint").display());
    let authority = format!("http.sslCAInfo={}", server.ca_file().display());
    // The helpers of the system and of the person are none of this clone.
    let run = git(user).args(["-c", "credential.helper=", "-c", &helper, "-c", &authority, "clone", "--quiet"]);
    run.arg(format!("{}/network.git", server.address())).arg(into)
}

#[test]
fn git_clones_with_a_bearer_token_or_a_password_whichever_the_server_wants() {
    let token = OpenIdProvider::start().token_for("alice", "git", 600);
    let (repository, mut user) = (Repository::with("main.tf", "# of the repository\n"), User::move_in());
    user.secret_variable("WORKLOAD_TOKEN", "subject token", &token);
    let basic = format!("Basic {}", base64(format!("oauth2:{token}").as_bytes()));
    for (scheme, field) in [("Bearer", format!("Bearer {token}")), ("Basic", basic)] {
        let server = server(&repository, scheme, &field);
        let host = server.address().trim_start_matches("https://");
        let provider = format!(
            "[issuer.x]\nkind = \"oidc\"\n\n[provider.prod]\nidentity = \"job\"\nissuer = \"x\"\nhosts = [\"{host}\"]\n"
        );
        user.settings(&(env_identity("WORKLOAD_TOKEN") + &provider));
        let into = format!("into-{scheme}");
        clone(&user, &server, &into).output().success();
        assert_eq!(user.home.read(&format!("{into}/main.tf")), "# of the repository\n");
        let requests = server.wait_for_requests(3);
        assert!(requests.iter().any(|one| one.status == 401 && one.authorization.is_empty()), "{scheme}");
        assert!(requests.iter().any(|one| one.status == 200 && one.authorization == field), "{scheme}");
        // Nobody is there: git shows our line and ends.
        let nobody = clone(&user, &server, "nobody").env("WORKLOAD_TOKEN", "").output();
        assert!(nobody.code != Some(0) && nobody.stderr.contains("WORKLOAD_TOKEN is not set"), "{}", nobody.stderr);
    }
    user.canary.check(&user.home);
}

/// What a helper prints, its exit status, and whether git takes the token in it.
const ROWS: [(&str, &str, u8, bool); 16] = [
    ("name and password", "username=u\npassword=stub\n", 0, true),
    ("bearer", "capability[]=authtype\nauthtype=Bearer\nephemeral=1\ncredential=stub\n", 0, true),
    ("bearer without the capability", "authtype=Bearer\ncredential=stub\n", 0, false),
    ("an end ahead", "username=u\npassword=stub\npassword_expiry_utc=4000000000\n", 0, true),
    ("an end that is past", "username=u\npassword=stub\npassword_expiry_utc=1000000000\n", 0, false),
    ("an end that is a date", "username=u\npassword=stub\npassword_expiry_utc=2099-01-01T00:00:00Z\n", 0, false),
    ("unknown keys", "more=1\nusername=u\npassword=stub\n", 0, true),
    ("text after an empty line", "username=u\npassword=stub\n\nbye\n", 0, true),
    ("a line without = before", "bye\nusername=u\npassword=stub\n", 0, false),
    ("a line without = after", "username=u\npassword=stub\nbye\n", 0, true),
    ("no line break at the end", "username=u\npassword=stub", 0, true),
    ("an exit status of 1", "username=u\npassword=stub\n", 1, true),
    ("quit", "quit=1\n", 0, false),
    ("JSON", "{\"username\":\"u\",\"password\":\"stub\"}\n", 0, false),
    ("a password without a name", "password=stub\n", 0, false),
    ("nothing", "", 0, false),
];

#[test]
fn git_takes_and_refuses_what_the_table_of_the_facts_says() {
    let user = User::move_in();
    for (name, printed, status, is_taken) in ROWS {
        user.home.write("printed", printed);
        let stub =
            format!("credential.helper=!cat {}/printed; echo noise >&2; exit {status};:", user.home.path().display());
        let asked = "capability[]=authtype\nprotocol=https\nhost=git.corp.example\n\n";
        let told =
            git(&user).args(["-c", "credential.helper=", "-c", &stub, "credential", "fill"]).input(asked).output();
        let has_it = told.stdout.contains("password=stub\n") || told.stdout.contains("credential=stub\n");
        assert_eq!(told.code == Some(0) && has_it, is_taken, "{name}: {} {}", told.stdout, told.stderr);
    }
}
