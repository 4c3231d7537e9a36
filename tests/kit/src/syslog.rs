//! A real syslog daemon: rsyslog with one socket and one file of its own.
//!
//! Nothing comes in; the path of its socket goes out, and what it has written. It reads no socket of the system's.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::peer::{self, Peer};

/// A daemon that can be stopped and started again.
pub struct Syslog {
    daemon: Option<Peer>,
    directory: TempDir,
}

impl Syslog {
    /// Starts one; what it gets by `authpriv` goes into its file with facility, severity, program and process.
    pub fn start() -> Self {
        let mut syslog = Self { daemon: None, directory: peer::directory() };
        syslog.go_on();
        syslog
    }

    /// Ends it, as an update of its package does.
    pub fn stop(&mut self) {
        self.daemon = None;
    }

    /// Starts it again, at the same socket.
    pub fn go_on(&mut self) {
        let (configuration, pid) = (self.directory.path().join("conf"), self.directory.path().join("pid"));
        let text = CONFIGURATION.replace("DIRECTORY", &self.directory.path().display().to_string());
        fs::write(&configuration, text).expect("its configuration");
        let mut command = Command::new("rsyslogd");
        command.arg("-n").arg("-f").arg(&configuration).arg("-i").arg(&pid);
        let mut daemon = Peer::start("rsyslog", peer::directory(), &mut command);
        let socket = self.socket();
        let listens = |_: &Peer| UnixDatagram::unbound().and_then(|own| own.connect(&socket)).ok();
        daemon.wait_until(listens).unwrap_or_else(|| daemon.fail("ended"));
        self.daemon = Some(daemon);
    }

    /// Gives the path of its socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    /// Gives the lines that it has written.
    pub fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.directory.path().join("written")).unwrap_or_default();
        text.lines().map(ToOwned::to_owned).collect()
    }
}

const CONFIGURATION: &str = r#"
global(workDirectory="DIRECTORY")
module(load="imuxsock" sysSock.use="off")
input(type="imuxsock" socket="DIRECTORY/socket")
template(name="whole" type="string" string="%syslogfacility-text%.%syslogseverity-text% %programname%[%procid%]%msg%\n")
authpriv.* action(type="omfile" file="DIRECTORY/written" template="whole")
"#;
