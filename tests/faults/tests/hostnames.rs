//! Hostnames and arguments as nobody should send them: refused before anything is looked up.

use credmint_faults::{FOREIGN, HELPER, HOST, PASS_ON, REFUSED, USAGE, User, is_a_failure};

#[test]
fn what_is_no_hostname_is_refused_and_not_repeated() {
    let user = User::with_a_route_that_works();
    // CVE-2020-5260 (git): a line end in a hostname selected the secret of another host.
    for (hostname, words) in [
        ("registry.corp.example\nhost=evil.example", "control character"),
        ("registry.corp.example\r", "control character"),
        ("\u{1b}[31mregistry", "control character"),
        ("registry.corp.example/v1/modules", "path"),
        ("https://registry.corp.example", "URL"),
        ("user:password@registry.corp.example", "user information"),
        ("Registry.corp.example", "upper-case"),
        ("registry.corp.example:443", "port"),
        ("registry.corp.example:0", "port"),
        ("registry.corp.example:65536", "port"),
        ("registry.corp.example:http", "port"),
        ("café.example", "Punycode"),
        ("registry..example", "empty label"),
        ("", "empty"),
        (&format!("{}.example", "a".repeat(250)), "longer than 253"),
    ] {
        for verb in ["get", "store", "forget"] {
            let output = user.helper(&[verb, hostname]).input("{}").output();
            is_a_failure(&output, USAGE, &[words, "--help"]);
            assert!(!output.stderr.contains("password") && !output.stderr.contains("evil"), "{}", output.stderr);
        }
    }
    assert!(user.home.agents().is_empty(), "no agent is needed to see that");
    user.succeeds();
    user.check();
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    use std::os::unix::ffi::OsStringExt;
    let user = User::with_a_route_that_works();
    let hostname = std::ffi::OsString::from_vec(b"registry.corp.ex\xffmple".to_vec());
    let output = user.home.run(HELPER).arg("get").arg(hostname).output();
    is_a_failure(&output, USAGE, &["argument 2", "UTF-8"]);
    user.succeeds();
    user.check();
}

#[test]
fn ports_idn_and_ip_literals_are_hosts_of_their_own() {
    let user = User::with_a_route_that_works();
    for hostname in ["registry.corp.example:8443", "xn--caf-dma.example", "127.0.0.1:8443", "[::1]", "[fd00::7]:8443"] {
        let get = || user.helper(&["get", hostname]).output().success().stdout;
        user.settings(PASS_ON);
        assert_eq!(get(), "{}\n", "{hostname} is not the host without it");
        user.settings(PASS_ON.replace(HOST, hostname));
        assert_ne!(get(), "{}\n", "{hostname} has a route of its own");
        assert_eq!(user.get().success().stdout, "{}\n", "and {HOST} is not that host");
    }
    user.check();
}

#[test]
fn a_host_that_nobody_configured_gets_nothing_and_costs_nothing() {
    let user = User::with_a_route_that_works();
    for hostname in [FOREIGN, "registry.opentofu.org", "corp.example", "registry.corp.example.evil.example"] {
        let output = user.helper(&["get", hostname]).output().success();
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("{}\n", ""));
        user.helper(&["forget", hostname]).output().success();
    }
    assert!(user.home.agents().is_empty(), "no agent is started for them");
    let output = User::move_in().get();
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "{}\n"), "nor without any settings");
    user.check();
}

#[test]
fn verbs_and_arguments_that_do_not_exist_are_refused() {
    let user = User::with_a_route_that_works();
    let cases: [(&[&str], &str); 6] = [
        (&[], "0 came"),
        (&["get"], "1 came"),
        (&["fetch", HOST], "get, store and forget"),
        (&["GET", HOST], "get, store and forget"),
        (&[HOST, "get"], "get, store and forget"),
        (&["get", HOST, ""], "get, store and forget"),
    ];
    for (arguments, words) in cases {
        is_a_failure(&user.helper(arguments).output(), USAGE, &[words, "--help"]);
    }
    user.succeeds();
    user.check();
}

#[test]
fn store_is_refused_in_words_and_keeps_nothing() {
    let mut user = User::with_a_route_that_works();
    let token = user.canary.watch("stored token", credmint_test_kit::random::secret("stored"));
    let object = format!("{{\"token\":\"{token}\"}}");
    let store = |hostname: &str, input: &str| user.helper(&["store", hostname]).input(input).output();

    is_a_failure(&store(HOST, &object), REFUSED, &[HOST, "pass"]);
    is_a_failure(&store(FOREIGN, &object), REFUSED, &[FOREIGN]);
    is_a_failure(&store(HOST, "not json"), USAGE, &[]);
    is_a_failure(&store(HOST, ""), USAGE, &[]);
    is_a_failure(&store(HOST, "[]"), USAGE, &[]);
    is_a_failure(&store(HOST, &format!("{{\"token\":\"{}\"}}", "x".repeat(70_000))), USAGE, &["longer than"]);
    // Read to its end even if it is refused: whoever writes must not meet a closed pipe.
    is_a_failure(&store(HOST, &"x".repeat(1 << 20)), USAGE, &["longer than"]);
    user.succeeds();
    user.check();
}

#[test]
fn forget_works_with_and_without_anything_to_forget() {
    let user = User::with_a_route_that_works();
    let forget = || {
        let output = user.helper(&["forget", HOST]).output().success();
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
    };
    forget();
    assert!(user.home.agents().is_empty(), "no agent is started to forget");
    user.succeeds();
    forget();
    forget();
    user.succeeds();
    user.check();
}
