//! What executables are made of: few packages in a thin helper, one HTTP stack, one TLS provider.
//! Read from `cargo tree` a package at a time, because features unify over a whole workspace and hide it.

use credmint_house::cargo::{Package, compiled_into, packages};
use credmint_house::nothing;

/// Most packages that a thin helper may be made of. What starts in a millisecond has little to load.
const MOST: usize = 20;

/// Executables that are not thin.
const NOT_THIN: [&str; 2] = ["credmint-agent", "credmint"];

/// Second stacks: `name` or `name v<start>`, and why not.
const BANNED: [(&str, &str); 9] = [
    ("ring ", "one TLS provider, aws-lc-rs: it has RSA keys and X25519MLKEM768, ring has neither"),
    ("reqwest v0.11", "one HTTP stack, reqwest 0.13"),
    ("reqwest v0.12", "one HTTP stack, reqwest 0.13"),
    ("openssl ", "one TLS stack, rustls (openssl-probe only knows paths)"),
    ("openssl-sys ", "one TLS stack, rustls"),
    ("native-tls", "one TLS stack, rustls; native-tls cannot verify as we need it (jmgilman/vaultrs#155)"),
    ("ureq ", "one HTTP stack, reqwest 0.13"),
    ("curl ", "one HTTP stack, reqwest 0.13"),
    ("rusty_vault", "cannot sign a certification request"),
];

#[test]
fn a_thin_helper_is_made_of_few_packages() {
    let thin = |p: &&Package| p.is_in("helpers") && !NOT_THIN.contains(&p.name.as_str());
    let mut found = Vec::new();
    for package in packages().iter().filter(thin) {
        let made_of = compiled_into(&package.name);
        if made_of.len() > MOST {
            let names: Vec<String> = made_of.into_iter().collect();
            found.push(format!("{}: {} packages: {}", package.name, names.len(), names.join(", ")));
        }
    }
    nothing(&format!("a thin helper is made of at most {MOST} packages"), &found);
}

#[test]
fn a_thin_helper_has_no_runtime_and_no_command_line_library() {
    let heavy = ["tokio ", "clap ", "rustls ", "hyper ", "toml ", "x509-parser "];
    let thin = |p: &&Package| p.is_in("helpers") && !NOT_THIN.contains(&p.name.as_str());
    let mut found = Vec::new();
    for package in packages().iter().filter(thin) {
        let made_of = compiled_into(&package.name);
        let wrong = made_of.iter().filter(|one| heavy.iter().any(|name| one.starts_with(name)));
        found.extend(wrong.map(|one| format!("{}: {one}", package.name)));
    }
    nothing("no TLS, no async runtime, no settings file, no ASN.1 in a thin helper", &found);
}

#[test]
fn there_is_one_http_stack_and_one_tls_provider() {
    let mut found = Vec::new();
    for package in packages().iter().filter(|p| p.is_in("helpers")) {
        for one in compiled_into(&package.name) {
            let banned = BANNED.iter().find(|(name, _)| one.starts_with(name));
            found.extend(banned.map(|(_, why)| format!("{}: {one}: {why}", package.name)));
        }
    }
    nothing("a second stack is compiled into an executable", &found);
}
