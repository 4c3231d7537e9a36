//! A browser without a window, and the person in front of it: follows redirects, keeps cookies, fills in the forms of the
//! test's OpenID Provider, and says yes or no to what it is asked.
//!
//! A URL comes in, the page that the browser ends on goes out. Speaks http to loopback by the kit's own client, and fills in
//! no form but the issuer's. (RFC 6265 as far as loopback needs it: a cookie has a host and a path, and no port.)

use std::path::{Path, PathBuf};

use crate::http::{Answer, Request, percent};

/// More hops than any sign-in takes.
const MOST_HOPS: usize = 25;

/// A browser with one person in front of it.
pub struct Browser {
    person: String,
    refuses: bool,
    user_code: String,
    cookies: Vec<Cookie>,
    ca: Option<PathBuf>,
    reaches: Option<String>,
}

/// Where the browser ended.
pub struct Page {
    /// What its address bar says.
    pub url: String,
    /// The status code.
    pub status: u16,
    /// The head of the answer.
    pub head: String,
    /// The page.
    pub body: String,
}

struct Cookie {
    host: String,
    path: String,
    name: String,
    value: String,
}

/// What the browser does next: fetch a page, or send a form.
struct Hop {
    url: String,
    form: Option<Vec<(String, String)>>,
}

enum Stop {
    Page(Page),
    Before(String),
}

impl Browser {
    /// Opens one; the person signs in under this name and agrees to what is asked.
    pub fn of(person: &str) -> Self {
        let (person, user_code) = (person.to_owned(), String::new());
        Self { person, refuses: false, user_code, cookies: Vec::new(), ca: None, reaches: None }
    }

    /// Has the person refuse when asked for consent.
    #[must_use]
    pub fn refusing(mut self) -> Self {
        self.refuses = true;
        self
    }

    /// Trusts the authorities of a file for https.
    #[must_use]
    pub fn trusting(mut self, ca: &Path) -> Self {
        self.ca = Some(ca.to_owned());
        self
    }

    /// Reaches a name over https at a port of loopback, as if a resolver said so.
    #[must_use]
    pub fn reaching(mut self, host: &str, port: u16) -> Self {
        self.reaches = Some(format!("{host}:443:127.0.0.1:{port}"));
        self
    }

    /// Opens a page and goes on to the end: signs in, consents, and comes back to whoever listens at the redirect URI.
    pub fn sign_in(&mut self, url: &str) -> Page {
        match self.walk(url, |_| false) {
            Stop::Page(page) => page,
            Stop::Before(url) => panic!("stopped before {url}"),
        }
    }

    /// Does the same, but stops before it leaves the issuer; gives the URL that it was sent to.
    pub fn sent_back(&mut self, url: &str) -> String {
        let url = &self.led_on(url);
        let issuer = origin(url).to_owned();
        match self.walk(url, |next| origin(next) != issuer) {
            Stop::Before(url) => url,
            Stop::Page(page) => panic!("the issuer keeps the browser at {}: {} {}", page.url, page.status, page.body),
        }
    }

    /// Opens the page of a device authorization (RFC 8628), types the code if the page does not have it, and agrees or not.
    pub fn approve(&mut self, url: &str, user_code: &str) -> Page {
        self.user_code = user_code.to_owned();
        self.sign_in(url)
    }

    /// Opens an address at which a program of this machine begins, and gives the one that it leads to; any other is given back.
    pub fn led_on(&mut self, url: &str) -> String {
        if !path(url).starts_with("/begin/") {
            return url.to_owned();
        }
        let answer = self.send(&Hop { url: url.to_owned(), form: None });
        location(&answer).unwrap_or_else(|| panic!("{url} leads nowhere: {} {}", answer.status, answer.body))
    }

    /// Gives the cookies that it would send there.
    pub fn cookie_for(&self, url: &str) -> String {
        self.cookies_for(url)
    }

    /// Opens one page, with the cookies that it has, and goes nowhere from there.
    pub fn opens(&mut self, url: &str) -> Page {
        let Answer { status, head, body } = self.send(&Hop { url: url.to_owned(), form: None });
        Page { url: url.to_owned(), status, head, body }
    }

