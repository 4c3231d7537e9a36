//! The texts that `--help` prints, held against golden files: a change of them is seen in review.
//! Regenerate with `CREDMINT_GOLDEN=write cargo test -p credmint`.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a test runs the program and reads its golden files"
)]

use std::path::Path;
use std::process::Command;

fn run(arguments: &[&str]) -> (String, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_credmint"));
    let output = command.args(arguments).env_remove("COLUMNS").output().expect("runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8").replace("credmint.exe", "credmint");
    (text(output.stdout), text(output.stderr), output.status.code())
}

fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("CREDMINT_GOLDEN").is_some() {
        return std::fs::write(&path, text).expect("written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert_eq!(text, golden, "{} differs; regenerate with CREDMINT_GOLDEN=write", path.display());
}

#[test]
fn help_is_like_the_golden_files() {
    let verbs: [&[&str]; 20] = [
        &[],
        &["setup"],
        &["setup", "provider"],
        &["login"],
        &["logout"],
        &["lock"],
        &["unlock"],
        &["needs-login"],
        &["status"],
        &["explain"],
        &["cert"],
        &["print"],
        &["exec"],
        &["env"],
        &["agent"],
        &["agent", "status"],
        &["agent", "stop"],
        &["agent", "anchor"],
        &["demo"],
        &["completion"],
    ];
    for verb in verbs {
        let (out, err, code) = run(&[verb, ["--help"].as_slice()].concat());
        assert_eq!((err.as_str(), code), ("", Some(0)), "{verb:?}");
        golden(&format!("help{}.txt", verb.iter().map(|word| format!("-{word}")).collect::<String>()), &out);
    }
}

#[test]
fn version_is_one_line() {
    assert_eq!(run(&["--version"]).0, format!("credmint {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn what_is_no_command_is_two_lines_and_status_64() {
    let (out, err, code) = run(&["explain"]);
    assert_eq!((out.as_str(), code), ("", Some(64)));
    assert_eq!(
        err,
        "credmint: the following required arguments were not provided: <HOST>\nhint: credmint explain HOST\n"
    );
    let (_, err, code) = run(&["explain", "café.example"]);
    assert_eq!((err.lines().count(), code), (2, Some(64)), "{err}");
}

#[test]
fn completion_scripts_know_the_verbs() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (out, err, code) = run(&["completion", shell]);
        assert_eq!((err.as_str(), code), ("", Some(0)));
        assert!(out.contains("setup") && out.contains("explain"), "{shell}");
    }
}
