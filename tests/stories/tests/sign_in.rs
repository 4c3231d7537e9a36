//! A person signs in with a browser (RFC 8252, code with PKCE), and what follows from it.

use std::time::Duration;

use credmint_stories::{
    AS_IT_IS, Company, HOST, User, address, issuers_address, person, terraform, token_host, wait_until,
};
use credmint_test_kit::browser::parameter;
use credmint_test_kit::encoding::claims;
use credmint_test_kit::http::Request;
use credmint_test_kit::processes::signal;
use credmint_test_kit::{Authority, Browser, OpenIdProvider, memory};
use rustix::process::Signal;

/// Settings of somebody whose ID token is handed out as it is.
fn plain(provider: &OpenIdProvider, lines: &str) -> String {
    person(provider, lines) + AS_IT_IS + &token_host("\"me\"", "as-it-is")
}

/// What was watched under a name is in the agent's memory no more.
#[track_caller]
fn is_wiped(user: &User, name: &str) {
    let agent = user.home.agent().pid;
    if memory::is_readable(agent) {
        user.canary.memory_lacks(agent, name);
    }
}

#[test]
fn a_person_signs_in_once_and_terraform_reaches_the_registry_over_mtls() {
    let Some(terraform) = terraform() else { return };
    let (company, mut user) = (Company::found(), User::move_in());
    user.setup(company.registry.address());
    user.settings(&(person(&company.provider, "") + &company.issuer() + &company.host("me", "")));

    // 1. One sign-in. The page says who, and needs no script.
    let page = user.signs_in(&company.provider, "alice");
    assert!(page.body.contains("alice"), "{}", page.body);
    assert!(page.body.to_lowercase().contains("close") && !page.body.contains("<script"), "{}", page.body);
    assert!(!page.body.contains("http://") && !page.body.contains("https://fonts"), "{}", page.body);
    // 2. The session is in the status.
    let sessions = user.sessions();
    assert_eq!((sessions.len(), &sessions[0]["identity"]), (1, &"me".into()), "{sessions:?}");
    assert!(sessions[0]["subject"].as_str().is_some_and(|subject| subject.contains("alice")), "{sessions:?}");
    assert!(user.credmint(&["status"]).stdout.contains("alice"));
    // 3. Terraform prompts for nothing, and everything arrives with a certificate in the person's name.
    terraform.init(&user.home, &user.work).success();
    let requests = company.registry.requests();
    assert!(requests.len() >= 9, "{requests:?}");
    for request in &requests {
        let seen = (request.verify.as_str(), request.subject.contains("CN=alice@corp.example"));
        assert_eq!(seen, ("SUCCESS", true), "{request:?}");
    }
    assert_eq!(company.pki.minted(), 1);
    user.canary.check(&user.home);
}

#[test]
fn before_the_sign_in_a_get_says_how_to_and_opens_nothing() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&plain(&provider, ""));

    // 1. A browser that would leave a trace.
    let trace = user.home.path().join("opened");
    let browser = user.home.write("browser", format!("#!/bin/sh\necho \"$1\" >>{}\n", trace.display()));
    std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("a program");
    user.home.set("BROWSER", browser);
    user.home.set("DISPLAY", ":99");
    // 2. The helper fails at once, names the command, and neither opens it nor asks the issuer.
    let output = user.get().output();
    assert_eq!((output.code, output.stdout.as_str()), (Some(77), ""), "{}", output.stderr);
    assert!(output.stderr.contains("hint: credmint login me"), "{}", output.stderr);
    assert!(output.took < Duration::from_secs(3) && !trace.exists(), "{:?}", output.took);
    assert_eq!(user.home.run("credmint").args(["needs-login", "me"]).output().code, Some(0));
    // 3. `credmint login` opens it, with the address as one word, and says the address besides.
    let mut login = user.login(&[]);
    let url = address(&mut login);
    wait_until("it gets the address", || user.home.read("opened").trim_end() == url);
    Browser::of("alice").sign_in(&url);
    login.output().success();
    user.watch_issued(&provider);
    // 4. Now there is an answer at once: the failure is not remembered longer than the sign-in took.
    assert_eq!(claims(&user.got("token"))["sub"], "alice");
    assert_eq!(user.home.run("credmint").args(["needs-login", "me"]).output().code, Some(1));
    user.canary.check(&user.home);
}

