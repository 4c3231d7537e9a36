//! `credmint explain HOST`: which route, which identities in order, which issuer, and how it is delivered.
//! A hostname as people type it goes to the agent (or to a child that answers once), its explanation comes back as text.
//! Asks no issuer and mints nothing.

use credmint_agent_protocol::{Answer, Ask, EntryStatus, Explanation, IdentityClaims};
use credmint_vocabulary::{Failure, RouteName, Timestamp, printable};
use serde_json::{Value, json};

use crate::command_line::ExplainArguments;
use crate::out::{Style, Tone, phrases};
use crate::{agent, entry, out, people_host, setup};

/// Runs the verb.
pub(crate) fn run(arguments: &ExplainArguments) -> Result<(), Failure> {
    let (name, note) = people_host::read_route(&arguments.host)?;
    let explanation = ask(&name)?;
    if arguments.json {
        out::json(&as_json(&name, note.as_deref(), &explanation));
        return Ok(());
    }
    if let Some(note) = &note {
        out::text(&format!("note: {note}"));
    }
    let host = name.host().filter(|_| explanation.responsible);
    let notes = host.map(setup::notes).unwrap_or_default();
    out::text(&render(&name, &explanation, &notes, (agent::now(), Style::of_stdout())));
    Ok(())
}

/// Asks for the explanation of a host or a provider.
pub(crate) fn ask(name: &RouteName) -> Result<Explanation, Failure> {
    match agent::ask_or_once(&|| Ask::Explain(agent::about(name)))? {
        Answer::Explanation(explanation) => Ok(*explanation),
        other => Err(agent::unexpected(&other)),
    }
}

fn as_json(name: &RouteName, note: Option<&str>, explanation: &Explanation) -> Value {
    json!({ "hostname": name.to_string(), "note": note, "explanation": explanation })
}

fn render(
    name: &RouteName,
    explanation: &Explanation,
    notes: &[(&str, String)],
    (now, style): (Timestamp, Style),
) -> String {
    let mut lines = vec![style.paint(Tone::Heading, &name.to_string())];
    if explanation.responsible {
        lines.extend(route(name, explanation, now, style));
        lines.extend(notes.iter().flat_map(|(heading, note)| folded(heading, note)));
    } else {
        lines.extend(unknown(name));
    }
    lines.join("\n") + "\n"
}

/// Says what is missing.
fn unknown(name: &RouteName) -> Vec<String> {
    match name {
        RouteName::Host(hostname) => vec![
            format!("  no route: the settings have no table [host.\"{hostname}\"]"),
            "  Terraform is told `{}`, and gets no credential; for an example of that table:".to_owned(),
            format!("  next: credmint setup {hostname}"),
        ],
        RouteName::Provider(provider) => vec![
            format!(
                "  no route: the settings have no table [provider.{provider}], and none with `{provider}` in its `hosts`"
            ),
            "  whoever asks for it is told so, and gets no credential".to_owned(),
        ],
    }
}

fn route(name: &RouteName, explanation: &Explanation, now: Timestamp, style: Style) -> Vec<String> {
    let mut lines = identities(&explanation.identities, now, style);
    lines.extend(folded("issuer", &format!("{}: {}", explanation.issuer, explanation.issuer_words)));
    if let (Some(issuer), Some(words)) = (&explanation.token_issuer, &explanation.token_issuer_words) {
        lines.extend(folded("and token", &format!("{issuer}: {words}")));
    }
    lines.extend(policy(explanation));
    lines.extend(folded("delivered", &delivered(name, explanation)));
    lines.extend(explanation.upstream.iter().flat_map(|upstream| folded("upstream", upstream)));
    lines.extend(explanation.exec.iter().flat_map(|exec| folded("in exec", &printable(exec, 400))));
    let asked = explanation.confirm.then(|| folded("asked", "a person, before each use"));
    lines.extend(asked.into_iter().flatten());
    lines.extend(kept(explanation, now));
    let failed = explanation.last_failure.iter().map(|last| format!("{}: {}", last.at, printable(&last.what, 600)));
    lines.extend(failed.flat_map(|words| folded("failed", &words)));
    lines
}

