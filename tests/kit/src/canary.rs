//! The canary: no secret may be seen anywhere but in the answer.
//!
//! Secrets of a story come in, each under a name; what goes out is a panic that names the secret and the place, never the
//! value. It looks at recorded output, at every file of the home, and at arguments and environments of every process that
//! ran in it; what the tester put somewhere on purpose is allowed by name.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::encoding::{base64, from_base64};
use crate::home::{Home, files_below};
use crate::memory;
use crate::processes::{Process, contains};

/// A secret and the forms in which it could be seen.
struct Watched {
    name: String,
    forms: Vec<Vec<u8>>,
}

/// Knows the secrets of a story.
#[derive(Default)]
pub struct Canary {
    watched: Vec<Watched>,
    allowed_files: HashSet<PathBuf>,
    allowed_variables: HashSet<String>,
}

impl Canary {
    /// Begins with one rule that holds in every story: no private key in PEM form.
    pub fn new() -> Self {
        let mut canary = Self::default();
        canary
            .watched
            .push(Watched { name: "a private key in PEM form".into(), forms: vec![b"PRIVATE KEY-----".to_vec()] });
        canary
    }

    /// Watches a secret, plain and in base64, and hands it back.
    pub fn watch(&mut self, name: &str, value: impl Into<String>) -> String {
        let value = value.into();
        assert!(value.len() >= 12, "{name}: too short to be told from other text");
        self.watched.push(Watched { name: name.to_owned(), forms: forms(value.as_bytes()) });
        value
    }

    /// Watches a private key, by each line of its PEM body and by its DER bytes, and hands it back.
    pub fn watch_pem(&mut self, name: &str, pem: impl Into<String>) -> String {
        let pem = pem.into();
        let body: Vec<&str> = pem.lines().filter(|line| !line.starts_with("-----") && line.len() >= 16).collect();
        let mut forms: Vec<Vec<u8>> = body.iter().map(|line| line.as_bytes().to_vec()).collect();
        forms.push(from_base64(&body.concat()));
        self.watched.push(Watched { name: name.to_owned(), forms });
        pem
    }

    /// Allows a file in which the story itself put a secret.
    pub fn allow_file(&mut self, file: impl AsRef<Path>) {
        self.allowed_files.insert(file.as_ref().to_owned());
    }

    /// Allows a variable in which the story itself put a secret, for every process but the agent.
    pub fn allow_variable(&mut self, name: &str) {
        self.allowed_variables.insert(name.to_owned());
    }

    /// Panics if a secret can be seen in this home.
    pub fn check(&self, home: &Home) {
        let sightings = self.sightings(home);
        assert!(sightings.is_empty(), "the canary saw\n  {}", sightings.join("\n  "));
    }

    /// Lists where a secret can be seen, in words.
    pub fn sightings(&self, home: &Home) -> Vec<String> {
        let mut found = Vec::new();
        self.look_at_recordings(home, &mut found);
        self.look_at_files(home, &mut found);
        self.look_at_processes(home, &mut found);
        found
    }

    /// Panics if a watched secret is in the memory of a process: for use after `forget`, expiry and stop.
    pub fn memory_lacks(&self, pid: u32, name: &str) {
        let watched = self.watched.iter().find(|watched| watched.name == name).expect("a name that is watched");
        watched.forms.iter().for_each(|form| memory::lacks(pid, name, form));
    }

    fn look(&self, bytes: &[u8], place: &str, found: &mut Vec<String>) {
        for Watched { name, forms } in &self.watched {
            if forms.iter().any(|form| contains(bytes, form)) {
                found.push(format!("{name} in {place}"));
            }
        }
    }

    fn look_at_recordings(&self, home: &Home, found: &mut Vec<String>) {
        for recording in home.recordings() {
            self.look(&recording.stderr, &format!("stderr of {}", recording.program), found);
            if !recording.is_answer {
                self.look(&recording.stdout, &format!("stdout of {}", recording.program), found);
            }
        }
    }

    fn look_at_files(&self, home: &Home, found: &mut Vec<String>) {
        for file in files_below(home.root()) {
            let shown = file.strip_prefix(home.root()).unwrap_or(&file).display().to_string();
            self.look(shown.as_bytes(), "the name of a file", found);
            let is_plain = fs::symlink_metadata(&file).is_ok_and(|data| data.is_file());
            if is_plain && !self.allowed_files.contains(&file) {
                self.look(&fs::read(&file).unwrap_or_default(), &format!("the file {shown}"), found);
            }
        }
    }

    fn look_at_processes(&self, home: &Home, found: &mut Vec<String>) {
        let processes: HashSet<Process> = home.seen().into_iter().chain(home.processes()).collect();
        for process in processes {
            let who = format!("{} ({})", process.name, process.pid);
            self.look(&process.arguments, &format!("the arguments of {who}"), found);
            for entry in process.environment.split(|&byte| byte == 0) {
                let name = String::from_utf8_lossy(entry.split(|&byte| byte == b'=').next().unwrap_or_default());
                let is_allowed = self.allowed_variables.contains(&*name) && process.name != "credmint-agent";
                if !is_allowed {
                    self.look(entry, &format!("the variable {name} of {who}"), found);
                }
            }
        }
    }
}

/// The plain bytes, and their base64 at each of the three ways it can fall; its cut ends depend on what stands beside it.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    for before in 0..3 {
        let padded = [&[0_u8; 2][..before.min(2)], value].concat();
        let coded = base64(&padded);
        let start = if before == 0 { 0 } else { 4 };
        let end = coded.len() - 4;
        forms.push(coded.as_bytes()[start..end].to_vec());
    }
    forms
}
