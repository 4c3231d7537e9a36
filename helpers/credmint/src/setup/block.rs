//! A block of lines in a person's file, with a comment above it by which we know our own.
//! Texts and ranges come in, texts go out; what stands around the block is not touched.
//! Reads and writes no file.

use std::ops::Range;

/// Begins the comment above each block that we wrote.
pub(super) const MARK: &str = "# Written by `credmint setup`";

/// Gives the range that belongs to a block of ours: one newline before our comment, and one after the block.
pub(super) fn ours(text: &str, span: &Range<usize>) -> Option<Range<usize>> {
    let above = without_newline(text.get(..span.start)?)?;
    let comment = above.rfind('\n').map_or(0, |at| at + 1);
    if !above.get(comment..)?.starts_with(MARK) {
        return None;
    }
    let start = without_newline(text.get(..comment)?).map_or(comment, str::len);
    let rest = text.get(span.end..)?;
    let newline = if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
    Some(start..span.end + newline)
}

/// Puts a block at the end, behind an empty line, with the newlines that the text has.
pub(super) fn append(text: &str, block: &str) -> String {
    let newline = newline_of(text);
    let gap = if text.is_empty() { "" } else { newline };
    format!("{text}{gap}{}", block.replace('\n', newline))
}

/// Takes a range out.
pub(super) fn cut(text: &str, range: Range<usize>) -> String {
    let mut text = text.to_owned();
    text.replace_range(range, "");
    text
}

/// Says how lines end.
pub(super) fn newline_of(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn without_newline(text: &str) -> Option<&str> {
    let text = text.strip_suffix('\n')?;
    Some(text.strip_suffix('\r').unwrap_or(text))
}
