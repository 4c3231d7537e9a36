//! The top level of a CLI configuration: which items it has, and where each begins and ends.
//! Text comes in, items go out; what stands inside an item is passed over, not understood.
//! Touches nothing. HCL 1, as Terraform reads this file: keys may be quoted where HCL 2 has only identifiers.

use std::ops::Range;

/// One attribute or block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// Its words, without quotes: the kind, then the labels.
    pub(crate) words: Vec<String>,
    /// From its first word to its end.
    pub(crate) span: Range<usize>,
    /// What its words lead to, brackets and quotes included.
    pub(crate) value: Range<usize>,
    /// Whether it is an attribute: a `=` stands before the value.
    pub(crate) is_attribute: bool,
}

impl Item {
    /// Gives the text between the brackets of a block or an object; `None` for other values.
    pub(crate) fn body<'a>(&self, text: &'a str) -> Option<&'a str> {
        text.get(self.value.clone())?.strip_prefix('{')?.strip_suffix('}')
    }
}

/// Says where a text is none that is read here, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// The byte at which that shows.
    at: usize,
    is_too_deep: bool,
}

impl Malformed {
    /// Gives the line of its text, from 1.
    pub(crate) fn line(self, text: &str) -> usize {
        text.get(..self.at).unwrap_or_default().matches('\n').count() + 1
    }

    /// Gives the column in that line, from 1.
    pub(crate) fn column(self, text: &str) -> usize {
        text.get(..self.at).unwrap_or_default().rsplit('\n').next().unwrap_or_default().chars().count() + 1
    }

    /// Says why; `other` unless it is nested too deep.
    pub(crate) const fn why(self, other: &'static str) -> &'static str {
        if self.is_too_deep { TOO_DEEP } else { other }
    }
}

/// Whoever reads a value by its parts goes as deep as it does.
const DEEPEST: usize = 64;
const TOO_DEEP: &str = "is nested more than 64 brackets deep";

/// Finds the items.
pub(crate) fn items(text: &str) -> Result<Vec<Item>, Malformed> {
    let mut scan = Scan { text, at: 0, is_too_deep: false };
    let mut found = Vec::new();
    loop {
        scan.skip_blanks(true);
        if scan.rest().is_empty() {
            return Ok(found);
        }
        let item = scan.item();
        found.push(item.map_err(|at| Malformed { at, is_too_deep: scan.is_too_deep })?);
    }
}

/// Finds the values of a list, as they are written; `None` if it is none.
pub(crate) fn elements(list: &str) -> Option<Vec<&str>> {
    let text = list.strip_prefix('[')?.strip_suffix(']')?;
    let (mut scan, mut found) = (Scan { text, at: 0, is_too_deep: false }, Vec::new());
    loop {
        scan.skip_blanks(true);
        if scan.rest().is_empty() {
            return Some(found);
        }
        let start = scan.at;
        scan.skip_value().ok()?;
        found.push(text.get(start..scan.at)?);
    }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// Whether what was not read is too deep.
    is_too_deep: bool,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn step(&mut self, by: usize) {
        self.at += by;
    }

    /// Passes over blanks and comments; line ends too, if wanted.
    fn skip_blanks(&mut self, with_lines: bool) {
        loop {
            let rest = self.rest();
            let is_blank = |c: char| c.is_whitespace() && (with_lines || c != '\n') || c == ',' || c == '\u{feff}';
            let trimmed = rest.trim_start_matches(is_blank);
            self.step(rest.len() - trimmed.len());
            let comment = comment(trimmed);
            if comment == 0 {
                return;
            }
            self.step(comment);
        }
    }

    fn item(&mut self) -> Result<Item, usize> {
        let (start, mut words) = (self.at, Vec::new());
        let is_attribute = loop {
            match self.next() {
                Some('{') if !words.is_empty() => break false,
                Some('=') if !words.is_empty() => break true,
                Some('"') => words.push(self.quoted()?),
                Some(c) if is_of_word(c) => words.push(self.word()),
                _ => return Err(self.at),
            }
            self.skip_blanks(true);
        };
        let value = self.value(is_attribute)?;
        Ok(Item { words, span: start..self.at, value, is_attribute })
    }

    /// Passes over a value and what stands before it.
    fn value(&mut self, is_attribute: bool) -> Result<Range<usize>, usize> {
        if is_attribute {
            self.step(1);
            self.skip_blanks(false);
        }
        let start = self.at;
        if is_attribute { self.skip_value() } else { self.skip_nested() }?;
        Ok(start..self.at)
    }

    fn word(&mut self) -> String {
        let rest = self.rest();
        let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        self.step(end);
        rest.get(..end).unwrap_or_default().to_owned()
    }

    fn quoted(&mut self) -> Result<String, usize> {
        let start = self.at + 1;
        self.skip_string()?;
        Ok(self.text.get(start..self.at - 1).unwrap_or_default().to_owned())
    }

    /// Passes over a string; in `${…}` only brackets count, as Terraform's own scanner has it.
    fn skip_string(&mut self) -> Result<(), usize> {
        let (start, mut depth, mut is_escaped) = (self.at, 0_usize, false);
        for (at, c) in self.rest().char_indices().skip(1) {
            let interpolates = || self.text.get(start + at..).is_some_and(|rest| rest.starts_with("${"));
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '$' if depth == 0 && interpolates() => depth = 1,
                // The bracket of `${` itself is counted already.
                '{' if depth > 0 && !self.text.get(..start + at).is_some_and(|text| text.ends_with('$')) => depth += 1,
                '}' if depth > 0 => depth -= 1,
                '"' if depth == 0 => {
                    self.step(at + 1);
                    return Ok(());
                }
                '\n' if depth == 0 => return Err(start + at),
                _ => {}
            }
        }
        Err(start)
    }

