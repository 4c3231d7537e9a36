//! Each executable has a page for its users, always in the same form, and the repository's front page leads to it.

use credmint_house::cargo::packages;
use credmint_house::{files, nothing};

const HEADINGS: [&str; 8] = [
    "What it does",
    "Configure",
    "Environment",
    "What it keeps, and where",
    "What it sends, and to whom",
    "When it fails",
    "Security notes",
    "See also",
];

#[test]
fn every_helper_has_a_page_with_the_eight_headings() {
    let files = files();
    let mut found = Vec::new();
    for package in packages().iter().filter(|p| p.is_in("helpers")) {
        let path = format!("{}/README.md", package.folder);
        let Some(page) = files.iter().find(|f| f.path == path) else {
            found.push(format!("{path}: not there"));
            continue;
        };
        let headings: Vec<&str> =
            page.text.lines().filter_map(|line| line.strip_prefix("## ")).map(str::trim).collect();
        if headings != HEADINGS {
            found.push(format!("{path}: {headings:?}"));
        }
    }
    nothing(&format!("a page has other headings than {HEADINGS:?}"), &found);
}

#[test]
fn the_front_page_leads_to_every_page() {
    let files = files();
    let front = files.iter().find(|f| f.path == "README.md").map_or("", |f| f.text.as_str());
    let helpers = packages().into_iter().filter(|p| p.is_in("helpers"));
    let missing: Vec<_> = helpers.map(|p| p.folder).filter(|folder| !front.contains(folder.as_str())).collect();
    nothing("README.md does not lead to a helper", &missing);
}

#[test]
fn links_between_pages_lead_somewhere() {
    let files = files();
    let mut found = Vec::new();
    for page in files.iter().filter(|f| f.path.ends_with(".md")) {
        let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in links(&page.text) {
            let target = link.split('#').next().unwrap_or_default();
            let there = target.is_empty() || credmint_house::root().join(folder).join(target).exists();
            if !link.contains("://") && !there {
                found.push(format!("{}: {link}", page.path));
            }
        }
    }
    nothing("a link leads nowhere", &found);
}

#[test]
fn the_map_leads_to_rooms_and_files_that_are_there() {
    let files = files();
    let front = files.iter().find(|f| f.path == "README.md").map_or("", |f| f.text.as_str());
    let mut found = Vec::new();
    for row in front.lines().filter(|line| line.starts_with("| ") && line.contains("`src/")) {
        let rooms = links(row);
        let paths = row.split('`').skip(1).step_by(2).filter(|word| word.starts_with("src/"));
        let there = |path: &str| rooms.iter().any(|room| credmint_house::root().join(room).join(path).exists());
        found.extend(paths.filter(|path| !there(path)).map(|path| format!("{path}: in none of {rooms:?}")));
    }
    assert!(front.contains("`src/main.rs`"), "README.md has no map");
    nothing("the map leads to a file that is not there", &found);
}

/// Lists the targets of `[text](target)`.
fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|link| !link.contains(' ')).collect()
}
