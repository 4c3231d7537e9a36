//! `credmint cert --self-check` against servers that refuse in TLS itself, or whose own certificate cannot be trusted.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use credmint_faults::strict_server::StrictServer;
use credmint_faults::{HOST, User};
use serde_json::Value;

/// Runs the self-check; gives the exit status and what is told.
fn check(user: &User) -> (Option<i32>, Value) {
    let output = user.home.run("credmint").args(["cert", HOST, "--self-check", "--json"]).output();
    assert_eq!(output.stderr, "", "the report is the answer");
    (output.code, output.json()["certificate"]["self_check"].clone())
}

#[test]
fn a_refusal_in_the_handshake_is_told_by_the_name_of_its_alert() {
    let Some(server) = StrictServer::start() else { return };
    let user = User::move_in();

    // 1. The server does not know our authority. With TLS 1.3 it says so only when the answer is read.
    user.settings(server.route("unknown", HOST));
    let (code, told) = check(&user);
    let what = told["what"].as_str().unwrap_or_default();
    assert_eq!((code, told["outcome"].as_str(), told["status"].as_u64()), (Some(77), Some("refused"), None), "{told}");
    assert!(what.contains("unknown_ca") && what.contains("CN=build-07") && what.contains(HOST), "{told}");
    assert!(told["hint"].as_str().is_some_and(|hint| hint.contains("operator")), "{told}");
    // 2. One that it knows.
    user.settings(server.route("known", HOST));
    let (code, told) = check(&user);
    assert_eq!((code, told["outcome"].as_str()), (Some(0), Some("accepted")), "{told}");
    // 3. The server's own certificate is not trusted without its authority in the settings: nothing is said about ours.
    let route = server.route("known", HOST);
    let without = route.lines().filter(|line| !line.starts_with("ca = ")).collect::<Vec<_>>().join("\n");
    user.settings(without);
    let (code, told) = check(&user);
    assert_eq!((code, told["outcome"].as_str()), (Some(69), Some("failed")), "{told}");
    assert!(told["what"].as_str().is_some_and(|what| what.contains("not trusted here")), "{told}");
    user.check();
}
