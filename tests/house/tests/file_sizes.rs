//! Files stay short: 400 lines at most without their tests, 600 of tests alone, and a `main.rs` is done in 20.

use credmint_house::code::without_tests;
use credmint_house::{nothing, rust_files};

const MOST: usize = 400;
const MOST_OF_TESTS: usize = 600;
const MOST_IN_MAIN: usize = 20;

#[test]
fn no_file_has_more_than_400_lines_without_its_tests() {
    let files = rust_files(&["common/", "helpers/", "packaging/", "protocol-spec/", "tests/"]);
    let sizes = files.iter().map(|f| (f, without_tests(&f.text).lines().count()));
    let long = sizes.filter(|(file, lines)| *lines > if file.is_test { MOST_OF_TESTS } else { MOST });
    let long: Vec<_> = long.map(|(file, lines)| format!("{}: {lines} lines", file.path)).collect();
    nothing("a file has more than 400 lines without its tests, or more than 600 of tests", &long);
}

#[test]
fn main_introduces_and_is_done_in_20_lines() {
    let mains: Vec<_> = rust_files(&["helpers/"]).into_iter().filter(|f| f.path.ends_with("src/main.rs")).collect();
    let sizes = mains.iter().map(|f| (&f.path, without_tests(&f.text).lines().count()));
    let long: Vec<_> = sizes.filter(|(_, n)| *n > MOST_IN_MAIN).map(|(path, n)| format!("{path}: {n} lines")).collect();
    nothing("a main.rs has more than 20 lines", &long);
}
