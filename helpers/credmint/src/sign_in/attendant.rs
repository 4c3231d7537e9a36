//! Attends one sign-in: does for the person what the agent tells, and shows what only the person can do.
//! Replies of the agent come in one by one; standard error changes, a browser opens, an address may go back.
//! Whatever ends it drops the connection, and the agent drops the sign-in with that.

use std::io;
use std::time::{Duration, Instant};

use credmint_agent_protocol::{Approve, Pasted, Reply, Visit};
use credmint_local_machine::browser;
use credmint_vocabulary::{Failure, printable};

use super::flow::Choice;
use super::guide::{self, Screen};
use super::pasted;
use super::spinner::Spinner;
use crate::out;

/// Holds what is known of the sign-in so far.
pub(crate) struct Attendant<'a> {
    choice: Choice,
    browser: &'a [String],
    end: Option<Instant>,
    spinner: Option<Spinner>,
    failure: Option<Failure>,
}

impl<'a> Attendant<'a> {
    /// Begins; `browser` is the settings' program.
    pub(crate) const fn new(choice: Choice, browser: &'a [String]) -> Self {
        Self { choice, browser, end: None, spinner: None, failure: None }
    }

    /// Does what the agent tells; an error ends the sign-in, and [`Attendant::end`] has its reason.
    pub(crate) fn told(&mut self, reply: &Reply) -> io::Result<Option<Pasted>> {
        self.spinner = None;
        match reply {
            Reply::Visit(visit) => return self.visit(visit),
            Reply::Approve(approve) => self.approve(approve),
            Reply::Waiting => self.spinner = Some(Spinner::start("a sign-in that somebody began already", None)),
            Reply::Again { why } => {
                out::aside(&format!("That is not the address of this sign-in: {}.\n", printable(why, 300)));
                return self.paste();
            }
            _ => {}
        }
        Ok(None)
    }

    /// Ends; gives the failure that ended it, if it was on our side.
    pub(crate) fn end(self) -> Option<Failure> {
        self.failure
    }

    fn visit(&mut self, visit: &Visit) -> io::Result<Option<Pasted>> {
        let left = self.expires_in(visit.expires_in_seconds);
        let open = || browser::open(self.browser, &visit.url).map_err(|error| error.to_string());
        let opened = (self.choice == Choice::Browser).then(open);
        out::aside(&guide::visit(visit, opened.as_ref()));
        if visit.paste {
            return self.paste();
        }
        self.spinner = Some(Spinner::start("the browser", Some(left)));
        Ok(None)
    }

    fn approve(&mut self, approve: &Approve) {
        let left = self.expires_in(approve.expires_in_seconds);
        out::aside(&guide::approve(approve, Screen::of_stderr()));
        self.spinner = Some(Spinner::start("the approval", Some(left)));
    }

    fn paste(&mut self) -> io::Result<Option<Pasted>> {
        let left = self.end.map_or(Duration::from_secs(180), |end| end.saturating_duration_since(Instant::now()));
        out::aside(guide::PROMPT);
        pasted::read(left).map(Some).map_err(|failure| {
            out::aside("\n");
            self.failure = Some(failure);
            io::ErrorKind::Interrupted.into()
        })
    }

    fn expires_in(&mut self, seconds: u64) -> Duration {
        // A day is longer than any sign-in; more than the clock can hold is no time.
        let left = Duration::from_secs(seconds.min(86_400));
        self.end = Instant::now().checked_add(left);
        left
    }
}
