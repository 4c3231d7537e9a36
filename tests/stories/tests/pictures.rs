//! What a person sees on the way through a sign-in, in pictures for the docs.

use credmint_stories::{AS_IT_IS, Company, HOST, User, address, issuers_address, person, token_host};
use credmint_test_kit::browser::{link, parameter, query};
use credmint_test_kit::http::Request;
use credmint_test_kit::pictures::Seen;
use credmint_test_kit::run::Running;
use credmint_test_kit::screen::COLUMNS;
use credmint_test_kit::{Authority, Browser, Chromium, Home, OpenIdProvider, Proxy};

const ISSUER: &str = "id.corp.example";
/// In place of the one word of an address that is good once.
const ONCE: &str = "9zVfK2cXw4rQh7TnB1yLmE6uJd3sGp8aRoCiHkWv0NU";

/// In place of a serial number.
const SERIAL: &str = "3f:0a:77:5c:10:e2:94:6b:d8:21:7e:43:b9:05:cc:68:1a:f7:30:52";
/// What a usual Linux lets the agent do for itself; another kernel, another list.
const HARDENED: &str = "no core dumps\r\n           not dumpable\r\n           umask 077\r\n           memory locked";

/// An issuer with a name, a person of it, and the way there.
struct Corp {
    provider: OpenIdProvider,
    user: User,
    browser: Browser,
    _proxy: Proxy,
}

impl Corp {
    fn found() -> Self {
        let authority = Authority::new("Corp Root");
        let provider = OpenIdProvider::start_as((ISSUER, ""), 3600, &authority);
        let (proxy, user) = (Proxy::start(provider.port()), User::move_in());
        let ca = user.home.write("ca.pem", authority.certificate());
        let way = format!("ca = \"{}\"\nproxy = \"{}\"\nbrowser = [\"true\"]\n", ca.display(), proxy.url());
        user.settings(&(person(&provider, &way) + AS_IT_IS + &token_host("\"me\"", "as-it-is")));
        let browser = Browser::of("alice").trusting(&ca).reaching(ISSUER, provider.port());
        Self { provider, user, browser, _proxy: proxy }
    }

    fn end(mut self) {
        self.user.watch_issued(&self.provider);
        self.user.canary.check(&self.user.home);
    }
}

/// Runs `credmint` in a terminal.
fn credmint<'user>(user: &'user User, words: &[&str]) -> Running<'user> {
    user.home.run("credmint").args(words.iter().copied()).terminal_of(COLUMNS, 50).start()
}

/// Opens a browser that shows what it is given; without one the test has said so and is over.
fn open(home: &Home) -> Option<(Chromium, Running<'_>)> {
    let chromium = Chromium::prepare()?;
    let running = chromium.open(home);
    Some((chromium, running))
}

#[test]
fn login_ends_on_a_page_and_in_a_terminal_that_say_who_and_until_when() {
    let home = Home::new();
    let Some((mut chromium, _open)) = open(&home) else { return };
    let mut corp = Corp::found();
    let mut login = credmint(&corp.user, &["login", "me"]);
    let url = address(&mut login);
    let page = corp.browser.sign_in(&url).body;
    let seen = Seen::new(&login.output().success().stdout).typed("credmint login me");
    let seen = seen.between("http://127.0.0.1:", "/begin/", "49152").between("/begin/", "\r", ONCE);
    let seen = seen.still().between("(in ", ")", "59 min");
    seen.times(&["2026-11-30T10:00:00Z", "2026-11-30T09:40:00Z"]).as_terminal(&mut chromium, "login");
    Seen::new(&page).as_page(&mut chromium, "signed-in", &["", "-dark", "-phone"]);
    // Names as long as they come, and those that are written from right to left, stay on the page.
    let long = ["a-name-without-any-blank-in-it".repeat(8), "عالية العلي ".repeat(12), "אליס ".repeat(40)];
    for (at, name) in long.iter().enumerate() {
        chromium
            .show(&page.replace("alice", name).replace(ISSUER, &format!("{}.example", "id.of.a.long.name".repeat(6))));
        let _ = chromium.whole_picture(&format!("signed-in-long-{at}"), false, 390);
        assert_eq!(chromium.value("document.documentElement.scrollWidth <= innerWidth"), true, "{name}");
    }
    corp.end();
}

