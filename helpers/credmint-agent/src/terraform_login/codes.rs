//! One-use codes, and the markers that they become: what travels over loopback in place of a credential.
//! What a sign-in came to goes in and a code comes out; a code and its proof become a marker, a marker becomes what it was.
//! Pure memory: time is a parameter. Neither opens anything by itself. RFC 6749 §4.1.2, RFC 7636 §4.6.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use credmint_vocabulary::{Failure, Hostname, Secret};

use super::request::Redeem;
use super::run::Run;
use crate::bridge::random_token;
use crate::sessions::SignIn;

/// What a run of `terraform login` came to.
#[derive(Clone)]
pub(super) enum Outcome {
    /// Somebody signed in for it; it is kept when its marker comes back.
    Fresh,
    /// Somebody had signed in before. The code holds no session: tokens would outlive a sign-out with it.
    Known(SignIn),
    /// It did not work: Terraform is told so when it redeems the code. It would go on waiting for one.
    Failed(Failure),
}

/// Why a code gives nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Unknown, used, ended, or not this run's.
    NotYours,
    /// The sign-in failed.
    Failed(Failure),
}

struct Code {
    code: Secret<String>,
    run: Rc<Run>,
    outcome: Outcome,
    until: Instant,
}

struct Marker {
    marker: Secret<String>,
    code: Code,
}

/// Keeps codes and markers, the newest last.
#[derive(Default)]
pub(super) struct Codes {
    codes: RefCell<Vec<Code>>,
    markers: RefCell<Vec<Marker>>,
}

impl Codes {
    /// Makes a code of what a run came to.
    pub(super) fn make(&self, run: &Rc<Run>, outcome: Outcome, now: Instant) -> Result<Secret<String>, Failure> {
        let code = random_token()?;
        let (copy, run) = (code.copied(), Rc::clone(run));
        push(&self.codes, Code { code: copy, run, outcome, until: now + LIFE });
        Ok(code)
    }

    /// Redeems a code for a marker. A code is used up by the first try, whatever comes of it; a second try with one that
    /// was redeemed ends what came of the first (RFC 6749 §4.1.2).
    pub(super) fn redeem(&self, host: &Hostname, asked: &Redeem, now: Instant) -> Result<Secret<String>, Refusal> {
        let code = asked.code.expose().as_bytes();
        self.markers.borrow_mut().retain(|known| !known.code.code.same_as(code));
        let mut codes = self.codes.borrow_mut();
        let at = codes.iter().position(|known| known.code.same_as(code)).ok_or(Refusal::NotYours)?;
        let mut known = codes.remove(at);
        let is_right = known.until > now
            && known.run.hostname == *host
            && known.run.asked.redirect.as_str() == asked.redirect
            && known.run.asked.challenge == challenge_of(&asked.verifier);
        if !is_right {
            return Err(Refusal::NotYours);
        }
        if let Outcome::Failed(failure) = known.outcome {
            return Err(Refusal::Failed(failure));
        }
        let marker = marker().map_err(Refusal::Failed)?;
        known.until = now + LIFE;
        push(&self.markers, Marker { marker: marker.copied(), code: known });
        Ok(marker)
    }

    /// Takes what a marker stands for.
    pub(super) fn claim(&self, host: &Hostname, marker: &Secret<String>, now: Instant) -> Option<(Rc<Run>, Outcome)> {
        let mut markers = self.markers.borrow_mut();
        let at = markers.iter().position(|known| known.marker.same_as(marker.expose().as_bytes()))?;
        let Code { run, outcome, until, .. } = markers.remove(at).code;
        (until > now && run.hostname == *host).then_some((run, outcome))
    }

    /// Ends all that came of a run.
    pub(super) fn end(&self, run: &Rc<Run>) {
        self.codes.borrow_mut().retain(|code| !Rc::ptr_eq(&code.run, run));
        self.markers.borrow_mut().retain(|marker| !Rc::ptr_eq(&marker.code.run, run));
    }
}

/// Tells whether a token is one of our markers, or was one.
pub(super) fn is_marker(token: &Secret<String>) -> bool {
    token.expose().starts_with(MARK)
}

fn push<T>(kept: &RefCell<Vec<T>>, one: T) {
    let mut kept = kept.borrow_mut();
    if kept.len() >= MOST {
        kept.remove(0);
    }
    kept.push(one);
}

/// Makes 256 random bits that nothing accepts but `store`, with a mark by which people and we know what it is.
fn marker() -> Result<Secret<String>, Failure> {
    let bits = random_token()?;
    let mut text = zeroize::Zeroizing::new(String::with_capacity(MARK.len() + bits.len()));
    text.push_str(MARK);
    text.push_str(bits.expose());
    Ok(Secret::from(text.as_str()))
}

