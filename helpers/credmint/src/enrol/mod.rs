//! `credmint login HOST --csr` and `--certificate`: certificates that people sign.
//! A hostname and a file come in; the certification request goes into the file, or what was signed goes to the agent.
//! Never sees the private key: it is made in the agent and stays there.

pub(crate) mod text;

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use credmint_agent_protocol::{Answer, Ask, Enrol};
use credmint_local_machine::files::{self, ReadError};
use credmint_local_machine::{SettingsFiles, streams};
use credmint_settings::{Issuer, Settings};
use credmint_vocabulary::{Failure, FailureKind, Hostname};
use serde_json::json;

use crate::out::Style;
use crate::setup::settings_failure;
use crate::{agent, out, people_host};

/// The part of `credmint login` that is about certificates which people sign.
#[derive(Debug, Default, Args)]
pub(crate) struct ByHandArguments {
    /// For a host of issuer kind `offline`: write the certification request to FILE, or to standard output (-).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["device", "paste", "no_browser", "lifetime", "certificate"])]
    csr: Option<PathBuf>,
    /// For such a host: take what was signed from FILE, or from standard input (-). PEM or PKCS #7, in any order.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["device", "paste", "no_browser", "lifetime"])]
    certificate: Option<PathBuf>,
    /// With --csr: make another key and request; the one that waits is worth nothing then.
    #[arg(long, requires = "csr")]
    new: bool,
    /// With --csr: write over a file that holds something else.
    #[arg(long, requires = "csr")]
    force: bool,
}

impl ByHandArguments {
    /// Tells whether this is what is wanted of `credmint login`.
    pub(crate) const fn are_there(&self) -> bool {
        self.csr.is_some() || self.certificate.is_some()
    }
}

/// Runs it.
pub(crate) fn run(name: Option<&str>, arguments: &ByHandArguments, as_json: bool) -> Result<(), Failure> {
    let settings = settings()?;
    let host = host(name, &settings)?;
    match (&arguments.csr, &arguments.certificate) {
        (Some(file), _) => request(&host, file, arguments, as_json),
        (None, Some(file)) => complete(&host, file, as_json),
        (None, None) => Ok(()),
    }
}

/// Reads the settings as the agent would.
pub(crate) fn settings() -> Result<Settings, Failure> {
    let files = SettingsFiles::find();
    let texts = files.as_ref().map(SettingsFiles::read).transpose();
    let texts = texts.map_err(|error| Failure::new(FailureKind::Settings, error.to_string()))?.unwrap_or_default();
    credmint_settings::read(&texts).map_err(|error| settings_failure(&error))
}

/// Reads the host; without one it is the only one whose certificates people sign.
fn host(name: Option<&str>, settings: &Settings) -> Result<Hostname, Failure> {
    if let Some(name) = name {
        return Ok(people_host::read(name)?.hostname);
    }
    let by_hand =
        |host: &&Hostname| settings.host_route(host).is_some_and(|route| matches!(route.issuer, Issuer::Offline(_)));
    let all: Vec<&Hostname> = settings.hosts.keys().filter(by_hand).collect();
    match all.as_slice() {
        [only] => Ok((*only).clone()),
        [] => Err(Failure::new(FailureKind::Settings, "no host of the settings has an issuer of kind `offline`")
            .hint("add [issuer.by-hand] with kind = \"offline\" and common_name, and name it in the host's table")),
        [first, ..] => {
            let names: Vec<&str> = all.iter().map(|host| host.as_str()).collect();
            Err(Failure::new(FailureKind::Usage, format!("which host is meant: {}?", names.join(", ")))
                .hint(format!("credmint login {first} --csr FILE")))
        }
    }
}

fn request(host: &Hostname, file: &Path, arguments: &ByHandArguments, as_json: bool) -> Result<(), Failure> {
    let asked = Enrol { got: agent::about(host), new: arguments.new, certificate: None };
    let request = match agent::ask_or_start(Ask::Enrol(asked))? {
        Answer::Request(request) => request,
        other => return Err(unexpected(host, &other)),
    };
    let to_stdout = is_standard(file);
    if !to_stdout {
        write(file, request.request_pem.as_bytes(), arguments.force)?;
    }
    let said = text::of_request(&request, (!to_stdout).then_some(file), Style::of_stdout()).join("\n");
    match (as_json, to_stdout) {
        (true, _) => out::json(&json!(request)),
        (false, true) => {
            out::text(&request.request_pem);
            out::aside(&format!("{said}\n"));
        }
        (false, false) => out::text(&said),
    }
    Ok(())
}

