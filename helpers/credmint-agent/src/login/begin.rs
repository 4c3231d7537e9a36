//! The beginning of a sign-in in the browser: an address of ours, good for one browser, that leads on to the issuer.
//! The issuer's address comes in; the way there goes out once, with a cookie that the browser has to bring back.
//! Touches nothing. Everybody can read a browser's arguments: what stands there is not enough to take part (RFC 6749 §10.12).

use std::cell::Cell;

use bytes::Bytes;
use credmint_vocabulary::{Failure, FailureKind, Secret};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use url::Url;
use zeroize::Zeroizing;

use crate::bridge::random_token;

/// What stands before the random word in the path.
const BEGIN: &str = "/begin/";

/// Holds one address that leads to the issuer, and the cookie of the one browser that may follow it.
pub(super) struct Begin {
    word: Secret<String>,
    cookie: Secret<String>,
    leads_to: Url,
    is_used: Cell<bool>,
}

impl Begin {
    /// Makes an address that leads there; nobody knows it yet.
    pub(super) fn new(leads_to: &Url) -> Result<Self, Failure> {
        let (word, cookie) = (random_token()?, random_token()?);
        Ok(Self { word, cookie, leads_to: leads_to.clone(), is_used: Cell::default() })
    }

    /// Gives its path.
    pub(super) fn path(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{BEGIN}{}", self.word.expose()))
    }

    /// Tells whether a path is this one.
    pub(super) fn is_at(&self, path: &str) -> bool {
        path.strip_prefix(BEGIN).is_some_and(|word| self.word.same_as(word.as_bytes()))
    }

    /// Leads a browser to the issuer: the first that comes, and the same one again. `None` for every other.
    pub(super) fn lead(&self, headers: &HeaderMap, (port, back): (u16, &str)) -> Option<Result<Redirection, Failure>> {
        if self.is_used.replace(true) && !self.is_known(headers, port) {
            return None;
        }
        Some(self.redirection(port, back))
    }

    /// Tells whether a browser is the one that began: it brings the cookie.
    pub(super) fn is_known(&self, headers: &HeaderMap, port: u16) -> bool {
        let name = cookie_name(port);
        let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(own, value)| own == name && self.cookie.same_as(value.as_bytes()))
    }

    /// The cookie goes to the callback and to this address: other ports of this machine have the same cookies (RFC 6265 §8.5).
    fn redirection(&self, port: u16, back: &str) -> Result<Redirection, Failure> {
        let malformed = |_| Failure::new(FailureKind::Internal, "the address of the sign-in's beginning is malformed");
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::FOUND;
        let headers = response.headers_mut();
        headers.insert(header::LOCATION, HeaderValue::from_str(self.leads_to.as_str()).map_err(malformed)?);
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        for path in [back, self.path().as_str()] {
            let (name, value) = (cookie_name(port), self.cookie.expose());
            let cookie = Zeroizing::new(format!("{name}={value}; Path={path}; Max-Age=3600; HttpOnly; SameSite=Lax"));
            headers.append(header::SET_COOKIE, HeaderValue::from_str(&cookie).map_err(malformed)?);
        }
        Ok(response)
    }
}

/// What sends a browser on.
pub(super) type Redirection = Response<Full<Bytes>>;

/// Two sign-ins at once have two ports, and one jar of cookies.
fn cookie_name(port: u16) -> String {
    format!("credmint-{port}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin() -> Begin {
        Begin::new(&Url::parse("https://id.corp.example/auth?state=s").unwrap()).unwrap()
    }

    fn cookies(response: &Redirection) -> Vec<&str> {
        response.headers().get_all(header::SET_COOKIE).iter().map(|value| value.to_str().unwrap()).collect()
    }

    fn bringing(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::COOKIE, cookie.parse().unwrap())])
    }

    #[test]
    fn the_first_browser_is_led_on_with_a_cookie_and_only_that_one_again() {
        let begin = begin();
        let first = begin.lead(&HeaderMap::new(), (7, "/callback")).unwrap().unwrap();
        let value = |name| first.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        assert_eq!(
            (first.status(), value("location")),
            (StatusCode::FOUND, Some("https://id.corp.example/auth?state=s"))
        );
        assert_eq!((value("referrer-policy"), value("cache-control")), (Some("no-referrer"), Some("no-store")));
        let cookies = cookies(&first);
        assert!(cookies.iter().all(|cookie| cookie.contains("; HttpOnly; SameSite=Lax")), "{cookies:?}");
        assert!(cookies[0].contains("; Path=/callback;") && cookies[1].contains("; Path=/begin/"), "{cookies:?}");
        let own = cookies[0].split(';').next().unwrap();
        assert!(begin.lead(&HeaderMap::new(), (7, "/callback")).is_none(), "another browser");
        assert!(begin.lead(&bringing(&format!("a=b; {own}")), (7, "/callback")).is_some(), "the same again");
        assert!(begin.is_known(&bringing(own), 7));
    }

    #[test]
    fn no_other_cookie_and_no_other_path_is_known() {
        let begin = begin();
        assert!(!begin.is_known(&HeaderMap::new(), 7));
        for cookie in ["credmint-7=", "credmint-7=x", "credmint-7", "x=credmint-7"] {
            assert!(!begin.is_known(&bringing(cookie), 7), "{cookie}");
        }
        let path = begin.path();
        assert!(begin.is_at(&path) && path.len() >= "/begin/".len() + 22, "128 bits at least: {}", path.len());
        for other in ["/begin/", "/begin/x", "/begin", &path[1..], &format!("{}/", *path)] {
            assert!(!begin.is_at(other), "{other}");
        }
    }
}
