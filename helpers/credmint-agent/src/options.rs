//! The agent's command line.
//! Arguments come in, a choice of how to serve goes out.
//! Reads no environment: the places of socket and settings are found by `local-machine`.

use std::path::PathBuf;

use clap::Parser;

/// Keeps credentials in memory and answers credential helpers; started by them, seldom by hand.
#[derive(Parser)]
#[command(version, about, long_about = None, after_help = "See `credmint agent status` and `credmint agent stop`.")]
pub(crate) struct Options {
    /// Serve one request on standard input and output, then end; nothing is kept
    #[arg(long, conflicts_with = "socket")]
    pub(crate) once: bool,

    /// Listen on this socket instead of the usual place
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,

    /// Stay in the foreground and in this session, for service managers
    #[arg(long, conflicts_with = "once")]
    pub(crate) foreground: bool,
}

impl Options {
    pub(crate) fn from_command_line() -> Self {
        Self::parse()
    }
}
