//! The report on a certificate, for people.
//! The agent's report and the time come in, lines for a terminal of 80 columns go out.
//! Touches nothing; whatever an issuer or a server chose to say is made printable.

use credmint_agent_protocol::{CertificateDetails, CertificateReport, Finding, SelfCheck};
use credmint_vocabulary::{Hostname, Timestamp, printable};

use crate::explain::folded;
use crate::life;
use crate::out::{Style, Tone};

/// Writes the report.
pub(crate) fn of(hostname: &Hostname, report: &CertificateReport, now: Timestamp, style: Style) -> String {
    let mut lines = vec![style.paint(Tone::Heading, hostname.as_str())];
    if let Some(own) = report.path.first() {
        lines.extend(about(own, now));
    }
    lines.extend(origin(report));
    lines.extend(path(report));
    lines.extend(report.notes.iter().flat_map(|note| folded("note", &shown(note))));
    lines.extend(report.findings.iter().flat_map(finding));
    lines.extend(report.self_check.iter().flat_map(|check| self_check(check, style)));
    lines.join("\n") + "\n"
}

fn about(own: &CertificateDetails, now: Timestamp) -> Vec<String> {
    let names = list(&own.names, "no subject alternative names");
    let usages = list(&own.usages, "not named: the certificate has no extended key usage");
    [
        folded("subject", &shown(&own.subject)),
        folded("names", &names),
        folded("serial", &shown(&own.serial)),
        folded("key", &shown(&own.key)),
        folded("valid", &validity(own, now)),
        folded("for", &usages),
    ]
    .concat()
}

fn validity(own: &CertificateDetails, now: Timestamp) -> String {
    let remains = match (Timestamp::from_rfc3339(&own.not_before), Timestamp::from_rfc3339(&own.not_after)) {
        (Ok(from), _) if from > now => format!(": begins in {}", life::words(from.remaining(now).as_secs())),
        (_, Ok(until)) if until <= now => ": it is over".to_owned(),
        (_, Ok(until)) => format!(": {} remain", life::words(until.remaining(now).as_secs())),
        _ => String::new(),
    };
    format!("from {} until {}{remains}", shown(&own.not_before), shown(&own.not_after))
}

fn origin(report: &CertificateReport) -> Vec<String> {
    let identity = if report.identity.is_empty() { "none: the issuer asks for nobody" } else { &report.identity };
    let issuer = format!("{}: {}", report.issuer, report.issuer_words);
    [folded("identity", &shown(identity)), folded("issuer", &shown(&issuer))].concat()
}

/// One line for each certificate, as it is presented; the trust anchor last.
fn path(report: &CertificateReport) -> Vec<String> {
    let line = |certificate: &CertificateDetails| format!("{}, until {}", certificate.subject, certificate.not_after);
    let presented =
        report.path.iter().enumerate().flat_map(|(at, one)| {
            folded(if at == 0 { "path" } else { "" }, &shown(&format!("{}. {}", at + 1, line(one))))
        });
    let anchor = match (&report.anchor, report.path.last()) {
        (Some(anchor), _) => format!("anchor: {} (not presented)", line(anchor)),
        (None, Some(last)) => format!("anchor: {}; the issuer did not send it", last.issuer),
        _ => return presented.collect(),
    };
    presented.chain(folded("", &shown(&anchor))).collect()
}

fn finding(finding: &Finding) -> Vec<String> {
    let hint = finding.hint.iter().flat_map(|hint| folded("", &format!("→ {}", shown(hint))));
    let word = match finding.effect.as_str() {
        "refuses" => "would refuse: ",
        "changes" => "changes: ",
        "warns" => "soon: ",
        _ => "",
    };
    folded("role", &format!("{word}{}", shown(&finding.what))).into_iter().chain(hint).collect()
}

fn self_check(check: &SelfCheck, style: Style) -> Vec<String> {
    let tone = match check.outcome.as_str() {
        "accepted" => Tone::Good,
        "not-asked" => Tone::Faint,
        _ => Tone::Bad,
    };
    let mut lines = folded("check", &format!("{}: {}", style.paint(tone, &shown(&check.outcome)), shown(&check.what)));
    lines.extend(check.clock_ahead_seconds.and_then(clock).iter().flat_map(|words| folded("clock", words)));
    lines.extend(check.hint.iter().flat_map(|hint| folded("next", &shown(hint))));
    lines
}

