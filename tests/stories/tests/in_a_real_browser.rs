//! A person signs in with a real Chromium, and what they see there is looked at: pictures are left in `target/screenshots`.

use credmint_stories::{AS_IT_IS, Company, HOST, User, person, terraform, token_host};
use credmint_test_kit::browser::link;
use credmint_test_kit::encoding::claims;
use credmint_test_kit::{Chromium, OpenIdProvider};

/// The settings of a person whose browser is this one.
fn settings(provider: &OpenIdProvider, chromium: &Chromium) -> String {
    let browser = format!("browser = [\"{}\"]\n", chromium.program().display());
    person(provider, &browser) + AS_IT_IS + &token_host("\"me\"", "as-it-is")
}

/// Types name and password where the issuer asks for them.
fn sign_in(chromium: &mut Chromium) {
    chromium.fill("login", "alice");
    chromium.fill("password", "any will do");
    chromium.press("[type=submit]");
    chromium.wait_for("document.querySelector('[name=prompt][value=consent]')");
}

/// What a page of ours must be: whole without scripts and foreign content, as wide as its screen, dark where that is wished.
fn look_at(chromium: &mut Chromium, name: &str) {
    assert_eq!(chromium.value("document.scripts.length + document.querySelectorAll('link, img, iframe').length"), 0);
    for (kind, is_dark, is_phone) in [("", false, false), ("-dark", true, false), ("-phone", false, true)] {
        assert!(chromium.picture(&format!("{name}{kind}"), is_dark, is_phone).is_file());
        assert_eq!(chromium.value("document.documentElement.scrollWidth <= innerWidth"), true, "{name}{kind}");
    }
    let background = |chromium: &mut Chromium| chromium.value("getComputedStyle(document.body).backgroundColor");
    chromium.picture(&format!("{name}-dark"), true, false);
    let dark = background(chromium);
    chromium.picture(name, false, false);
    assert_ne!(dark, background(chromium), "{name}: dark mode is another background");
}

#[test]
fn chromium_is_opened_signs_in_and_shows_who_and_until_when() {
    let Some(mut chromium) = Chromium::prepare() else { return };
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&settings(&provider, &chromium));
    user.home.set("DISPLAY", ":99");

    // 1. `credmint login` opens it at the issuer; the person signs in and agrees.
    let login = user.login(&[]);
    sign_in(&mut chromium);
    chromium.press("[type=submit]");
    // 2. It ends on our page, at loopback, which says who signed in and that the tab can be closed; the code is not in the
    //    address bar's page title, and the page refers to nobody.
    chromium.wait_for("location.pathname == '/callback' && document.body.innerText.includes('alice')");
    look_at(&mut chromium, "signed-in");
    assert_eq!(chromium.value("/close/i.test(document.body.innerText)"), true);
    // 3. The program is done, too.
    login.output().success();
    user.watch_issued(&provider);
    assert_eq!(claims(&user.got("token"))["sub"], "alice");
    drop(chromium);
    user.canary.check(&user.home);
}

#[test]
fn chromium_shows_what_to_do_when_the_person_refuses() {
    let Some(mut chromium) = Chromium::prepare() else { return };
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    user.settings(&settings(&provider, &chromium));
    user.home.set("DISPLAY", ":99");
    let login = user.login(&[]);
    sign_in(&mut chromium);
    chromium.press("a[href$=abort]");
    chromium.wait_for("location.pathname == '/callback' && document.body.innerText.includes('credmint login me')");
    look_at(&mut chromium, "refused");
    assert_eq!(login.output().code, Some(77));
    drop(chromium);
    user.canary.check(&user.home);
}

#[test]
fn terraform_opens_it_and_the_page_goes_back_to_terraform_by_itself() {
    let (Some(terraform), Some(mut chromium)) = (terraform(), Chromium::prepare()) else { return };
    let (company, mut user) = (Company::found(), User::move_in());
    user.settings(&(person(&company.provider, "") + &company.issuer() + &company.host("me", "")));
    user.setup(company.registry.address());

    // 1. The address is opened by a program, as Terraform has the system do: no page of the web led Chromium there.
    let mut login = terraform.run(&user.home, &user.work, &["login", "-no-color", HOST]).typed().start();
    login.type_line("yes");
    let start = format!("    http://127.0.0.1:{}/{HOST}/.login/authorize?", user.port);
    let shown = |text: &str| link(text.split_once(&start)?.1, "").map(|rest| start.clone() + &rest);
    let url = login.shows("the address to open", shown);
    let opened = user.home.run(chromium.program()).arg(url.trim_start()).start();
    sign_in(&mut chromium);
    chromium.press("[type=submit]");
    // 2. Our page says who, and a moment later it is Terraform's.
    chromium.wait_for("location.pathname == '/callback' && document.body.innerText.includes('alice')");
    login.output().success();
    // Terraform closes its listener in the moment in which it answers: its page comes, or an error of the browser's.
    chromium.wait_for("location.pathname == '/login' || location.protocol == 'chrome-error:'");
    drop((chromium, opened));
    user.watch_issued(&company.provider);
    terraform.init(&user.home, &user.work).success();
    user.canary.check(&user.home);
}
