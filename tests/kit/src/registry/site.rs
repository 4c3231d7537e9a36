//! The registry's own documents: discovery, versions, downloads (Terraform's module and provider registry protocols).
//!
//! A directory and a kind of links come in; files as a web server hands them out are written there.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::content::{Content, VERSION, platform};
use super::{HOST, Links};

/// Writes all documents and the archives below a directory.
pub(super) fn write(site: &Path, content: &Content, links: Links, address: &str) {
    document(
        site,
        ".well-known/terraform.json",
        &json!({ "modules.v1": "/v1/modules/", "providers.v1": "/v1/providers/" }),
    );
    let versions = json!({ "modules": [{ "versions": [{ "version": VERSION }] }] });
    document(site, "v1/modules/corp/network/aws/versions", &versions);
    let (os, arch) = platform();
    let versions = json!({ "versions": [{ "version": VERSION, "protocols": ["5.0"], "platforms": [{ "os": os, "arch": arch }] }] });
    document(site, "v1/providers/corp/widget/versions", &versions);
    let download = format!("v1/providers/corp/widget/{VERSION}/download/{os}/{arch}");
    document(site, &download, &provider(content, links, address));
    let archives = site.join("archives");
    fs::create_dir_all(&archives).expect("a directory for the archives");
    let sums = Content::check_sums_file();
    for file in ["network-1.0.0.zip".into(), Content::provider_file(), format!("{sums}.sig"), sums] {
        fs::copy(content.directory().join(&file), archives.join(&file)).expect("a copy of an archive");
    }
}

/// Names a file of the archives as the registry's answers do.
pub(super) fn link(links: Links, address: &str, file: &str) -> String {
    match links {
        Links::Host => format!("https://{HOST}/archives/{file}"),
        Links::Address => format!("{address}/archives/{file}"),
        Links::Relative => format!("/archives/{file}"),
    }
}

fn provider(content: &Content, links: Links, address: &str) -> Value {
    let (os, arch) = platform();
    let (armor, id) = content.signing_key();
    let sums = Content::check_sums_file();
    json!({
        "protocols": ["5.0"], "os": os, "arch": arch,
        "filename": Content::provider_file(),
        "download_url": link(links, address, &Content::provider_file()),
        "shasums_url": link(links, address, &sums),
        "shasums_signature_url": link(links, address, &format!("{sums}.sig")),
        "shasum": content.check_sum(),
        "signing_keys": { "gpg_public_keys": [{ "key_id": id, "ascii_armor": armor }] },
    })
}

fn document(site: &Path, path: &str, value: &Value) {
    let file = site.join(path);
    fs::create_dir_all(file.parent().expect("a directory")).expect("its directory");
    fs::write(file, value.to_string()).expect("a document");
}
