//! Scripts can be run as the pages say: executable, with a first line, refusing what is not set.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;

use credmint_house::{File, files, nothing, root};

#[test]
fn every_script_is_executable() {
    let executable = |f: &File| root().join(&f.path).metadata().is_ok_and(|m| m.permissions().mode() & 0o111 != 0);
    let not: Vec<_> = scripts().into_iter().filter(|f| !executable(f)).map(|f| f.path).collect();
    nothing("a script is not executable", &not);
}

#[test]
fn every_shell_script_refuses_unset_variables() {
    let shell = |f: &File| f.text.lines().next().is_some_and(|first| first.ends_with("sh"));
    let stops = |f: &File| f.text.lines().any(|line| line.starts_with("set -") && line.contains('u'));
    let not: Vec<_> = scripts().into_iter().filter(|f| shell(f) && !stops(f)).map(|f| f.path).collect();
    nothing("a shell script has no `set -euo pipefail` (a runner of several things may leave out `e`)", &not);
}

#[test]
fn nothing_else_is_executable() {
    let executable = |f: &File| root().join(&f.path).metadata().is_ok_and(|m| m.permissions().mode() & 0o111 != 0);
    let wrong = files().into_iter().filter(|f| executable(f) && !f.text.starts_with("#!"));
    nothing("a file is executable and has no `#!`", &wrong.map(|f| f.path).collect::<Vec<_>>());
}

fn scripts() -> Vec<File> {
    files().into_iter().filter(|f| f.text.starts_with("#!") && !f.text.starts_with("#![")).collect()
}
