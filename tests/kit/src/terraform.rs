//! The real `terraform`, run in a home on a configuration with one registry module and one registry provider.
//!
//! A home comes in, what terraform printed goes out. It downloads nothing by itself: where there is no `terraform` on PATH
//! the test says so and is skipped, and with `CI=true` it fails.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::home::Home;
use crate::peer::search_path;
use crate::run::{Output, Run};

/// A terraform that is on PATH.
pub struct Terraform {
    program: PathBuf,
}

/// A module and a provider of the private registry.
pub const CONFIGURATION: &str = r#"terraform {
  required_providers {
    widget = {
      source  = "registry.corp.example/corp/widget"
      version = "1.0.0"
    }
  }
}

module "network" {
  source  = "registry.corp.example/corp/network/aws"
  version = "1.0.0"
}
"#;

impl Terraform {
    /// Finds it. `None` means: skip the test, which has been said already.
    pub fn find() -> Option<Self> {
        Self::find_program("terraform")
    }

    /// Finds OpenTofu.
    pub fn find_tofu() -> Option<Self> {
        Self::find_program("tofu")
    }

    fn find_program(name: &str) -> Option<Self> {
        let path = search_path();
        let found = path.split(':').map(|directory| Path::new(directory).join(name)).find(|file| file.is_file());
        if found.is_none() {
            assert!(
                name != "terraform" || std::env::var("CI").as_deref() != Ok("true"),
                "{name} is not on PATH, and CI=true"
            );
            eprintln!("skipped: {name} is not on PATH");
        }
        found.map(|program| Self { program })
    }

    /// Writes the CLI configuration of the home: a `credentials_helper` block with its arguments, and a `host` block that
    /// sends modules and providers of the registry to an address.
    pub fn write_cli_configuration(home: &Home, helper: Option<(&str, &[&str])>, services: Option<&str>) -> PathBuf {
        let mut text = String::new();
        if let Some((name, arguments)) = helper {
            let arguments: Vec<String> = arguments.iter().map(|argument| format!("{argument:?}")).collect();
            text.push_str(&format!("credentials_helper \"{name}\" {{\n  args = [{}]\n}}\n", arguments.join(", ")));
        }
        if let Some(address) = services {
            text.push_str(&format!(
                "host \"registry.corp.example\" {{\n  services = {{\n    \"modules.v1\"   = \"{address}/v1/modules/\"\n    \
                 \"providers.v1\" = \"{address}/v1/providers/\"\n  }}\n}}\n"
            ));
        }
        home.write(".terraformrc", text)
    }

    /// Begins to run it with colours off in a directory.
    pub fn run<'home>(&self, home: &'home Home, directory: &Path, arguments: &[&str]) -> Run<'home> {
        let run = home.run(&self.program).args(arguments.iter().copied()).in_directory(directory);
        run.env("TF_IN_AUTOMATION", "1").deadline(Duration::from_secs(120))
    }

    /// Makes a directory in the home with [`CONFIGURATION`] in it.
    pub fn write_configuration(home: &Home, name: &str) -> PathBuf {
        let file = home.write(&format!("{name}/main.tf"), CONFIGURATION);
        file.parent().expect("its directory").to_owned()
    }

    /// Runs `terraform init` in a directory.
    pub fn init(&self, home: &Home, directory: &Path) -> Output {
        self.run(home, directory, &["init", "-input=false", "-no-color"]).output()
    }
}
