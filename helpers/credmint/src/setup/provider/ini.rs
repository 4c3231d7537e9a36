//! One section of a file with `[sections]`: put in, kept, and taken out again byte for byte.
//! The text of the file comes in, the new text goes out; what stands around our section is not touched.
//! Reads and writes no file. The AWS SDKs' configuration and git's have this form.

use std::ops::Range;

use super::edit::InTheWay;
use crate::setup::block::{append, cut, newline_of, ours};

/// The section that is wanted.
pub(super) struct Section<'a> {
    /// What stands above it.
    pub(super) comment: String,
    /// What stands between its brackets, without quotes: `profile`, `prod`.
    pub(super) words: [&'a str; 2],
    /// Its first line.
    pub(super) header: String,
    /// The key that is ours in it.
    pub(super) key: &'a str,
    /// The lines with that key.
    pub(super) lines: Vec<String>,
    /// Whether the file may have another section of that name, as long as it has not the key.
    pub(super) may_repeat: bool,
}

/// A section as it stands in a text.
struct Found<'t> {
    line: usize,
    header: Range<usize>,
    body: Vec<(Range<usize>, &'t str)>,
}

impl Section<'_> {
    /// Gives its text.
    pub(super) fn text(&self) -> String {
        let lines: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        format!("{}\n{lines}", self.header)
    }

    /// Puts it in, or mends what we wrote.
    pub(super) fn add(&self, text: &str) -> Result<String, InTheWay> {
        let found = self.found(text);
        if found.iter().any(|one| self.is_whole(one)) {
            return Ok(text.to_owned());
        }
        if let Some(range) = found.iter().find(|one| ours(text, &one.header).is_some()).and_then(|one| self.own(one)) {
            let newline = newline_of(text);
            let lines: String = self.lines.iter().map(|line| format!("{line}{newline}")).collect();
            let mut text = text.to_owned();
            text.replace_range(range, &lines);
            return Ok(text);
        }
        match found.iter().find(|one| !self.may_repeat || self.own(one).is_some()) {
            Some(other) => Err(InTheWay {
                line: other.line,
                what: format!("has `{}` already, and credmint did not write it", self.header),
                hint: format!(
                    "write there by hand: {}; or take it out, and run this again",
                    self.lines.join(", ").replace('\t', "")
                ),
            }),
            None => Ok(append(text, &format!("{}\n{}", self.comment, self.text()))),
        }
    }

    /// Takes out what we wrote; lines that others added to the section stay, and its name with them.
    pub(super) fn remove(&self, text: &str) -> String {
        let found = self.found(text);
        let Some((one, whole)) = found.iter().find_map(|one| Some((one, ours(text, &one.header)?))) else {
            return text.to_owned();
        };
        let own = self.own(one);
        let says = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with(['#', ';']);
        let is_own =
            |range: &Range<usize>| own.as_ref().is_some_and(|own| own.start <= range.start && range.end <= own.end);
        let apart = own.as_ref().is_some_and(|own| own.start != whole.end);
        let others = apart || one.body.iter().any(|(range, line)| says(line) && !is_own(range));
        if !others {
            let end = own.map_or(one.header.end, |own| own.end);
            return cut(text, whole.start..end.max(whole.end));
        }
        let without = own.map_or_else(|| text.to_owned(), |own| cut(text, own));
        let comment =
            text.get(..one.header.start).and_then(|above| above.trim_end().rfind('\n')).map_or(0, |at| at + 1);
        cut(&without, comment..one.header.start)
    }

    /// Finds the sections of this name.
    fn found<'t>(&self, text: &'t str) -> Vec<Found<'t>> {
        let mut all: Vec<Found<'t>> = Vec::new();
        let mut inside = false;
        let mut at = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let (start, bare) = (at, line.trim_end_matches(['\n', '\r']));
            at += line.len();
            if bare.trim_start_matches('\u{feff}').trim_start().starts_with('[') {
                inside = self.is_named(bare);
                let header = start..start + bare.len();
                all.extend(inside.then(|| Found { line: number + 1, header, body: Vec::new() }));
            } else if let Some(one) = all.last_mut().filter(|_| inside) {
                one.body.push((start..at, bare));
            }
        }
        all
    }

    fn is_named(&self, header: &str) -> bool {
        let inner = header.trim_start_matches('\u{feff}').trim_start().trim_start_matches('[');
        let inner = inner.rfind(']').and_then(|end| inner.get(..end)).unwrap_or(inner).trim();
        let (first, rest) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
        let rest = rest.trim().trim_matches(['"', '\'']);
        let [kind, label] = self.words;
        first.trim_matches('"').eq_ignore_ascii_case(kind) && rest == label
    }

    /// Tells whether a section has our lines, whoever wrote them.
    fn is_whole(&self, one: &Found<'_>) -> bool {
        let said =
            |line: &str| line.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
        let wanted: Vec<_> = self.lines.iter().filter_map(|line| said(line)).collect();
        let there: Vec<_> =
            one.body.iter().filter(|(_, line)| self.has_key(line)).filter_map(|(_, line)| said(line)).collect();
        there == wanted
    }

    /// Gives the range of the lines with our key.
    fn own(&self, one: &Found<'_>) -> Option<Range<usize>> {
        let mut lines = one.body.iter().filter(|(_, line)| self.has_key(line)).map(|(range, _)| range);
        let first = lines.next()?.clone();
        Some(first.start..lines.next_back().map_or(first.end, |last| last.end))
    }

    fn has_key(&self, line: &str) -> bool {
        line.split_once('=').is_some_and(|(key, _)| key.trim().eq_ignore_ascii_case(self.key))
    }
}