    fn skip_value(&mut self) -> Result<(), usize> {
        match self.next() {
            Some('{' | '[') => self.skip_nested(),
            Some('"') => self.skip_string(),
            Some('<') if self.rest().starts_with("<<") => self.skip_heredoc(),
            Some(c) if is_of_word(c) => {
                self.word();
                Ok(())
            }
            _ => Err(self.at),
        }
    }

    /// Passes over everything to the bracket that closes this one.
    fn skip_nested(&mut self) -> Result<(), usize> {
        let (start, mut depth) = (self.at, 0_usize);
        loop {
            match self.next().ok_or(start)? {
                '{' | '[' if depth == DEEPEST => {
                    self.is_too_deep = true;
                    return Err(self.at);
                }
                '{' | '[' => depth += 1,
                '}' | ']' => depth = depth.saturating_sub(1),
                '"' => {
                    self.skip_string()?;
                    continue;
                }
                '<' if self.rest().starts_with("<<") => {
                    self.skip_heredoc()?;
                    continue;
                }
                '#' | '/' => {
                    self.step(comment(self.rest()).max(1));
                    continue;
                }
                c => {
                    self.step(c.len_utf8());
                    continue;
                }
            }
            self.step(1);
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn skip_heredoc(&mut self) -> Result<(), usize> {
        let start = self.at;
        let (head, mut body) = self.rest().split_once('\n').ok_or(start)?;
        let mark = head.trim_start_matches('<').trim_start_matches('-').trim();
        self.step(head.len() + 1);
        while !body.is_empty() {
            let (line, rest) = body.split_once('\n').unwrap_or((body, ""));
            if line.trim() == mark {
                self.step(line.len());
                return Ok(());
            }
            self.step((line.len() + 1).min(body.len()));
            body = rest;
        }
        Err(start)
    }
}

/// Gives the length of the comment that a text begins with; 0 if it begins with none.
fn comment(text: &str) -> usize {
    if text.starts_with('#') || text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return text.find("*/").map_or(text.len(), |end| end + 2);
    }
    0
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '+')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        items(text).expect("items").into_iter().map(|item| item.words).collect()
    }

    #[test]
    fn items_are_found_whatever_stands_in_them() {
        let text = r#"# host "x" {
            plugin_cache_dir = "$HOME/{cache" // }
            disable_checkpoint = true
            host "A.example" { services = { "modules.v1" = "http://x/}" } } /* } */
            provider_installation {
              dev_overrides { "hashicorp/null" = "/x" }
              direct {}
            }
            credentials = { "b.example" = { token = "${f("{x}")}" } }
            note = <<EOF
            } " {
EOF
            "credentials_helper" "x" { args = ["{"] }"#;
        let expected: [&[&str]; 7] = [
            &["plugin_cache_dir"],
            &["disable_checkpoint"],
            &["host", "A.example"],
            &["provider_installation"],
            &["credentials"],
            &["note"],
            &["credentials_helper", "x"],
        ];
        assert_eq!(words(text), expected);
    }

    #[test]
    fn what_is_nested_too_deep_is_told_by_its_line() {
        let nested = |deep| format!("a = 1\nb = {}{}", "[".repeat(deep), "]".repeat(deep));
        for deep in [DEEPEST + 1, 1_000_000] {
            let (text, objects) = (nested(deep), format!("\n\n{}", "b {".repeat(deep)));
            let told = |text: &str| items(text).map_err(|error| (error.line(text), error.why("")));
            assert_eq!((told(&text), told(&objects)), (Err((2, TOO_DEEP)), Err((3, TOO_DEEP))));
        }
        let text = nested(DEEPEST);
        let deepest = items(&text).expect("items").pop().expect("an item");
        let written = text.get(deepest.value).expect("a value");
        assert_eq!(crate::hcl::one_line(written), written);
    }

    #[test]
    fn what_is_no_configuration_is_told_by_its_place() {
        for (text, at) in [("a = ", 4), ("host \"x\" {", 9), ("}", 0), ("a = \"x\n\"", 6), ("a", 1), ("= 1", 0)] {
            assert_eq!(items(text).expect_err(text), Malformed { at, is_too_deep: false }, "{text}");
        }
        assert_eq!(words(" \r\n# only a comment"), Vec::<Vec<String>>::new());
    }
}
