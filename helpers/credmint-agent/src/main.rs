//! `credmint-agent`: the only process that ever holds a secret.
//! A command line comes in, an exit status goes out.
//! Only introduces: the life of the process is `run.rs`, a `get` is `get.rs`, the bridge is `bridge/`.

fn main() -> std::process::ExitCode {
    credmint_agent::main()
}
