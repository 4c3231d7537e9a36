//! A person who signs in: the settings that name them, `credmint login` with a scripted browser beside it, and what the
//! canary has to know of the tokens that come of it.
//! A user and a provider come in, what the programs did goes out.
//! Decides nothing: each story says what it expects.

use credmint_test_kit::browser::{Page, link};
use credmint_test_kit::run::Running;
use credmint_test_kit::{Browser, OpenIdProvider, Output};
use serde_json::Value;

use crate::User;

/// Gives the text of the identity `me`, a person at a provider, with these lines besides.
#[must_use]
pub fn person(provider: &OpenIdProvider, lines: &str) -> String {
    format!(
        "[identity.me]\nkind = \"oidc\"\nissuer = \"{}\"\nclient_id = \"cli\"\n\
         scopes = [\"openid\", \"offline_access\", \"email\"]\n{lines}\n",
        provider.issuer()
    )
}

/// Gives the text of an issuer that hands out the identity's own token.
pub const AS_IT_IS: &str = "[issuer.as-it-is]\nkind = \"oidc\"\n\n";

impl User {
    /// Begins `credmint login me`, with more words.
    #[must_use]
    pub fn login(&self, words: &[&str]) -> Running<'_> {
        self.home.run("credmint").args(["login", "me"]).args(words.iter().copied()).start()
    }

    /// Signs a person in by the scripted browser; gives the page that it ended on and what `credmint login` did.
    ///
    /// # Panics
    /// When the program shows no address.
    #[track_caller]
    pub fn signs_in_by(&self, browser: &mut Browser) -> (Page, Output) {
        let mut login = self.login(&["--no-browser"]);
        let url = address(&mut login);
        (browser.sign_in(&url), login.output())
    }

    /// Signs a person in, expects it to succeed, and has the canary watch the tokens.
    #[track_caller]
    pub fn signs_in(&mut self, provider: &OpenIdProvider, name: &str) -> Page {
        let (page, output) = self.signs_in_by(&mut Browser::of(name));
        output.success();
        assert_eq!(page.status, 200, "{}", page.body);
        self.watch_issued(provider);
        page
    }

    /// Has the canary watch every token that the provider has given out so far: `refresh token 0`, `ID token 0`,
    /// `access token 0` and so on, in the order in which they were given.
    pub fn watch_issued(&mut self, provider: &OpenIdProvider) {
        for (at, issued) in provider.issued().into_iter().enumerate() {
            let tokens = [
                ("refresh token", issued.refresh_token),
                ("ID token", issued.id_token),
                ("access token", issued.access_token),
            ];
            for (name, token) in tokens.into_iter().filter(|(_, token)| !token.is_empty()) {
                self.canary.watch(&format!("{name} {at}"), token);
            }
        }
    }

    /// Gives the sessions that `credmint status` knows.
    #[must_use]
    pub fn sessions(&self) -> Vec<Value> {
        let status = self.credmint(&["status", "--json"]).json();
        let sessions = status.pointer("/agent/sessions").or_else(|| status.get("sessions"));
        sessions.and_then(Value::as_array).cloned().unwrap_or_default()
    }
}

/// Waits for the address that `credmint login` shows: one of the agent's own, which leads to the issuer.
#[track_caller]
pub fn address(login: &mut Running<'_>) -> String {
    let ours = |text: &str| ["127.0.0.1", "localhost"].iter().find_map(|host| begin(text, host));
    login.shows("the address to open", ours)
}

fn begin(text: &str, host: &str) -> Option<String> {
    link(text, &format!("http://{host}:")).filter(|url| url.contains("/begin/"))
}

/// Waits for the issuer's own address, which `credmint login --paste` shows.
#[track_caller]
pub fn issuers_address(login: &mut Running<'_>, provider: &OpenIdProvider) -> String {
    let start = format!("{}/auth?", provider.issuer());
    login.shows("the issuer's address", |text| link(text, &start))
}
