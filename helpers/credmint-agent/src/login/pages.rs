//! The pages that a browser shows at the end of a sign-in: who signed in, or what to do.
//! What happened comes in, a complete HTTP response goes out.
//! No scripts, nothing loaded from anywhere, nothing kept by the browser; every word that came from elsewhere is escaped.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use credmint_vocabulary::{Failure, printable};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;

/// Says what a page is about.
#[derive(Debug)]
pub(crate) enum Page {
    /// It worked.
    SignedIn {
        /// Who, as the token has it.
        who: String,
        /// The issuer, in words.
        issuer: String,
        /// How the session ends.
        ends: String,
    },
    /// It did not.
    Refused(Failure),
    /// Another page, which goes on to Terraform by itself: it waits at that address on loopback.
    Onward {
        /// What it says.
        page: Box<Self>,
        /// Where it goes on to; the one-use code is in it.
        address: String,
    },
    /// The request belongs to no sign-in that waits here.
    Stray,
    /// The address of the beginning was opened in another browser before.
    Used,
    /// The person is to paste the address that the browser is at.
    Paste,
    /// The sign-in is over already, or was given up.
    Ended,
    /// There is nothing under that address.
    Nothing,
}

impl Page {
    /// Makes the response.
    pub(crate) fn response(&self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.html())));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        for (name, value) in HEADERS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if let Ok(policy) = HeaderValue::try_from(content_policy()) {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        if let Some(refresh) = self.refresh() {
            headers.insert(header::REFRESH, refresh);
        }
        response
    }

    /// Gives people a moment to read who signed in, and needs no script.
    fn refresh(&self) -> Option<HeaderValue> {
        let Self::Onward { address, .. } = self else { return None };
        HeaderValue::try_from(format!("2;url={address}")).ok()
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Onward { page, .. } => page.status(),
            Self::SignedIn { .. } | Self::Paste => StatusCode::OK,
            Self::Refused(_) => StatusCode::FORBIDDEN,
            Self::Stray => StatusCode::BAD_REQUEST,
            Self::Used | Self::Ended => StatusCode::GONE,
            Self::Nothing => StatusCode::NOT_FOUND,
        }
    }

    fn html(&self) -> String {
        let (class, mark, title) = self.head();
        let body = self.body();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} – credmint</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<main class=\"{class}\">\n\
             <p class=\"mark\" aria-hidden=\"true\">{mark}</p>\n<h1>{title}</h1>\n{body}</main>\n\
             <footer>credmint, on this computer</footer>\n</body>\n</html>\n"
        )
    }

    fn head(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Onward { page, .. } => page.head(),
            Self::SignedIn { .. } => ("good", "✓", "Signed in"),
            Self::Refused(_) => ("bad", "✕", "Not signed in"),
            Self::Stray => ("bad", "?", "Not this sign-in"),
            Self::Used => ("bad", "?", "Opened before"),
            Self::Paste => ("good", "↵", "One step is left"),
            Self::Ended => ("bad", "–", "This sign-in is over"),
            Self::Nothing => ("bad", "?", "Nothing here"),
        }
    }

    fn body(&self) -> String {
        match self {
            Self::SignedIn { who, issuer, ends } => format!(
                "<dl>\n<dt>Who</dt><dd>{}</dd>\n<dt>At</dt><dd>{}</dd>\n<dt>Until</dt><dd>{}</dd>\n</dl>\n\
                 <p>You can close this tab and go back to the terminal.</p>\n\
                 <p class=\"small\">Is this not you? Run <code>credmint logout --all</code>.</p>\n",
                escaped(who),
                escaped(issuer),
                escaped(ends)
            ),
            Self::Onward { page, .. } => {
                format!("{}<p class=\"small\">This page goes on to Terraform by itself, which says the same.</p>\n", page.body())
            }
            Self::Refused(failure) => refused(failure),
            Self::Stray => "<p>This address does not belong to the sign-in that waits on this computer. It goes on waiting.</p>\n\
                 <p>Go back to the terminal, and open the address that it shows in this browser, which has to keep cookies of this computer. \
                 If somebody sent you a link, do not use it.</p>\n"
                .to_owned(),
            Self::Used => USED.to_owned(),
            Self::Paste => {
                "<p>Copy the address of this page, all of it, and paste it into the terminal that asks for it.</p>\n\
                 <p class=\"small\">Do so only if you started this yourself, and give the address to nobody.</p>\n"
                    .to_owned()
            }
            Self::Ended => {
                "<p>It was finished, given up, or took too long.</p>\n<p>Run <code>credmint login</code> again if you need it.</p>\n"
                    .to_owned()
            }
            Self::Nothing => "<p>credmint waits here for the end of a sign-in, and shows nothing else.</p>\n".to_owned(),
        }
    }
}

fn refused(failure: &Failure) -> String {
    let hint = failure.hint.as_deref().unwrap_or("credmint login");
    format!(
        "<p class=\"what\">{}</p>\n<p class=\"do\"><span>What to do</span> {}</p>\n<p class=\"small\">The terminal says the same.</p>\n",
        with_code(&failure.what),
        with_code(hint)
    )
}