    fn walk(&mut self, url: &str, is_end: impl Fn(&str) -> bool) -> Stop {
        let url = &self.led_on(url);
        let issuer = origin(url).to_owned();
        let mut hop = Hop { url: url.to_owned(), form: None };
        for _ in 0..MOST_HOPS {
            if is_end(&hop.url) {
                return Stop::Before(hop.url);
            }
            let answer = self.send(&hop);
            let next = match location(&answer) {
                Some(there) => Some(Hop { url: resolve(&hop.url, &there), form: None }),
                None if origin(&hop.url) == issuer => self.fill_in(&hop.url, &answer.body),
                None => None,
            };
            let Some(next) = next else {
                let Answer { status, head, body } = answer;
                return Stop::Page(Page { url: hop.url, status, head, body });
            };
            hop = next;
        }
        panic!("the browser is sent in circles, last to {}", hop.url)
    }

    fn send(&mut self, hop: &Hop) -> Answer {
        let method = if hop.form.is_some() { "POST" } else { "GET" };
        let mut request =
            Request::new(method, &hop.url).header("Accept", "text/html").header("User-Agent", "a browser");
        if let Some(ca) = &self.ca {
            request = request.trusting(ca);
        }
        if let Some(reaches) = &self.reaches {
            request = request.option("connect-to", reaches);
        }
        let cookies = self.cookies_for(&hop.url);
        if !cookies.is_empty() {
            request = request.header("Cookie", &cookies);
        }
        if let Some(fields) = &hop.form {
            let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            request = request.form(&fields);
        }
        let answer = request.send();
        headers(&answer.head, "set-cookie").for_each(|line| self.keep(&hop.url, line));
        answer
    }

    fn cookies_for(&self, url: &str) -> String {
        let fits = |cookie: &&Cookie| cookie.host == host(url) && path(url).starts_with(&cookie.path);
        let pairs: Vec<_> = self.cookies.iter().filter(fits).map(|one| format!("{}={}", one.name, one.value)).collect();
        pairs.join("; ")
    }

    fn keep(&mut self, url: &str, line: &str) {
        let mut parts = line.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { return };
        let mut attributes = parts.filter_map(|part| part.split_once('='));
        let path = attributes.find(|(name, _)| name.eq_ignore_ascii_case("path")).map_or("/", |(_, path)| path);
        let (name, path, host) = (name.to_owned(), path.to_owned(), host(url).to_owned());
        self.cookies.retain(|cookie| (&cookie.host, &cookie.path, &cookie.name) != (&host, &path, &name));
        // An issuer takes a cookie back by an empty value that ended in 1970.
        if !value.is_empty() && !line.contains(" 1970 ") {
            self.cookies.push(Cookie { host, path, name, value: value.to_owned() });
        }
    }

    /// What the person does with a page of the issuer: nothing if it asks nothing.
    fn fill_in(&mut self, url: &str, page: &str) -> Option<Hop> {
        let form = tags(page, "form").next()?;
        let mut fields: Vec<_> = tags(page, "input").filter_map(|input| self.field(input)).collect();
        let is_question = !fields.iter().any(|(name, _)| name == "login" || name == "password");
        if self.refuses
            && let Some((_, code)) = fields.iter_mut().find(|(name, _)| name == "confirm")
        {
            *code = "no".to_owned();
            fields.push(("abort".to_owned(), "yes".to_owned()));
            self.person.clear();
        } else if self.refuses
            && is_question
            && let Some(way_out) = way_out(page)
        {
            return Some(Hop { url: resolve(url, &way_out), form: None });
        } else if self.person.is_empty() {
            return None;
        }
        let action = attribute(form, "action").unwrap_or_default();
        Some(Hop { url: resolve(url, &action), form: Some(fields) })
    }

    fn field(&self, input: &str) -> Option<(String, String)> {
        let (name, value) = (attribute(input, "name")?, attribute(input, "value").unwrap_or_default());
        let value = match name.as_str() {
            "login" => self.person.clone(),
            "password" => "any will do".to_owned(),
            "user_code" if value.is_empty() => self.user_code.clone(),
            _ => value,
        };
        Some((name, value))
    }
}

