//! One user in the text of a kubeconfig: put in, kept, and taken out again byte for byte.
//! The text of the file comes in, the new text goes out; what stands around the user is not touched.
//! Reads and writes no file. Knows YAML in the form that kubectl writes; a text in another form is left alone, and said.

use std::ops::Range;

use super::edit::InTheWay;
use crate::setup::block::{MARK, append, cut, newline_of, ours};

/// The user that is wanted.
pub(super) struct User<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// The program.
    pub(super) command: &'a str,
    /// What stands above it.
    pub(super) comment: String,
}

/// Stands in place of a list that was empty.
const WAS: &str = "users: # credmint: was ";

/// The list of users in a text.
struct List {
    /// Its own line, without the line's end.
    line: Range<usize>,
    /// What follows the key there.
    value: String,
    /// Its items.
    items: Vec<Item>,
}

struct Item {
    /// Its lines, the last one's end not included.
    span: Range<usize>,
    name: String,
    indent: usize,
}

impl User<'_> {
    /// Writes it as kubectl does.
    pub(super) fn item(&self) -> String {
        let (name, command) = (scalar(self.name), scalar(self.command));
        format!(
            "- name: {name}\n  user:\n    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      args:\n      - {name}\n      \
             command: {command}\n      interactiveMode: Never\n"
        )
    }

    /// Puts it in, or mends what we wrote.
    pub(super) fn add(&self, text: &str) -> Result<String, InTheWay> {
        let Some(list) = list(text)? else {
            let head = format!("{MARK}: the list goes with its last user.\nusers:\n");
            return Ok(append(text, &format!("{head}{}\n{}", self.comment, self.item())));
        };
        match list.items.iter().find(|item| item.name == self.name) {
            Some(item) if self.is_said(text, item) => Ok(text.to_owned()),
            Some(item) if is_marked(text, item) => {
                let mut text = text.to_owned();
                let new = self.lines(&text, item.indent, false);
                text.replace_range(item.span.clone(), &new);
                Ok(text)
            }
            Some(item) => Err(InTheWay {
                line: line_of(text, item.span.start),
                what: format!("has a user `{}` already, and credmint did not write it", self.name),
                hint:
                    "take it out, or name the provider in another way, and run this again; --print shows what to write"
                        .to_owned(),
            }),
            None => Ok(self.put_in(text, &list)),
        }
    }

    /// Takes it out, with the list if that came with it.
    pub(super) fn remove(&self, text: &str) -> String {
        let found = list(text).ok().flatten();
        let item =
            found.iter().flat_map(|list| &list.items).find(|item| item.name == self.name && self.is_ours(text, item));
        let Some(item) = item else { return text.to_owned() };
        let start = if is_marked(text, item) { line_above(text, item.span.start) } else { item.span.start };
        let end = item.span.end + newline_at(text, item.span.end);
        // At the end of a text without a last newline, the one before us came with us.
        let start = if end == item.span.end { start - newline_before(text, start) } else { start };
        without_empty_list(cut(text, start..end))
    }

    fn put_in(&self, text: &str, list: &List) -> String {
        let (at, indent) = list.items.last().map_or((list.line.end, 0), |last| (last.span.end, last.indent));
        let mut new = text.to_owned();
        new.insert_str(at, &format!("{}{}", newline_of(text), self.lines(text, indent, true)));
        if list.items.is_empty() && !list.value.is_empty() {
            new.replace_range(list.line.clone(), &format!("{WAS}{}", list.value));
        }
        new
    }

    /// Gives its lines as they stand in a text, the last one's end not included.
    fn lines(&self, text: &str, indent: usize, with_comment: bool) -> String {
        let blanks = " ".repeat(indent);
        let item = self.item();
        let comment = with_comment.then_some(self.comment.as_str());
        let lines: Vec<String> =
            comment.into_iter().chain(item.lines()).map(|line| format!("{blanks}{line}")).collect();
        lines.join(newline_of(text))
    }

    /// Tells whether an item says what we want, in whatever order.
    fn is_said(&self, text: &str, item: &Item) -> bool {
        let has =
            |wanted: &str| text.get(item.span.clone()).unwrap_or_default().lines().any(|line| line.trim() == wanted);
        has(&format!("command: {}", scalar(self.command))) && has(&format!("- {}", scalar(self.name)))
    }

    /// Tells whether we wrote it; kubectl drops comments when it writes the file.
    fn is_ours(&self, text: &str, item: &Item) -> bool {
        let lines = text.get(item.span.clone()).unwrap_or_default().lines();
        let mut commands = lines.filter_map(|line| line.trim().strip_prefix("command: "));
        let is_program = |path: &str| path.trim_matches('"').trim_end_matches(".exe").ends_with("credmint-kubernetes");
        is_marked(text, item) || commands.any(is_program)
    }
}

