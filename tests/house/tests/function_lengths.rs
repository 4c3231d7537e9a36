//! Functions stay short: none over 60 lines, nine in ten under 25. The longest function is what readers judge a house by.

use credmint_house::code::{functions, without_tests};
use credmint_house::{nothing, rust_files};

const MOST: usize = 60;
const NINE_IN_TEN: usize = 25;

#[test]
fn no_function_has_more_than_60_lines() {
    let mut long = Vec::new();
    for file in rust_files(&["common/", "helpers/", "packaging/", "protocol-spec/", "tests/"]) {
        let over = functions(&file.text).into_iter().filter(|f| f.length > MOST);
        long.extend(over.map(|f| format!("{}:{}: `{}` has {} lines", file.path, f.line, f.name, f.length)));
    }
    nothing("a function has more than 60 lines", &long);
}

#[test]
fn nine_functions_in_ten_have_under_25_lines() {
    let files = rust_files(&["common/", "helpers/"]);
    let code = files.iter().filter(|f| !f.is_test).map(|f| without_tests(&f.text));
    let mut lengths: Vec<usize> = code.flat_map(functions).map(|f| f.length).collect();
    lengths.sort_unstable();
    let at = lengths.len() * 9 / 10;
    let ninth = lengths.get(at).copied().unwrap_or_default();
    assert!(ninth < NINE_IN_TEN, "nine functions in ten have up to {ninth} lines, of {} functions", lengths.len());
}
