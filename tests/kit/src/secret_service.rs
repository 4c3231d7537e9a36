//! A real Secret Service: gnome-keyring on a session bus that is the test's own.
//!
//! Nothing comes in; an address for `DBUS_SESSION_BUS_ADDRESS` goes out, and what is kept can be counted, locked and looked
//! for. Nothing can be activated on that bus, and nothing of the user's own session is asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::home::files_below;
use crate::peer::{self, Peer};
use crate::processes::contains;
use crate::random;

/// A desktop session's bus with its keyring, unlocked at first.
pub struct SecretService {
    keyring: Option<Peer>,
    bus: Peer,
}

impl SecretService {
    /// Starts both; the keyring is made with a random password.
    pub fn start() -> Self {
        let directory = peer::directory();
        let (path, configuration) = (directory.path().join("bus"), directory.path().join("bus.conf"));
        fs::write(&configuration, BUS.replace("PATH", &path.display().to_string())).expect("the bus's configuration");
        fs::write(directory.path().join("password"), random::secret("keyring")).expect("the keyring's password");
        let mut command = Command::new("dbus-daemon");
        command.arg("--nofork").arg(format!("--config-file={}", configuration.display()));
        let mut bus = Peer::start("dbus-daemon", directory, &mut command);
        bus.wait_until(|bus| bus.path().join("bus").exists().then_some(())).unwrap_or_else(|| bus.fail("ended"));
        let mut service = Self { keyring: None, bus };
        service.log_in();
        service
    }

    /// Starts a bus on which there is no such service.
    pub fn bus_alone() -> Self {
        let mut service = Self::start();
        service.log_out();
        service
    }

    /// Gives the value of `DBUS_SESSION_BUS_ADDRESS`.
    pub fn address(&self) -> String {
        format!("unix:path={}", self.bus.path().join("bus").display())
    }

    /// Ends the keyring, as a log-out does; what it keeps stays on its disk.
    pub fn log_out(&mut self) {
        self.keyring = None;
    }

    /// Starts the keyring anew and unlocks it, as a log-in does.
    pub fn log_in(&mut self) {
        self.log_out();
        let (data, password) = (self.data(), self.bus.path().join("password"));
        let mut command = Command::new("sh");
        command.args(["-c", "exec gnome-keyring-daemon --foreground --components=secrets --unlock <\"$1\"", "sh"]);
        command.arg(password).env("DBUS_SESSION_BUS_ADDRESS", self.address()).env("XDG_DATA_HOME", &data);
        let directory = peer::directory();
        command.env("XDG_RUNTIME_DIR", directory.path());
        let mut keyring = Peer::start("gnome-keyring", directory, &mut command);
        let is_there = |_: &Peer| self.ask("org.freedesktop.Secret.Service.ReadAlias", "string:default");
        keyring.wait_until(|peer| is_there(peer).filter(|answer| answer.contains("login"))).expect("a keyring");
        self.keyring = Some(keyring);
    }

    /// Locks it, as a screen saver may.
    pub fn lock(&self) {
        self.ask("org.freedesktop.Secret.Service.Lock", "array:objpath:/org/freedesktop/secrets/collection/login")
            .expect("it locks");
    }

    /// Counts what it keeps under credmint's name, locked or not.
    pub fn items(&self) -> usize {
        let found = self.ask("org.freedesktop.Secret.Service.SearchItems", "dict:string:string:service,credmint");
        found.expect("an answer").matches("object path").count()
    }

    /// Stops the keyring's process in its tracks, or lets it go on.
    pub fn signal(&self, signal: rustix::process::Signal) {
        self.keyring.iter().for_each(|keyring| crate::processes::signal(keyring.pid(), signal));
    }

    /// Says whether its files have something as it is.
    pub fn has_in_the_open(&self, text: &str) -> bool {
        files_below(&self.data()).iter().any(|file| contains(&fs::read(file).unwrap_or_default(), text.as_bytes()))
    }

    fn data(&self) -> PathBuf {
        let data: &Path = self.bus.path();
        data.join("data")
    }

    fn ask(&self, method: &str, argument: &str) -> Option<String> {
        let mut command = Command::new("dbus-send");
        command.args(["--session", "--print-reply", "--dest=org.freedesktop.secrets", "/org/freedesktop/secrets"]);
        command.args([method, argument]).env("DBUS_SESSION_BUS_ADDRESS", self.address());
        let output = command.output().expect("dbus-send runs");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for SecretService {
    fn drop(&mut self) {
        self.signal(rustix::process::Signal::CONT);
        self.log_out();
    }
}

const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=PATH</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;