#[test]
fn a_callback_that_is_not_ours_gets_400_and_the_wait_goes_on_vault_plugin_auth_jwt() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&plain(&provider, ""));
    let mut login = user.login(&["--no-browser"]);
    let mut browser = Browser::of("alice");
    let url = browser.led_on(&address(&mut login));
    let redirect = parameter(&url, "redirect_uri").expect("a redirect URI");
    let [state, issuer] =
        [parameter(&url, "state").expect("a state"), credmint_test_kit::http::percent(provider.issuer())];
    assert!(parameter(&url, "code_challenge_method").is_some_and(|method| method == "S256"), "{url}");
    assert!(state.len() >= 16 && parameter(&url, "nonce").is_some_and(|nonce| nonce.len() >= 16), "{url}");

    // 1. A wrong state, none, a code of another issuer (RFC 9207), neither code nor error: 400 each, also from the right browser.
    let strangers = [
        format!("code=stolen&state=wrong&iss={issuer}"),
        format!("error=access_denied&state=wrong&iss={issuer}"),
        "code=stolen".to_owned(),
        format!("code=stolen&state={state}&iss=https%3A%2F%2Fevil.example"),
        format!("code=stolen&state={state}"),
        format!("state={state}&iss={issuer}"),
    ];
    for query in strangers {
        let answer = browser.opens(&format!("{redirect}?{query}"));
        assert_eq!(answer.status, 400, "{query}: {}", answer.body);
        assert!(!answer.body.contains("stolen") && !answer.body.contains(&state), "{}", answer.body);
    }
    // 2. What browsers fetch beside it does not disturb.
    let port = redirect.trim_end_matches("/callback").to_owned();
    assert_eq!(Request::new("GET", &format!("{port}/favicon.ico")).send().status, 404);
    assert!(Request::new("HEAD", &redirect).send().status >= 400);
    // 3. The right one ends the wait, if the browser brings it that began.
    let back = browser.sent_back(&url);
    let foreign = Request::new("GET", &back).send();
    assert_eq!(foreign.status, 400, "{}", foreign.body);
    let page = browser.opens(&back);
    assert_eq!(page.status, 200, "{}", page.body);
    login.output().success();
    user.canary.watch("authorization code", parameter(&back, "code").expect("a code"));
    user.watch_issued(&provider);
    is_wiped(&user, "authorization code");
    // 4. Nobody listens there any more, and nothing was redeemed but the one code.
    wait_until("the listener ends", || Request::new("GET", &redirect).try_send().is_err());
    assert_eq!(provider.requests().len(), 1, "{:?}", provider.requests());
    user.canary.check(&user.home);
}

#[test]
fn an_address_that_another_opened_first_signs_nobody_in() {
    let (provider, user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&plain(&provider, ""));
    let mut login = user.login(&["--no-browser"]);
    let url = address(&mut login);

    // 1. Another user of the machine saw it among the browser's arguments, and was quicker.
    let mut mallory = Browser::of("mallory");
    let back = mallory.sent_back(&url);
    // 2. The person's own browser is told, and the sign-in is over: whose of the two is whose, nobody can tell.
    let page = Browser::of("alice").opens(&url);
    assert_eq!(page.status, 410, "{}", page.body);
    assert!(page.body.contains("somebody else") && !page.body.contains(provider.issuer()), "{}", page.body);
    let output = login.output();
    assert_eq!(output.code, Some(77), "{}{}", output.stdout, output.stderr);
    assert!(output.stderr.contains("in two browsers") && output.stderr.contains("hint: credmint login me"));
    // 3. What the other brings comes too late.
    assert!(Request::new("GET", &back).try_send().is_err());
    assert!(user.sessions().is_empty() && provider.issued().is_empty());
    user.canary.check(&user.home);
}

#[test]
fn a_person_who_refuses_is_told_so_on_the_page_and_on_the_terminal() {
    let (provider, user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&plain(&provider, ""));
    let (page, output) = user.signs_in_by(&mut Browser::of("alice").refusing());
    assert!(page.body.contains("credmint login me") && !page.body.contains("<script"), "{}", page.body);
    assert_eq!(output.code, Some(77), "{}{}", output.stdout, output.stderr);
    assert!(output.stderr.contains("declined") && output.stderr.contains("hint: "), "{}", output.stderr);
    assert!(user.sessions().is_empty() && provider.issued().is_empty());
    user.canary.check(&user.home);
}

#[test]
fn a_sign_in_that_is_interrupted_leaves_nothing() {
    let (provider, user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&plain(&provider, "sign_in_timeout = \"3s\"\n"));

    // 1. By Ctrl-C, in the middle of it.
    let mut login = user.login(&["--no-browser"]);
    let url = Browser::of("alice").led_on(&address(&mut login));
    signal(login.pid(), Signal::INT);
    assert_ne!(login.output().code, Some(0));
    let redirect = parameter(&url, "redirect_uri").expect("a redirect URI");
    wait_until("the listener ends", || Request::new("GET", &redirect).try_send().is_err());
    // 2. By the deadline of the settings.
    let mut login = user.login(&["--no-browser"]);
    let url = Browser::of("alice").led_on(&address(&mut login));
    let output = login.output();
    assert!(output.code != Some(0) && output.stderr.contains("hint: "), "{}", output.stderr);
    assert!(output.took < Duration::from_secs(15), "{:?}", output.took);
    let redirect = parameter(&url, "redirect_uri").expect("a redirect URI");
    wait_until("the listener ends", || Request::new("GET", &redirect).try_send().is_err());
    assert!(user.sessions().is_empty() && provider.issued().is_empty());
    user.canary.check(&user.home);
}

