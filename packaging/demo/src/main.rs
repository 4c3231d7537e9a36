//! `cargo demo`: builds the executables, then hands over to `credmint demo` with the same arguments.
//! Arguments come in, an exit status goes out.
//! Builds with the cargo that runs it, in the profile it was built in itself; cargo shows how far it is.
#![expect(clippy::disallowed_methods, reason = "starts cargo and what it built, as cargo tells by its variables")]

use std::env;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const PACKAGES: [&str; 3] = ["credmint", "credmint-agent", "terraform-credentials-credmint"];

fn main() -> ExitCode {
    match build().and_then(|credmint| run(&credmint)) {
        Ok(status) => status,
        Err(what) => {
            drop(writeln!(std::io::stderr(), "credmint-demo: {what}"));
            ExitCode::FAILURE
        }
    }
}

/// Builds the executables and gives the place of `credmint`, which is beside this one.
fn build() -> Result<PathBuf, String> {
    let own = env::current_exe().map_err(|error| format!("this executable: {error}"))?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command.args(["build", "--bins"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(PACKAGES.iter().flat_map(|package| ["-p", package]));
    command.args(profile(&own)).args(target_directory(&own));
    let status = command.status().map_err(|error| format!("{}: {error}", cargo.display()))?;
    let credmint = own.with_file_name(format!("credmint{}", env::consts::EXE_SUFFIX));
    if status.success() { Ok(credmint) } else { Err("the executables could not be built".to_owned()) }
}

/// Reads the profile off our own place, `target/PROFILE/credmint-demo`; `debug` is cargo's name for `dev`.
fn profile(own: &std::path::Path) -> [String; 2] {
    let name = own.parent().and_then(|directory| directory.file_name()).unwrap_or_default().to_string_lossy();
    ["--profile".to_owned(), if name == "debug" { "dev".to_owned() } else { name.into_owned() }]
}

/// Builds into the directory that we were built into, whatever the configuration says.
fn target_directory(own: &std::path::Path) -> Vec<std::ffi::OsString> {
    let directory = own.parent().and_then(std::path::Path::parent);
    directory.map(|directory| vec!["--target-dir".into(), directory.into()]).unwrap_or_default()
}

fn run(credmint: &std::path::Path) -> Result<ExitCode, String> {
    let status = Command::new(credmint).arg("demo").args(env::args_os().skip(1)).status();
    let status = status.map_err(|error| format!("{}: {error}", credmint.display()))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