/// Finds a URL that begins so in what a program printed.
pub fn link(text: &str, start: &str) -> Option<String> {
    let rest = &text[text.find(start)?..];
    // Without the line's end the URL may not be all there yet.
    let end = rest.find(|letter: char| letter.is_whitespace() || letter.is_control())?;
    Some(rest[..end].to_owned())
}

/// Takes one parameter out of the query of a URL, decoded.
pub fn parameter(url: &str, name: &str) -> Option<String> {
    let query = url.split_once('?')?.1.split('#').next()?;
    let value = query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))?.1;
    Some(decoded(value))
}

/// Puts a query together.
pub fn query(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", percent(value))).collect();
    pairs.join("&")
}

fn decoded(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        let digits = |rest: &mut std::str::Bytes<'_>| {
            let pair = [rest.next()?, rest.next()?];
            u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()
        };
        bytes.push(match byte {
            b'%' => digits(&mut rest).unwrap_or(b'%'),
            b'+' => b' ',
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn headers<'a>(head: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.filter(move |(one, _)| one.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

fn location(answer: &Answer) -> Option<String> {
    let is_redirect = (300..400).contains(&answer.status);
    headers(&answer.head, "location").next().filter(|_| is_redirect).map(ToOwned::to_owned)
}

/// The place that leaves an interaction, as the issuer's own pages have it.
fn way_out(page: &str) -> Option<String> {
    tags(page, "a").filter_map(|tag| attribute(tag, "href")).find(|link| link.ends_with("/abort"))
}

fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    &url[..end]
}

fn host(url: &str) -> &str {
    let authority = origin(url).rsplit('/').next().unwrap_or_default();
    authority.rsplit_once(':').map_or(authority, |(host, _)| host)
}

fn path(url: &str) -> &str {
    let rest = url[origin(url).len()..].split(['?', '#']).next().unwrap_or_default();
    if rest.is_empty() { "/" } else { rest }
}

fn resolve(base: &str, there: &str) -> String {
    match there {
        "" => base.to_owned(),
        there if there.contains("://") => there.to_owned(),
        there if there.starts_with('/') => format!("{}{there}", origin(base)),
        there => format!("{}/{there}", base.rsplit_once('/').map_or(base, |(above, _)| above)),
    }
}

/// The tags of one name, from behind the name to before the `>`.
fn tags<'a>(page: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let start = format!("<{name}");
    let rest = page.split(&start as &str).skip(1).map(|rest| rest.split('>').next().unwrap_or_default());
    rest.filter(|tag| tag.starts_with(char::is_whitespace)).collect::<Vec<_>>().into_iter()
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = format!("{name}=\"");
    let at = tag.match_indices(&start).find(|(at, _)| tag[..*at].ends_with(char::is_whitespace))?.0;
    let value = tag[at + start.len()..].split('"').next()?;
    Some(value.replace("&quot;", "\"").replace("&#39;", "'").replace("&lt;", "<").replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::{attribute, decoded, host, link, origin, parameter, path, resolve, tags};

    #[test]
    fn a_url_is_taken_apart_and_a_link_is_resolved() {
        let url = "http://127.0.0.1:80/auth/x?state=a%2Fb+c&x=1";
        assert_eq!((origin(url), host(url), path(url)), ("http://127.0.0.1:80", "127.0.0.1", "/auth/x"));
        assert_eq!(parameter(url, "state").as_deref(), Some("a/b c"));
        assert_eq!(resolve(url, "/y?z"), "http://127.0.0.1:80/y?z");
        assert_eq!((decoded("%"), link("see http://h/a?b\n", "http://h")), ("%".into(), Some("http://h/a?b".into())));
    }

    #[test]
    fn a_form_is_read() {
        let page = "<form method=\"post\" action=\"/a?b&amp;c\"><input type=\"hidden\" name=\"x\" value=\"1\"/></form>";
        let form = tags(page, "form").next().unwrap();
        assert_eq!(attribute(form, "action").as_deref(), Some("/a?b&c"));
        let input = tags(page, "input").next().unwrap();
        assert_eq!((attribute(input, "name"), attribute(input, "value")), (Some("x".into()), Some("1".into())));
    }
}