/// Finds the list of users; `None` when there is none.
fn list(text: &str) -> Result<Option<List>, InTheWay> {
    let mut found: Option<List> = None;
    let (mut inside, mut begun, mut at) = (false, false, 0);
    for line in text.split_inclusive('\n') {
        let (start, bare) = (at, line.trim_end_matches(['\n', '\r']));
        at += line.len();
        let bare = if start == 0 { bare.trim_start_matches('\u{feff}') } else { bare };
        let (content, end) = (bare.trim(), start + line.trim_end_matches(['\n', '\r']).len());
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let is_key = !bare.starts_with([' ', '-']) || bare.starts_with("---");
        match (is_key, &mut found) {
            (true, known) => {
                check_key(bare, begun, known.is_some()).map_err(|what| in_the_way(text, start, what))?;
                inside = bare.starts_with("users:");
                if inside {
                    let value = value_of(bare).map_err(|what| in_the_way(text, start, what))?;
                    *known = Some(List { line: start..end, value, items: Vec::new() });
                }
            }
            (false, Some(list)) if inside => {
                item_line(list, bare, start..end).map_err(|what| in_the_way(text, start, what))?
            }
            (false, _) => {}
        }
        begun |= bare != "---";
    }
    Ok(found)
}

/// Refuses what we do not understand at the left edge.
fn check_key(line: &str, begun: bool, known: bool) -> Result<(), &'static str> {
    match line {
        _ if line.starts_with(['{', '[']) => Err("is in flow style, as JSON is"),
        _ if begun && (line.starts_with("---") || line.starts_with("...")) => Err("begins another document"),
        _ if line.starts_with(['"', '\'', '?', '&', '!', '\t']) => {
            Err("has a key in a form that kubectl does not write")
        }
        _ if known && line.starts_with("users:") => Err("has a second list of users"),
        _ => Ok(()),
    }
}

/// Reads what follows the key `users`: nothing, or that there are none.
fn value_of(line: &str) -> Result<String, &'static str> {
    if line.starts_with(WAS) {
        return Ok(String::new());
    }
    let value = line.trim_start_matches("users:").trim();
    match value {
        "" | "[]" | "null" | "~" | "{}" => Ok(value.to_owned()),
        _ if value.starts_with('#') => Ok(String::new()),
        _ => Err("has its users in flow style"),
    }
}

/// Takes a line of the list: one that begins an item, or one of the item before it.
fn item_line(list: &mut List, line: &str, span: Range<usize>) -> Result<(), &'static str> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let content = line.get(indent..).unwrap_or_default();
    let is_item = content.starts_with("- ") && list.items.last().is_none_or(|last| last.indent == indent);
    let rest = content.strip_prefix("- ").filter(|_| is_item).map(str::trim_start);
    match (rest, list.items.last_mut()) {
        (Some(rest), _) if rest.starts_with(['{', '[', '&', '*', '?']) => Err("has a user in flow style"),
        (Some(rest), _) => {
            list.items.push(Item { span, name: name_in(rest).unwrap_or_default(), indent });
            Ok(())
        }
        (None, Some(item)) => {
            item.span.end = span.end;
            if indent == item.indent + 2 {
                item.name = name_in(content).unwrap_or_else(|| std::mem::take(&mut item.name));
            }
            Ok(())
        }
        (None, None) => Err("has its users in a form that kubectl does not write"),
    }
}

fn name_in(content: &str) -> Option<String> {
    let value = content.strip_prefix("name:")?.trim();
    let quoted = value.starts_with('"').then(|| serde_json::from_str(value).ok()).flatten();
    let single =
        || value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).map(|text| text.replace("''", "'"));
    let plain = || value.split(" #").next().unwrap_or_default().trim().to_owned();
    Some(quoted.or_else(single).unwrap_or_else(plain))
}

/// Takes out a list that has no user left, or writes it as it was.
fn without_empty_list(text: String) -> String {
    let Ok(Some(list)) = list(&text) else { return text };
    if !list.items.is_empty() {
        return text;
    }
    if let Some(was) = text.get(list.line.clone()).and_then(|line| line.strip_prefix(WAS)).map(str::to_owned) {
        let mut text = text;
        text.replace_range(list.line, &format!("users: {was}"));
        return text;
    }
    ours(&text, &list.line).map_or_else(|| text.clone(), |range| cut(&text, range))
}

