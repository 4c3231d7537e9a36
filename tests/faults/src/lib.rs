//! What the faults have in common: a user with an empty home, one route, and what a failure has to look like.
//!
//! Settings and arguments come in; a panic says which promise was broken. Real peers are the kit's; what they cannot be
//! made to do is faked in `fake.rs` (an HTTP server) and `fake_agent.rs` (an agent), and nowhere else.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and stand in for a user"
)]

pub mod bridge;
pub mod fake;
pub mod fake_agent;
pub mod other_user;
pub mod raw;
pub mod strict_server;
pub mod vault;
pub mod wire;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use credmint_test_kit::encoding::base64;
use credmint_test_kit::{Canary, Home, Output, Run, random};

/// The host of all faults.
pub const HOST: &str = "registry.corp.example";
/// A host that no settings name.
pub const FOREIGN: &str = "registry.terraform.io";
/// The helper that everybody configures.
pub const HELPER: &str = "terraform-credentials-credmint";

/// Exit status of a wrong command line.
pub const USAGE: i32 = 64;
/// Exit status when the settings, or the machine they name, have to change.
pub const SETTINGS: i32 = 78;
/// Exit status of a no.
pub const REFUSED: i32 = 77;
/// Exit status when nobody answered, or nothing that can be used.
pub const UNREACHABLE: i32 = 69;
/// Exit status of a rule of our own that was broken.
pub const INTERNAL: i32 = 70;

/// How long a `get` may take in all, with what a busy machine adds.
const DEADLINE: Duration = Duration::from_millis(10_800);
/// How long a failure may be remembered after its cause is gone, with what a busy machine adds.
const REMEMBERED: Duration = Duration::from_secs(6);

/// A user with an empty home and a port for the bridge.
pub struct User {
    /// The home.
    pub home: Home,
    /// What must not be seen anywhere.
    pub canary: Canary,
    /// The port of the bridge.
    pub port: u16,
}

impl Default for User {
    fn default() -> Self {
        Self::move_in()
    }
}

impl User {
    /// Moves in; nothing is configured but a port for the bridge that nobody else has.
    #[must_use]
    pub fn move_in() -> Self {
        let (home, port) = (Home::new(), raw::free_port());
        home.write(".config/credmint/config.d/bridge.toml", format!("[bridge]\nport = {port}\n"));
        Self { home, canary: Canary::new(), port }
    }

    /// Moves in with [`PASS_ON`] and a token that it reads.
    #[must_use]
    pub fn with_a_route_that_works() -> Self {
        let mut user = Self::move_in();
        user.token(&random::secret("subject"));
        user.settings(PASS_ON);
        user
    }

    /// Writes the settings.
    pub fn settings(&self, text: impl AsRef<[u8]>) -> PathBuf {
        self.home.write(".config/credmint/config.toml", text)
    }

    /// Puts a token where [`JOB`] reads it, and shows it to the canary.
    pub fn token(&mut self, token: &str) -> PathBuf {
        let token = self.canary.watch("subject token", token);
        let file = self.home.write("token", format!("{token}\n"));
        self.canary.allow_file(&file);
        file
    }

