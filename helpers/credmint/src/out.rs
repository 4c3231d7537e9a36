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
        Self::of(io::stdout().is_terminal())
    }

    /// Finds out what standard error can show.
    pub(crate) fn of_stderr() -> Self {
        Self::of(io::stderr().is_terminal())
    }

    fn of(is_terminal: bool) -> Self {
        let wanted = environment::read("NO_COLOR").is_none_or(|value| value.is_empty());
        if wanted && can_move(is_terminal) { Self::Colour } else { Self::Plain }
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

/// Tells whether a stream is a terminal on which lines can be drawn over.
pub(crate) fn can_move(is_terminal: bool) -> bool {
    is_terminal && environment::read("TERM").is_none_or(|term| term != "dumb")
}

/// Writes what is for the person alone to standard error, as it is: standard output has the result.
pub(crate) fn aside(text: &str) {
    let mut out = io::stderr().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
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