/// Says who grants in a plan, what the run that asks is about, and who may ask.
fn policy(explanation: &Explanation) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(issuer), Some(words)) = (&explanation.plan_issuer, &explanation.plan_issuer_words) {
        lines.extend(folded("in a plan", &format!("{issuer}: {words}")));
    }
    if let Some(seen) = &explanation.phase {
        let why = printable(&seen.why, 200);
        let words = match (&seen.phase, &explanation.plan_issuer) {
            (Some(phase), _) => format!("{phase}: {why}"),
            (None, Some(issuer)) => format!("not known: {why}; {issuer} is asked, which grants less"),
            (None, None) => format!("not known: {why}"),
        };
        lines.extend(folded("phase", &words));
    }
    let absent = explanation.when_absent.iter().map(|words| format!("a job without a user gets {words}"));
    lines.extend(absent.flat_map(|words| folded("absent", &printable(&words, 600))));
    let given = explanation.placeholder.iter().map(|at| format!("a placeholder was given, the last time at {at}"));
    lines.extend(given.flat_map(|words| folded("given", &words)));
    if !explanation.allow.is_empty() {
        lines.extend(folded("allowed", &format!("only {}", explanation.allow.join(", "))));
    }
    lines
}

/// Puts words beside their heading, in lines that fit on a terminal of 80 columns where a blank allows it.
pub(crate) fn folded(heading: &str, words: &str) -> Vec<String> {
    out::folded(&format!("  {heading:<10} "), 13, words)
}

fn identities(identities: &[IdentityClaims], now: Timestamp, style: Style) -> Vec<String> {
    if identities.is_empty() {
        return vec!["  identity   none: the issuer asks for nobody".to_owned()];
    }
    identities.iter().enumerate().flat_map(|(index, identity)| one_identity(index + 1, identity, now, style)).collect()
}

fn one_identity(number: usize, identity: &IdentityClaims, now: Timestamp, style: Style) -> Vec<String> {
    let tone = match identity.state.as_str() {
        "chosen" => Tone::Good,
        "failed" => Tone::Bad,
        _ => Tone::Faint,
    };
    let why = identity.why.as_ref().map(|why| format!(", {}", printable(why, 600))).unwrap_or_default();
    let state = style.paint(tone, &identity.state);
    let mut lines = vec![format!("  identity   {number}. {} ({}): {state}{why}", identity.name, identity.kind)];
    lines.extend(claims(identity, now).into_iter().map(|(name, value)| format!("                {name} {value}")));
    lines
}

/// Lists what a token claims; whoever made it chose the letters, and none of them may move the cursor.
fn claims(identity: &IdentityClaims, now: Timestamp) -> Vec<(&'static str, String)> {
    let aud = (!identity.aud.is_empty()).then(|| identity.aud.join(", "));
    let exp = identity.exp.as_ref().map(|exp| format!("{exp}{}", entry::remaining(exp, now)));
    let groups = (!identity.groups.is_empty()).then(|| identity.groups.join(", "));
    let (iss, sub) = (identity.iss.clone(), identity.sub.clone());
    let all = [("iss", iss), ("sub", sub), ("aud", aud), ("groups", groups), ("exp", exp)];
    all.into_iter().filter_map(|(name, value)| Some((name, printable(&value?, 600)))).collect()
}

fn delivered(name: &RouteName, explanation: &Explanation) -> String {
    if name.host().is_none() {
        return handed_out(explanation);
    }
    match explanation.deliver.as_str() {
        "bridge" if explanation.token_issuer.is_some() => {
            "over the bridge: Terraform gets a session token, certificate and token stay in the agent".to_owned()
        }
        "inline" if explanation.token_issuer.is_some() => {
            "inline: Terraform gets certificate, key and token in the answer".to_owned()
        }
        "bridge" => "over the bridge: Terraform gets a session token, the credential stays in the agent".to_owned(),
        "token" => "as a token: Terraform gets the bearer token itself".to_owned(),
        "inline" => "inline: Terraform gets certificate and key in the answer".to_owned(),
        other => other.to_owned(),
    }
}

/// Says what the programs of a provider get.
fn handed_out(explanation: &Explanation) -> String {
    let what = match (explanation.grants.as_str(), &explanation.token_issuer) {
        ("keys", _) => "the keys, whole",
        ("certificate", Some(_)) => "certificate, key and token",
        ("certificate", None) => "certificate and key",
        _ => "the token itself",
    };
    format!("to whoever asks for it, as a credmint-… program or `credmint print` do: {what}")
}