    /// Begins to run the helper.
    #[must_use]
    pub fn helper(&self, arguments: &[&str]) -> Run<'_> {
        self.home.run(HELPER).args(arguments.iter().copied()).answer().deadline(Duration::from_secs(30))
    }

    /// Asks for the host.
    #[must_use]
    pub fn get(&self) -> Output {
        self.helper(&["get", HOST]).output()
    }

    /// Asks for the host and expects a failure of this kind that says these words.
    pub fn fails(&self, status: i32, words: &[&str]) -> Output {
        let output = self.get();
        is_a_failure(&output, status, words);
        assert!(output.stderr.contains(HOST), "the host is not named: {}", output.stderr);
        output
    }

    /// As [`User::fails`], where the failure is not about one host.
    pub fn fails_for_all(&self, status: i32, words: &[&str]) -> Output {
        let output = self.get();
        is_a_failure(&output, status, words);
        output
    }

    /// Asks for the host and expects Terraform to be stopped: a token that no HTTP client sends, and the reason.
    pub fn stops(&self, words: &[&str]) {
        let output = self.get();
        assert_eq!(output.code, Some(0), "stderr: {}", output.stderr);
        let token = output.json()["token"].as_str().map(str::to_owned).unwrap_or_default();
        assert!(token.ends_with('\n'), "a token that no client sends");
        says(&output, words);
    }

    /// Asks for the host and expects an answer at once.
    pub fn succeeds(&self) -> Output {
        let output = self.get();
        assert_eq!(output.code, Some(0), "stderr: {}", output.stderr);
        assert!(output.json().is_object(), "an answer is an object");
        output
    }

    /// Asks for the host until there is an answer: what failed a moment ago is remembered, but not for long.
    pub fn recovers(&self) -> Output {
        self.recovers_within(REMEMBERED)
    }

    /// As [`User::recovers`], within a time that an issuer asked for.
    pub fn recovers_within(&self, patience: Duration) -> Output {
        let start = Instant::now();
        loop {
            let output = self.get();
            if output.code == Some(0) {
                return output;
            }
            assert!(start.elapsed() < patience, "the fault is gone and it still fails: {}", output.stderr);
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Asks for the host until the failure is another one: with this status and this word.
    pub fn recovers_from(&self, status: i32, word: &str) {
        let start = Instant::now();
        loop {
            let output = self.get();
            if output.stderr.contains(word) {
                return is_a_failure(&output, status, &[HOST]);
            }
            assert!(start.elapsed() < REMEMBERED, "{word:?} expected, still: {}", output.stderr);
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// As [`User::recovers_from`], with whatever kind the failure has.
    pub fn recovers_from_all(&self, word: &str) {
        let start = Instant::now();
        loop {
            let output = self.get();
            if output.stderr.contains(word) {
                return is_a_failure(&output, output.code.unwrap_or(0), &[HOST]);
            }
            assert_ne!(output.code, Some(0), "no answer was to be had");
            assert!(start.elapsed() < REMEMBERED, "{word:?} expected, still: {}", output.stderr);
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Gives the bearer token for the host, which the canary does not look for: it is the answer.
    #[must_use]
    pub fn bearer(&self) -> String {
        self.recovers().json()["token"].as_str().expect("a token in the answer").to_owned()
    }

    /// Panics if a secret can be seen.
    pub fn check(&self) {
        self.canary.check(&self.home);
    }
}

/// The identity that reads the file of [`User::token`].
pub const JOB: &str = "[identity.job]\nkind = \"file\"\npath = \"~/token\"\n\n";

/// Passes that token on.
pub const PASS_ON: &str = "[identity.job]\nkind = \"file\"\npath = \"~/token\"\n\n[issuer.pass]\nkind = \"oidc\"\n\n\
    [host.\"registry.corp.example\"]\nidentity = \"job\"\nissuer = \"pass\"\n";

/// Gives the host table for an issuer, with more lines as they are.
#[must_use]
pub fn host(issuer: &str, more: &str) -> String {
    format!("[host.\"{HOST}\"]\nidentity = \"job\"\nissuer = \"{issuer}\"\n{more}\n")
}

/// Makes a JWT that nobody signed, for whoever reads claims only.
#[must_use]
pub fn unsigned_jwt(claims: &serde_json::Value) -> String {
    let part = |text: &str| base64(text.as_bytes()).trim_end_matches('=').replace('+', "-").replace('/', "_");
    let header = part(r#"{"alg":"ES256","typ":"JWT"}"#);
    format!("{header}.{}.{}", part(&claims.to_string()), part(&random::secret("signature")))
}

/// Gives the seconds since 1970.
#[must_use]
pub fn unix_now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock after 1970");
    i64::try_from(since.as_secs()).expect("a clock before the end of time")
}

/// Panics unless it is a failure as it has to be: the status of its kind, nothing on stdout, one line that says what and
/// a `hint:`, within the deadline, and nobody holds the pipes.
pub fn is_a_failure(output: &Output, status: i32, words: &[&str]) {
    assert_eq!(output.code, Some(status), "stderr: {}", output.stderr);
    assert_eq!(output.stdout, "", "a failure prints nothing on stdout");
    says(output, words);
}

/// Checks that one line and a hint say what is wrong, in time.
fn says(output: &Output, words: &[&str]) {
    let Output { stderr, took, .. } = output;
    assert!(!output.timed_out && *took < DEADLINE, "it took {took:?}");
    assert!(!output.pipe_held, "something holds the pipes: Terraform would wait");
    let lines: Vec<&str> = stderr.lines().collect();
    let [what, hint] = lines.as_slice() else { panic!("one line and a hint expected: {stderr:?}") };
    assert!(what.starts_with(HELPER), "{stderr}");
    assert!(hint.strip_prefix("hint: ").is_some_and(|hint| hint.len() > 8), "{stderr}");
    assert!(!stderr.trim_end().contains(|c: char| c.is_control() && c != '\n'), "{stderr:?}");
    for word in words {
        assert!(stderr.contains(word), "{word:?} expected in: {stderr}");
    }
}
