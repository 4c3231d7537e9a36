//! `credmint-kubernetes`: a token, a client certificate or both for clients of Kubernetes, as an exec plugin.
//! The name of a provider and `KUBERNETES_EXEC_INFO` come in, an ExecCredential goes out.
//! Reads no kubeconfig.

use std::process::ExitCode;

mod call;
#[path = "../../credmint-aws/src/program.rs"]
mod program;

fn main() -> ExitCode {
    call::run()
}
