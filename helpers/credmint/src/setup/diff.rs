//! A small difference between two texts: the lines that went and the lines that came.
//! Two texts come in, lines go out, without the lines around them: those may hold tokens.
//! Touches nothing. Longest common subsequence, between what is the same at both ends.

/// A line that is different.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Only in the old text.
    Removed(&'a str),
    /// Only in the new text.
    Added(&'a str),
}

/// Compares two texts line by line.
pub(crate) fn lines<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (old.get(start..).unwrap_or_default(), new.get(start..).unwrap_or_default());
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (head(old, end), head(new, end));
    walk(old, new, &lengths(old, new))
}

fn head<'a, 'b>(lines: &'b [&'a str], without: usize) -> &'b [&'a str] {
    lines.get(..lines.len() - without).unwrap_or_default()
}

/// Gives, for each pair of positions, the length of the longest common subsequence of what follows.
fn lengths(old: &[&str], new: &[&str]) -> Vec<Vec<usize>> {
    let mut rows = vec![vec![0; new.len() + 1]];
    for a in old.iter().rev() {
        let below = rows.last().cloned().unwrap_or_default();
        let mut row = vec![0; new.len() + 1];
        for (at, b) in new.iter().enumerate().rev() {
            let best = if a == b { cell(&below, at + 1) + 1 } else { cell(&below, at).max(cell(&row, at + 1)) };
            row.iter_mut().skip(at).take(1).for_each(|cell| *cell = best);
        }
        rows.push(row);
    }
    rows.reverse();
    rows
}

fn cell(row: &[usize], at: usize) -> usize {
    row.get(at).copied().unwrap_or(0)
}

fn walk<'a>(old: &[&'a str], new: &[&'a str], lengths: &[Vec<usize>]) -> Vec<Line<'a>> {
    let at = |i: usize, j: usize| lengths.get(i).map_or(0, |row| cell(row, j));
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    loop {
        match (old.get(i), new.get(j)) {
            (Some(a), Some(b)) if a == b => (i, j) = (i + 1, j + 1),
            (Some(a), b) if b.is_none() || at(i + 1, j) >= at(i, j + 1) => {
                lines.push(Line::Removed(a));
                i += 1;
            }
            (_, Some(b)) => {
                lines.push(Line::Added(b));
                j += 1;
            }
            (_, None) => return lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        assert_eq!(lines("a\nb\nc\n", "a\nb\nc\n"), []);
        assert_eq!(lines("", "a\nb\n"), [Line::Added("a"), Line::Added("b")]);
        assert_eq!(lines("a\nb\n", ""), [Line::Removed("a"), Line::Removed("b")]);
        let (old, new) = ("a\nport 1\nb\nx\n", "a\nport 2\nb\n");
        assert_eq!(lines(old, new), [Line::Removed("port 1"), Line::Added("port 2"), Line::Removed("x")]);
        assert_eq!(lines("k\nsecret\nl\nend", "secret\nend"), [Line::Removed("k"), Line::Removed("l")]);
    }
}
