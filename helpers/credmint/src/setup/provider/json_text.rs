//! Members of an object in a JSON text, put in and taken out again byte for byte.
//! A text that is JSON comes in, the new text goes out; blanks, order and line ends of the rest stay as they are.
//! Touches nothing. The text has to be one that a JSON reader accepts; that is not found out here.

use std::ops::Range;

/// An object as it stands in a text.
pub(super) struct Object {
    /// Behind its opening brace.
    open: usize,
    /// In their order.
    members: Vec<Member>,
}

/// One member of it.
#[derive(Clone)]
pub(super) struct Member {
    /// Its name.
    pub(super) key: String,
    /// From its name to the end of its value.
    span: Range<usize>,
    /// Its value.
    pub(super) value: Range<usize>,
}

impl Object {
    /// Finds the object that begins at a place, or behind blanks there.
    pub(super) fn at(text: &str, place: usize) -> Option<Self> {
        let mut scan = Scan { text, at: place };
        scan.take('{')?;
        let (open, mut members) = (scan.at, Vec::new());
        while !scan.is_next('}') {
            let start = scan.at;
            scan.value()?;
            let key = serde_json::from_str(text.get(start..scan.at)?).ok()?;
            scan.take(':')?;
            scan.blanks();
            let value = scan.at;
            scan.value()?;
            members.push(Member { key, span: start..scan.at, value: value..scan.at });
            if scan.is_next(',') {
                scan.take(',')?;
                scan.blanks();
            }
        }
        Some(Self { open, members })
    }

    /// Finds a member by its name.
    pub(super) fn member(&self, key: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.key == key)
    }

    /// Tells whether there is one member, and blanks before it.
    pub(super) fn has_one_apart(&self) -> bool {
        matches!(self.members.as_slice(), [only] if only.span.start > self.open)
    }

    /// Gives the blanks before the first member.
    pub(super) fn gap<'t>(&self, text: &'t str) -> &'t str {
        let first = self.members.first().map_or(self.open, |first| first.span.start);
        text.get(self.open..first).unwrap_or_default()
    }

    /// Puts a member at the beginning.
    pub(super) fn with(&self, text: &str, key: &str, value: &str) -> String {
        let comma = if self.members.is_empty() { "" } else { "," };
        let mut new = text.to_owned();
        new.insert_str(self.open, &format!("{}{}: {value}{comma}", self.gap(text), serde_json::Value::from(key)));
        new
    }

    /// Takes a member out, with the comma that goes with it.
    pub(super) fn without(&self, text: &str, key: &str) -> String {
        let Some(at) = self.members.iter().position(|member| member.key == key) else { return text.to_owned() };
        let span = |at: usize| self.members.get(at).map(|member| member.span.clone());
        let (before, own, next) = (at.checked_sub(1).and_then(span), span(at).unwrap_or_default(), span(at + 1));
        let behind = text.get(own.end..).unwrap_or_default();
        let comma = next.and_then(|_| behind.find(',')).map_or(own.end, |comma| own.end + comma + 1);
        let range = before.map_or(self.open..comma, |before| before.end..own.end);
        let mut new = text.to_owned();
        new.replace_range(range, "");
        new
    }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\r', '\n', '\u{feff}']).len();
    }

    /// Tells whether a sign comes next, behind blanks. Says so at the end, too, where nothing else comes.
    fn is_next(&mut self, sign: char) -> bool {
        self.blanks();
        self.rest().is_empty() || self.rest().starts_with(sign)
    }

    fn take(&mut self, sign: char) -> Option<()> {
        self.blanks();
        self.rest().starts_with(sign).then(|| self.at += sign.len_utf8())
    }

    /// Passes over one value: a string, or anything up to the sign that ends it.
    fn value(&mut self) -> Option<()> {
        self.blanks();
        let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
        for (at, sign) in self.rest().char_indices() {
            match sign {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => {
                    quoted = !quoted;
                    if !quoted && depth == 0 {
                        self.at += at + 1;
                        return Some(());
                    }
                }
                _ if quoted => {}
                '{' | '[' => depth += 1,
                '}' | ']' if depth > 1 => depth -= 1,
                '}' | ']' if depth == 1 => {
                    self.at += at + 1;
                    return Some(());
                }
                ',' | ':' | '}' | ']' | ' ' | '\t' | '\r' | '\n' if depth == 0 => {
                    self.at += at;
                    return (at > 0).then_some(());
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out_again_byte_for_byte() {
        for before in [
            "{}",
            "{ }",
            "{\n}\n",
            r#"{"a":1}"#,
            "{\r\n\t\"a\": {\"x\": [1, {\"y\": \"}],\\\"\"}]},\r\n\t\"b\": null\r\n}",
            "\u{feff}{ \"a\" : -1.5e3 , \"b\" : true }",
        ] {
            let put_in = Object::at(before, 0).expect(before).with(before, "k\"ey", "{ \"v\": 2 }");
            let bare = put_in.trim_start_matches('\u{feff}');
            assert_eq!(serde_json::from_str::<serde_json::Value>(bare).expect(&put_in)["k\"ey"]["v"], 2, "{put_in}");
            let object = Object::at(&put_in, 0).expect("an object");
            assert_eq!(put_in.get(object.member("k\"ey").expect("there").value.clone()), Some("{ \"v\": 2 }"));
            assert_eq!(object.without(&put_in, "k\"ey"), before);
        }
    }

    #[test]
    fn a_member_goes_with_its_comma_wherever_it_stands() {
        let text = r#"{"a": 1, "b": [2, 3], "c": "d"}"#;
        let without = |key: &str| Object::at(text, 0).expect("an object").without(text, key);
        assert_eq!(without("a"), r#"{ "b": [2, 3], "c": "d"}"#);
        assert_eq!(without("b"), r#"{"a": 1, "c": "d"}"#);
        assert_eq!(without("c"), r#"{"a": 1, "b": [2, 3]}"#);
        assert_eq!(without("x"), text);
    }

    #[test]
    fn what_is_no_object_is_none() {
        for text in ["", "[1]", "1", "{\"a\"", "{\"a\": }", "{1: 2}", "{\"a\": [}"] {
            assert!(Object::at(text, 0).is_none(), "{text}");
        }
    }
}
