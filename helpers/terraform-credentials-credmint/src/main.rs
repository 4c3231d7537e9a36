//! `terraform-credentials-credmint`: a credential for every host that the settings name.
//! Terraform's call comes in, one JSON object goes out; the flow is in `helper.rs`.
//! Reads no settings itself: the agent knows the routes.

use std::process::ExitCode;

mod helper;

use helper::{Helper, Hosts};

fn main() -> ExitCode {
    Helper { name: env!("CARGO_PKG_NAME"), help: include_str!("help.txt"), hosts: Hosts::OfTheSettings }.run()
}
