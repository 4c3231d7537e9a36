//! What every story needs: an empty home, real peers, and a canary.
//!
//! Nothing comes in but the programs that the workspace built and the peers that `tests/peers/setup` installed; what goes
//! out are panics that say what was seen and where. The kit touches only directories of its own and loopback, ends only
//! processes that it started or that run in one of its homes, and never depends on the rooms that it tests.
//!
//! A story in six lines:
//!
//! ```no_run
//! use credmint_test_kit::{Canary, Home, OpenIdProvider};
//!
//! let provider = OpenIdProvider::start();
//! let home = Home::new();
//! let mut canary = Canary::new();
//! let token = canary.watch("subject token", provider.token_for("alice", "registry", 300));
//! canary.allow_file(home.write("token", &token));
//! let output = home.run("terraform-credentials-credmint").args(["get", "registry.corp.example"]).answer().output();
//! assert_eq!(output.code, Some(0), "{}", output.stderr);
//! canary.check(&home);
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test kit fails by panicking, and starts programs, reads files and dials out in place of a user"
)]

pub mod arrived;
pub mod browser;
pub mod canary;
pub mod certificates;
pub mod chromium;
pub mod clients;
pub mod cluster;
pub mod encoding;
pub mod enterprise;
pub mod est;
pub mod home;
pub mod http;
mod jwt;
pub mod kubernetes;
pub mod memory;
pub mod metrics;
pub mod mirror;
pub mod moto;
pub mod openbao;
pub mod openid_provider;
pub mod peer;
pub mod pictures;
pub mod processes;
pub mod provisioner;
pub mod proxy;
pub mod rabbitmq;
pub mod random;
pub mod registry;
pub mod repository;
pub mod roles_anywhere;
pub mod run;
pub mod screen;
pub mod secret_service;
pub mod state;
pub mod sts;
pub mod syslog;
pub mod terraform;
pub mod vault_aws;
pub mod workload_api;

pub use browser::Browser;
pub use canary::Canary;
pub use certificates::Authority;
pub use chromium::Chromium;
pub use cluster::Cluster;
pub use est::EstServer;
pub use home::Home;
pub use moto::Moto;
pub use openbao::OpenBao;
pub use openid_provider::OpenIdProvider;
pub use provisioner::Provisioner;
pub use proxy::Proxy;
pub use registry::{Gate, Links, Registry};
pub use repository::Repository;
pub use roles_anywhere::RolesAnywhere;
pub use run::{Output, Run};
pub use secret_service::SecretService;
pub use state::States;
pub use sts::Sts;
pub use syslog::Syslog;
pub use terraform::Terraform;
pub use vault_aws::VaultAws;
pub use workload_api::WorkloadApi;
