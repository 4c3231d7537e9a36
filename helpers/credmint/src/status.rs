//! `credmint status` and `credmint agent …`: the agent, what it keeps, and what failed last.
//! The agent's own report and the file of last failures become text or one JSON object.
//! Starts no agent: one that is not running is a state, not a failure.

use credmint_agent_protocol::{Answer, Ask, BUILD, EntryStatus, LockStatus, ProviderStatus, Status};
use credmint_local_machine::{LastFailure, last_failure};
use credmint_vocabulary::{Failure, FailureKind, Timestamp, printable};
use serde_json::{Value, json};

use crate::command_line::{AgentCommand, StatusArguments};
use crate::explain::folded;
use crate::out::{Style, Tone, phrases};
use crate::sign_in::session;
use crate::{agent, enrol, entry, exec, out, people_host};

/// Runs `credmint status`.
pub(crate) fn run(arguments: &StatusArguments) -> Result<(), Failure> {
    let (status, failures) = (ask()?, last_failure::read());
    let mistake = enrol::settings().err();
    if arguments.json {
        out::json(&as_json(status.as_ref(), Some((&failures, mistake.as_ref()))));
    } else {
        let lines = render(status.as_ref(), &failures, agent::now(), Style::of_stdout());
        out::text(&with_mistake(&lines, mistake.as_ref(), Style::of_stdout()));
    }
    Ok(())
}

/// Puts what is wrong with the settings first: with it nothing is handed out, and what is kept for them does not show.
fn with_mistake(report: &str, mistake: Option<&Failure>, style: Style) -> String {
    let Some(mistake) = mistake else { return report.to_owned() };
    let shown = |text: &str| printable(text, 600);
    let head = style.paint(Tone::Bad, "cannot be used");
    let hint = mistake.hint.iter().map(|hint| format!("           hint: {}\n", shown(hint))).collect::<String>();
    let report = report.replace("\nNothing is kept.\n", "");
    format!(
        "settings   {head}, and what is kept for them is not shown:\n           {}\n{hint}{report}",
        shown(&mistake.what)
    )
}

/// Runs `credmint agent …`.
pub(crate) fn run_agent(command: &AgentCommand) -> Result<(), Failure> {
    match command {
        AgentCommand::Status(arguments) => run_agent_status(arguments),
        AgentCommand::Start { host } => start(host),
        AgentCommand::Stop => stop(),
        AgentCommand::Anchor { host } => anchor(host),
    }
}

/// Asks the agent how it is; `None` when none runs.
pub(crate) fn ask() -> Result<Option<Status>, Failure> {
    match agent::ask_if_running(Ask::Status { settings: agent::settings(), usual_settings: None })? {
        None => Ok(None),
        Some(Answer::Status(status)) => Ok(Some(status)),
        Some(other) => Err(agent::unexpected(&other)),
    }
}

fn run_agent_status(arguments: &StatusArguments) -> Result<(), Failure> {
    let status = ask()?;
    if arguments.json {
        out::json(&as_json(status.as_ref(), None));
    } else {
        out::text(&(about_agent(status.as_ref(), Style::of_stdout()).join("\n")));
    }
    Ok(())
}

fn start(host: &str) -> Result<(), Failure> {
    let host = people_host::read(host)?.hostname;
    agent::listen(&host)?;
    out::text(&format!("the agent is running, and its bridge listens for {host}"));
    Ok(())
}

fn stop() -> Result<(), Failure> {
    // An agent that cannot say what it keeps can still be stopped.
    let status = ask().ok().flatten().unwrap_or_default();
    let lost = enrol::text::lost(&status);
    match agent::ask_if_running(Ask::Stop)? {
        None => out::text("no agent is running"),
        Some(Answer::Done) => {
            out::text("the agent has dropped everything it kept, and ends");
            session::dropped(&status.sessions).into_iter().for_each(|line| out::text(&line));
            lost.iter().for_each(|line| out::text(line));
        }
        Some(other) => return Err(agent::unexpected(&other)),
    }
    Ok(())
}

