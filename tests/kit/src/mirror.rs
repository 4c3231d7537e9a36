//! A provider mirror on the private registry's own server, in the layout that `terraform providers mirror` writes.
//!
//! A [`Registry`] and what the documents are to say of the archive come in; `index.json`, `VERSION.json` and the archive are
//! written below its site, at `/mirror/<registry of the provider>/corp/widget/`. Programs used: `unzip`, `sha256sum`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::encoding;
use crate::registry::{Registry, VERSION, platform};

/// The path of the mirror at its host.
pub const PATH: &str = "/mirror/";

/// What the documents say of the archive.
#[derive(Clone, Debug)]
pub enum Hashes {
    /// Its SHA-256.
    Zh,
    /// The hash of what is in it, as `terraform providers mirror` writes it.
    H1,
    /// Exactly these.
    These(Vec<String>),
}

/// Writes the mirror of one version of `<host>/corp/widget`; `url` stands in its document, and nothing else means the file beside it.
pub fn write(registry: &Registry, host: &str, hashes: &Hashes, url: Option<&str>) {
    let directory = registry.site().join(format!("mirror/{host}/corp/widget"));
    fs::create_dir_all(&directory).expect("a directory for the mirror");
    let archive = archive(registry);
    let (os, arch) = platform();
    let file = archive.file_name().expect("a file name").to_string_lossy().into_owned();
    fs::copy(&archive, directory.join(&file)).expect("a copy of the archive");
    let hashes = match hashes {
        Hashes::Zh => vec![zh(&archive)],
        Hashes::H1 => vec![h1(&archive)],
        Hashes::These(hashes) => hashes.clone(),
    };
    let url = url.unwrap_or(&file);
    let mut archives = json!({});
    archives[format!("{os}_{arch}")] = json!({ "url": url, "hashes": hashes });
    document(&directory.join("index.json"), &json!({ "versions": { VERSION: {} } }));
    document(&directory.join(format!("{VERSION}.json")), &json!({ "archives": archives }));
}

/// Gives the archive of the provider.
#[must_use]
pub fn archive(registry: &Registry) -> PathBuf {
    let (os, arch) = platform();
    registry.site().join(format!("archives/terraform-provider-widget_{VERSION}_{os}_{arch}.zip"))
}

/// Gives the hash of an archive, in the words of the lock file.
#[must_use]
pub fn zh(archive: &Path) -> String {
    format!("zh:{}", sum(&format!("sha256sum < '{}'", archive.display())))
}

/// Gives the hash of what is in the archive of the provider, in the words of the lock file.
#[must_use]
pub fn h1(archive: &Path) -> String {
    let inside = sum(&format!("unzip -p '{}' | sha256sum", archive.display()));
    let listed = sum(&format!("printf '%s  %s\\n' {inside} terraform-provider-widget_v{VERSION} | sha256sum"));
    let byte = |at: usize| u8::from_str_radix(&listed[at..at + 2], 16).expect("hexadecimal");
    format!("h1:{}", encoding::base64(&(0..64).step_by(2).map(byte).collect::<Vec<u8>>()))
}

fn sum(line: &str) -> String {
    let output = Command::new("/bin/sh").args(["-c", line]).output().expect("a shell");
    let text = String::from_utf8(output.stdout).expect("a check sum");
    text.split_whitespace().next().expect("a check sum").to_owned()
}

fn document(path: &Path, value: &Value) {
    fs::write(path, value.to_string()).expect("a document");
}
