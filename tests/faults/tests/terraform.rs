//! What faults look like through the real terraform, where it matters.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test arranges the machine by hand, and fails by panicking"
)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use credmint_faults::fake::{Act, Fake};
use credmint_faults::{HOST, JOB, PASS_ON, SETTINGS, User, is_a_failure, vault};
use credmint_test_kit::home::executable;
use credmint_test_kit::registry::VERSION;
use credmint_test_kit::{Gate, Registry, Terraform, random};
use serde_json::json;

/// A configuration that asks for what only the public registry has, which nobody reaches from here.
const PUBLIC: &str =
    "terraform {\n  required_providers {\n    null = {\n      source = \"hashicorp/null\"\n    }\n  }\n}\n";

/// A registry's settings behind the bridge, with a bearer token that is passed on.
fn behind(registry: &Registry) -> String {
    format!(
        "{JOB}[issuer.pass]\nkind = \"oidc\"\n\n[host.\"{HOST}\"]\nidentity = \"job\"\nissuer = \"pass\"\n\
         deliver = \"bridge\"\nupstream = \"{}\"\nca = \"{}\"\n",
        registry.address(),
        registry.ca_file().display()
    )
}

/// Lets `credmint setup` write the CLI configuration: helper, and a host block that leads to the bridge.
fn set_up(user: &User, upstream: &str) {
    let run = user.home.run(executable("credmint")).args(["setup", HOST, "--upstream", upstream, "--yes"]);
    run.output().success();
    // It wrote settings to begin with; the test has its own.
    let _ = std::fs::remove_file(user.home.path().join(".config/credmint/config.toml"));
}

/// hashicorp/terraform#25938: a helper that breaks for one host breaks all others.
#[test]
fn a_mistake_about_our_host_does_not_break_configurations_without_it() {
    let Some(terraform) = Terraform::find() else { return };
    let user = User::with_a_route_that_works();
    user.succeeds();
    set_up(&user, "https://127.0.0.1:9");
    user.settings(format!("{PASS_ON}isuer = \"x\"\n"));
    is_a_failure(&user.get(), SETTINGS, &["isuer"]);

    user.home.write("public/main.tf", PUBLIC);
    let work = user.home.path().join("public");
    // A proxy that is not there keeps the test off the network: it gets as far as the public registry, and no helper stops it.
    let run = terraform.run(&user.home, &work, &["init", "-input=false", "-no-color"]);
    let output = run.env("HTTPS_PROXY", "http://127.0.0.1:9").output();
    let shown = output.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("registry.terraform.io") && shown.contains("127.0.0.1:9"), "{shown}");
    assert!(!shown.contains("isuer") && !shown.contains("credmint") && !shown.contains("credentials"), "{shown}");
    let status = user.home.run("credmint").arg("status").output().stdout;
    assert!(!status.contains("registry.terraform.io"), "{status}");
    user.check();
}

#[test]
fn an_init_with_a_failing_issuer_is_quick_and_asks_it_once_or_twice() {
    let Some(terraform) = Terraform::find() else { return };
    let fake = Fake::always(Act::Later(Duration::from_millis(500), Box::new(Act::json(500, &json!({ "errors": [] })))));
    let mut user = User::move_in();
    user.token(&random::secret("subject"));
    set_up(&user, "https://127.0.0.1:9");
    user.settings(
        JOB.to_owned() + &vault::token(&fake.address(), "") + &credmint_faults::host("vault", "deliver = \"bridge\""),
    );
    let work = Terraform::write_configuration(&user.home, "work");
    let start = Instant::now();
    let output = terraform.init(&user.home, &work);
    assert_ne!(output.code, Some(0));
    assert!(start.elapsed() < Duration::from_secs(10), "it took {:?}", start.elapsed());
    assert!((1..=2).contains(&fake.received().len()), "asked {} times", fake.received().len());
    user.check();
}

/// Terraform goes on without a helper that fails, and a `host` block leads to a port that any user may hold.
#[test]
fn whoever_holds_the_port_of_the_bridge_is_asked_for_nothing() {
    let Some(terraform) = Terraform::find() else { return };
    let mut user = User::move_in();
    user.token(&random::secret("subject"));
    set_up(&user, "https://127.0.0.1:9");
    user.settings(JOB.to_owned() + "[issuer.lab]\nkind = \"local-ca\"\n\n" + &credmint_faults::host("lab", ""));
    let port = std::net::TcpListener::bind(("127.0.0.1", user.port)).expect("the port");
    let squatter =
        Fake::on(port, |_| Act::json(200, &json!({ "modules": [{ "versions": [{ "version": VERSION }] }] })));
    let work = Terraform::write_configuration(&user.home, "work");

    let output = terraform.init(&user.home, &work);
    assert_ne!(output.code, Some(0), "{}", output.stdout);
    assert!(output.stderr.contains("Authorization"), "{}", output.stderr);
    assert!(squatter.received().is_empty(), "somebody else was asked in our place");
    let status = user.home.run("credmint").arg("status").output().stdout;
    assert!(status.contains("another program holds it"), "{status}");
    user.check();
}

#[test]
fn an_upstream_that_closes_in_the_middle_of_an_archive_fails_one_init_and_not_the_next() {
    let Some(terraform) = Terraform::find() else { return };
    let breaks = std::sync::Arc::new(AtomicBool::new(true));
    let storage = storage_that_breaks_off(std::sync::Arc::clone(&breaks));
    let mut user = User::move_in();
    let token = user.token(&random::secret("subject"));
    let token = std::fs::read_to_string(token).expect("the token").trim().to_owned();
    // nginx has the archive from a storage behind it, as registries do; that one is the fake.
    let archive = format!("network-{VERSION}.zip");
    let location = format!(
        "location = /archives/{archive} {{ proxy_pass {}; proxy_buffering off; proxy_http_version 1.1; }}",
        storage.address()
    );
    let registry = Registry::behind(Gate::Bearer(token)).nginx(&location).start();
    let content = std::fs::read(registry.site().join("archives").join(&archive)).expect("the archive");
    storage.then(acts(content, std::sync::Arc::clone(&breaks)));
    set_up(&user, registry.address());
    user.settings(behind(&registry));
    let work = Terraform::write_configuration(&user.home, "work");

    let output = terraform.init(&user.home, &work);
    assert_ne!(output.code, Some(0), "half an archive is no archive: {}", output.stdout);
    let words = output.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("network") && (words.contains("EOF") || words.contains("download")), "{words}");
    breaks.store(false, Ordering::SeqCst);
    terraform.init(&user.home, &work).success();
    user.check();
}

fn storage_that_breaks_off(breaks: std::sync::Arc<AtomicBool>) -> Fake {
    Fake::start(acts(Vec::new(), breaks))
}

fn acts(
    content: Vec<u8>,
    breaks: std::sync::Arc<AtomicBool>,
) -> impl FnMut(&credmint_faults::fake::Received) -> Act + Send + 'static {
    move |request| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            content.len()
        );
        let sent = match (request.method.as_str(), breaks.load(Ordering::SeqCst)) {
            ("HEAD", _) => 0,
            (_, true) => content.len() / 2,
            (_, false) => content.len(),
        };
        Act::Bytes([head.as_bytes(), &content[..sent]].concat())
    }
}
