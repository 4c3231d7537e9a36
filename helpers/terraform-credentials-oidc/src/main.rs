//! `terraform-credentials-oidc`: an OIDC token, or one got in exchange for it, for the hosts of `--host=`.
//! Terraform's call comes in, one JSON object goes out; the flow is the one of `terraform-credentials-credmint`.
//! Needs no settings file: its arguments are the settings, and the agent reads them.

use std::process::ExitCode;

#[path = "../../terraform-credentials-credmint/src/helper.rs"]
mod helper;

use credmint_protocols::terraform::Request;
use helper::Helper;

fn main() -> ExitCode {
    Helper { name: env!("CARGO_PKG_NAME"), help: include_str!("help.txt"), serves: Request::names_its_host }.run()
}
