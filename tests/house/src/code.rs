//! Rust text, seen as rustfmt leaves it: code without its tests, functions with their lengths, names that are defined.
//! The text of a file comes in, parts of it go out.
//! Touches nothing. Relies on formatting, which `cargo fmt --check` holds.

/// Describes a function: where it begins and how many lines it has, signature and braces included.
pub struct Function<'a> {
    /// Name.
    pub name: &'a str,
    /// Line of the `fn`, counted from 1.
    pub line: usize,
    /// Lines.
    pub length: usize,
}

/// Gives the text up to the tests at its end.
#[must_use]
pub fn without_tests(text: &str) -> &str {
    let mut at = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let next_is_module = lines.peek().is_some_and(|next| next.starts_with("mod "));
        if line.starts_with("#[cfg(") && line.contains("test") && next_is_module {
            return text.get(..at).unwrap_or(text);
        }
        at += line.len();
    }
    text
}

/// Gives the text with comments of whole lines blanked, so that line numbers stay.
#[must_use]
pub fn without_comments(text: &str) -> String {
    text.lines()
        .map(|line| if line.trim_start().starts_with("//") { "\n" } else { line }.trim_end().to_owned() + "\n")
        .collect()
}

/// Lists the functions of a text.
#[must_use]
pub fn functions(text: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let starts = lines.iter().enumerate().filter_map(|(at, line)| function_name(line).map(|name| (at, name)));
    starts
        .map(|(at, name)| Function { name, line: at + 1, length: length(lines.get(at..).unwrap_or_default()) })
        .collect()
}

/// Lists the names that a text defines as types, modules or functions, with their lines.
#[must_use]
pub fn defined_names(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty());
        while let Some(word) = words.next() {
            match word {
                "pub" | "crate" | "super" | "in" | "unsafe" => {}
                "struct" | "enum" | "trait" | "type" | "mod" | "union" => {
                    found.extend(words.next().map(|name| (at + 1, name.to_owned())));
                    break;
                }
                _ => break,
            }
        }
    }
    found
}

/// Lists the files that the `#[cfg(test)] mod x;` lines of a file may mean.
#[must_use]
pub fn test_modules(path: &str, text: &str) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let stem = path.trim_end_matches(".rs");
    let mut found = Vec::new();
    let (mut in_test, mut given) = (false, None);
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[") || line.starts_with("//") {
            in_test |= line.starts_with("#[cfg(") && line.contains("test");
            let path = line.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]"));
            given = path.map(|path| format!("{folder}/{path}")).or(given);
            continue;
        }
        let module = line.split("mod ").nth(1).and_then(|rest| rest.strip_suffix(';')).filter(|_| in_test);
        if let Some(name) = module {
            let usual = [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs"), format!("{stem}/{name}.rs")];
            found.extend(given.into_iter().chain(usual));
        }
        (in_test, given) = (false, None);
    }
    found
}

/// Splits `CamelCase` and `snake_case` into lower-case words.
#[must_use]
pub fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(last) = words.last_mut()
        {
            last.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    for word in ["pub(crate) ", "pub(super) ", "pub ", "const ", "async ", "unsafe ", "extern \"C\" "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

/// Counts to the line that closes the function: a brace at the indentation of its first line, or its only line.
fn length(lines: &[&str]) -> usize {
    let first = lines.first().copied().unwrap_or_default();
    if first.ends_with(['}', ';']) {
        return 1;
    }
    let indentation: String = first.chars().take_while(|c| *c == ' ').collect();
    let ends = |rest: &str| rest == "}" || (rest.starts_with(')') && rest.ends_with(';'));
    let closes = |line: &&str| line.strip_prefix(indentation.as_str()).is_some_and(ends);
    lines.iter().skip(1).position(closes).map_or(1, |at| at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_as_long_as_it_looks() {
        let text =
            "impl A {\n    pub async fn one(\n        a: u8,\n    ) -> u8 {\n        a\n    }\n\n    fn two() {}\n}\n";
        let found: Vec<_> = functions(text).iter().map(|f| (f.name, f.line, f.length)).collect();
        assert_eq!(found, [("one", 2, 5), ("two", 8, 1)]);
    }

    #[test]
    fn tests_at_the_end_are_not_code() {
        assert_eq!(without_tests("fn a() {}\n\n#[cfg(test)]\nmod tests {\n}\n"), "fn a() {}\n\n");
        assert_eq!(without_tests("#[cfg(test)]\nuse x;\nfn a() {}\n"), "#[cfg(test)]\nuse x;\nfn a() {}\n");
    }

    #[test]
    fn a_module_that_only_tests_see_is_tests() {
        let text = "mod a;\n#[cfg(test)]\npub(crate) mod golden;\n";
        assert_eq!(test_modules("x/src/main.rs", text).first().map(String::as_str), Some("x/src/golden.rs"));
        assert_eq!(test_modules("x/src/main.rs", text).len(), 3);
    }

    #[test]
    fn names_are_found_and_split() {
        let names = defined_names("pub(crate) struct TokenCache<'a> {\nmod local_file;\nlet mod_x = 1;\n");
        assert_eq!(names, [(1, "TokenCache".to_owned()), (2, "local_file".to_owned())]);
        assert_eq!(words("TokenCache_x"), ["token", "cache", "x"]);
    }
}
