//! Somebody else on this machine: user number 65534, with a home that only that user may enter.
//!
//! Files and arguments come in, what the helper printed goes out. Works for root alone, by `setpriv` of util-linux; for
//! anybody else the test says so and is skipped.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use credmint_test_kit::home::executable;
use credmint_test_kit::{Home, Output, Run, processes};

/// Number of the user and of the group.
pub const NOBODY: u32 = 65_534;

/// Another user with a home.
pub struct Somebody {
    home: Home,
}

impl Somebody {
    /// Moves in; `None` when we may not become somebody else.
    #[must_use]
    pub fn moves_in() -> Option<Self> {
        if !can_become_somebody() {
            return None;
        }
        let home = Home::new();
        for file in ["", "home", "run", "tmp"].map(|name| home.root().join(name)) {
            chown(&file, Some(NOBODY), Some(NOBODY)).expect("a directory of the other user");
        }
        // The executables may lie where only we can read.
        for name in [crate::HELPER, "credmint-agent"] {
            let file = home.root().join(name);
            fs::copy(executable(name), &file).expect("a copy of the executable");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("an executable for all");
        }
        Some(Self { home })
    }

    /// Gives the home; what is written into it by its own means belongs to us.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Writes a file below the root of the home with these rights; it and the directories on the way are the other user's.
    pub fn write(&self, path: &str, text: &str, mode: u32) -> PathBuf {
        let file = self.home.root().join(path);
        fs::create_dir_all(file.parent().expect("a file in a directory")).expect("its directory");
        fs::write(&file, text).expect("the file");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("its rights");
        let mut next: Option<&Path> = Some(&file);
        while let Some(path) = next.filter(|path| *path != self.home.root()) {
            chown(path, Some(NOBODY), Some(NOBODY)).expect("a file of the other user");
            next = path.parent();
        }
        file
    }

    /// Writes the settings.
    pub fn settings(&self, text: &str) {
        self.write("home/.config/credmint/config.toml", text, 0o600);
    }

    /// Begins to run a program as that user.
    #[must_use]
    pub fn run(&self, program: &str, arguments: &[&str]) -> Run<'_> {
        let whose = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".into()];
        let run = self.home.run("setpriv").args(whose);
        run.arg(program).args(arguments.iter().copied()).answer()
    }

    /// Asks for the host as that user.
    #[must_use]
    pub fn get(&self) -> Output {
        let helper = self.home.root().join(crate::HELPER);
        self.run(&helper.display().to_string(), &["get", crate::HOST]).output()
    }
}

impl Drop for Somebody {
    fn drop(&mut self) {
        self.home.agents().iter().for_each(|agent| processes::end(agent.pid));
    }
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn can_become_somebody() -> bool {
    let id = Command::new("setpriv").args(["--reuid=65534", "--regid=65534", "--clear-groups", "id", "-u"]).output();
    let can = id.is_ok_and(|output| output.stdout == b"65534\n");
    if !can {
        eprintln!("skipped: only root can become another user");
    }
    can
}
