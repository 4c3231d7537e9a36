//! The documents of a mirror and those of a provider registry that say the same.
//! JSON of the one comes in, JSON of the other goes out; who signs and where archives are is the caller's business.
//! Pure. A mirror knows no protocol versions: an empty list is one that Terraform does not hold against the provider.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

/// `index.json`.
#[derive(Deserialize)]
struct Index {
    versions: BTreeMap<String, Value>,
}

/// `VERSION.json`.
#[derive(Deserialize)]
struct Version {
    archives: BTreeMap<String, Archive>,
}

/// One package of a mirror.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub(super) struct Archive {
    /// Where it is; relative to the document.
    pub(super) url: String,
    #[serde(default)]
    hashes: Vec<String>,
}

/// One package, in the words of a registry.
pub(super) struct Package<'a> {
    /// Operating system.
    pub(super) os: &'a str,
    /// Processor.
    pub(super) arch: &'a str,
    /// Name in the check sums.
    pub(super) file: &'a str,
    /// Where the archive is.
    pub(super) archive: String,
    /// SHA-256 of it.
    pub(super) sum: &'a str,
    /// Where the check sums are.
    pub(super) sums: String,
    /// Where their signature is.
    pub(super) signature: String,
    /// Id of the key.
    pub(super) key_id: String,
    /// The key.
    pub(super) key: &'a str,
}

/// Translates the list of versions; `None` if it is no such document.
pub(super) fn versions(index: &[u8]) -> Option<Vec<u8>> {
    let index: Index = serde_json::from_slice(index).ok()?;
    let versions: Vec<_> = index.versions.keys().map(|version| json!({ "version": version })).collect();
    Some(json!({ "versions": versions }).to_string().into_bytes())
}

/// Finds a package; `None` if it is no such document, and `Some(None)` if it has none for this platform.
pub(super) fn archive(version: &[u8], os: &str, arch: &str) -> Option<Option<Archive>> {
    let mut version: Version = serde_json::from_slice(version).ok()?;
    Some(version.archives.remove(&format!("{os}_{arch}")))
}

impl Archive {
    /// Lists what the mirror says is the SHA-256 of the archive: each of its `zh:` hashes.
    pub(super) fn sums(&self) -> Vec<String> {
        let sums = self.hashes.iter().filter_map(|hash| hash.strip_prefix("zh:"));
        let is_sum = |sum: &&str| sum.len() == 64 && sum.chars().all(|c| c.is_ascii_hexdigit());
        let mut sums: Vec<String> = sums.filter(is_sum).map(str::to_ascii_lowercase).collect();
        sums.sort();
        sums.dedup();
        sums
    }
}

impl Package<'_> {
    /// Writes the document of the registry.
    pub(super) fn json(self) -> Vec<u8> {
        let Self { os, arch, file, archive, sum, sums, signature, key_id, key } = self;
        let package = json!({
            "protocols": [], "os": os, "arch": arch, "filename": file, "download_url": archive, "shasum": sum,
            "shasums_url": sums, "shasums_signature_url": signature,
            "signing_keys": { "gpg_public_keys": [{ "key_id": key_id, "ascii_armor": key }] },
        });
        package.to_string().into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_listed_as_a_registry_lists_them() {
        let text = |index: &str| versions(index.as_bytes()).map(|json| String::from_utf8(json).expect("UTF-8"));
        let list = text(r#"{"versions":{"2.0.0":{},"1.0.0":{"later":1}},"later":[]}"#);
        assert_eq!(list.as_deref(), Some(r#"{"versions":[{"version":"1.0.0"},{"version":"2.0.0"}]}"#));
        assert_eq!((text("[]"), text("<html>"), text("{}")), (None, None, None));
    }

    #[test]
    fn a_package_is_found_by_its_platform_and_its_sums_by_their_scheme() {
        let sum = "AB".repeat(32);
        let json = format!(
            r#"{{"archives":{{"linux_amd64":{{"url":"p.zip","hashes":["h1:x=","zh:{sum}","zh:{}","zh:short"]}},"linux_arm64":{{"url":"q.zip"}}}}}}"#,
            sum.to_lowercase()
        );
        let found = archive(json.as_bytes(), "linux", "amd64").flatten().expect("found");
        assert_eq!((found.url.as_str(), found.sums()), ("p.zip", vec![sum.to_lowercase()]));
        assert!(archive(json.as_bytes(), "linux", "arm64").flatten().expect("found").sums().is_empty());
        assert_eq!(archive(json.as_bytes(), "windows", "amd64"), Some(None));
        assert_eq!(archive(b"<html>", "linux", "amd64"), None);
    }
}
