//! `credmint lock` and `credmint unlock`: a passphrase from the terminal, or one line of standard input.
//! What the person types comes in and goes to the agent; whether it is locked is printed.
//! Keeps nothing and derives nothing: the passphrase is wiped as soon as the agent has it.

use std::io::IsTerminal;

use credmint_agent_protocol::{Answer, Ask, Passphrase};
use credmint_local_machine::{question, streams};
use credmint_vocabulary::{Failure, FailureKind, Secret};

use crate::{agent, out, status};

/// Runs `credmint lock`.
pub(crate) fn lock() -> Result<(), Failure> {
    let Some(now) = status::ask()? else {
        out::text("no agent is running: nothing is kept that could be locked");
        return Ok(());
    };
    if now.locked.is_some() {
        return Err(Failure::new(FailureKind::Refused, "credmint is locked already").hint("credmint unlock"));
    }
    let passphrase = read("Passphrase for `credmint unlock`: ", "lock")?;
    if std::io::stdin().is_terminal() && !read("The same once more: ", "lock")?.same_as(passphrase.expose().as_bytes())
    {
        return Err(
            Failure::new(FailureKind::Usage, "the two passphrases differ; nothing is locked").hint("credmint lock")
        );
    }
    done(agent::ask_if_running(Ask::Lock(Passphrase { passphrase: passphrase.into() }))?, LOCKED)
}

/// Runs `credmint unlock`.
pub(crate) fn unlock() -> Result<(), Failure> {
    match status::ask()? {
        None => {
            out::text("no agent is running: nothing is locked");
            return Ok(());
        }
        Some(now) if now.locked.is_none() => {
            out::text("credmint is not locked");
            return Ok(());
        }
        Some(_) => {}
    }
    let passphrase = read("Passphrase: ", "unlock")?;
    done(agent::ask_if_running(Ask::Unlock(Passphrase { passphrase: passphrase.into() }))?, "unlocked")
}

fn done(answer: Option<Answer>, said: &str) -> Result<(), Failure> {
    match answer {
        Some(Answer::Done) => {
            out::text(said);
            Ok(())
        }
        Some(other) => Err(agent::unexpected(&other)),
        None => Err(Failure::new(FailureKind::Unreachable, "the agent has ended, and everything that it kept with it")
            .hint("credmint status")),
    }
}

/// Reads a passphrase: at a terminal by a question, else one line of standard input.
fn read(prompt: &str, verb: &str) -> Result<Secret<String>, Failure> {
    let given = if std::io::stdin().is_terminal() { question::secret(prompt) } else { streams::read_line(LONGEST) };
    let nothing = || {
        let hint = format!("type it at a terminal, or give it as one line on standard input: credmint {verb} < FILE");
        Failure::new(FailureKind::Usage, "no passphrase was given").hint(hint)
    };
    let mut bytes = given.map_err(|_| nothing())?.ok_or_else(nothing)?;
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    let text = std::str::from_utf8(&bytes).map(Secret::from);
    let text = text.map_err(|_| {
        Failure::new(FailureKind::Usage, "the passphrase is not UTF-8").hint(format!("credmint {verb}"))
    })?;
    if text.is_empty() { Err(nothing()) } else { Ok(text) }
}

const LOCKED: &str = "locked: everything that the agent keeps is encrypted; next: credmint unlock";
const LONGEST: usize = 1024;
