//! A throw-away home directory, and the environment of whoever lives in it.
//! Nothing comes in but where temporary files go; paths and variables go out.
//! Everything below is removed at the end, unless it is to be kept.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use credmint_local_machine::environment;
use credmint_local_machine::files::write_private;
use credmint_vocabulary::{Failure, FailureKind};

/// Holds the directory.
pub(crate) struct Home {
    path: PathBuf,
    keep: bool,
}

impl Home {
    /// Makes the directory, for us alone.
    pub(crate) fn new(keep: bool) -> Result<Self, Failure> {
        let temporary =
            fs::canonicalize(std::env::temp_dir()).map_err(|error| refused(&std::env::temp_dir(), &error))?;
        let path = temporary.join(format!("credmint-demo-{}", std::process::id()));
        let make = |directory: &Path| private_directory(directory).map_err(|error| refused(directory, &error));
        make(&path)?;
        let home = Self { path, keep };
        ["run", "tmp", "work", ".config", ".config/credmint"].iter().try_for_each(|name| make(&home.join(name)))?;
        Ok(home)
    }

    /// Gives the directory itself.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives a place in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file whose directory is there already.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        write_private(&self.join(name), text.as_bytes()).map_err(|error| refused(&self.join(name), &error))
    }

    /// Removes what a tool left in its working directory.
    pub(crate) fn forget_work(&self) {
        fs::remove_dir_all(self.join("work/.terraform")).unwrap_or_default();
        fs::remove_file(self.join("work/.terraform.lock.hcl")).unwrap_or_default();
    }

    /// Lists the variables of whoever lives here: nothing of the person's own is among them but where programs are.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut variables: Vec<(&str, OsString)> =
            PLACES.iter().map(|(name, place)| (*name, self.join(place).into_os_string())).collect();
        variables.extend(FIXED.iter().map(|(name, value)| (*name, OsString::from(value))));
        let kept = [environment::PATH, environment::SYSTEM_ROOT, environment::USERNAME];
        variables.extend(kept.iter().filter_map(|name| Some((*name, environment::read(name)?.into()))));
        if cfg!(windows) {
            let pipe = format!(r"\\.\pipe\credmint-demo-{}", std::process::id());
            variables.push((environment::CREDMINT_SOCKET, pipe.into()));
        }
        variables
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if !self.keep {
            fs::remove_dir_all(&self.path).unwrap_or_default();
        }
    }
}

const PLACES: &[(&str, &str)] = &[
    (environment::HOME, ""),
    (environment::USERPROFILE, ""),
    (environment::APPDATA, ".config"),
    (environment::LOCALAPPDATA, ".local/state"),
    (environment::XDG_CONFIG_HOME, ".config"),
    (environment::XDG_STATE_HOME, ".local/state"),
    (environment::XDG_RUNTIME_DIR, "run"),
    (environment::TMPDIR, "tmp"),
];

const FIXED: &[(&str, &str)] = &[("CHECKPOINT_DISABLE", "1"), ("TF_IN_AUTOMATION", "1"), ("NO_COLOR", "1")];

#[cfg(unix)]
fn private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(windows)]
fn private_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    Failure::new(FailureKind::Settings, format!("{} cannot be made: {error}", path.display()))
        .hint("set TMPDIR to a directory that you can write")
}
