//! `terraform-credentials-credmint`: a credential for every host that the settings name.
//! Terraform's call comes in, one JSON object goes out; the flow is in `helper.rs`.
//! Understands no settings itself: it only looks whether they have the host's name; the agent knows the routes.

use std::process::ExitCode;

mod helper;

use credmint_local_machine::could_route;
use helper::Helper;

fn main() -> ExitCode {
    let serves = |request: &credmint_protocols::terraform::Request| could_route(&request.hostname);
    Helper { name: env!("CARGO_PKG_NAME"), help: include_str!("help.txt"), serves }.run()
}
