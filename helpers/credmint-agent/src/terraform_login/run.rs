//! One run of `terraform login`: what it asked, and the sign-in that waits for it.
//! An authorization request and a session come in; the page that sends the browser back goes out.
//! The session is nobody's until Terraform's `store` comes over the agent's own socket. `protocol-spec/bridge-protocol.md` §8.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use credmint_vocabulary::{Failure, Hostname};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::codes::{LIFE, Outcome};
use super::request::Authorize;
use crate::agent::Agent;
use crate::login::Page;
use crate::sessions::{Session, SessionKey, SignIn};

/// Holds what is known of one run.
pub(crate) struct Run {
    /// The host that it is about.
    pub(super) hostname: Hostname,
    /// Who is to sign in.
    pub(super) key: SessionKey,
    /// What Terraform asked.
    pub(super) asked: Authorize,
    /// When.
    pub(super) began: Instant,
    /// What somebody signed in to and nobody has claimed.
    pub(super) pending: RefCell<Option<Rc<Session>>>,
    /// What was kept of it.
    pub(super) kept: Cell<Option<SignIn>>,
    /// Tells that the session was claimed.
    pub(super) claimed: Notify,
    /// Tells that nothing is to come of it any more.
    pub(super) over: Notify,
}

impl Run {
    /// Begins one.
    pub(super) fn new(hostname: Hostname, key: SessionKey, asked: Authorize) -> Rc<Self> {
        Rc::new(Self {
            hostname,
            key,
            asked,
            began: Instant::now(),
            pending: RefCell::default(),
            kept: Cell::default(),
            claimed: Notify::new(),
            over: Notify::new(),
        })
    }

    /// Holds a session until it is claimed.
    pub(crate) fn hold(&self, session: &Rc<Session>) {
        self.pending.replace(Some(Rc::clone(session)));
    }

    /// Waits until it is claimed, or cannot be any more: until then nobody else signs in for the identity.
    pub(crate) async fn settled(&self) {
        tokio::select! {
            () = self.claimed.notified() => {}
            () = sleep(LIFE * 2) => {}
        }
    }

    /// Makes the page at the end of the sign-in: it says what came of it, and then goes back to Terraform.
    pub(crate) fn page(self: &Rc<Self>, agent: &Agent, kept: &Result<Rc<Session>, Failure>, page: Page) -> Page {
        let outcome = match kept {
            Ok(_) => Outcome::Fresh,
            Err(failure) => Outcome::Failed(failure.clone()),
        };
        self.back(agent, outcome, page)
    }

    /// Sends the browser back to Terraform, with a code for what it came to.
    pub(super) fn back(self: &Rc<Self>, agent: &Agent, outcome: Outcome, page: Page) -> Page {
        match agent.terraform_login.codes.make(self, outcome, Instant::now()) {
            Ok(code) => {
                let mut address = self.asked.redirect.clone();
                address.query_pairs_mut().append_pair("code", code.expose()).append_pair("state", &self.asked.state);
                Page::Onward { page: Box::new(page), address: address.into() }
            }
            Err(failure) => Page::Refused(failure),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::request::tests::{CHALLENGE, REDIRECT};
    use super::*;

    pub(crate) fn run() -> Rc<Run> {
        let text = "[identity.me]\nkind = \"oidc\"\nissuer = \"https://id.example\"\nclient_id = \"a\"";
        let settings = credmint_settings::read(&[("test".into(), text.into())]).expect("valid");
        let key = crate::recipe::session_of("me", &settings.identities["me"]).expect("a person");
        let hostname = Hostname::from_comparison_form("registry.corp.example").expect("valid");
        let redirect = REDIRECT.parse().expect("a URL");
        Run::new(hostname, key, Authorize { redirect, state: "s&=".into(), challenge: CHALLENGE.into() })
    }

    #[test]
    fn the_way_back_has_the_code_and_the_state() {
        let (agent, run) = (Agent::new(false, Vec::new()), run());
        let Page::Onward { address, .. } = run.back(&agent, Outcome::Fresh, Page::Nothing) else { panic!("onward") };
        assert!(address.starts_with("http://localhost:10007/login?code=") && address.ends_with("&state=s%26%3D"));
    }
}
