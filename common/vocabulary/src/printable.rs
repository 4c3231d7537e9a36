//! Makes text from strangers fit for a terminal, a log line and an HTTP reason phrase.
//! Any text comes in, one line without control characters goes out.
//! Touches nothing. CVE-2024-50349 (git) is what happens without it.

/// Replaces control characters and line breaks by single blanks and cuts after `limit` characters.
#[must_use]
pub fn printable(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for c in text.chars().map(|c| if c.is_control() || is_reordering(c) { ' ' } else { c }) {
        if c != ' ' || !line.ends_with(' ') {
            line.push(c);
        }
    }
    let line = line.trim();
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// Tells the characters that change the order in which a terminal shows the rest of the line.
fn is_reordering(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn control_and_reordering_characters_go() {
        assert_eq!(printable("a\r\n\x1b]0;b\x07 c\u{202e}d", 80), "a ]0;b c d");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        assert_eq!(printable("äöü", 2), "äö…");
        assert_eq!(printable("äöü", 3), "äöü");
    }
}