/// Writes a text so that YAML takes it for that text and nothing else.
fn scalar(text: &str) -> String {
    let first = text.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '/');
    let word = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./@".contains(&byte));
    let other =
        ["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text.to_ascii_lowercase().as_str());
    if first && word && !other { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

fn in_the_way(text: &str, at: usize, what: &str) -> InTheWay {
    let hint = "--print shows what to write there by hand".to_owned();
    InTheWay { line: line_of(text, at), what: format!("{what}, and is not edited"), hint }
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

/// Gives where the line before the one at this place begins.
fn line_above(text: &str, at: usize) -> usize {
    let above = text.get(..at).unwrap_or_default().trim_end_matches(['\n', '\r']);
    above.rfind('\n').map_or(0, |newline| newline + 1)
}

/// Tells whether the comment above it is one of ours.
fn is_marked(text: &str, item: &Item) -> bool {
    text.get(line_above(text, item.span.start)..).is_some_and(|line| line.trim_start_matches(' ').starts_with(MARK))
}

fn newline_at(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) }
}

fn newline_before(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    if before.ends_with("\r\n") { 2 } else { usize::from(before.ends_with('\n')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(command: &str) -> User<'_> {
        User { name: "prod", command, comment: format!("{MARK}; so.") }
    }

    const KUBECTL: &str = "apiVersion: v1\nclusters:\n- cluster:\n    server: https://x\n  name: c\nkind: Config\nusers:\n\
        - name: a\n  user:\n    token: t\n- name: \"b\"\n  user: {}\n";

    #[test]
    fn any_file_is_as_before_when_the_user_is_taken_out() {
        let later = KUBECTL.replace("kind: Config\n", "") + "kind: Config\n# end\n";
        let indented = "users:\n  # first\n  - name: a\n    user:\n      token: t\n\n  # between\n  - user: {}\n    name: b\n\ncontexts: []\n";
        for before in [
            "",
            "apiVersion: v1\nkind: Config\n",
            "apiVersion: v1\nkind: Config",
            "apiVersion: v1\nusers: null\nkind: Config\n",
            "---\nusers: []",
            "users:\n",
            "users: # mine\n\n# c\nkind: Config\n",
            KUBECTL,
            KUBECTL.trim_end(),
            &later,
            indented,
            &KUBECTL.replace('\n', "\r\n"),
        ] {
            let with = user("/a").add(before).expect(before);
            assert!(with.contains("command: /a") && with.contains("name: prod"), "{with}");
            assert_eq!(user("/a").add(&with), Ok(with.clone()), "a second run changes nothing");
            assert_eq!(user("/a").remove(&with), before, "{with}");
            let moved = user("/b c").add(&with).expect("mended");
            assert_eq!(moved, with.replace("command: /a", "command: \"/b c\""));
            assert_eq!(user("/b c").remove(&moved), before);
            // Another provider beside it, taken out in the other order.
            let other = User { name: "lab", command: "/x/credmint-kubernetes", comment: format!("{MARK}; lab.") };
            let both = other.add(&with).expect("added");
            assert_eq!(user("/a").remove(&other.remove(&both)), before, "{both}");
            assert_eq!(other.remove(&user("/a").remove(&both)), before, "{both}");
        }
    }

    #[test]
    fn what_kubectl_wrote_again_without_comments_is_known_by_its_program() {
        let own = "users:\n- name: prod\n  user:\n    exec:\n      command: /a/credmint-kubernetes\n      env: null\n- name: z\n  user: {}\n";
        assert_eq!(user("/a").remove(own), "users:\n- name: z\n  user: {}\n");
    }

    #[test]
    fn what_is_not_understood_is_left_alone_with_its_line() {
        for (text, line) in [
            ("{\"kind\": \"Config\"}", 1),
            ("kind: Config\nusers: [{name: a}]\n", 2),
            ("users:\n- {name: a}\n", 2),
            ("a: 1\n---\nb: 2\n", 2),
            ("\"users\": []\n", 1),
            ("users: []\nusers: []\n", 2),
            ("users:\n- name: prod\n  user: {}\n", 2),
            ("users: &x\n", 1),
        ] {
            assert_eq!(user("/a").add(text).map_err(|error| error.line), Err(line), "{text}");
            assert_eq!(user("/a").remove(text), text);
        }
    }

    #[test]
    fn a_scalar_is_quoted_where_yaml_would_read_something_else() {
        for plain in ["prod", "/usr/bin/credmint-kubernetes", "a-b_c.d@e"] {
            assert_eq!(scalar(plain), plain);
        }
        for other in ["1", "true", "No", "a b", "a: b", "", "-x", "é", "a#b", "*a"] {
            assert!(scalar(other).starts_with('"'), "{other}");
        }
    }
}