fn anchor(host: &str) -> Result<(), Failure> {
    let host = people_host::read(host)?;
    match agent::ask_or_start(Ask::Anchor(agent::about(&host.hostname)))? {
        Answer::Anchor { certificate_pem } => out::text(&certificate_pem),
        Answer::None => {
            let what = format!("{}: its issuer is no `local-ca`, or the settings do not name it", host.hostname);
            return Err(Failure::new(FailureKind::Settings, what).hint(format!("credmint explain {}", host.hostname)));
        }
        other => return Err(agent::unexpected(&other)),
    }
    Ok(())
}

fn as_json(status: Option<&Status>, more: Option<(&[LastFailure], Option<&Failure>)>) -> Value {
    let mut object = json!({ "running": status.is_some(), "agent": status });
    if let (Some(object), Some((failures, mistake))) = (object.as_object_mut(), more) {
        object.insert("last_failures".to_owned(), json!(failures));
        object.insert("settings_mistake".to_owned(), json!(mistake.map(|mistake| &mistake.what)));
    }
    object
}

fn render(status: Option<&Status>, failures: &[LastFailure], now: Timestamp, style: Style) -> String {
    let mut lines = about_agent(status, style);
    if let Some(status) = status {
        lines.extend(status.runs.iter().flat_map(exec::status));
        lines.extend(status.sessions.iter().flat_map(|one| session::status(one, now, style)));
        lines.extend(status.requests.iter().flat_map(|one| enrol::text::status(one, style)));
        lines.extend(status.placeholders.iter().flat_map(|words| folded("given", &printable(words, 300))));
        lines.extend(entries(status, now, style));
    }
    lines.extend(last_failures(failures, style));
    lines.join("\n") + "\n"
}

fn about_agent(status: Option<&Status>, style: Style) -> Vec<String> {
    let Some(status) = status else {
        return vec!["agent      not running; the next `terraform init` starts it".to_owned()];
    };
    let state = style.paint(Tone::Good, "running");
    let mut lines = vec![format!(
        "agent      {state}, process {}, version {}, since {}",
        status.pid, status.version, status.started
    )];
    lines.extend(status.locked.as_ref().map(|lock| locked(lock, style)));
    if !status.build.is_empty() && status.build != BUILD {
        let own = format!(
            "           of another build ({}) than this program: credmint agent stop",
            printable(&status.build, 80)
        );
        lines.push(style.paint(Tone::Bad, &own));
    }
    lines.extend(list("hardening  ", &status.hardening));
    lines.extend(list("bridge     ", &status.bridge));
    lines.extend(
        status.audit.as_ref().map(|lost| style.paint(Tone::Bad, &format!("audit      {}", printable(lost, 300)))),
    );
    lines.extend(list("providers  ", &status.providers.iter().map(provider).collect::<Vec<_>>()));
    lines.extend(list("metrics    ", &status.metrics));
    lines.extend(
        status
            .metrics_trouble
            .as_ref()
            .map(|trouble| style.paint(Tone::Bad, &format!("metrics    {}", printable(trouble, 300)))),
    );
    lines.extend(status.last_hook.as_ref().map(|last| format!("hook       {}", printable(last, 300))));
    lines
}

/// Names a provider, and the hosts for which it is asked.
fn provider(one: &ProviderStatus) -> String {
    let hosts = if one.hosts.is_empty() { String::new() } else { format!(", for {}", one.hosts.join(", ")) };
    printable(&format!("provider/{}{hosts}", one.name), 300)
}

fn locked(lock: &LockStatus, style: Style) -> String {
    let wrong =
        if lock.wrong_tries == 0 { String::new() } else { format!(", {} wrong passphrases since", lock.wrong_tries) };
    let state = style.paint(Tone::Bad, "locked");
    format!("lock       {state} since {}{wrong}; next: credmint unlock", printable(&lock.since, 40))
}

/// Puts each value on a line of its own, under the first.
fn list(head: &str, values: &[String]) -> Vec<String> {
    let indent = " ".repeat(head.len());
    let line = |(index, value)| format!("{}{value}", if index == 0 { head } else { &indent });
    values.iter().enumerate().map(line).collect()
}