#[test]
fn a_code_for_another_device_is_large_and_can_be_scanned() {
    let home = Home::new();
    let Some((mut chromium, _open)) = open(&home) else { return };
    let mut corp = Corp::found();
    let mut login = credmint(&corp.user, &["login", "me", "--device"]);
    let waiting = |text: &str| Some(text.get(..text.find(" left")? + " left".len())?.to_owned());
    let shown = login.shows("that it waits", waiting);
    let page = link(&shown, &format!("https://{ISSUER}/device")).expect("where to approve");
    let is_code = |line: &&str| line.starts_with("    \x1b[1m");
    let code = shown.lines().find(is_code).and_then(|line| line.get(8..17)).expect("the code").to_owned();
    let seen = Seen::new(&shown).typed("credmint login me --device").between("for the approval, ", " left", "0:59");
    seen.as_drawn_terminal(&mut chromium, "login-device", &code);
    let _ = corp.browser.approve(&page, &code);
    login.output().success();
    corp.end();
}

#[test]
fn a_sign_in_that_is_refused_says_what_to_do() {
    let home = Home::new();
    let Some((mut chromium, _open)) = open(&home) else { return };
    let corp = Corp::found();
    let mut login = credmint(&corp.user, &["login", "me"]);
    let url = address(&mut login);
    let ca = corp.user.home.path().join("ca.pem");
    let mut browser = Browser::of("alice").refusing().trusting(&ca).reaching(ISSUER, corp.provider.port());
    let page = browser.sign_in(&url).body;
    let output = login.output();
    assert_eq!(output.code, Some(77), "{}", output.stdout);
    let seen = Seen::new(&output.stdout).typed("credmint login me");
    let seen = seen.between("http://127.0.0.1:", "/begin/", "49152").between("/begin/", "\r", ONCE);
    seen.still().as_terminal(&mut chromium, "login-refused");
    Seen::new(&page).as_page(&mut chromium, "refused", &[""]);
    // A hint may be a command that is longer than a phone is wide.
    let hint =
        "credmint setup registry.corp.example --upstream https://registry.of.a.very.long.name.corp.example:8443 --yes";
    chromium.show(&page.replace("credmint login me", hint));
    let _ = chromium.whole_picture("refused-long", true, 390);
    assert_eq!(chromium.value("document.documentElement.scrollWidth <= innerWidth"), true);
    corp.end();
}

#[test]
fn an_address_of_another_sign_in_or_browser_is_told() {
    let home = Home::new();
    let Some((mut chromium, _open)) = open(&home) else { return };
    let mut corp = Corp::found();
    let mut login = credmint(&corp.user, &["login", "me"]);
    let url = address(&mut login);
    let issuer = corp.browser.led_on(&url);
    let back = parameter(&issuer, "redirect_uri").expect("a redirect URI");
    // 1. A link that somebody else sent; the wait goes on.
    let page = Request::new("GET", &format!("{back}?code=x&state=y")).send();
    assert_eq!(page.status, 400, "{}", page.body);
    Seen::new(&page.body).as_page(&mut chromium, "not-this-sign-in", &["-dark"]);
    // 2. The address in a second browser: it ends.
    let page = Browser::of("alice").opens(&url);
    assert_eq!(page.status, 410, "{}", page.body);
    Seen::new(&page.body).as_page(&mut chromium, "opened-before", &[""]);
    assert_eq!(login.output().code, Some(77));
    corp.end();
}

