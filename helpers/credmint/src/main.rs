//! `credmint`, the executable for people: sets up, shows, explains, demonstrates.
//! Arguments come in, text for people or JSON goes out, and an exit status that says whose turn it is.
//! Holds no credential, except for `credmint print`: what it shows comes from the agent, which sends none to it.

mod agent;
mod cert;
mod command_line;
mod demo;
mod enrol;
mod entry;
mod examples;
mod exec;
mod explain;
#[cfg(test)]
mod golden;
mod hcl;
mod life;
mod lock;
mod out;
mod people_host;
mod print;
mod programs;
mod run;
mod setup;
mod sign_in;
mod status;

fn main() -> std::process::ExitCode {
    run::from_arguments(std::env::args_os())
}
