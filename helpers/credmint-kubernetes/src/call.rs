//! One call of `credmint-kubernetes`.
//! The arguments and `KUBERNETES_EXEC_INFO` come in; an ExecCredential of the version that it names goes out.
//! Reads one variable. `common/protocols/src/kubernetes.rs`.

use std::process::ExitCode;

use credmint_local_machine::environment;
use credmint_protocols::{kubernetes, named};

use crate::program::Program;

/// Serves it.
pub(crate) fn run() -> ExitCode {
    let (name, help) = (env!("CARGO_PKG_NAME"), include_str!("help.txt"));
    let info = environment::read("KUBERNETES_EXEC_INFO");
    let version = kubernetes::version(info.as_deref());
    let wanted = version.clone().unwrap_or_default();
    Program { name, help, absent: None, failed: None }
        .run(|| version.and_then(|_| named(std::env::args_os().skip(1).collect())), &|credential, now| {
            kubernetes::answer(credential, wanted, now)
        })
}