#[test]
fn the_address_is_pasted_where_the_browser_cannot_come_back() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&plain(&provider, ""));
    let mut login = user.home.run("credmint").args(["login", "me", "--paste"]).typed().start();
    let url = issuers_address(&mut login, &provider);
    let back = Browser::of("alice").sent_back(&url);
    user.canary.watch("authorization code", parameter(&back, "code").expect("a code"));

    // 1. Something else is asked for again; the right address ends it.
    login.type_line("http://127.0.0.1/callback?code=stolen&state=wrong");
    login.type_line(&back);
    let output = login.output();
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    user.watch_issued(&provider);
    is_wiped(&user, "authorization code");
    assert_eq!(claims(&user.got("token"))["sub"], "alice");
    user.canary.check(&user.home);
}

#[test]
fn two_who_sign_in_at_once_share_one_sign_in_kubelogin_1330_incus_337() {
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&plain(&provider, ""));

    // 1. The second waits for the first, and opens nothing of its own.
    let mut first = user.login(&["--no-browser"]);
    let url = address(&mut first);
    let mut second = user.login(&["--no-browser"]);
    second.shows("that it waits", |text| text.to_lowercase().contains("wait").then_some(()));
    // 2. Both are done when the person is.
    Browser::of("alice").sign_in(&url);
    for output in [first.output(), second.output()] {
        assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    }
    assert_eq!(provider.issued().len(), 1);
    user.watch_issued(&provider);
    user.canary.check(&user.home);
}

#[test]
fn issuers_differ_and_each_works_or_says_what_to_change() {
    let provider = OpenIdProvider::start_with(300, &[("ISSUER_PATH", "/realms/corp")]);
    let mut user = User::move_in();

    // 1. A path in the issuer's URL, extra parameters, a resource (RFC 8707), the access token as the subject token.
    let lines = format!(
        "resource = [\"https://{HOST}\"]\nauthorization_parameters = {{ login_hint = \"alice@corp.example\" }}\n\
         token = \"access\"\n"
    );
    user.settings(&plain(&provider, &lines));
    let mut login = user.login(&["--no-browser"]);
    let mut browser = Browser::of("alice");
    let url = browser.led_on(&address(&mut login));
    assert_eq!(parameter(&url, "login_hint").as_deref(), Some("alice@corp.example"));
    browser.sign_in(&url);
    login.output().success();
    user.watch_issued(&provider);
    assert_eq!(claims(&user.got("token"))["aud"], format!("https://{HOST}"));
    // 2. A scope that the issuer does not know.
    user.settings(&plain(&provider, "").replace("\"email\"]", "\"nobody\"]"));
    let mut login = user.login(&["--no-browser"]);
    let url = address(&mut login);
    Browser::of("alice").sign_in(&url);
    let output = login.output();
    assert_eq!(output.code, Some(0), "an issuer that leaves a scope out says so: {}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("did not grant nobody: "), "{}", output.stdout);
    assert!(user.credmint(&["status"]).stdout.contains("did not grant nobody: "));
    assert_eq!(user.sessions()[0]["not_granted"], serde_json::json!(["nobody"]));
    user.watch_issued(&provider);
    // 3. An issuer that is not the one it says it is.
    user.settings(&plain(&provider, "").replace("/realms/corp", "/realms/other"));
    let output = user.login(&["--no-browser"]).output();
    assert!(output.code != Some(0) && output.stderr.contains("hint: "), "{}", output.stderr);
    user.canary.check(&user.home);
}

#[test]
fn an_issuer_with_a_certificate_of_the_companys_own_authority_is_trusted_when_the_settings_say_so() {
    let authority = Authority::new("Corp Root");
    let (provider, mut user) = (OpenIdProvider::start_tls(&authority), User::move_in());
    let ca = user.home.write("ca.pem", authority.certificate());

    // 1. Without a word about it the issuer is a stranger, and what to change is said.
    user.settings(&plain(&provider, ""));
    let output = user.login(&["--no-browser"]).output();
    assert!(output.code != Some(0) && output.stderr.contains("hint: "), "{}", output.stderr);
    assert!(output.stderr.contains("`ca`") || output.stderr.contains("ca = "), "{}", output.stderr);
    // 2. With it everything goes there and comes back.
    user.settings(&plain(&provider, &format!("ca = \"{}\"\n", ca.display())));
    let mut login = user.login(&["--no-browser"]);
    let url = address(&mut login);
    assert_eq!(Browser::of("alice").trusting(&ca).sign_in(&url).status, 200);
    login.output().success();
    user.watch_issued(&provider);
    assert_eq!(claims(&user.got("token"))["iss"], provider.issuer());
    user.canary.check(&user.home);
}
