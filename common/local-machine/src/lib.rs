//! What this machine has: sockets and who is on them, private directories, the terminal, the clock, hardening.
//! Names and paths come in, streams, bytes and checked places go out; programs are started only from here.
//! Knows no credential and no network: what passes through is wiped and never looked at.

mod agent_program;
mod ancestors;
mod append;
mod ask_agent;
mod confirming;
#[cfg(unix)]
mod detach;
mod directory;
mod home;
mod loopback_peer;
mod open_files;
mod own_program;
mod run_directory;
mod settings_files;
mod socket;
#[cfg(target_os = "linux")]
mod socket_diag;
mod supply;
mod syslog;

pub mod browser;
pub mod clock;
pub mod desktop;
pub mod environment;
pub mod files;
pub mod hardening;
pub mod last_failure;
pub mod places;
pub mod prefilter;
pub mod process;
pub mod question;
pub mod report;
pub mod start;
pub mod streams;
pub mod terminal;

pub use agent_program::find as find_agent;
pub use ancestors::{Ancestor, ancestors, resolved};
pub use append::append_line;
pub use ask_agent::{AskAgentError, ask_agent, ask_running, attend_sign_in, knock, open_run};
#[cfg(unix)]
pub use detach::{detach, leave_working_directory};
pub use home::below_home;
pub use last_failure::LastFailure;
pub use loopback_peer::is_another_users;
pub use open_files::most_open_files;
pub use own_program::{OwnProgram, anew_as_before_exec};
pub use places::{PlaceError, socket_path, state_directory};
pub use prefilter::could_route;
pub use run_directory::{HeldRunDirectory, RunDirectory, RunDirectoryError};
pub use settings_files::{SettingsFiles, SettingsFilesError};
#[cfg(unix)]
pub use socket::peer_uid;
#[cfg(windows)]
pub use socket::pipe_options;
pub use socket::{ConnectError, Connection, ListenError, Listening, connect, listen, own_uid, withdraw};
pub use supply::supply;
pub use syslog::syslog_line;

#[cfg(test)]
mod testing;
