//! A picture of the docs is shown on a page and says what it was made of, and nothing else lies beside it.

use std::collections::BTreeSet;
use std::path::Path;

use credmint_house::{files, nothing, root};

#[test]
fn every_picture_is_shown_and_says_what_it_was_made_of() {
    let folder = root().join("helpers/credmint/pictures");
    let page =
        files().into_iter().find(|file| file.path == "helpers/credmint/README.md").map_or_else(String::new, |f| f.text);
    let (pictures, sources) = (names(&folder, "png"), sources(&folder.join("made-from")));
    assert!(!pictures.is_empty(), "{} has no pictures", folder.display());
    let is_of = |picture: &str, source: &str| {
        [source, &format!("{source}-dark"), &format!("{source}-phone")].contains(&picture)
    };
    let hidden = pictures.iter().filter(|picture| !page.contains(&format!("(pictures/{picture}.png)")));
    let made_of_nothing = pictures.iter().filter(|picture| !sources.iter().any(|source| is_of(picture, source)));
    let left = sources.iter().filter(|source| !pictures.iter().any(|picture| is_of(picture, source)));
    let found: Vec<_> = hidden
        .map(|name| format!("{name}: on no page"))
        .chain(made_of_nothing.map(|name| format!("{name}: nothing in made-from")))
        .chain(left.map(|name| format!("made-from/{name}: no picture")))
        .collect();
    nothing("a picture of the docs is on no page, or nobody knows what it shows", &found);
}

fn sources(folder: &Path) -> BTreeSet<String> {
    names(folder, "html").into_iter().chain(names(folder, "txt")).collect()
}

/// Lists the files that end so, without that end.
fn names(folder: &Path, end: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|own| own == end));
    paths.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
}
