//! The two endpoints of `terraform login` by hand: what a web page, another program, or a second browser gets of them, and
//! what `store` keeps.

use credmint_stories::{AS_IT_IS, Company, HOST, User, person, token_host, wait_until};
use credmint_test_kit::browser::{Page, parameter, query};
use credmint_test_kit::http::{Answer, Request};
use credmint_test_kit::{Browser, OpenIdProvider, Output};

/// A pair of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const REDIRECT: &str = "http://localhost:10007/login";

fn set_up() -> (Company, User) {
    let (company, user) = (Company::found(), User::move_in());
    user.settings(&(person(&company.provider, "") + &company.issuer() + &company.host("me", "")));
    user.setup(company.registry.address());
    (company, user)
}

fn endpoint(user: &User, name: &str) -> String {
    format!("http://127.0.0.1:{}/{HOST}/.login/{name}", user.port)
}

/// The address that Terraform makes, with another value for one of its parameters.
fn address(user: &User, name: &str, value: &str) -> String {
    let fields = [
        ("client_id", "terraform-cli"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("redirect_uri", REDIRECT),
        ("response_type", "code"),
        ("state", "st4te"),
    ];
    let fields = fields.map(|(own, usual)| (own, if own == name { value } else { usual }));
    format!("{}?{}", endpoint(user, "authorize"), query(&fields))
}

/// Signs in there; gives the address that the page goes on to.
fn sign_in(user: &User, browser: &mut Browser) -> String {
    let page = browser.opens(&address(user, "", ""));
    let begin = header(&page.head, "location").unwrap_or_default().to_owned();
    assert!(begin.contains("/begin/"), "{} {}", page.status, page.body);
    onward(&browser.sign_in(&begin))
}

fn onward(page: &Page) -> String {
    let refresh = header(&page.head, "refresh").unwrap_or_default();
    let address = refresh.split_once("url=").map(|(_, address)| address.to_owned()).unwrap_or_default();
    assert!(address.starts_with(&format!("{REDIRECT}?code=")) && address.ends_with("&state=st4te"), "{}", page.body);
    address
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// Redeems a code, with another value for one of the fields.
fn redeem(user: &User, code: &str, name: &str, value: &str) -> Answer {
    let fields = [
        ("client_id", "terraform-cli"),
        ("code", code),
        ("code_verifier", VERIFIER),
        ("grant_type", "authorization_code"),
        ("redirect_uri", REDIRECT),
    ];
    let fields = fields.map(|(own, usual)| (own, if own == name { value } else { usual }));
    Request::new("POST", &endpoint(user, "token")).form(&fields).send()
}

fn error(answer: &Answer) -> String {
    assert_eq!(answer.status, 400, "{}", answer.body);
    property(answer, "error")
}

fn marker(answer: &Answer) -> String {
    property(answer, "access_token")
}

fn property(answer: &Answer, name: &str) -> String {
    let json: serde_json::Value = serde_json::from_str(&answer.body).unwrap_or_default();
    json.get(name).and_then(|value| value.as_str()).unwrap_or_default().to_owned()
}

/// Lets the agent forget everything, and starts another one.
fn start_again(user: &User) {
    user.credmint(&["agent", "stop"]);
    let bridge = endpoint(user, "authorize");
    wait_until("the port is given back", || Request::new("GET", &bridge).try_send().is_err());
    user.credmint(&["agent", "start", HOST]);
}

fn store(user: &User, object: &str) -> Output {
    user.home.run("terraform-credentials-credmint").args(["store", HOST]).input(object).output()
}

fn forget(user: &User) -> Output {
    user.home.run("terraform-credentials-credmint").args(["forget", HOST]).output()
}

#[test]
fn a_sign_in_is_nobodys_until_its_marker_comes_over_the_agents_socket() {
    let (company, mut user) = set_up();
    let code = parameter(&sign_in(&user, &mut Browser::of("alice")), "code").unwrap_or_default();
    user.watch_issued(&company.provider);
    let marker = marker(&redeem(&user, &code, "", ""));
    assert!(marker.starts_with("credmint-sign-in-") && marker.len() > 50, "{marker}");
    // The marker opens nothing: no session, no credential, no way through the bridge.
    assert!(user.sessions().is_empty());
    assert_eq!(user.get().output().code, Some(77));
    assert_eq!(user.ask_bridge("127.0.0.1", "v1/modules/corp/network/aws/versions", &marker).status, 401);
    // It claims the session, once.
    assert_eq!(store(&user, &format!("{{\"token\":\"{marker}\"}}")).code, Some(0));
    assert_eq!(user.sessions().len(), 1);
    let again = store(&user, &format!("{{\"token\":\"{marker}\"}}"));
    assert!(
        again.code == Some(77) && again.stderr.contains(&format!("hint: terraform login {HOST}")),
        "{}",
        again.stderr
    );
    user.canary.check(&user.home);
}

#[test]
fn a_code_is_for_one_use_by_whoever_has_the_verifier() {
    let (company, user) = set_up();
    // 1. A wrong verifier, and another redirect URI, use it up.
    for (name, value) in [("code_verifier", "wrong"), ("redirect_uri", "http://localhost:10008/login")] {
        let code = parameter(&sign_in(&user, &mut Browser::of("alice")), "code").unwrap_or_default();
        assert_eq!(error(&redeem(&user, &code, name, value)), "invalid_grant");
        assert_eq!(error(&redeem(&user, &code, "", "")), "invalid_grant");
        start_again(&user);
    }
    // 2. A replay ends what came of the first use.
    let code = parameter(&sign_in(&user, &mut Browser::of("alice")), "code").unwrap_or_default();
    let marker = marker(&redeem(&user, &code, "", ""));
    assert_eq!(error(&redeem(&user, &code, "", "")), "invalid_grant");
    assert_eq!(store(&user, &format!("{{\"token\":\"{marker}\"}}")).code, Some(77));
    assert!(user.sessions().is_empty() && company.pki.minted() == 0);
}

#[test]
fn what_was_not_claimed_is_revoked_when_the_person_signs_in_otherwise() {
    let (company, mut user) = set_up();
    let onward = sign_in(&user, &mut Browser::of("mallory"));
    let refresh = company.provider.issued().pop().map(|issued| issued.refresh_token).unwrap_or_default();
    user.signs_in(&company.provider, "alice");
    wait_until("the issuer is told", || !company.provider.revocations().is_empty());
    let code = parameter(&onward, "code").unwrap_or_default();
    assert_eq!(error(&redeem(&user, &code, "", "")), "invalid_grant");
    assert!(!refresh.is_empty() && user.sessions()[0]["subject"].as_str().is_some_and(|who| who.contains("alice")));
    user.canary.check(&user.home);
}

#[test]
fn a_second_browser_at_the_same_address_ends_what_came_of_the_first() {
    let (_company, user) = set_up();
    // 1. Before anything was claimed.
    let code = parameter(&sign_in(&user, &mut Browser::of("mallory")), "code").unwrap_or_default();
    let second = Browser::of("alice").opens(&address(&user, "", ""));
    assert!(second.status == 403 && second.body.contains("opened before"), "{} {}", second.status, second.body);
    assert_eq!(error(&redeem(&user, &code, "", "")), "invalid_grant");
    // 2. And after it was.
    start_again(&user);
    let code = parameter(&sign_in(&user, &mut Browser::of("mallory")), "code").unwrap_or_default();
    let marker = marker(&redeem(&user, &code, "", ""));
    assert_eq!(store(&user, &format!("{{\"token\":\"{marker}\"}}")).code, Some(0));
    assert_eq!(user.sessions().len(), 1);
    assert_eq!(Browser::of("alice").opens(&address(&user, "", "")).status, 403);
    assert!(user.sessions().is_empty());
    user.canary.check(&user.home);
}

#[test]
fn a_web_page_begins_nothing_and_gets_nothing() {
    let (company, user) = set_up();
    let open = |headers: &[(&str, &str)]| {
        let request = Request::new("GET", &address(&user, "", ""));
        headers.iter().fold(request, |request, (name, value)| request.header(name, value)).send()
    };
    for headers in [
        [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")],
        [("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "navigate")],
        [("Sec-Fetch-Site", "none"), ("Sec-Fetch-Mode", "no-cors")],
        [("Sec-Fetch-Site", "none"), ("Sec-Purpose", "prefetch")],
        [("Sec-Fetch-Site", "none"), ("Origin", "https://evil.example")],
    ] {
        let answer = open(&headers);
        assert!(answer.status == 400 && !answer.head.contains("ocation:"), "{headers:?}: {}", answer.head);
    }
    // A name that leads to loopback is not ours.
    let rebound = Request::new("GET", &address(&user, "", "")).as_host("evil.example").send();
    assert_eq!(rebound.status, 400);
    // No address is followed that Terraform does not listen at, and nobody is sent anywhere with an error.
    for redirect in ["https://evil.example/login", "http://evil.example:10007/login", "http://localhost:80/login"] {
        let answer = Request::new("GET", &address(&user, "redirect_uri", redirect)).send();
        let leads = ["ocation", "efresh"].iter().any(|name| header(&answer.head, name).is_some());
        assert!(answer.status == 403 && !leads && !answer.body.contains(redirect), "{}", answer.body);
    }
    assert_eq!(Request::new("POST", &address(&user, "", "")).form(&[]).send().status, 404);
    // The token endpoint answers no page either.
    let form = |name: &str, value: &str| {
        Request::new("POST", &endpoint(&user, "token")).header(name, value).form(&[("a", "b")]).send()
    };
    assert_eq!(error(&form("Origin", "https://evil.example")), "invalid_request");
    let rebound = Request::new("POST", &endpoint(&user, "token")).as_host("evil.example").form(&[("a", "b")]).send();
    assert_eq!(error(&rebound), "invalid_request");
    assert_eq!(Request::new("GET", &endpoint(&user, "token")).send().status, 405);
    let long = "x".repeat(20_000);
    let answer = Request::new("POST", &endpoint(&user, "token")).form(&[("code", &long)]).send();
    assert!(error(&answer) == "invalid_request" && answer.body.len() < 300, "{}", answer.body);
    assert!(company.provider.requests().is_empty() && user.sessions().is_empty());
    user.canary.check(&user.home);
}

#[test]
fn a_host_that_nobody_set_up_has_no_sign_in() {
    let (_company, user) = set_up();
    let other = address(&user, "", "").replace(HOST, "other.example");
    let answer = Request::new("GET", &other).send();
    assert!(answer.status == 403 && answer.body.contains("credmint setup other.example"), "{}", answer.body);
    user.canary.check(&user.home);
}

#[test]
fn a_pasted_token_is_refused_with_a_reason_unless_the_settings_keep_it() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let settings = |policy: &str| {
        let host = token_host("\"me\"", "as-it-is");
        person(&provider, "") + AS_IT_IS + host.trim_end() + &format!("\nstore = \"{policy}\"\n")
    };
    let token = user.canary.watch("pasted token", "pasted-0123456789abcdef-token");
    let object = format!("{{\"token\":\"{token}\"}}");

    // 1. Nothing is dropped in silence.
    for policy in ["sign-in", "refuse"] {
        user.settings(&settings(policy));
        let output = store(&user, &object);
        assert_eq!(output.code, Some(77), "{}", output.stderr);
        assert!(
            output.stderr.contains("nothing is stored for registry.corp.example: its credentials come from"),
            "{}",
            output.stderr
        );
        assert!(output.stderr.contains("hint: credmint "), "{}", output.stderr);
    }
    // 2. In memory it is kept, and given back as it is.
    user.settings(&settings("memory"));
    assert_eq!(store(&user, &object).code, Some(0));
    assert_eq!(user.got("token"), token);
    let status = user.credmint(&["status"]).stdout;
    assert!(status.contains(HOST) && status.contains("until terraform logout"), "{status}");
    // 3. It outlives a sign-in, and ends with `forget`.
    user.signs_in(&provider, "alice");
    assert_eq!(user.got("token"), token);
    assert_eq!(forget(&user).code, Some(0));
    assert_eq!(user.get().output().code, Some(77), "nobody is signed in either");
    // 4. What cannot be kept is refused whole.
    let whole = format!("{{\"token\":\"{token}\",\"refresh\":\"x\"}}");
    let none: [&str; 5] = [&whole, "{}", "{\"token\":\"\"}", "{\"token\":\"a\\nb\"}", "{\"token\":1}"];
    for object in none {
        let output = store(&user, object);
        assert_eq!(output.code, Some(64), "{object}: {}", output.stderr);
        assert_eq!(user.get().output().code, Some(77));
    }
    user.canary.check(&user.home);
}
