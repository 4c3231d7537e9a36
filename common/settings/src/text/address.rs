//! Addresses of servers: `https`, and `http` only where nobody can listen in.
//! Text comes in, the reason why it will not do goes out.
//! Repeats no address: it may have a password in it.

use url::{Host, Url};

/// Says what an address may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A server, perhaps with a path prefix.
    Server,
    /// An endpoint: may have a query (RFC 6749 §3.2).
    Endpoint,
    /// A proxy: `http` is allowed anywhere, a path is not.
    Proxy,
}

/// Checks an address; the reason comes with a hint.
pub(crate) fn check(text: &str, rule: Rule) -> Result<(), (&'static str, &'static str)> {
    let url = Url::parse(text).map_err(|_| ("is not a URL", "write it as https://name or https://name:port"))?;
    if !matches!(url.scheme(), "https" | "http") || url.host().is_none() {
        return Err(("is not an https URL", "write it as https://name or https://name:port"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err((
            "has user information in it",
            "secrets are not accepted in the settings; leave out what is before the `@`",
        ));
    }
    if url.fragment().is_some() || (rule != Rule::Endpoint && url.query().is_some()) {
        return Err(("has a query or fragment in it", "leave out what follows `?` or `#`"));
    }
    match rule {
        Rule::Proxy if url.path() != "/" => Err(("has a path in it", "a proxy is named by scheme, name and port")),
        Rule::Server | Rule::Endpoint if url.scheme() == "http" && !is_loopback(&url) => {
            Err(("is http, which is accepted on loopback only", "use https"))
        }
        _ => Ok(()),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str, rule: Rule) -> &'static str {
        check(text, rule).map_or_else(|(reason, _)| reason, |()| "")
    }

    #[test]
    fn https_and_loopback_http_are_servers() {
        for text in
            ["https://vault.corp.example:8200", "http://127.0.0.1:8200", "http://[::1]:1/prefix", "http://localhost"]
        {
            assert_eq!(reason(text, Rule::Server), "", "{text}");
        }
    }

    #[test]
    fn plain_http_elsewhere_is_refused() {
        for text in ["http://vault.corp.example", "http://10.0.0.1", "http://localhost.corp.example"] {
            assert!(reason(text, Rule::Server).starts_with("is http,"), "{text}");
        }
    }

    #[test]
    fn user_information_query_and_fragment_are_refused() {
        assert_eq!(reason("https://me:pw@a.example", Rule::Server), "has user information in it");
        assert_eq!(reason("http://me@proxy.example:3128", Rule::Proxy), "has user information in it");
        assert_eq!(reason("https://a.example?x=1", Rule::Server), "has a query or fragment in it");
        assert_eq!(reason("https://a.example/token?p=1", Rule::Endpoint), "");
        assert_eq!(reason("https://a.example/token#x", Rule::Endpoint), "has a query or fragment in it");
    }

    #[test]
    fn what_is_no_web_address_is_refused() {
        for text in ["", "vault.corp.example", "vault.corp.example:8200", "ftp://a.example", "unix:/run/x", "https://"]
        {
            assert!(!reason(text, Rule::Server).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_proxy_is_plain() {
        assert_eq!(reason("http://proxy.corp.example:3128", Rule::Proxy), "");
        assert_eq!(reason("http://proxy.corp.example:3128/x", Rule::Proxy), "has a path in it");
    }
}
