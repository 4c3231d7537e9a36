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

/// Puts words behind a beginning, in lines that fit on a terminal of 80 columns where a blank allows it; what follows the first
/// line begins so far from the edge. Colours take no room; [`phrases`] have it fold at commas.
pub(crate) fn folded(beginning: &str, indent: usize, words: &str) -> Vec<String> {
    let (mut lines, mut room) = (vec![beginning.to_owned()], 80_usize.saturating_sub(columns(beginning)));
    let mut is_first = true;
    for word in words.split(' ') {
        let needed = columns(word) + usize::from(!is_first);
        match lines.last_mut() {
            Some(line) if is_first || needed <= room => {
                line.push_str(if is_first { "" } else { " " });
                line.push_str(word);
                room = room.saturating_sub(needed);
            }
            _ => {
                lines.push(format!("{:indent$}{word}", ""));
                room = 80_usize.saturating_sub(indent + columns(word));
            }
        }
        is_first = false;
    }
    lines.into_iter().map(|line| line.replace(STAY, " ")).collect()
}

/// Keeps what stands between two commas in one line when [`folded`] folds, if a line has the room.
pub(crate) fn phrases(words: &str) -> String {
    let whole = |phrase: &str| match columns(phrase) < 67 {
        true => phrase.replace(' ', &STAY.to_string()),
        false => phrase.to_owned(),
    };
    words.split(", ").map(whole).collect::<Vec<_>>().join(", ")
}

/// A blank at which no line ends.
const STAY: char = '\u{a0}';

/// Counts what is seen of a text: its characters without the colours of [`Style::paint`].
fn columns(text: &str) -> usize {
    let mut pieces = text.split("\x1b[");
    let first = pieces.next().map_or(0, |piece| piece.chars().count());
    let behind = |piece: &str| piece.split_once('m').map_or(0, |(_, seen)| seen.chars().count());
    first + pieces.map(behind).sum::<usize>()
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

/// Writes a remark to standard error, `credmint: WHAT`; only on a terminal is it folded.
pub(crate) fn remark(what: &str) {
    let lines = match io::stderr().is_terminal() {
        true => folded("credmint: ", 2, what).join("\n"),
        false => format!("credmint: {what}"),
    };
    aside(&format!("{lines}\n"));
}

/// Writes a value as one JSON object.
pub(crate) fn json(value: &serde_json::Value) {
    text(&format!("{value:#}"));
}

/// Writes a failure to standard error: `credmint: WHAT`, then `hint: …`. Only on a terminal is the first folded; a hint never is,
/// for it is a command to be copied.
pub(crate) fn failure(failure: &Failure) {
    let mut out = io::stderr().lock();
    if !out.is_terminal() {
        return drop(writeln!(out, "credmint: {failure}"));
    }
    let name = Style::of_stderr().paint(Tone::Bad, "credmint:");
    let hint = failure.hint.iter().map(|hint| format!("hint: {hint}"));
    let lines: Vec<String> = folded(&format!("{name} "), 2, &failure.what).into_iter().chain(hint).collect();
    drop(writeln!(out, "{}", lines.join("\n")));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_folded_at_blanks_and_colours_take_no_room() {
        let words = format!("{} {} end", "a".repeat(39), "b".repeat(30));
        let plain = folded("  check      ", 13, &words);
        assert_eq!(plain, [format!("  check      {}", "a".repeat(39)), format!("{:13}{} end", "", "b".repeat(30))]);
        let eighty = format!("{} {}", "a".repeat(39), "b".repeat(27));
        assert_eq!(folded("  check      ", 13, &eighty).len(), 1);
        let painted = Style::Colour.paint(Tone::Good, &"a".repeat(39));
        assert_eq!(folded("  check      ", 13, &format!("{painted} {}", "b".repeat(27))).len(), 1);
        assert_eq!(folded("x ", 4, &"w".repeat(100)), [format!("x {}", "w".repeat(100))]);
        let kept = phrases(&format!("{}, renewed at noon", "a".repeat(58)));
        assert_eq!(folded("  ends       ", 13, &kept).get(1).map(String::as_str), Some("             renewed at noon"));
    }
}