fn entries(status: &Status, now: Timestamp, style: Style) -> Vec<String> {
    let mut lines: Vec<String> = status.entries.iter().flat_map(|entry| one_entry(entry, now, style)).collect();
    if status.requests.is_empty()
        && status.sessions.is_empty()
        && status.entries.is_empty()
        && status.other_entries == 0
    {
        lines.extend([String::new(), "Nothing is kept.".to_owned()]);
    }
    if status.other_entries > 0 {
        let more = format!("{} more kept, for identities that this environment cannot name.", status.other_entries);
        lines.extend([String::new(), style.paint(Tone::Faint, &more)]);
    }
    lines
}

fn one_entry(entry: &EntryStatus, now: Timestamp, style: Style) -> Vec<String> {
    let subject = entry.subject.as_ref().map(|subject| format!(", {}", printable(subject, 300))).unwrap_or_default();
    let notes = entry.notes.iter().flat_map(|note| folded("note", &printable(note, 600)));
    let heading = style.paint(Tone::Heading, &entry.hostname);
    let parts = [
        folded("identity", &format!("{}{subject}", entry::identity(entry))),
        folded("issuer", &entry.issuer),
        folded("kept", &phrases(&entry::holds(entry))),
        folded("ends", &phrases(&entry::ends(entry, now))),
    ];
    [String::new(), heading].into_iter().chain(parts.concat()).chain(notes).collect()
}

fn last_failures(failures: &[LastFailure], style: Style) -> Vec<String> {
    if failures.is_empty() {
        return Vec::new();
    }
    let heading = style.paint(Tone::Heading, "Last failures, newest first");
    [String::new(), heading].into_iter().chain(failures.iter().flat_map(|f| one_failure(f, style))).collect()
}

