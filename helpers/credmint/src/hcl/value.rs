//! A value of a CLI configuration: a text in quotes, or a list of such.
//! What stands behind the `=` comes in, the text that Terraform reads there goes out; nothing for other kinds of value.
//! Touches nothing. HCL 1: `\` as in Go, but not inside of `${…}`, which stays as it is written.

use super::items::{Item, elements, items};

/// Reads a text.
pub(crate) fn text(written: &str) -> Option<String> {
    let (text, rest) = begin(written)?;
    rest.is_empty().then_some(text)
}

/// Reads a list of texts.
pub(crate) fn list(written: &str) -> Option<Vec<String>> {
    elements(written)?.into_iter().map(text).collect()
}

/// Writes a value on one line, however it was laid out, the keys of an object in order.
pub(crate) fn one_line(written: &str) -> String {
    if let Some(values) = elements(written) {
        return format!("[{}]", values.into_iter().map(one_line).collect::<Vec<_>>().join(", "));
    }
    let body = written.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let Some((body, fields)) = body.and_then(|body| Some((body, items(body).ok()?))) else { return written.to_owned() };
    let field = |item: &Item| {
        let key = item.words.iter().map(|word| key(word)).collect::<Vec<_>>().join(" ");
        format!("{key} = {}", one_line(body.get(item.value.clone()).unwrap_or_default()))
    };
    let mut fields: Vec<String> = fields.iter().map(field).collect();
    fields.sort();
    format!("{{ {} }}", fields.join(", "))
}

/// Writes the key of an object: in quotes, unless it is a word.
pub(crate) fn key(name: &str) -> String {
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_word = is_word && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_word { name.to_owned() } else { format!("\"{name}\"") }
}

/// Reads the text that something begins with, and gives what is behind it.
fn begin(written: &str) -> Option<(String, &str)> {
    let mut rest = written.strip_prefix('"')?.chars();
    let (mut text, mut depth) = (String::new(), 0_usize);
    loop {
        let c = rest.next()?;
        match c {
            '"' if depth == 0 => return Some((text, rest.as_str())),
            '\\' if depth == 0 => {
                text.push(escaped(&mut rest)?);
                continue;
            }
            '{' if depth > 0 || text.ends_with('$') => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        text.push(c);
    }
}

/// Reads what follows a backslash.
fn escaped(rest: &mut std::str::Chars<'_>) -> Option<char> {
    let digits = |rest: &mut std::str::Chars<'_>, count: usize, radix: u32, first: &str| {
        let digits: String = first.chars().chain(rest.take(count)).collect();
        char::from_u32(u32::from_str_radix(&digits, radix).ok()?)
    };
    Some(match rest.next()? {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        c @ ('\\' | '"') => c,
        'x' => digits(rest, 2, 16, "")?,
        'u' => digits(rest, 4, 16, "")?,
        'U' => digits(rest, 8, 16, "")?,
        c @ '0'..='7' => digits(rest, 2, 8, c.encode_utf8(&mut [0; 4]))?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_go_reads_it() {
        for (written, read) in [
            (r#""https://m.example/""#, "https://m.example/"),
            (r#""a\"b\\c\td\x41\u00e9\U0001F600\101""#, "a\"b\\c\tdAé😀A"),
            (r#""m.example/${namespace}/${"a\n"}""#, r#"m.example/${namespace}/${"a\n"}"#),
            (r#""""#, ""),
        ] {
            assert_eq!(text(written).as_deref(), Some(read), "{written}");
        }
        for wrong in ["7", r#""a"b"#, r#""a"#, r#""\q""#, r#""\x4""#, "true", ""] {
            assert_eq!(text(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_list_may_have_comments_and_a_comma_at_its_end() {
        let read = list("[\"a/*/*\", # no \"b\"\n  /* , */ \"c, d\",\n]");
        assert_eq!(read, Some(vec!["a/*/*".to_owned(), "c, d".to_owned()]));
        assert_eq!(list("[]"), Some(Vec::new()));
        assert_eq!(one_line("[ \"a\",\n {b = 1\n a = [true] } ]"), "[\"a\", { a = [true], b = 1 }]");
        assert_eq!((list("[1]"), list("\"a\""), list("[\"a]")), (None, None, None));
    }
}
