//! A client of the bridge, with a session, whose bearer token is passed on to an upstream on loopback.
//!
//! An upstream's address comes in, raw answers go out. It says what it is told to say, byte for byte, and judges nothing.

use credmint_test_kit::home::executable;
use credmint_test_kit::random;

use crate::raw::{self, Answer};
use crate::{HELPER, HOST, JOB, User, host};

/// A user with one route through the bridge.
pub struct Client {
    /// The user.
    pub user: User,
    /// The session token.
    pub session: String,
    /// What the upstream gets in its place.
    pub bearer: String,
}

impl Client {
    /// Moves in, and opens a session.
    #[must_use]
    pub fn of(upstream: &str) -> Self {
        Self::with(upstream, "")
    }

    /// As [`Client::of`], with more lines in the host's table.
    #[must_use]
    pub fn with(upstream: &str, more: &str) -> Self {
        Self::by(upstream, more, User::bearer)
    }

    /// As [`Client::of`], with an agent that may have no more than so many files and sockets open.
    #[must_use]
    pub fn of_agent_with_files(upstream: &str, most: usize) -> Self {
        Self::by(upstream, "", |user| {
            let limit = format!("--nofile={most}:{most}");
            let helper = executable(HELPER).display().to_string();
            let run = user.home.run("/usr/bin/prlimit").args([limit.as_str(), &helper, "get", HOST]).answer();
            run.output().success().json()["token"].as_str().expect("a token").to_owned()
        })
    }

    fn by(upstream: &str, more: &str, get: impl Fn(&User) -> String) -> Self {
        let mut user = User::move_in();
        let bearer = random::secret("subject");
        user.token(&bearer);
        let more = format!("deliver = \"bridge\"\nupstream = \"{upstream}\"\n{more}");
        user.settings(format!("{JOB}[issuer.pass]\nkind = \"oidc\"\n\n{}", host("pass", &more)));
        let session = get(&user);
        user.canary.watch("session token", session.clone());
        Self { user, session, bearer }
    }

    /// Asks for a path of the host, in a connection of its own.
    #[must_use]
    pub fn ask(&self, method: &str, path: &str, more: &[(&str, &str)]) -> Answer {
        raw::send(self.user.port, format!("{}Connection: close\r\n\r\n", self.head(method, path, more)).as_bytes())
    }

    /// Asks with `GET`.
    #[must_use]
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[])
    }

    /// Writes the head of a request without the empty line that ends it.
    #[must_use]
    pub fn head(&self, method: &str, path: &str, more: &[(&str, &str)]) -> String {
        let (port, session) = (self.user.port, &self.session);
        let more: String = more.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!(
            "{method} /{HOST}{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {session}\r\n{more}"
        )
    }

    /// Gives what `credmint status` says.
    #[must_use]
    pub fn status(&self) -> String {
        self.user.home.run("credmint").arg("status").output().success().stdout
    }
}
