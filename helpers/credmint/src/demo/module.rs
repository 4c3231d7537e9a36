//! What the demo fetches: a module with one output, and a configuration that calls it.
//! Nothing comes in, texts and the archive's bytes go out.
//! Touches nothing.

use super::zip;

/// The configuration.
pub(crate) const CONFIGURATION: &str = r#"module "hello" {
  source  = "registry.corp.example/corp/hello/local"
  version = "1.0.0"
}
"#;

/// Makes the module's archive.
pub(crate) fn archive() -> Vec<u8> {
    zip::archive(&[("main.tf", MAIN), ("README.md", "A module behind mTLS.\n")])
}

const MAIN: &str = r#"output "greeting" {
  value = "hello from behind mTLS"
}
"#;
