//! A hostname is not a string: it is the comparison form of Terraform's service hostname.
//! The text of an argument or of a settings key comes in, a checked name goes out.
//! Touches nothing. `protocol-spec/helper-protocol.md`, Hostnames; hashicorp/terraform-svchost `ForComparison`.

use std::fmt;
use std::net::Ipv6Addr;

/// Names a host as Terraform compares it: lower-case ASCII (IDN in Punycode), `:port` unless 443.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hostname {
    text: String,
    name_length: usize,
    port: Option<u16>,
}

/// Says why a text is not a hostname in comparison form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostnameError {
    /// Nothing was there.
    #[error("the hostname is empty")]
    Empty,
    /// Longer than DNS allows.
    #[error("the hostname is longer than 253 characters")]
    TooLong,
    /// A control character: CVE-2020-5260 (git) selected another secret with one.
    #[error("the hostname has a control character at position {0}")]
    ControlCharacter(usize),
    /// `https://…` in place of a name.
    #[error("a URL stands in place of a hostname")]
    Url,
    /// `name/path`.
    #[error("the hostname has a path")]
    Path,
    /// `user@name`.
    #[error("the hostname has user information")]
    UserInformation,
    /// Not lower case.
    #[error("the hostname has upper-case letters")]
    UpperCase,
    /// Not ASCII.
    #[error("the hostname is not in Punycode")]
    Unicode,
    /// A port that is none, or 443, which comparison form leaves out.
    #[error("the port is not one that comparison form has (1 to 65535, 443 left out)")]
    Port,
    /// Anything else that no hostname has.
    #[error("the hostname has a character or an empty label that no hostname has, at position {0}")]
    Character(usize),
}

impl Hostname {
    /// Accepts comparison form and nothing else, as a credentials helper receives it.
    ///
    /// # Errors
    /// The first reason why the text is not a hostname in comparison form.
    pub fn from_comparison_form(text: &str) -> Result<Self, HostnameError> {
        refuse_what_is_no_name(text)?;
        let (name, port) = split_port(text)?;
        check_name(name)?;
        Ok(Self { name_length: name.len(), port, text: text.to_owned() })
    }

    /// Gives the comparison form, port included.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Gives the name without the port, IPv6 literals in brackets.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text.get(..self.name_length).unwrap_or(&self.text)
    }

    /// Gives the port; 443 where comparison form has none.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(443)
    }
}

impl fmt::Display for Hostname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn refuse_what_is_no_name(text: &str) -> Result<(), HostnameError> {
    if text.is_empty() {
        return Err(HostnameError::Empty);
    }
    if let Some(at) = text.chars().position(char::is_control) {
        return Err(HostnameError::ControlCharacter(at));
    }
    if text.contains("://") {
        return Err(HostnameError::Url);
    }
    if text.contains(['/', '?', '#', '\\']) {
        return Err(HostnameError::Path);
    }
    if text.contains('@') {
        return Err(HostnameError::UserInformation);
    }
    if !text.is_ascii() {
        return Err(HostnameError::Unicode);
    }
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        return Err(HostnameError::UpperCase);
    }
    Ok(())
}

/// Splits `name:port`; the colons of an IPv6 literal stand in brackets.
fn split_port(text: &str) -> Result<(&str, Option<u16>), HostnameError> {
    let bracket = text.rfind(']').map_or(0, |at| at + 1);
    let Some(colon) = text.get(bracket..).and_then(|rest| rest.find(':')).map(|at| at + bracket) else {
        return Ok((text, None));
    };
    let digits = text.get(colon + 1..).unwrap_or_default();
    let canonical = !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
    match digits.parse::<u16>() {
        Ok(port) if canonical && port != 443 => Ok((text.get(..colon).unwrap_or_default(), Some(port))),
        _ => Err(HostnameError::Port),
    }
}

fn check_name(name: &str) -> Result<(), HostnameError> {
    if name.len() > 253 {
        return Err(HostnameError::TooLong);
    }
    if let Some(inner) = name.strip_prefix('[') {
        let literal = inner.strip_suffix(']').and_then(|v6| v6.parse::<Ipv6Addr>().ok());
        return literal.map(|_| ()).ok_or(HostnameError::Character(0));
    }
    let bad = |b: u8| !(b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.' || b == b'_');
    if let Some(at) = name.bytes().position(bad) {
        return Err(HostnameError::Character(at));
    }
    let mut start = 0;
    for label in name.split('.') {
        if label.is_empty() || label.len() > 63 || label.starts_with('-') || label.ends_with('-') {
            return Err(HostnameError::Character(start));
        }
        start += label.len() + 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<HostnameError> {
        Hostname::from_comparison_form(text).err()
    }

    #[test]
    fn hostname_keeps_its_port() {
        let host = Hostname::from_comparison_form("registry.corp.example:8443").ok();
        assert_eq!(
            host.as_ref().map(|h| (h.as_str(), h.name(), h.port())),
            Some(("registry.corp.example:8443", "registry.corp.example", 8443))
        );
        let host = Hostname::from_comparison_form("[::1]:8443").ok();
        assert_eq!(host.as_ref().map(|h| (h.name(), h.port())), Some(("[::1]", 8443)));
        assert_eq!(Hostname::from_comparison_form("xn--caf-dma.example").map(|h| h.port()), Ok(443));
    }

    #[test]
    fn url_in_place_of_hostname_is_refused() {
        assert_eq!(refused("https://a.example"), Some(HostnameError::Url));
        assert_eq!(refused("a.example/v1"), Some(HostnameError::Path));
        assert_eq!(refused("user@a.example"), Some(HostnameError::UserInformation));
    }

    #[test]
    fn hostname_in_unicode_or_upper_case_is_refused() {
        assert_eq!(refused("café.example"), Some(HostnameError::Unicode));
        assert_eq!(refused("A.example"), Some(HostnameError::UpperCase));
    }

    #[test]
    fn control_bytes_are_refused_cve_2020_5260() {
        assert_eq!(refused("a.example\nhost=b"), Some(HostnameError::ControlCharacter(9)));
        assert_eq!(refused("a\0b"), Some(HostnameError::ControlCharacter(1)));
    }

    #[test]
    fn ports_have_one_spelling() {
        for text in
            ["a.example:443", "a.example:0", "a.example:08", "a.example:", "a.example:99999", "a.example:1:2", "::1"]
        {
            assert_eq!(refused(text), Some(HostnameError::Port), "{text}");
        }
    }

    #[test]
    fn odd_names_are_refused() {
        assert_eq!(refused(""), Some(HostnameError::Empty));
        assert_eq!(refused("a..b"), Some(HostnameError::Character(2)));
        assert_eq!(refused("-a.b"), Some(HostnameError::Character(0)));
        assert_eq!(refused("a b"), Some(HostnameError::Character(1)));
        assert_eq!(refused("[::zz]"), Some(HostnameError::Character(0)));
        assert_eq!(refused(&"a".repeat(254)), Some(HostnameError::TooLong));
    }
}
