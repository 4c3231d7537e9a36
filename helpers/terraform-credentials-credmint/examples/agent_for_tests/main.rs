//! Starts the agent of the tests; they run on Unix only, and so does it.
//! Nothing comes in but what a helper leaves to an agent; what it does is in `agent.rs`.
//! Part of the tests: nobody installs it.

#[cfg(unix)]
mod agent;

fn main() {
    #[cfg(unix)]
    agent::run();
}
