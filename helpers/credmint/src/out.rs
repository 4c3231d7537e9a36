//! The one place that writes to standard output and standard error.
//! Text for people or JSON comes in, bytes go out, in one piece; colours only for a terminal that wants them.
//! A reader that went away (`credmint status | head -1`) is no failure.

use std::io::{self, IsTerminal, Write};

use credmint_local_machine::environment;
use credmint_vocabulary::Failure;

/// Says how text may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Letters only.
    Plain,
    /// ANSI colours.
    Colour,
}

/// What a piece of text is, for the eye.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A heading.
    Heading,
    /// Added, good.
    Good,
    /// Removed, bad.
    Bad,
    /// Of less weight.
    Faint,
}

impl Style {
    /// Finds out what standard output can show (<https://no-color.org>).
    pub(crate) fn of_stdout() -> Self {
        let wanted = environment::read("NO_COLOR").is_none_or(|value| value.is_empty());
        let able = environment::read("TERM").is_none_or(|term| term != "dumb");
        if wanted && able && io::stdout().is_terminal() { Self::Colour } else { Self::Plain }
    }

    /// Paints a piece of text.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match (self, tone) {
            (Self::Plain, _) => return text.to_owned(),
            (_, Tone::Heading) => "1",
            (_, Tone::Good) => "32",
            (_, Tone::Bad) => "31",
            (_, Tone::Faint) => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Writes a text to standard output; a newline is added if it has none at its end.
pub(crate) fn text(text: &str) {
    let mut out = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written =
        out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes())).and_then(|()| out.flush());
    drop(written);
}

/// Writes a value as one JSON object.
pub(crate) fn json(value: &serde_json::Value) {
    text(&format!("{value:#}"));
}

/// Writes a failure to standard error: `credmint: WHAT`, then `hint: …`.
pub(crate) fn failure(failure: &Failure) {
    let mut out = io::stderr().lock();
    drop(writeln!(out, "credmint: {failure}"));
}

/// Asks a yes-or-no question if somebody is there to answer; `None` without a terminal.
pub(crate) fn confirm(question: &str) -> Option<bool> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return None;
    }
    let mut out = io::stdout().lock();
    drop(write!(out, "{question} [y/N] ").and_then(|()| out.flush()));
    let mut line = String::new();
    io::stdin().read_line(&mut line).ok()?;
    Some(matches!(line.trim(), "y" | "Y" | "yes"))
}