fn one_failure(failure: &LastFailure, style: Style) -> Vec<String> {
    let shown = |text: &str| printable(text, 600);
    let host = failure.hostname.as_ref().map(|host| format!(", {}", shown(host))).unwrap_or_default();
    let kind = style.paint(Tone::Bad, &shown(&failure.kind));
    let head = format!("{kind}, {}{host}", shown(&failure.program));
    let mut lines = out::folded(&format!("  {}  ", shown(&failure.time)), 4, &head);
    // What is searched for and copied is not folded, except by the terminal.
    lines.push(format!("    {}", shown(&failure.what)));
    lines.extend(failure.hint.as_ref().map(|hint| format!("    hint: {}", shown(hint))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use credmint_agent_protocol::SessionStatus;

    fn status() -> Status {
        let token = EntryStatus {
            hostname: "mirror.corp.example:8443".into(),
            identity: "me".into(),
            issuer: "oidc".into(),
            kind: "token".into(),
            ..EntryStatus::default()
        };
        let over = SessionStatus {
            identity: "boss".into(),
            how_it_ends: "the issuer says: the grant was revoked".into(),
            over: true,
            ..session::tests::session()
        };
        Status {
            version: "0.1.0".into(),
            build: String::new(),
            pid: 4_242,
            started: "2026-11-30T15:50:00Z".into(),
            hardening: vec!["no core dumps".into(), "not dumpable".into(), "memory not locked: limit 8 MB".into()],
            bridge: vec!["127.0.0.1:21000".into(), "[::1]:21000".into()],
            providers: vec![
                ProviderStatus { name: "prod".into(), ..ProviderStatus::default() },
                ProviderStatus {
                    name: "lab".into(),
                    hosts: vec!["gitlab.corp.example".into()],
                    ..ProviderStatus::default()
                },
            ],
            entries: vec![entry::tests::certificate(), token],
            other_entries: 1,
            sessions: vec![session::tests::session(), over],
            requests: vec![enrol::text::tests::request()],
            runs: vec![exec::run_for_tests()],
            metrics: vec!["127.0.0.1:9464".into(), "[::1]:9464".into()],
            ..Status::default()
        }
    }

    #[test]
    fn an_agent_of_another_build_is_named_with_what_to_do() {
        let told = |build: &str| about_agent(Some(&Status { build: build.into(), ..Status::default() }), Style::Plain);
        let says =
            |build: &str| told(build).iter().any(|line| line.contains("another build") && line.contains("agent stop"));
        assert!(says("0.0.1") && says(&format!("{BUILD}, since replaced")));
        assert!(!says(BUILD) && !says(""));
    }

    fn failures() -> Vec<LastFailure> {
        vec![
            LastFailure {
                time: "2026-11-30T15:59:58Z".into(),
                program: "terraform-credentials-credmint".into(),
                hostname: Some("registry.corp.example".into()),
                kind: "unreachable".into(),
                what: "registry.corp.example: vault.corp.example:8200 is sealed".into(),
                hint: Some("bao operator unseal".into()),
            },
            LastFailure { time: "2026-11-30T15:00:00Z".into(), kind: "settings".into(), ..LastFailure::default() },
        ]
    }

    #[test]
    fn status_reads_like_the_golden_file() {
        let text = render(Some(&status()), &failures(), entry::tests::now(), Style::Plain);
        golden::check("status.txt", &text);
        golden::check("status-not-running.txt", &render(None, &[], entry::tests::now(), Style::Plain));
        golden::check("status-empty.txt", &{
            render(Some(&Status::default()), &[], entry::tests::now(), Style::Plain)
        });
    }

    #[test]
    fn what_a_token_or_a_server_calls_itself_cannot_move_the_cursor() {
        let bad = || "a\x1b[2Jb\nc".to_owned();
        let certificate = EntryStatus { certificate_subject: Some(bad()), ..entry::tests::certificate() };
        let entry = EntryStatus { subject: Some(bad()), notes: vec![bad()], ..certificate };
        let text = render(Some(&Status { entries: vec![entry], ..status() }), &[], entry::tests::now(), Style::Plain);
        assert!(!text.contains('\x1b') && text.matches("a [2Jb c").count() == 3, "{text}");
    }

    #[test]
    fn a_locked_agent_says_so_and_how_often_somebody_tried() {
        let lock = LockStatus { since: "2026-11-30T15:58:00Z".into(), wrong_tries: 2 };
        let text = locked(&lock, Style::Plain);
        let wanted = "lock       locked since 2026-11-30T15:58:00Z, 2 wrong passphrases since; next: credmint unlock";
        assert_eq!(text, wanted);
    }

    #[test]
    fn status_as_json_is_like_the_golden_file() {
        golden::check("status.json", &format!("{:#}\n", as_json(Some(&status()), Some((&failures(), None)))));
        golden::check("status-not-running.json", &format!("{:#}\n", as_json(None, Some((&[], None)))));
    }

    #[test]
    fn settings_that_cannot_be_used_come_first_and_nothing_is_said_to_be_missing() {
        let mistake =
            Failure::new(FailureKind::Settings, "config.toml:5: unknown key `scope`").hint("did you mean `scopes`?");
        let report = render(Some(&Status::default()), &[], entry::tests::now(), Style::Plain);
        let text = with_mistake(&report, Some(&mistake), Style::Plain);
        let first = "settings   cannot be used, and what is kept for them is not shown:\n           config.toml:5: unknown key `scope`\n           hint: did you mean `scopes`?\nagent ";
        assert!(
            text.starts_with(first) && report.contains("Nothing is kept") && !text.contains("Nothing is kept"),
            "{text}"
        );
        assert_eq!(as_json(None, Some((&[], Some(&mistake))))["settings_mistake"], mistake.what);
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        let plain = render(Some(&status()), &failures(), entry::tests::now(), Style::Plain);
        let colour = render(Some(&status()), &failures(), entry::tests::now(), Style::Colour);
        let bare = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m"];
        assert_eq!(bare.iter().fold(colour, |text, code| text.replace(code, "")), plain);
    }

    #[test]
    fn what_the_file_of_failures_says_cannot_move_the_cursor() {
        let bad = LastFailure { what: "a\x1b[2Jb\nc".into(), ..LastFailure::default() };
        let text = render(None, &[bad], entry::tests::now(), Style::Plain);
        assert!(!text.contains('\x1b') && text.contains("a [2Jb c"));
    }
}
