//! One session in words: who signed in, where, until when, and how it will end.
//! A [`SessionStatus`] comes in, lines go out.
//! Sees no token: the agent sends names and times.

use credmint_agent_protocol::SessionStatus;
use credmint_vocabulary::{Timestamp, printable};

use crate::entry::remaining;
use crate::explain::folded;
use crate::out::{Style, Tone, phrases};

/// Says that somebody has just signed in.
pub(crate) fn signed_in(session: &SessionStatus, now: Timestamp, style: Style) -> Vec<String> {
    let mut lines = vec![style.paint(Tone::Good, &format!("Signed in as {}.", who(session)))];
    lines.extend(details(session, now));
    lines
}

/// Says what a person has to know who wants the sign-in to outlive the agent, when it does not.
pub(crate) fn warning(session: &SessionStatus) -> Option<String> {
    let why = shown(session.not_remembered.as_ref()?);
    let again = format!("then credmint login {} again", shown(&session.identity));
    Some(format!("warning: this sign-in is not remembered and ends with the agent: {why}; {again}\n"))
}

/// Says how a session is, for `credmint status`.
pub(crate) fn status(session: &SessionStatus, now: Timestamp, style: Style) -> Vec<String> {
    let heading = style.paint(Tone::Heading, &format!("{} (signed in)", shown(&session.identity)));
    if session.over {
        let heading = style.paint(Tone::Bad, &format!("{} (session over)", shown(&session.identity)));
        let next = format!("  next       credmint login {}", shown(&session.identity));
        let why = folded("why", &shown(&session.how_it_ends));
        return [String::new(), heading].into_iter().chain(why).chain([next]).collect();
    }
    let person = folded("person", &phrases(&format!("{}, since {}", who(session), shown(&session.since))));
    [String::new(), heading].into_iter().chain(person).chain(details(session, now)).collect()
}

fn who(session: &SessionStatus) -> String {
    let subject = session.subject.as_deref().map_or_else(|| "somebody".to_owned(), shown);
    format!("{subject} at {}", shown(&session.issuer))
}

fn details(session: &SessionStatus, now: Timestamp) -> Vec<String> {
    let at = |time: &String| format!("{}{}", shown(time), remaining(time, now));
    let renewed = session.renews.as_ref().map(|time| format!(", renewed at {}", shown(time))).unwrap_or_default();
    let token = session.until.as_ref().map(|until| folded("token", &phrases(&format!("until {}{renewed}", at(until)))));
    let ends = Some(shown(&session.how_it_ends)).filter(|words| !words.is_empty());
    let scopes = not_granted(&session.not_granted).map(|words| folded("scopes", &words));
    let kept = session.remembered.as_ref().map(|place| vec![format!("  remembered in {}", shown(place))]);
    let not_kept = session.not_remembered.as_ref().map(|why| vec![format!("  not kept   {}", shown(why))]);
    let parts = [token, ends.map(|words| folded("ends", &phrases(&words))), scopes, kept, not_kept];
    parts.into_iter().flatten().flatten().collect()
}

/// Says which scopes the issuer did not grant, and what that means.
fn not_granted(scopes: &[String]) -> Option<String> {
    let names = scopes.iter().map(|scope| shown(scope)).collect::<Vec<_>>().join(", ");
    let meaning = match scopes {
        [] => return None,
        [only] if only == OFFLINE => "nobody stays signed in longer than the token lives",
        many if many.iter().any(|scope| scope == OFFLINE) => {
            "nobody stays signed in longer than the token lives, and claims or rights may be missing"
        }
        _ => "claims or rights that come with it may be missing",
    };
    Some(format!("the issuer did not grant {names}: {meaning}"))
}

const OFFLINE: &str = "offline_access";

/// Says what became of the sessions of an agent that was stopped.
pub(crate) fn dropped(sessions: &[SessionStatus]) -> Option<String> {
    let names: Vec<_> = sessions.iter().filter(|one| !one.over).map(|one| shown(&one.identity)).collect();
    let who = names.join(", ");
    (!names.is_empty()).then(|| format!("dropped, not revoked: who was signed in as {who}; `credmint logout` revokes"))
}