#[test]
fn the_page_whose_address_is_pasted_says_so() {
    let home = Home::new();
    let Some((mut chromium, _open)) = open(&home) else { return };
    let mut corp = Corp::found();
    let mut login = corp.user.home.run("credmint").args(["login", "me", "--paste"]).typed().start();
    let url = issuers_address(&mut login, &corp.provider);
    let back = corp.browser.sent_back(&url);
    corp.user.canary.watch("authorization code", parameter(&back, "code").expect("a code"));
    let page = corp.browser.opens(&back);
    Seen::new(&page.body).as_page(&mut chromium, "paste", &["-phone"]);
    login.type_line(&back);
    login.output().success();
    corp.end();
}

/// A company whose registry wants a certificate, and a user who may have one.
fn at_work() -> (Company, User) {
    let (company, user) = (Company::found_with(OpenIdProvider::start_with_ttl(3600)), User::move_in());
    user.setup(company.registry.address());
    user.settings(&(person(&company.provider, "") + &company.issuer() + &company.host("me", "")));
    (company, user)
}

/// Gives the company's servers names in place of addresses on loopback.
fn named(company: &Company, seen: Seen) -> Seen {
    let issuer = company.provider.issuer();
    let seen = seen.with(issuer, "https://id.corp.example").with(issuer.trim_start_matches("http://"), ISSUER);
    seen.with(company.bao.address(), "https://vault.corp.example:8200")
}

#[test]
fn status_and_cert_show_who_is_signed_in_and_what_is_kept() {
    let home = Home::new();
    let Some((mut chromium, _open)) = open(&home) else { return };
    let (company, mut user) = at_work();
    let _ = user.signs_in(&company.provider, "alice");
    let cert = credmint(&user, &["cert", HOST, "--self-check"]).output().success().stdout;
    let status = credmint(&user, &["status"]).output().success().stdout;
    let seen = named(&company, Seen::new(&cert)).typed(&format!("credmint cert {HOST} --self-check"));
    let seen = seen.between("serial     ", "\r", SERIAL).between("Z: ", " remain", "59 min");
    let (end, far) = ("2026-11-30T10:00:00Z", "2027-05-30T12:00:00Z");
    let seen = seen.times(&["2026-11-30T08:59:30Z", end, end, far, "2027-11-30T09:00:00Z"]);
    // The name in the picture is longer than the address that the line was broken for.
    let seen = seen.between_lines("role terraform)", "\r\n  path", ",\r\n             to live for 1h");
    seen.as_terminal(&mut chromium, "cert");
    let seen = named(&company, Seen::new(&status)).typed("credmint status");
    let seen = seen.between("process ", ",", "4242").between("version ", ",", "0.1.0").between("serial ", "\r", SERIAL);
    let seen = seen.between("(in ", ")", "59 min").between_lines("hardening  ", "\r\n\r\n", HARDENED);
    let (start, renewed) = ("2026-11-30T09:00:00Z", "2026-11-30T09:40:00Z");
    seen.times(&[start, start, end, renewed, end, "2026-11-30T09:41:12Z"]).as_terminal(&mut chromium, "status");
    user.canary.check(&user.home);
}

#[test]
fn terraform_login_ends_on_a_page_that_goes_on_to_terraform() {
    let home = Home::new();
    let Some((mut chromium, _open)) = open(&home) else { return };
    let (company, mut user) = at_work();
    user.credmint(&["agent", "start", HOST]);
    // As Terraform makes it: the challenge is that of RFC 7636, appendix B.
    let fields = [
        ("client_id", "terraform-cli"),
        ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
        ("code_challenge_method", "S256"),
        ("redirect_uri", "http://localhost:10007/login"),
        ("response_type", "code"),
        ("state", "st4te"),
    ];
    let url = format!("http://127.0.0.1:{}/{HOST}/.login/authorize?{}", user.port, query(&fields));
    let mut browser = Browser::of("alice");
    let begin = link(&(browser.opens(&url).head + "\n"), "http://127.0.0.1:").expect("an address of the agent's own");
    let page = browser.sign_in(&begin);
    named(&company, Seen::new(&page.body)).as_page(&mut chromium, "terraform-login", &["-dark"]);
    user.watch_issued(&company.provider);
    user.canary.check(&user.home);
}
