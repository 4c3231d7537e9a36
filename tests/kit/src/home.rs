//! An empty home: a directory as HOME, a private runtime directory, and an environment with nothing else in it.
//!
//! Programs to run come in; what they printed and what they were is kept for the canary. When the home is dropped, the
//! agent that was started in it is stopped, and nothing that has to do with it may be left running.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::processes::{self, Process};
use crate::run::Run;

/// What a program printed, kept for the canary.
#[derive(Clone)]
pub struct Recording {
    /// The program and its process id, for people.
    pub program: String,
    /// What it printed as its answer or its report.
    pub stdout: Vec<u8>,
    /// What it printed beside that.
    pub stderr: Vec<u8>,
    /// Whether stdout is where the secret belongs.
    pub is_answer: bool,
}

/// A user's home directory, empty at first.
pub struct Home {
    root: TempDir,
    environment: BTreeMap<OsString, OsString>,
    recordings: Mutex<Vec<Recording>>,
    seen: Mutex<Vec<Process>>,
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    /// Makes one. A path in it stays short enough for a Unix socket.
    pub fn new() -> Self {
        let root = tempfile::Builder::new().prefix("cm").rand_bytes(8).tempdir_in("/tmp").expect("a directory in /tmp");
        for name in ["home", "run", "tmp"] {
            let directory = root.path().join(name);
            fs::create_dir(&directory).expect("a new directory");
            fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).expect("a private directory");
        }
        let variables = [
            ("HOME", root.path().join("home").into_os_string()),
            ("XDG_RUNTIME_DIR", root.path().join("run").into_os_string()),
            ("TMPDIR", root.path().join("tmp").into_os_string()),
            ("PATH", crate::peer::search_path().into()),
            ("CHECKPOINT_DISABLE", "1".into()),
        ];
        let environment = variables.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Self { root, environment, recordings: Mutex::default(), seen: Mutex::default() }
    }

    /// Gives the directory that HOME names.
    pub fn path(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Gives the directory that XDG_RUNTIME_DIR names.
    pub fn runtime_directory(&self) -> PathBuf {
        self.root.path().join("run")
    }

    /// Gives the directory that holds HOME, XDG_RUNTIME_DIR and TMPDIR: all that programs of this home may write to.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Sets a variable for every program run from now on.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.environment.insert(name.into(), value.into());
    }

    /// Takes a variable away from every program run from now on.
    pub fn unset(&mut self, name: &str) {
        self.environment.remove(&OsString::from(name));
    }

    /// Gives the environment that programs get.
    pub fn environment(&self) -> &BTreeMap<OsString, OsString> {
        &self.environment
    }

    /// Writes a file below HOME, private to its owner, and makes the directories on the way to it.
    pub fn write(&self, path: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let file = self.path().join(path);
        fs::create_dir_all(file.parent().expect("a file below HOME")).expect("its directory");
        fs::write(&file, contents).expect("the file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a private file");
        file
    }

    /// Reads a file below HOME that a program may have written; empty while it is not there.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).unwrap_or_default()
    }

    /// Writes the settings file of credmint where it is looked for without XDG_CONFIG_HOME.
    pub fn write_settings(&self, contents: &str) -> PathBuf {
        self.write(".config/credmint/config.toml", contents)
    }

    /// Makes a directory below HOME.
    pub fn make_directory(&self, path: &str) -> PathBuf {
        let directory = self.path().join(path);
        fs::create_dir_all(&directory).expect("a directory below HOME");
        directory
    }

    /// Puts `terraform-credentials-<name>` where Terraform and OpenTofu look for it.
    pub fn install_helper(&self, name: &str) -> PathBuf {
        let file = format!("terraform-credentials-{name}");
        let link = self.make_directory(".terraform.d/plugins").join(&file);
        if !link.exists() {
            std::os::unix::fs::symlink(executable(&file), &link).expect("a link in the plug-in directory");
        }
        link
    }

    /// Begins to run a program: one of ours by its name, any other by its path or as PATH finds it.
    pub fn run(&self, program: impl Into<PathBuf>) -> Run<'_> {
        let program = program.into();
        let ours = program.to_str().and_then(find_executable);
        Run::new(self, ours.unwrap_or(program))
    }

    /// Lists the living processes that have to do with this home.
    pub fn processes(&self) -> Vec<Process> {
        processes::of_directory(self.root.path())
    }

    /// Lists the agents that run in this home.
    pub fn agents(&self) -> Vec<Process> {
        self.processes().into_iter().filter(|process| process.name == "credmint-agent").collect()
    }

    /// Gives the one agent that runs in this home; none, or two, is a failure.
    pub fn agent(&self) -> Process {
        let mut agents = self.agents();
        assert_eq!(agents.len(), 1, "one agent expected to run in this home");
        agents.remove(0)
    }

    /// Gives what was printed so far.
    pub fn recordings(&self) -> Vec<Recording> {
        self.recordings.lock().expect("recordings").clone()
    }

    /// Keeps what a program printed; programs run by [`Home::run`] are kept already.
    pub fn record(&self, recording: Recording) {
        self.recordings.lock().expect("recordings").push(recording);
    }

    /// Gives the processes that were seen while programs ran.
    pub fn seen(&self) -> Vec<Process> {
        self.seen.lock().expect("seen").clone()
    }

    pub(crate) fn see(&self, process: Process) {
        let mut seen = self.seen.lock().expect("seen");
        if !seen.contains(&process) {
            seen.push(process);
        }
    }

    /// Finds the sockets below the runtime directory.
    pub fn sockets(&self) -> Vec<PathBuf> {
        let files = files_below(&self.runtime_directory());
        files
            .into_iter()
            .filter(|path| fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket()))
            .collect()
    }

    fn stop_agent(&self) -> bool {
        if self.sockets().is_empty() || find_executable("credmint").is_none() {
            return false;
        }
        let asked = self.run("credmint").args(["agent", "stop"]).deadline(Duration::from_secs(10)).output();
        asked.code == Some(0)
    }

    /// Waits for what still runs to end, then ends it by its ids; gives the names of those that had to be ended.
    fn end_processes(&self, patience: Duration) -> Vec<String> {
        let start = Instant::now();
        while !self.processes().is_empty() && start.elapsed() < patience {
            std::thread::sleep(Duration::from_millis(20));
        }
        let left = self.processes();
        left.iter().for_each(|process| processes::end(process.pid));
        left.into_iter().map(|process| format!("{} ({})", process.name, process.pid)).collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let stopped = self.stop_agent();
        let left = self.end_processes(Duration::from_secs(if stopped { 3 } else { 0 }));
        if !left.is_empty() && stopped && !std::thread::panicking() {
            panic!("still running after `credmint agent stop`: {}", left.join(", "));
        }
    }
}

/// Lists every file below a directory, links not followed, directories left out.
pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                _ => files.push(entry.path()),
            }
        }
    }
    files
}

/// Finds one of our executables; panics if it was not built.
pub fn executable(name: &str) -> PathBuf {
    find_executable(name).unwrap_or_else(|| panic!("{name} is not built; run cargo build --workspace --bins"))
}

/// Finds one of our executables beside the running test, or below CARGO_TARGET_DIR.
pub fn find_executable(name: &str) -> Option<PathBuf> {
    let is_ours = name.contains("credmint") || name.starts_with("terraform-credentials-");
    if !is_ours || name.contains('/') {
        return None;
    }
    let test = std::env::current_exe().ok()?;
    let beside = test.ancestors().nth(2).map(Path::to_owned);
    let elsewhere = std::env::var_os("CARGO_TARGET_DIR").map(|path| PathBuf::from(path).join("debug"));
    let files = [beside, elsewhere].into_iter().flatten().map(|directory| directory.join(name));
    files.into_iter().find(|path| path.is_file())
}
