//! Where a Vault is, checked before anything is sent there.
//! Address, namespace, mounts and roles of the settings come in, a base address that is fit for requests goes out.
//! Sends nothing. What slips through here would be a request to another path: mounts and roles become path segments.

use credmint_https::{Trust, host_and_port};
use credmint_identities::trust;
use credmint_settings::{Peer, VaultLogin};
use http::HeaderValue;
use url::Url;

use crate::error::GrantError;

/// Names a Vault and how it is reached.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Address with path prefix and version, without a slash at the end.
    pub(crate) base: String,
    /// Host and port, for messages.
    pub(crate) who: String,
    /// Value of the namespace header.
    pub(crate) namespace: Option<HeaderValue>,
    /// Trust and proxy.
    pub(crate) trust: Trust,
}

impl Server {
    /// Checks the settings.
    pub(crate) fn of(login: &VaultLogin) -> Result<Self, GrantError> {
        Self::at(&login.address, login.namespace.as_deref(), &login.peer)
    }

    /// Checks an address and a namespace.
    pub(crate) fn at(address: &str, name: Option<&str>, peer: &Peer) -> Result<Self, GrantError> {
        let (base, who) = base(address)?;
        let namespace = name.map(namespace).transpose()?;
        Ok(Self { base, who, namespace, trust: trust(peer) })
    }

    /// Names it so that two servers, or two namespaces, never have the same name.
    pub(crate) fn home(&self) -> String {
        let namespace = self.namespace.as_ref().and_then(|name| name.to_str().ok()).unwrap_or_default();
        format!("{} {namespace}", self.base)
    }
}

fn base(address: &str) -> Result<(String, String), GrantError> {
    let refuse = |what: &str| GrantError::Settings(format!("the Vault address {what}"));
    let url = Url::parse(address).map_err(|_| refuse("is no URL"))?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(refuse("is no https URL"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse("has user information"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("has a query or a fragment"));
    }
    let who = host_and_port(&url).ok_or_else(|| refuse("has no host"))?;
    let prefix = url.path().trim_matches('/');
    if !prefix.is_empty() {
        check_path("address", prefix)?;
    }
    let origin = url.origin().ascii_serialization();
    Ok((if prefix.is_empty() { format!("{origin}/v1") } else { format!("{origin}/{prefix}/v1") }, who))
}

fn namespace(name: &str) -> Result<HeaderValue, GrantError> {
    let refuse = || GrantError::Settings("the Vault namespace has a character that no namespace has".to_owned());
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(refuse());
    }
    HeaderValue::from_str(name).map_err(|_| refuse())
}

/// Refuses what would lead to another path: empty segments, dots, queries, control characters.
pub(crate) fn check_path(what: &str, path: &str) -> Result<(), GrantError> {
    let fit = |segment: &str| !segment.is_empty() && segment != "." && segment != ".." && segment.chars().all(is_plain);
    if path.split('/').all(fit) {
        return Ok(());
    }
    Err(GrantError::Settings(format!(
        "the Vault {what} is no path: no empty segments, `..`, `?`, `#`, `%` or blanks in it"
    )))
}

/// Refuses a role that is not one segment.
pub(crate) fn check_role(role: &str) -> Result<(), GrantError> {
    if role.contains('/') {
        return Err(GrantError::Settings("the Vault role has a slash, which no role has".to_owned()));
    }
    check_path("role", role)
}

fn is_plain(character: char) -> bool {
    !character.is_control() && !character.is_whitespace() && !matches!(character, '?' | '#' | '%' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_prefix_is_kept_and_slashes_are_single() {
        let base = |address: &str| base(address).unwrap();
        assert_eq!(base("https://h:8200"), ("https://h:8200/v1".into(), "h:8200".into()));
        assert_eq!(base("https://h/vault/").0, "https://h/vault/v1");
        assert_eq!(base("http://[::1]:8200/a/b").0, "http://[::1]:8200/a/b/v1");
    }

    #[test]
    fn addresses_that_could_mislead_are_refused() {
        for address in ["nonsense", "ftp://h", "https://u:p@h", "https://h?x=1", "https://h#f", "https://h/a//b"] {
            assert!(matches!(base(address), Err(GrantError::Settings(_))), "{address}");
        }
    }

    #[test]
    fn mounts_may_have_slashes_and_roles_may_not() {
        assert!(check_path("mount", "teams/net/pki_int").is_ok() && check_role("registry-client").is_ok());
        for path in ["", "/pki", "pki/", "a//b", "a/../sys", ".", "pki?x", "pki#x", "a b", "a\nb", "a%2fb", "a\\b"] {
            assert!(check_path("mount", path).is_err(), "{path}");
        }
        for role in ["x/../../sys/seal?a=b", "a/b", "", ".."] {
            assert!(check_role(role).is_err(), "{role}");
        }
    }

    #[test]
    fn namespaces_are_header_values() {
        assert!(namespace("team/a").is_ok());
        assert!(namespace("a\nb").is_err() && namespace("").is_err() && namespace("a b").is_err());
    }
}
