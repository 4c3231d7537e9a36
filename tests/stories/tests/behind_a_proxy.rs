//! A person whose issuer is only reached through the company's proxy: a name that resolves to nothing here, a path, and a
//! certificate of the company's own authority.

use credmint_stories::{AS_IT_IS, HOST, User, person, token_host, wait_until};
use credmint_test_kit::encoding::claims;
use credmint_test_kit::{Authority, Browser, OpenIdProvider, Proxy};

const ISSUER: &str = "id.corp.example";
const TUNNEL: &str = "CONNECT id.corp.example:443 HTTP/1.1";

#[test]
fn every_word_with_the_issuer_goes_through_the_proxy() {
    let authority = Authority::new("Corp Root");
    let provider = OpenIdProvider::start_as((ISSUER, "/realms/corp"), 6, &authority);
    let (proxy, mut user) = (Proxy::start(provider.port()), User::move_in());
    let ca = user.home.write("ca.pem", authority.certificate());
    let way = format!("ca = \"{}\"\nproxy = \"{}\"\n", ca.display(), proxy.url());
    user.settings(&(person(&provider, &way) + AS_IT_IS + &token_host("\"me\"", "as-it-is")));

    // 1. Discovery, keys and the code: the browser has its own way there.
    let mut browser = Browser::of("alice").trusting(&ca).reaching(ISSUER, provider.port());
    let (page, output) = user.signs_in_by(&mut browser);
    output.success();
    assert_eq!(page.status, 200, "{}", page.body);
    let asked = proxy.asked();
    assert!(!asked.is_empty() && asked.iter().all(|line| line == TUNNEL), "{asked:?}");
    assert_eq!(claims(&user.got("token"))["iss"], format!("https://{ISSUER}/realms/corp"));
    // 2. So does the renewal.
    wait_until("the token is renewed", || {
        let _ = user.get().output();
        provider.issued().iter().any(|issued| issued.grant_type == "refresh_token")
    });
    // The name leads nowhere from here: what arrived came through tunnels, of which one may serve for long.
    let asked = proxy.asked();
    assert!(asked.iter().all(|line| line == TUNNEL), "{asked:?}");
    // 3. Signing out goes there, too.
    let output = user.credmint(&["logout", "me"]);
    assert!(output.stdout.contains("signed out, here and at id.corp.example"), "{}{}", output.stdout, output.stderr);
    assert_eq!(provider.revocations().len(), 2);
    user.watch_issued(&provider);
    user.canary.check(&user.home);
}

#[test]
fn a_proxy_that_wants_a_password_says_so() {
    let authority = Authority::new("Corp Root");
    let (proxy, user) = (Proxy::that_wants_a_password(), User::move_in());
    let ca = user.home.write("ca.pem", authority.certificate());
    user.settings(&format!(
        "[identity.me]\nkind = \"oidc\"\nissuer = \"https://{ISSUER}\"\nclient_id = \"cli\"\nca = \"{}\"\nproxy = \"{}\"\n\n\
         {AS_IT_IS}[host.\"{HOST}\"]\nidentity = \"me\"\nissuer = \"as-it-is\"\n",
        ca.display(),
        proxy.url()
    ));
    let output = user.login(&["--no-browser"]).output();
    assert_ne!(output.code, Some(0), "{}", output.stdout);
    assert!(output.stderr.contains(&format!("no tunnel to {ISSUER}")), "{}", output.stderr);
    assert!(output.stderr.contains("authorization required") && output.stderr.contains("without a password"));
    assert_eq!(proxy.asked(), [TUNNEL]);
    user.canary.check(&user.home);
}
