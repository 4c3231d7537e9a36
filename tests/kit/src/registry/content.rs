//! What the registry serves that does not change: archives, check sums, a signature, and the key that made it.
//!
//! Nothing comes in; a directory below `target/peers` goes out, made once and used by every test. The signing key is
//! thrown away as soon as it has signed. Programs used: `zip`, `sha256sum`, `gpg`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::peer;

/// Raised when what is made here changes.
const GENERATION: &str = "registry-content-1";

/// The one version of module and provider.
pub const VERSION: &str = "1.0.0";

/// The ready content.
pub(super) struct Content {
    directory: PathBuf,
}

/// Names the platform as Terraform does.
pub fn platform() -> (&'static str, &'static str) {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    ("linux", architecture)
}

impl Content {
    /// Finds the content, or makes it.
    pub(super) fn get() -> Self {
        let peers = peer::installed(".");
        let directory = peers.join(GENERATION);
        if !directory.exists() {
            let draft =
                tempfile::Builder::new().prefix("draft-").tempdir_in(&peers).expect("a directory in target/peers");
            make(draft.path());
            // Two tests may get here at once; the second finds the name taken by the same content and drops its own.
            if fs::rename(draft.path(), &directory).is_ok() {
                let _ = draft.keep();
            }
        }
        Self { directory }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Gives the provider's file name.
    pub(super) fn provider_file() -> String {
        let (system, architecture) = platform();
        format!("terraform-provider-widget_{VERSION}_{system}_{architecture}.zip")
    }

    pub(super) fn check_sums_file() -> String {
        format!("terraform-provider-widget_{VERSION}_SHA256SUMS")
    }

    /// Gives the SHA-256 of the provider's archive.
    pub(super) fn check_sum(&self) -> String {
        let sums = self.text(&Self::check_sums_file());
        sums.split_whitespace().next().expect("a check sum").to_owned()
    }

    /// Gives the armoured public key and its id.
    pub(super) fn signing_key(&self) -> (String, String) {
        (self.text("key.asc"), self.text("key.id").trim().to_owned())
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.directory.join(file)).unwrap_or_else(|_| panic!("{file} in the registry's content"))
    }
}

fn make(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).expect("a directory that others may read");
    let module = "output \"network\" {\n  value = \"10.0.0.0/8\"\n}\n";
    archive(directory, "network-1.0.0.zip", "main.tf", module, 0o644);
    let provider = "#!/bin/sh\necho 'a provider that only has to be installed' >&2\nexit 1\n";
    let program = format!("terraform-provider-widget_v{VERSION}");
    archive(directory, &Content::provider_file(), &program, provider, 0o755);
    let sums = run(directory, "sha256sum", [Content::provider_file()]);
    fs::write(directory.join(Content::check_sums_file()), sums).expect("the check sums");
    sign(directory, &Content::check_sums_file());
}

fn archive(directory: &Path, name: &str, file: &str, contents: &str, mode: u32) {
    let path = directory.join(file);
    fs::write(&path, contents).expect("a file for the archive");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
    run(directory, "zip", ["-q", "-X", name, file]);
    fs::remove_file(path).expect("the file is in the archive now");
}

fn sign(directory: &Path, file: &str) {
    let keys = TempDir::with_prefix("gpg").expect("a directory for the signing key");
    let gpg = |arguments: &[&str]| {
        let home = keys.path().display().to_string();
        let basis =
            ["--homedir", &home, "--batch", "--yes", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""];
        run(directory, "gpg", basis.iter().chain(arguments))
    };
    gpg(&["--quick-generate-key", "Widget <widget@corp.example>", "rsa2048", "sign", "never"]);
    gpg(&["--output", &format!("{file}.sig"), "--detach-sign", file]);
    let armoured = gpg(&["--armor", "--export"]);
    fs::write(directory.join("key.asc"), armoured).expect("the public key");
    let listing = String::from_utf8(gpg(&["--with-colons", "--list-keys"])).expect("text from gpg");
    let id = listing.lines().find(|line| line.starts_with("pub:")).and_then(|line| line.split(':').nth(4));
    fs::write(directory.join("key.id"), id.expect("a key id")).expect("the key id");
    let home = keys.path().display().to_string();
    run(directory, "gpgconf", ["--homedir", &home, "--kill", "all"]);
}

fn run<T: AsRef<OsStr>>(directory: &Path, program: &str, arguments: impl IntoIterator<Item = T>) -> Vec<u8> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    let output = command.output().unwrap_or_else(|error| panic!("{program} does not start: {error}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
