//! Doors: helpers → common → vocabulary, and never back. Read from `cargo metadata`, so that a manifest cannot drift.

use credmint_house::cargo::{Package, packages};
use credmint_house::nothing;

/// Rooms that a thin helper may open onto; it turns a foreign protocol into one request and the answer back.
const THIN_DOORS: [&str; 4] =
    ["credmint-vocabulary", "credmint-protocols", "credmint-agent-protocol", "credmint-local-machine"];

/// Executables that are not thin: one does the work, the other talks to people.
const NOT_THIN: [&str; 2] = ["credmint-agent", "credmint"];

/// Rooms of `common` and the rooms of ours that each may open onto.
const ROOMS: [(&str, &[&str]); 11] = [
    ("credmint-vocabulary", &[]),
    ("credmint-protocols", &["credmint-vocabulary"]),
    ("credmint-agent-protocol", &["credmint-vocabulary"]),
    ("credmint-client-identity", &["credmint-vocabulary"]),
    ("credmint-settings", &["credmint-vocabulary", "credmint-client-identity"]),
    // Files of trust anchors: read where all files are read, with a bound.
    ("credmint-https", &["credmint-vocabulary", "credmint-client-identity", "credmint-local-machine"]),
    ("credmint-windows-handles", &[]),
    ("credmint-os-store", &["credmint-vocabulary"]),
    (
        "credmint-local-machine",
        &["credmint-vocabulary", "credmint-agent-protocol", "credmint-settings", "credmint-windows-handles"],
    ),
    (
        "credmint-identities",
        &["credmint-vocabulary", "credmint-client-identity", "credmint-settings", "credmint-https"],
    ),
    (
        "credmint-issuers",
        &[
            "credmint-vocabulary",
            "credmint-client-identity",
            "credmint-settings",
            "credmint-https",
            "credmint-identities",
        ],
    ),
];

/// Crates that do I/O: nothing for the rooms that are pure.
const IO: [&str; 16] = [
    "tokio",
    "reqwest",
    "hyper",
    "hyper-util",
    "rustls",
    "tokio-rustls",
    "rustls-native-certs",
    "rustix",
    "interprocess",
    "vaultrs",
    "rustify",
    "openidconnect",
    "oauth2",
    "clap",
    "socket2",
    "mio",
];

/// Rooms that must be able to run anywhere: bytes in, bytes out.
const PURE: [&str; 5] = [
    "credmint-vocabulary",
    "credmint-protocols",
    "credmint-agent-protocol",
    "credmint-client-identity",
    "credmint-settings",
];

#[test]
fn a_thin_helper_opens_onto_four_rooms_and_no_others() {
    let thin = |p: &&Package| p.is_in("helpers") && !NOT_THIN.contains(&p.name.as_str());
    let mut found = Vec::new();
    for package in packages().iter().filter(thin) {
        let others = ours(package).filter(|door| !THIN_DOORS.contains(&door.as_str()));
        found.extend(others.map(|door| format!("{} → {door}", package.name)));
    }
    nothing("thin helpers open only onto vocabulary, protocols, agent-protocol and local-machine", &found);
}

#[test]
fn a_room_of_common_opens_onto_the_rooms_below_it() {
    let mut found = Vec::new();
    for package in packages().iter().filter(|p| p.is_in("common")) {
        let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == package.name) else {
            found.push(format!("{}: a new room; write its doors down in tests/house/tests/doors.rs", package.name));
            continue;
        };
        let others = ours(package).filter(|door| !allowed.contains(&door.as_str()));
        found.extend(others.map(|door| format!("{} → {door}", package.name)));
    }
    nothing("rooms of common open only downwards", &found);
}

#[test]
fn nothing_opens_onto_a_helper_or_onto_the_tests() {
    let packages = packages();
    let closed = |p: &&Package| !p.is_in("common") && p.name != "credmint-protocol-spec";
    let closed: Vec<&str> = packages.iter().filter(closed).map(|p| p.name.as_str()).collect();
    let mut found = Vec::new();
    for package in packages.iter().filter(|p| p.is_in("common") || p.is_in("helpers") || p.is_in("protocol-spec")) {
        let wrong = package.doors.iter().filter(|door| closed.contains(&door.as_str()));
        found.extend(wrong.map(|door| format!("{} → {door}", package.name)));
    }
    nothing("no room opens onto a helper, and nothing that users run opens onto the tests", &found);
}

#[test]
fn pure_rooms_depend_on_nothing_that_does_io() {
    let mut found = Vec::new();
    for package in packages().iter().filter(|p| PURE.contains(&p.name.as_str())) {
        let io = package.doors.iter().filter(|door| IO.contains(&door.as_str()));
        found.extend(io.map(|door| format!("{} → {door}", package.name)));
    }
    nothing("pure rooms use no crate that does I/O", &found);
}

#[test]
fn the_tables_name_only_rooms_that_exist() {
    let names: Vec<String> = packages().into_iter().map(|p| p.name).collect();
    let tables = THIN_DOORS.iter().chain(&NOT_THIN).chain(&PURE).chain(ROOMS.iter().map(|(name, _)| name));
    let gone: Vec<String> = tables.filter(|name| !names.iter().any(|n| n == *name)).map(|n| (*n).to_owned()).collect();
    nothing("a table in doors.rs names a room that is gone", &gone);
}

/// Lists the doors onto packages of this repository.
fn ours(package: &Package) -> impl Iterator<Item = &String> {
    package.doors.iter().filter(|door| door.starts_with("credmint"))
}