fn challenge_of(verifier: &Secret<String>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.expose().as_bytes()))
}

const MARK: &str = "credmint-sign-in-";
/// How long a code, and then a marker, waits for Terraform, which takes milliseconds.
pub(super) const LIFE: Duration = Duration::from_secs(60);
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::super::request::tests::{REDIRECT, VERIFIER};
    use super::super::run::tests::run;
    use super::*;
    use credmint_vocabulary::FailureKind;

    fn asked(code: &Secret<String>, verifier: &str, redirect: &str) -> Redeem {
        Redeem { code: code.copied(), redirect: redirect.into(), verifier: Secret::from(verifier) }
    }

    #[test]
    fn a_code_becomes_a_marker_once_and_a_marker_is_claimed_once() {
        let (codes, run, now) = (Codes::default(), run(), Instant::now());
        let code = codes.make(&run, Outcome::Fresh, now).expect("made");
        let marker = codes.redeem(&run.hostname, &asked(&code, VERIFIER, REDIRECT), now).expect("redeemed");
        assert!(is_marker(&marker) && !is_marker(&code) && marker.len() > 43);
        let other = Hostname::from_comparison_form("other.example").expect("valid");
        assert!(codes.claim(&other, &code, now).is_none());
        assert!(codes.claim(&run.hostname, &marker, now).is_some_and(|(own, _)| Rc::ptr_eq(&own, &run)));
        assert!(codes.claim(&run.hostname, &marker, now).is_none());
    }

    #[test]
    fn a_replay_ends_what_came_of_the_first_use() {
        let (codes, run, now) = (Codes::default(), run(), Instant::now());
        let code = codes.make(&run, Outcome::Fresh, now).expect("made");
        let again = || codes.redeem(&run.hostname, &asked(&code, VERIFIER, REDIRECT), now);
        let marker = again().expect("redeemed");
        assert_eq!(again().err(), Some(Refusal::NotYours));
        assert!(codes.claim(&run.hostname, &marker, now).is_none());
    }

    #[test]
    fn whoever_does_not_have_all_of_it_uses_the_code_up() {
        let other = Hostname::from_comparison_form("other.example").expect("valid");
        let (run, now) = (run(), Instant::now());
        for (host, verifier, redirect, later) in [
            (&run.hostname, "x", REDIRECT, Duration::ZERO),
            (&run.hostname, VERIFIER, "http://localhost:10008/login", Duration::ZERO),
            (&other, VERIFIER, REDIRECT, Duration::ZERO),
            (&run.hostname, VERIFIER, REDIRECT, LIFE),
        ] {
            let codes = Codes::default();
            let code = codes.make(&run, Outcome::Fresh, now).expect("made");
            let refused = codes.redeem(host, &asked(&code, verifier, redirect), now + later);
            assert_eq!(refused.err(), Some(Refusal::NotYours));
            let after = codes.redeem(&run.hostname, &asked(&code, VERIFIER, REDIRECT), now);
            assert_eq!(after.err(), Some(Refusal::NotYours));
        }
    }

    #[test]
    fn a_marker_ends_and_is_for_one_host() {
        let (run, now) = (run(), Instant::now());
        let other = Hostname::from_comparison_form("other.example").expect("valid");
        for (host, later) in [(&run.hostname, LIFE), (&other, Duration::ZERO)] {
            let codes = Codes::default();
            let code = codes.make(&run, Outcome::Fresh, now).expect("made");
            let marker = codes.redeem(&run.hostname, &asked(&code, VERIFIER, REDIRECT), now).expect("redeemed");
            assert!(codes.claim(host, &marker, now + later).is_none());
        }
    }

    #[test]
    fn a_failure_is_told_to_who_redeems_the_code() {
        let (codes, run, now) = (Codes::default(), run(), Instant::now());
        let failure = Failure::new(FailureKind::Refused, "you declined");
        let code = codes.make(&run, Outcome::Failed(failure.clone()), now).expect("made");
        let refused = codes.redeem(&run.hostname, &asked(&code, VERIFIER, REDIRECT), now);
        assert_eq!(refused.err(), Some(Refusal::Failed(failure)));
    }

    #[test]
    fn a_run_that_is_ended_has_nothing_left() {
        let (codes, run, now) = (Codes::default(), run(), Instant::now());
        let code = codes.make(&run, Outcome::Fresh, now).expect("made");
        codes.end(&run);
        assert!(codes.redeem(&run.hostname, &asked(&code, VERIFIER, REDIRECT), now).is_err());
    }
}
