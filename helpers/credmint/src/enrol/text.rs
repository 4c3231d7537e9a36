//! What is said of a certification request and of the certificate that came for it.
//! The agent's answers come in, lines for people go out.
//! Sees public data alone.

use std::path::Path;

use credmint_agent_protocol::{EntryStatus, RequestStatus, Status};
use credmint_vocabulary::{Timestamp, printable};

use crate::entry;
use crate::out::{Style, Tone};

/// Says where the request is, what to do with it, and what would be lost.
pub(crate) fn of_request(request: &RequestStatus, file: Option<&Path>, style: Style) -> Vec<String> {
    let host = shown(&request.hostname);
    let said = match file {
        Some(file) => format!("The certification request for {host} is in {}.", file.display()),
        None => format!("This is the certification request for {host}."),
    };
    let mut lines = vec![style.paint(Tone::Good, &said)];
    if request.again {
        lines.push(format!("  made       {}; --new makes another key and request", shown(&request.since)));
    }
    lines.push(format!("  next       have it signed, then credmint login {host} --certificate FILE"));
    lines.push(KEY.to_owned());
    lines
}

/// Says that the certificate is taken, and until when it serves.
pub(crate) fn of_entry(entry: &EntryStatus, now: Timestamp, style: Style) -> Vec<String> {
    let host = shown(&entry.hostname);
    let mut lines = vec![style.paint(Tone::Good, &format!("The certificate for {host} is in its place."))];
    lines.push(format!("  kept       {}", entry::holds(entry)));
    lines.push(format!("  ends       {}", entry::ends(entry, now)));
    lines.extend(entry.notes.iter().map(|note| format!("  note       {}", printable(note, 600))));
    lines
}

/// Says for `credmint status` that a request waits.
pub(crate) fn status(request: &RequestStatus, style: Style) -> Vec<String> {
    let host = shown(&request.hostname);
    let heading = style.paint(Tone::Heading, &format!("{host} (certification request)"));
    let (issuer, since) = (shown(&request.issuer), shown(&request.since));
    let mut lines = vec![String::new(), heading, format!("  issuer     {issuer}")];
    if request.sent {
        lines.push(format!("  waits      since {since}, for an approval at the authority; the next `get` asks again"));
    } else {
        lines.push(format!("  waits      since {since}, for people to sign it"));
        lines.push(format!("  next       credmint login {host} --certificate FILE"));
    }
    lines.push(KEY.to_owned());
    lines
}

/// Says what an end of the agent takes with it that nobody can make again.
pub(crate) fn lost(status: &Status) -> Vec<String> {
    let request = |one: &RequestStatus| {
        format!("lost with it: the key of the certification request for {}", shown(&one.hostname))
    };
    let entry = |one: &EntryStatus| {
        let by_hand = one.notes.iter().any(|note| note.starts_with("nothing renews it"));
        by_hand.then(|| {
            format!("lost with it: the certificate for {} that people signed, and its key", shown(&one.hostname))
        })
    };
    status.requests.iter().map(request).chain(status.entries.iter().filter_map(entry)).collect()
}

const KEY: &str =
    "  key        in the agent's memory only: when the agent ends it is lost, and the request is worth nothing";

fn shown(text: &str) -> String {
    printable(text, 300)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::entry::tests::{certificate, now};
    use crate::golden;

    pub(crate) fn request() -> RequestStatus {
        RequestStatus {
            hostname: "modules.corp.example".into(),
            issuer: "by-hand".into(),
            since: "2026-11-30T15:40:00Z".into(),
            ..RequestStatus::default()
        }
    }

    #[test]
    fn a_request_is_told_like_the_golden_files() {
        let again = RequestStatus { again: true, ..request() };
        let text = of_request(&again, Some(Path::new("out.pem")), Style::Plain).join("\n") + "\n";
        golden::check("login-csr.txt", &text);
        let notes = vec!["nothing renews it, and it is lost with its key when the agent ends".into()];
        let entry = EntryStatus { renews: None, notes, ..certificate() };
        golden::check("login-certificate.txt", &(of_entry(&entry, now(), Style::Plain).join("\n") + "\n"));
    }

    #[test]
    fn what_an_authority_has_is_told_apart_from_what_people_carry() {
        let sent = status(&RequestStatus { sent: true, ..request() }, Style::Plain).join("\n");
        assert!(sent.contains("approval at the authority") && !sent.contains("--certificate"), "{sent}");
    }
}