/// Tells whether a text has a section of this name.
pub(super) fn has_section(text: &str, name: &str) -> bool {
    text.lines().map(str::trim).any(|line| line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section<'a>(path: &str) -> Section<'a> {
        Section {
            comment: "# Written by `credmint setup`; so.".into(),
            words: ["profile", "prod"],
            header: "[profile prod]".into(),
            key: "credential_process",
            lines: vec![format!("credential_process = {path}")],
            may_repeat: false,
        }
    }

    #[test]
    fn any_file_is_as_before_when_the_section_is_taken_out() {
        for before in [
            "",
            "[default]\nregion = eu-central-1\n",
            "[default]\nregion = eu-central-1",
            "# mine\r\n[default]\r\nregion = x\r\n\r\n",
            "\n\n",
            "[profile prod2]\n# credential_process\n\n# end",
            "[profile other]\ns3 =\n  max = 1\n\n",
        ] {
            let with = section("/a prod").add(before).expect("added");
            assert!(with.starts_with(before) && with.contains("[profile prod]"), "{with}");
            assert_eq!(section("/a prod").add(&with), Ok(with.clone()), "a second run changes nothing");
            assert_eq!(section("/a prod").remove(&with), before, "{before:?}");
            assert_eq!(with.contains("\r\n"), before.contains("\r\n"));
            // What comes behind it stays, too.
            let longer = format!("{with}\n# more\n[profile late]\nregion = y");
            assert_eq!(section("/a prod").remove(&longer), format!("{before}\n# more\n[profile late]\nregion = y"));
            // A program that moved is mended in place.
            let moved = section("/b prod").add(&longer).expect("mended");
            assert_eq!(moved, longer.replace("/a prod", "/b prod"));
        }
    }

    #[test]
    fn a_section_of_somebody_else_is_left_alone() {
        for text in [
            "[profile prod]\nregion = x\n",
            "[ profile  \"prod\" ]\n",
            "[a]\n[profile prod]\ncredential_process = /other\n",
        ] {
            let error = section("/a prod").add(text).expect_err(text);
            assert_eq!(error.line, text.lines().position(|line| line.contains("prod")).unwrap_or(0) + 1);
            assert_eq!(section("/a prod").remove(text), text);
        }
        let same = "[profile prod]\nregion = x\ncredential_process=/a prod\n";
        assert_eq!(section("/a prod").add(same).as_deref(), Ok(same), "the same line by hand is as good");
    }

    #[test]
    fn lines_that_others_added_to_our_section_stay_in_it() {
        let with = section("/a prod").add("[default]\n").expect("added") + "region = x\n";
        assert_eq!(section("/a prod").remove(&with), "[default]\n\n[profile prod]\nregion = x\n");
    }
}
