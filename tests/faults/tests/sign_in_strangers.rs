//! Another user of the machine while a person signs in: the address of the sign-in stands in the browser's arguments.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use credmint_faults::User;
use credmint_faults::other_user::Somebody;
use credmint_test_kit::browser::link;
use credmint_test_kit::{Browser, OpenIdProvider};

/// Asks for a path of a port, with one header more, and prints the first line of the answer.
const ASK: &str = r#"my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ARGV[0]) or die "no connection"; alarm 10;
    print $s "GET $ARGV[1] HTTP/1.1\r\nHost: localhost:$ARGV[0]\r\n$ARGV[2]\r\n\r\n"; print scalar <$s>;"#;

/// Holds many connections to a port and says nothing over them.
const CROWD: &str = r#"my @all = map { IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ARGV[0]) } 1..120; $| = 1; print "there\n"; sleep 9;"#;

#[test]
fn another_user_who_holds_every_connection_that_they_get_leaves_enough_for_the_person() {
    let Some(other) = Somebody::moves_in() else { return };
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let issuer = provider.issuer();
    user.settings(format!(
        "[identity.me]\nkind = \"oidc\"\nissuer = \"{issuer}\"\nclient_id = \"cli\"\nredirect_host = \"localhost\"\n"
    ));
    let mut login = user.home.run("credmint").args(["login", "me", "--no-browser"]).start();
    let url = login.shows("the address", |text| link(text, "http://localhost:"));
    let (port, _) = url["http://localhost:".len()..].split_once('/').expect("a port and a path");
    let mut crowd = other.run("perl", &["-MIO::Socket::INET", "-e", CROWD, port]).start();
    crowd.shows("their connections", |text| text.contains("there").then_some(()));
    let began = std::time::Instant::now();
    let mut browser = Browser::of("alice");
    let back = browser.sent_back(&url);
    assert_eq!(browser.opens(&back).status, 200);
    login.output().success();
    assert!(began.elapsed() < std::time::Duration::from_secs(6), "it took {:?}", began.elapsed());
    for issued in provider.issued() {
        user.canary.watch("refresh token", issued.refresh_token);
    }
    user.check();
}

#[test]
fn another_user_who_reads_the_address_neither_takes_it_nor_spoils_it() {
    let Some(other) = Somebody::moves_in() else { return };
    let (provider, mut user) = (OpenIdProvider::start(), User::move_in());
    let issuer = provider.issuer();
    user.settings(format!(
        "[identity.me]\nkind = \"oidc\"\nissuer = \"{issuer}\"\nclient_id = \"cli\"\nredirect_host = \"localhost\"\n"
    ));
    let mut login = user.home.run("credmint").args(["login", "me", "--no-browser"]).start();
    let url = login.shows("the address", |text| link(text, "http://localhost:"));
    let (port, path) = url["http://localhost:".len()..].split_once('/').expect("a port and a path");
    let asks = |path: &str, header: &str| {
        other.run("perl", &["-MIO::Socket::INET", "-e", ASK, port, path, header]).output().success().stdout
    };

    // 1. Their browser is not led to the issuer, and uses nothing up.
    assert!(asks(&format!("/{path}"), "Accept: */*").starts_with("HTTP/1.1 400"));
    // 2. The person's is. Not even the cookie helps the other, if they could have it.
    let mut browser = Browser::of("alice");
    let back = browser.sent_back(&url);
    let cookie = browser.cookie_for(&back);
    assert!(cookie.starts_with("credmint-"), "{cookie}");
    let query = &back[back.find("/callback").expect("the way back")..];
    assert!(asks(query, &format!("Cookie: {cookie}")).starts_with("HTTP/1.1 400"));
    // 3. And the sign-in is what it would have been without them.
    assert_eq!(browser.opens(&back).status, 200);
    login.output().success();
    for issued in provider.issued() {
        user.canary.watch("refresh token", issued.refresh_token);
    }
    user.check();
}
