//! Every lint that is switched off says why, where it stands.

use credmint_house::{nothing, rust_files};

#[test]
fn every_allow_and_expect_has_a_reason() {
    let mut found = Vec::new();
    for file in rust_files(&["common/", "helpers/", "packaging/", "protocol-spec/", "tests/"]) {
        let lines: Vec<&str> = file.text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            if switches_a_lint_off(line.trim_start())
                && !attribute(lines.get(at..).unwrap_or_default()).contains("reason =")
            {
                found.push(format!("{}:{}: {}", file.path, at + 1, line.trim()));
            }
        }
    }
    nothing("a lint is switched off without a reason", &found);
}

fn switches_a_lint_off(line: &str) -> bool {
    let inside = line.strip_prefix("#![").or_else(|| line.strip_prefix("#["));
    inside.is_some_and(|i| {
        i.starts_with("allow(") || i.starts_with("expect(") || i.starts_with("cfg_attr(") && i.contains("allow(")
    })
}

/// Gives the whole attribute, which rustfmt may have broken over lines.
fn attribute(lines: &[&str]) -> String {
    let end = lines.iter().position(|line| line.ends_with(")]")).map_or(lines.len(), |at| at + 1);
    lines.get(..end).unwrap_or_default().join("\n")
}