/// Tells a clock that is off by more than a few seconds.
fn clock(ahead: i64) -> Option<String> {
    let direction = if ahead > 0 { "ahead of" } else { "behind" };
    (ahead.unsigned_abs() > TOLERATED)
        .then(|| format!("this machine's clock is {} s {direction} the upstream's", ahead.unsigned_abs()))
}

fn list(items: &[String], none: &str) -> String {
    if items.is_empty() { none.to_owned() } else { shown(&items.join(", ")) }
}

fn shown(text: &str) -> String {
    printable(text, 2_000)
}

const TOLERATED: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    fn host() -> Hostname {
        Hostname::from_comparison_form("registry.corp.example").expect("a hostname")
    }

    fn now() -> Timestamp {
        Timestamp::from_rfc3339("2026-11-30T16:00:00Z").expect("a time")
    }

    fn authority(subject: &str, issuer: &str) -> CertificateDetails {
        CertificateDetails {
            subject: subject.into(),
            issuer: issuer.into(),
            not_after: "2027-05-30T16:00:00Z".into(),
            ..CertificateDetails::default()
        }
    }

    fn report() -> CertificateReport {
        let own = CertificateDetails {
            serial: "3f:0a:77".into(),
            key: "ECDSA on P-256".into(),
            not_before: "2026-11-30T15:59:30Z".into(),
            not_after: "2026-11-30T17:00:00Z".into(),
            names: vec!["email:alice@corp.example".into(), "URI:spiffe://corp.example/alice".into()],
            usages: vec!["clientAuth".into()],
            ..authority("CN=alice@corp.example", "CN=Corp Issuing")
        };
        CertificateReport {
            identity: "me".into(),
            issuer: "registry-cert".into(),
            issuer_words: "vault-pki, role registry-client of pki at https://vault.corp.example:8200".into(),
            path: vec![own, authority("CN=Corp Issuing", "CN=Corp Root")],
            anchor: Some(authority("CN=Corp Root", "CN=Corp Root")),
            notes: vec!["asked for 24h, granted 1h".into()],
            findings: vec![Finding {
                effect: "changes".into(),
                what: "max_ttl of role registry-client is 1h: 24h was asked for".into(),
                hint: Some("set ttl to 1h or less".into()),
            }],
            self_check: Some(SelfCheck {
                outcome: "accepted".into(),
                what: "registry.corp.example accepts the certificate of CN=alice@corp.example".into(),
                status: Some(200),
                clock_ahead_seconds: Some(-90),
                ..SelfCheck::default()
            }),
            ..CertificateReport::default()
        }
    }

    #[test]
    fn the_report_reads_like_the_golden_file() {
        golden::check("cert.txt", &of(&host(), &report(), now(), Style::Plain));
    }

    #[test]
    fn a_refusal_reads_like_the_golden_file() {
        let refused = SelfCheck {
            outcome: "refused".into(),
            what: "registry.corp.example refuses the client certificate of CN=alice: it does not know the authority"
                .into(),
            hint: Some("ask the server's operator which authority it accepts".into()),
            kind: Some("refused".into()),
            ..SelfCheck::default()
        };
        let report = CertificateReport { anchor: None, self_check: Some(refused), ..report() };
        golden::check("cert-refused.txt", &of(&host(), &report, now(), Style::Plain));
    }

    #[test]
    fn what_an_issuer_says_cannot_move_the_cursor() {
        let bad = || "a\x1b[2Jb\nc\u{202e}".to_owned();
        let mut report = report();
        report.notes.push(bad());
        report.path[0].subject = bad();
        report.path[0].names = vec![bad()];
        report.findings[0].what = bad();
        let text = of(&host(), &report, now(), Style::Plain);
        assert!(!text.contains(['\x1b', '\u{202e}']) && text.matches("a [2Jb c").count() == 5, "{text}");
    }
}