fn complete(host: &Hostname, file: &Path, as_json: bool) -> Result<(), Failure> {
    let bytes = if is_standard(file) { from_stdin()? } else { read(file)? };
    if is_unsigned(&bytes) {
        return Err(unreadable(file, "is a certification request, and not yet what was made of it"));
    }
    // Binary PKCS #7 and DER travel as Base64, text as it is.
    let certificate = String::from_utf8(bytes).unwrap_or_else(|binary| STANDARD.encode(binary.as_bytes()));
    let asked = Enrol { got: agent::about(host), new: false, certificate: Some(certificate) };
    match agent::ask_or_start(Ask::Enrol(asked))? {
        Answer::Enrolled(entry) if as_json => out::json(&json!(entry)),
        Answer::Enrolled(entry) => out::text(&text::of_entry(&entry, agent::now(), Style::of_stdout()).join("\n")),
        other => return Err(unexpected(host, &other)),
    }
    Ok(())
}

fn unexpected(host: &Hostname, answer: &Answer) -> Failure {
    match answer {
        Answer::None => Failure::new(FailureKind::Settings, format!("the settings name no route for {host}"))
            .hint(format!("credmint explain {host}")),
        other => agent::unexpected(other),
    }
}

/// Tells whether a text has a certification request in it, and no certificate: the wrong one of two files.
fn is_unsigned(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.contains("CERTIFICATE REQUEST-----")
        && !text.contains("-----BEGIN CERTIFICATE-----")
        && !text.contains("PKCS7")
}

fn is_standard(file: &Path) -> bool {
    file == Path::new("-")
}

fn from_stdin() -> Result<Vec<u8>, Failure> {
    match streams::read_stdin(LARGEST) {
        Ok(Some(bytes)) => Ok(bytes.to_vec()),
        Ok(None) => Err(unreadable(Path::new("standard input"), "is larger than certificates are")),
        Err(error) => Err(unreadable(Path::new("standard input"), &format!("cannot be read: {error}"))),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    match files::read_bounded(file, LARGEST) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(unreadable(file, "is not there")),
        Err(ReadError::NotAFile) => Err(unreadable(file, "is no regular file; - is standard input")),
        Err(error) => Err(unreadable(file, &error.to_string())),
    }
}

fn unreadable(file: &Path, why: &str) -> Failure {
    Failure::new(FailureKind::Usage, format!("{} {why}", file.display()))
        .hint("give the file with the signed certificate")
}

/// Writes the request, which is public; a file that holds something else stays unless it is to be written over.
fn write(file: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    let there = files::read_bounded(file, LARGEST);
    let other = || {
        let what = format!("{} holds something else, and is left as it is", file.display());
        Failure::new(FailureKind::Usage, what).hint("--force writes over it; --csr - prints the request")
    };
    match there {
        Ok(Some(old)) if old == bytes => return Ok(()),
        Ok(None) => {}
        Err(ReadError::NotAFile) => return Err(other()),
        Ok(Some(_)) | Err(_) if !force => return Err(other()),
        Ok(Some(_)) | Err(_) => {}
    }
    files::write_public(file, bytes).map_err(|error| {
        let what = format!("{} cannot be written: {error}; the request waits in the agent", file.display());
        Failure::new(FailureKind::Usage, what).hint("give another file, or - for standard output")
    })
}

/// Says that what stands in a name's place is a host, if it is one; `None` for everything else.
pub(crate) fn is_a_host(name: &str, settings: &Settings) -> Option<Failure> {
    if settings.identities.contains_key(name) {
        return None;
    }
    let hostname = Hostname::from_comparison_form(name).ok()?;
    let route = settings.host_route(&hostname)?;
    let person = route.identities().find(|(_, identity)| identity.person().is_some()).map(|(name, _)| name);
    let what = format!("{hostname} is a host, and people sign in for an identity");
    let hint = match (route.issuer, person) {
        (Issuer::Offline(_), _) => format!("credmint login {hostname} --csr FILE, for its certificate"),
        (_, Some(person)) => format!("credmint login {person}"),
        (_, None) => format!("credmint explain {hostname}"),
    };
    Some(Failure::new(FailureKind::Usage, what).hint(hint))
}

/// What fits into a frame of the agent protocol, Base64 and all.
const LARGEST: usize = 40 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_itself_is_not_what_was_signed() {
        let request = "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n";
        let signed = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        assert!(is_unsigned(request.as_bytes()) && is_unsigned(request.replace("CERT", "NEW CERT").as_bytes()));
        assert!(!is_unsigned(signed.as_bytes()) && !is_unsigned(format!("{request}{signed}").as_bytes()));
        assert!(!is_unsigned(b"\x30\x82\xff"));
    }

    #[test]
    fn whoever_signs_in_at_vault_is_named_where_a_host_was_given() {
        let text = "[identity.me]\nkind = \"vault-oidc\"\naddress = \"https://vault.example\"\n\
            [issuer.vault]\nkind = \"vault-token\"\naddress = \"https://vault.example\"\nauth = { method = \"identity\" }\n\
            [host.\"registry.example\"]\nidentity = \"me\"\nissuer = \"vault\"\ndeliver = \"token\"\n";
        let settings = credmint_settings::read(&[("config.toml".into(), text.into())]).expect("settings");
        let failure = is_a_host("registry.example", &settings).expect("a host");
        assert_eq!(failure.hint.as_deref(), Some("credmint login me"));
    }
}