/// Tells whether one of these people has to sign in: never did, the session is over, or its token is and cannot be renewed.
pub(crate) fn is_missing(names: &[&str], sessions: &[SessionStatus], now: Timestamp) -> bool {
    let past = |time: &String| Timestamp::from_rfc3339(time).is_ok_and(|time| time.remaining(now).is_zero());
    let lives = |session: &&SessionStatus| {
        !session.over && (session.renews.is_some() || !session.until.as_ref().is_some_and(past))
    };
    let is_in = |name: &&str| sessions.iter().filter(lives).any(|session| session.identity == **name);
    !names.iter().all(is_in)
}

fn shown(text: &str) -> String {
    printable(text, 300)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::entry::tests::now;
    use crate::golden;

    pub(crate) fn session() -> SessionStatus {
        SessionStatus {
            identity: "me".into(),
            issuer: "https://id.corp.example".into(),
            subject: Some("ada@corp.example".into()),
            since: "2026-11-30T15:55:00Z".into(),
            until: Some("2026-11-30T16:55:00Z".into()),
            renews: Some("2026-11-30T16:35:00Z".into()),
            how_it_ends: "renewed while the agent runs, until the issuer refuses".into(),
            not_granted: Vec::new(),
            over: false,
            ..SessionStatus::default()
        }
    }

    #[test]
    fn what_was_not_granted_is_said_with_what_it_means() {
        let without = |scopes: &[&str]| {
            let not_granted = scopes.iter().map(|&scope| scope.to_owned()).collect();
            status(&SessionStatus { not_granted, ..session() }, now(), Style::Plain)
                .join("\n")
                .replace("\n             ", " ")
        };
        assert!(!without(&[]).contains("scopes"));
        assert!(without(&["offline_access"]).contains("did not grant offline_access: nobody stays signed in longer"));
        assert!(without(&["groups", "offline_access"]).contains("groups, offline_access: nobody stays"));
        assert!(without(&["gro\x1b[2Jups"]).contains("did not grant gro [2Jups: claims or rights"));
    }

    #[test]
    fn a_sign_in_ends_like_the_golden_file() {
        golden::check("login-signed-in.txt", &(signed_in(&session(), now(), Style::Plain).join("\n") + "\n"));
    }

    #[test]
    fn what_the_issuer_calls_somebody_cannot_move_the_cursor() {
        let bad = SessionStatus { subject: Some("a\x1b[2Jb\nc".into()), ..session() };
        let text = status(&bad, now(), Style::Plain).join("\n");
        assert!(!text.contains('\x1b') && text.contains("a [2Jb c"), "{text}");
    }

    #[test]
    fn who_was_dropped_is_told_unless_it_was_over() {
        let over = SessionStatus { over: true, ..session() };
        assert_eq!(dropped(std::slice::from_ref(&over)), None);
        let told = dropped(&[over, session()]).unwrap_or_default();
        assert_eq!(told, "dropped, not revoked: who was signed in as me; `credmint logout` revokes");
    }

    #[test]
    fn who_has_to_sign_in() {
        let over = SessionStatus { over: true, ..session() };
        let ended = SessionStatus { until: Some("2026-11-30T15:59:00Z".into()), renews: None, ..session() };
        let renewable = SessionStatus { until: ended.until.clone(), ..session() };
        let opaque = SessionStatus { until: None, renews: None, ..session() };
        assert!([over, ended].iter().all(|one| is_missing(&["me"], std::slice::from_ref(one), now())));
        assert!(![session(), renewable, opaque].iter().any(|one| is_missing(
            &["me"],
            std::slice::from_ref(one),
            now()
        )));
        assert!(is_missing(&["me"], &[], now()) && is_missing(&["boss", "me"], &[session()], now()));
    }
}