fn kept(explanation: &Explanation, now: Timestamp) -> Vec<String> {
    let silent = |identity: &IdentityClaims| ["absent", "failed"].contains(&identity.state.as_str());
    let of_entry = |entry: &EntryStatus| {
        let (kept, ends) = (entry::holds(entry), entry::ends(entry, now));
        [folded("kept", &phrases(&kept)), folded("ends", &phrases(&ends))].concat()
    };
    let others = explanation.token_entry.iter().chain(&explanation.plan_entry).map(AsRef::as_ref);
    let lines: Vec<String> = explanation.entry.iter().chain(others).flat_map(of_entry).collect();
    match &explanation.token_issuer {
        None if !lines.is_empty() => lines,
        Some(_) if explanation.entry.is_some() && explanation.token_entry.is_some() => lines,
        Some(_) if !lines.is_empty() => {
            [lines, folded("kept", "no more: the next `get` asks the other issuer")].concat()
        }
        _ if !explanation.identities.is_empty() && explanation.identities.iter().all(silent) => {
            folded("kept", "nothing, and no identity has an answer: the next `get` is refused")
        }
        _ => folded("kept", "nothing: the next `get` asks the issuer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    fn host() -> RouteName {
        RouteName::from_text("registry.corp.example").expect("a hostname")
    }

    fn explanation() -> Explanation {
        let job = IdentityClaims {
            name: "job".into(),
            kind: "env".into(),
            state: "absent".into(),
            why: Some("WORKLOAD_TOKEN is not set".into()),
            ..IdentityClaims::default()
        };
        let pod = IdentityClaims {
            name: "pod".into(),
            kind: "kubernetes".into(),
            state: "chosen".into(),
            iss: Some("https://kubernetes.default.svc".into()),
            sub: Some("system:serviceaccount:ci:runner".into()),
            aud: vec!["vault".into(), "registry".into()],
            exp: Some("2026-11-30T17:00:00Z".into()),
            ..IdentityClaims::default()
        };
        Explanation {
            responsible: true,
            identities: vec![job, pod],
            issuer: "registry-cert".into(),
            issuer_words: "vault-pki at https://vault.corp.example:8200, role registry-client".into(),
            deliver: "bridge".into(),
            upstream: Some("https://10.0.0.7:8443".into()),
            confirm: true,
            entry: Some(entry::tests::certificate()),
            ..Explanation::default()
        }
    }

    #[test]
    fn explanation_of_a_certificate_with_a_token_reads_like_the_golden_file() {
        let token = || EntryStatus {
            issuer: "registry-token".into(),
            kind: "token".into(),
            certificate_subject: None,
            serial: None,
            ..entry::tests::certificate()
        };
        let mut explanation = explanation();
        explanation.token_issuer = Some("registry-token".into());
        explanation.token_issuer_words = Some("token-exchange at https://id.corp.example".into());
        let now = (entry::tests::now(), Style::Plain);
        let half = render(&host(), &explanation, &[], now);
        assert!(half.contains("no more: the next `get` asks the other issuer"), "{half}");
        explanation.token_entry = Some(token().into());
        golden::check("explain-certificate-and-token.txt", &render(&host(), &explanation, &[], now));
    }

    #[test]
    fn explanation_reads_like_the_golden_file() {
        let now = (entry::tests::now(), Style::Plain);
        golden::check("explain.txt", &render(&host(), &explanation(), &[], now));
        golden::check("explain-no-route.txt", &render(&host(), &Explanation::default(), &[], now));
    }

    #[test]
    fn explanation_of_what_would_be_refused_reads_like_the_golden_file() {
        let mut explanation = explanation();
        explanation.identities.truncate(1);
        explanation.entry = None;
        let next = ("next", "credmint setup registry.corp.example".to_owned());
        let notes = [("note", "terraform is not set up to ask credmint for this host".to_owned()), next];
        let now = (entry::tests::now(), Style::Plain);
        golden::check("explain-refused.txt", &render(&host(), &explanation, &notes, now));
    }

    #[test]
    fn a_provider_says_what_is_handed_out_and_nothing_of_terraform() {
        let said = |grants: &str, token: Option<&str>| {
            let token_issuer = token.map(str::to_owned);
            let explanation =
                Explanation { grants: grants.into(), token_issuer, deliver: "inline".into(), ..explanation() };
            let name = RouteName::from_text("provider/prod").expect("a name");
            delivered(&name, &explanation)
        };
        assert!(said("keys", None).ends_with(": the keys, whole") && !said("keys", None).contains("Terraform"));
        assert!(said("token", None).ends_with(": the token itself"));
        assert!(said("certificate", None).ends_with(": certificate and key"));
        assert!(said("certificate", Some("t")).ends_with(": certificate, key and token"));
    }

    #[test]
    fn what_a_token_claims_cannot_move_the_cursor() {
        let bad = || "a\x1b[2Jb\nc\u{202e}".to_owned();
        let mut explanation = explanation();
        let pod = IdentityClaims { iss: Some(bad()), sub: Some(bad()), aud: vec![bad()], ..IdentityClaims::default() };
        explanation.identities.push(IdentityClaims { why: Some(bad()), ..pod });
        let text = render(&host(), &explanation, &[], (entry::tests::now(), Style::Plain));
        assert!(!text.contains(['\x1b', '\u{202e}']) && text.matches("a [2Jb c").count() == 4, "{text}");
    }

    #[test]
    fn explanation_as_json_is_like_the_golden_file() {
        golden::check("explain.json", &format!("{:#}\n", as_json(&host(), None, &explanation())));
    }
}
