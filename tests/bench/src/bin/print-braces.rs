//! The floor: a static program that prints `{}` and does nothing else.
//! Nothing comes in, two bytes go out.
//! What a helper costs beyond this is ours.

use std::io::Write;

fn main() {
    std::io::stdout().write_all(b"{}\n").unwrap_or_default();
}
