//! Which requests no client of the bridge makes: those of web pages, of proxies in between, and those that two readers read in two ways.
//! A request's head comes in, the name by which it reached us or a refusal goes out.
//! Pure. `protocol-spec/bridge-protocol.md` §3; RFC 9112 §3.2, RFC 9110 §5.3 and §7.6.3.

use credmint_vocabulary::Failure;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};

use super::forward::refused;
use crate::loopback;

/// Gives the name by which a request reached us. It was made for us, by a program, and came straight here; or it is refused.
pub(super) fn own_name(uri: &Uri, headers: &HeaderMap, port: u16) -> Result<String, Failure> {
    let own = loopback::own_name(headers, port);
    // With `GET http://…`, that is the host and `Host` is not (RFC 9112 §3.2.2); it has no user information either.
    let own = own.filter(|own| uri.authority().is_none_or(|authority| authority == own));
    let own = own.ok_or_else(|| refused("the request was made for another host"))?;
    is_of_a_program(headers)?;
    Ok(own.to_owned())
}

/// Refuses what a web page sends, or another proxy.
pub(crate) fn is_of_a_program(headers: &HeaderMap) -> Result<(), Failure> {
    if OF_PAGES.iter().any(|name| headers.contains_key(name)) {
        return Err(refused("the request comes from a web browser"));
    }
    if OF_PROXIES.iter().any(|name| headers.contains_key(name)) {
        return Err(refused("the request was passed on from elsewhere: the bridge is for programs of this machine"));
    }
    Ok(())
}

/// Gives the `Authorization` of a request, of which there is one at most.
pub(super) fn authorization(headers: &HeaderMap) -> Result<Option<&HeaderValue>, Failure> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let first = all.next();
    if all.next().is_some() { Err(refused("the request has two of Authorization")) } else { Ok(first) }
}

/// Refuses a path that a server may read as leading up and out of where it begins. `..` itself is resolved already: what is left
/// is written in another way, such as `..%2f`.
pub(super) fn stays_below(path: &str) -> Result<(), Failure> {
    let mut path = path.to_ascii_lowercase();
    for _ in 0..DEEPEST {
        // What follows a semicolon is a parameter of the segment (RFC 3986 §3.3).
        if path.split(['/', '\\']).any(|segment| segment.split(';').next() == Some("..")) {
            return Err(refused("the path of the request leads upwards"));
        }
        let decoded = SPELLINGS.iter().fold(path.clone(), |path, (spelling, meant)| path.replace(spelling, meant));
        if decoded == path {
            return Ok(());
        }
        path = decoded;
    }
    Err(refused("the path of the request is encoded again and again"))
}

/// A browser says one of these of each request; `Sec-Fetch-Mode` alone is said by programs, too.
const OF_PAGES: [HeaderName; 3] =
    [header::ORIGIN, HeaderName::from_static("sec-fetch-site"), HeaderName::from_static("sec-fetch-dest")];
const OF_PROXIES: [HeaderName; 3] =
    [header::FORWARDED, HeaderName::from_static("x-forwarded-for"), HeaderName::from_static("x-forwarded-host")];
const SPELLINGS: [(&str, &str); 5] = [("%25", "%"), ("%2e", "."), ("%2f", "/"), ("%5c", "\\"), ("%3b", ";")];
const DEEPEST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn named(uri: &str, more: &[(&'static str, &'static str)]) -> Result<String, Failure> {
        let mut headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static("127.0.0.1:8250"))]);
        for (name, value) in more {
            headers.append(*name, HeaderValue::from_static(value));
        }
        own_name(&uri.parse().expect("a URI"), &headers, 8250)
    }

    #[test]
    fn a_request_is_made_for_us_by_a_program_of_this_machine() {
        assert_eq!(named("/a", &[("sec-fetch-mode", "cors")]).as_deref(), Ok("127.0.0.1:8250"));
        assert!(named("http://127.0.0.1:8250/a", &[]).is_ok());
        for uri in ["http://evil.example/a", "http://me@127.0.0.1:8250/a", "http://localhost:8250/a"] {
            assert!(named(uri, &[]).is_err(), "{uri}");
        }
        for name in ["origin", "sec-fetch-site", "sec-fetch-dest", "forwarded", "x-forwarded-for", "x-forwarded-host"] {
            assert!(named("/a", &[(name, "x")]).is_err(), "{name}");
        }
        assert!(named("/a", &[("host", "127.0.0.1:8250")]).is_err());
    }

    #[test]
    fn two_credentials_are_none() {
        let bearer = || (header::AUTHORIZATION, HeaderValue::from_static("Bearer x"));
        assert!(authorization(&HeaderMap::from_iter([bearer()])).is_ok_and(|found| found.is_some()));
        assert!(authorization(&HeaderMap::from_iter([bearer(), bearer()])).is_err());
    }

    #[test]
    fn no_spelling_of_a_path_leads_upwards() {
        for up in ["/..", "/a/..%2fb", "/..%5C", "/%252e%252e%252fa", "/..;x=1/a", "/..%3Bx", "/%25252e./a", "\\..\\"] {
            assert!(stays_below(up).is_err(), "{up}");
        }
        for fine in ["/", "/...", "/a..b/..c", "/corp%2Fnetwork", "/a%20b", "/100%25", "/v1..;x", "//double//slash"] {
            assert!(stays_below(fine).is_ok(), "{fine}");
        }
        assert!(stays_below(&format!("/%{}2e", "25".repeat(20))).is_err());
    }
}