/// Shows what stands between two backticks as the terminal's words.
fn with_code(text: &str) -> String {
    let safe = escaped(text);
    let pieces: Vec<&str> = safe.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return safe;
    }
    let piece = |(at, piece): (usize, &&str)| {
        if at.is_multiple_of(2) { (*piece).to_owned() } else { format!("<code>{piece}</code>") }
    };
    pieces.iter().enumerate().map(piece).collect()
}

const USED: &str = "<p>This address is good for one browser, and another one opened it before. \
    A sign-in that was still waiting has ended now.</p>\n\
    <p>Go back to the terminal, which says what to do. If it was not you who opened it, somebody else on this computer did: \
    <code>credmint status</code> says who is signed in.</p>\n";

/// Makes a text from elsewhere safe inside an element.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in printable(text, MOST_TEXT).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// Allows the one style of ours, by its hash, and nothing else.
fn content_policy() -> String {
    let hash = BASE64_STANDARD.encode(digest(&SHA256, STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// The address in the browser holds the authorization code: it goes to no other site and into no cache.
const HEADERS: [(header::HeaderName, &str); 6] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CONNECTION, "close"),
];
const MOST_TEXT: usize = 600;
const STYLE: &str = include_str!("page.css");

#[cfg(test)]
mod tests {
    use super::*;
    use credmint_vocabulary::FailureKind;
    use http_body_util::BodyExt;

    fn all() -> [Page; 7] {
        let failure = Failure::new(FailureKind::Refused, "id.corp.example refused").hint("credmint login me --device");
        let (who, issuer, ends) = ("ada".to_owned(), "id.corp.example".to_owned(), "17:00".to_owned());
        [
            Page::SignedIn { who, issuer, ends },
            Page::Refused(failure),
            Page::Stray,
            Page::Used,
            Page::Paste,
            Page::Ended,
            Page::Nothing,
        ]
    }

    async fn text(page: &Page) -> String {
        let body = page.response().into_body().collect().await.expect("whole").to_bytes();
        String::from_utf8(body.to_vec()).expect("UTF-8")
    }

    #[tokio::test]
    async fn no_page_runs_or_loads_anything() {
        for page in all() {
            let response = page.response();
            let value = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
            assert_eq!(value("cache-control"), "no-store");
            assert_eq!(value("referrer-policy"), "no-referrer");
            let policy = value("content-security-policy");
            assert!(policy.starts_with("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"));
            let html = text(&page).await;
            let style = html.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).expect("a style");
            let hash = BASE64_STANDARD.encode(digest(&SHA256, style.as_bytes()));
            assert!(policy.contains(&hash), "the style is the one that is allowed");
            for word in ["<script", "src=", "href=", "url(", "@import", "http://", "https://", "onload", "style=\""] {
                assert!(!html.contains(word), "{word} in {html}");
            }
        }
    }

    #[tokio::test]
    async fn what_comes_from_elsewhere_is_escaped() {
        let who = "<img src=x onerror=\"alert('1')\">&\u{1b}[31m".to_owned();
        let html = text(&Page::SignedIn { who, issuer: "i".into(), ends: "e".into() }).await;
        assert!(html.contains("&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;"), "{html}");
        assert!(!html.contains('\u{1b}'));
    }

    #[tokio::test]
    async fn a_page_that_goes_on_says_the_same_and_keeps_the_code_out_of_its_text() {
        let address = "http://localhost:10007/login?code=c0de&state=s".to_owned();
        let [signed_in, ..] = all();
        let page = Page::Onward { page: Box::new(signed_in), address };
        let response = page.response();
        let refresh = response.headers().get(header::REFRESH).and_then(|value| value.to_str().ok());
        assert_eq!(refresh, Some("2;url=http://localhost:10007/login?code=c0de&state=s"));
        assert_eq!(
            (response.status(), response.headers()[header::REFERRER_POLICY].as_bytes()),
            (StatusCode::OK, &b"no-referrer"[..])
        );
        let html = text(&page).await;
        assert!(html.contains("<dd>ada</dd>") && html.contains("goes on to Terraform"), "{html}");
        assert!(
            !html.contains("c0de") && all().iter().all(|page| page.response().headers().get(header::REFRESH).is_none())
        );
    }

    #[tokio::test]
    async fn a_refusal_says_what_to_do() {
        let [_, refused, ..] = all();
        let html = text(&refused).await;
        assert_eq!(refused.response().status(), StatusCode::FORBIDDEN);
        assert!(html.contains("id.corp.example refused") && html.contains("</span> credmint login me --device</p>"));
    }

    #[test]
    fn words_of_the_terminal_look_like_it_and_stay_escaped() {
        assert_eq!(with_code("no `me` here, `<b>`"), "no <code>me</code> here, <code>&lt;b&gt;</code>");
        assert_eq!(with_code("a ` alone"), "a ` alone");
    }

    #[tokio::test]
    async fn who_signed_in_to_what_until_when_is_on_the_page() {
        let [signed_in, ..] = all();
        let html = text(&signed_in).await;
        for word in ["<dd>ada</dd>", "<dd>id.corp.example</dd>", "<dd>17:00</dd>", "close this tab", "credmint logout"]
        {
            assert!(html.contains(word), "{word}");
        }
    }
}
