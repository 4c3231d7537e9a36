//! Pictures for the docs: what people see on a page or in a terminal, as it is now.
//! What a program showed comes in; a picture in `target/screenshots` goes out, and what it was made of is held against what
//! the picture in the docs was made of. `CREDMINT_PICTURES=write` writes both into the docs in place of comparing.
//! Compares no pixels: fonts differ from machine to machine. What differs from run to run is replaced before.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Chromium, peer, screen};

/// What a program showed, made the same for every run.
#[derive(Clone)]
pub struct Seen(String);

impl Seen {
    /// Begins with what a program printed or an agent answered.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Puts a prompt and a command before it, as they stand in a terminal.
    #[must_use]
    pub fn typed(self, command: &str) -> Self {
        Self(format!("\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m\r\n{}", self.0))
    }

    /// Replaces a text wherever it is.
    #[must_use]
    pub fn with(self, text: &str, replacement: &str) -> Self {
        Self(self.0.replace(text, replacement))
    }

    /// Replaces what stands between two texts, wherever they follow each other in a line.
    #[must_use]
    pub fn between(self, start: &str, end: &str, replacement: &str) -> Self {
        self.replaced(start, end, replacement, |old| !old.contains('\n'))
    }

    /// Replaces what stands between two texts, over as many lines as it takes.
    #[must_use]
    pub fn between_lines(self, start: &str, end: &str, replacement: &str) -> Self {
        self.replaced(start, end, replacement, |_| true)
    }

    fn replaced(self, start: &str, end: &str, replacement: &str, fits: impl Fn(&str) -> bool) -> Self {
        let mut pieces = self.0.split(start);
        let first = pieces.next().unwrap_or_default().to_owned();
        let rest = pieces.map(|piece| match piece.find(end) {
            Some(at) if piece.get(..at).is_some_and(&fits) => {
                format!("{start}{replacement}{}", piece.get(at..).unwrap_or_default())
            }
            _ => format!("{start}{piece}"),
        });
        let rest: String = rest.collect();
        Self(first + &rest)
    }

    /// Replaces the times in it, in the order in which they stand there.
    #[must_use]
    pub fn times(self, times: &[&str]) -> Self {
        let (mut text, mut from) = (self.0, 0);
        for time in times {
            let found = text.get(from..).and_then(|rest| (0..rest.len()).find(|&at| is_time(rest.get(at..at + 20))));
            let Some(at) = found.map(|at| from + at) else { break };
            text.replace_range(at..at + 20, time);
            from = at + time.len();
        }
        Self(text)
    }

    /// Gives the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Takes pictures of it as a page: light, dark, and on a phone. Those of the docs are named: `""`, `"-dark"`, `"-phone"`.
    ///
    /// # Panics
    /// When the docs have none, or have what it was and not what it is.
    pub fn as_page(&self, chromium: &mut Chromium, name: &str, in_docs: &[&str]) {
        let html = &self.0;
        assert!(!html.contains("127.0.0.1"), "an address of this run: {html}");
        is_kept(&format!("{name}.html"), html);
        chromium.show(html);
        for (kind, is_dark, width) in [("", false, 600), ("-dark", true, 600), ("-phone", false, 390)] {
            let picture = chromium.whole_picture(&format!("{name}{kind}"), is_dark, width);
            assert_eq!(chromium.value("document.documentElement.scrollWidth <= innerWidth"), true, "{name}{kind}");
            if in_docs.contains(&kind) {
                is_shown(&picture);
            }
        }
    }

    /// Leaves out what turned while something was waited for, and is gone at the end.
    #[must_use]
    pub fn still(self) -> Self {
        let line = |line: &str| line.rsplit("\r\x1b[K").next().unwrap_or_default().to_owned();
        Self(self.0.split('\n').map(line).collect::<Vec<_>>().join("\n"))
    }

    /// Takes a picture of it as a terminal.
    ///
    /// # Panics
    /// When the docs have none, or have what it was and not what it is.
    pub fn as_terminal(&self, chromium: &mut Chromium, name: &str) {
        self.as_drawn_terminal(chromium, name, "");
    }

    /// Takes one with a code that is another each time: it is in the picture, and neither it nor what is drawn of it by blocks is compared.
    ///
    /// # Panics
    /// When the docs have none, or have what it was and not what it is.
    pub fn as_drawn_terminal(&self, chromium: &mut Chromium, name: &str, code: &str) {
        let lines = self.0.split_inclusive('\n').filter(|line| !line.contains(['█', '▀', '▄']));
        let text: String = lines.collect();
        let text = if code.is_empty() { text } else { text.replace(code, "····-····") };
        is_kept(&format!("{name}.txt"), &text.replace('\r', "").replace('\x1b', "␛"));
        chromium.show(&screen::page(&self.0));
        is_shown(&chromium.whole_picture(name, true, 672));
    }
}

fn is_time(text: Option<&str>) -> bool {
    let form = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        13 | 16 => byte == b':',
        19 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    };
    text.is_some_and(|text| text.bytes().enumerate().all(form))
}

/// Holds what a picture is made of against what the one in the docs was made of.
#[track_caller]
fn is_kept(file: &str, text: &str) {
    let (kept, now) = (docs().join("made-from").join(file), screenshots().join(file));
    write(&now, text);
    if is_asked() {
        return write(&kept, text);
    }
    let old = fs::read_to_string(&kept).unwrap_or_default();
    let (kept, now) = (kept.display(), now.display());
    assert!(old == text, "the picture in the docs is old: {kept} is not {now}; look at it, then {REFRESH}");
}

#[track_caller]
fn is_shown(picture: &Path) {
    let shown = docs().join(picture.file_name().unwrap_or_default());
    if is_asked() {
        fs::copy(picture, &shown).unwrap_or_else(|error| panic!("{}: {error}", shown.display()));
    }
    assert!(shown.is_file(), "the docs have no {}; {REFRESH}", shown.display());
}

fn write(file: &Path, text: &str) {
    let written = fs::create_dir_all(file.parent().unwrap_or(file)).and_then(|()| fs::write(file, text));
    written.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

fn is_asked() -> bool {
    std::env::var("CREDMINT_PICTURES").as_deref() == Ok("write")
}

fn docs() -> PathBuf {
    peer::repository().join("helpers/credmint/pictures")
}

fn screenshots() -> PathBuf {
    peer::repository().join("target/screenshots")
}

const REFRESH: &str = "CREDMINT_PICTURES=write cargo test -p credmint-stories --test pictures";

#[cfg(test)]
mod tests {
    use super::Seen;

    #[test]
    fn what_differs_from_run_to_run_is_replaced() {
        let seen = Seen::new(
            "at http://127.0.0.1:4711/begin/x9\r\nuntil 2031-01-02T03:04:05Z, 2032-01-02T03:04:05Z\r\nport :1\n",
        );
        let seen = seen.between("127.0.0.1:", "/", "49152").between("/begin/", "\r", "y").between("port ", "!", "2");
        let seen = seen.times(&["2026-11-30T09:00:00Z", "2026-11-30T10:00:00Z"]);
        let wanted =
            "at http://127.0.0.1:49152/begin/y\r\nuntil 2026-11-30T09:00:00Z, 2026-11-30T10:00:00Z\r\nport :1\n";
        assert_eq!(seen.text(), wanted);
    }
}
