//! The settings that a caller means: its file with the drop-ins beside it, or a helper's arguments.
//! A request comes in, checked settings go out; files are read again only when they changed.
//! Touches settings files through `local-machine` and nothing else.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::SystemTime;

use credmint_agent_protocol::Got;
use credmint_local_machine::{SettingsFiles, SettingsFilesError};
use credmint_settings::{Settings, SettingsError};
use credmint_vocabulary::{Failure, FailureKind};

/// Says why there are no settings.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MaterialError {
    /// A file or an argument has to be changed.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A file cannot be read.
    #[error(transparent)]
    Files(#[from] SettingsFilesError),
}

impl From<MaterialError> for Failure {
    fn from(error: MaterialError) -> Self {
        let failure = Self::new(FailureKind::Settings, error.to_string());
        match error {
            MaterialError::Settings(error) => match error.hint() {
                Some(hint) => failure.hint(hint),
                None => failure,
            },
            MaterialError::Files(SettingsFilesError::Missing(_)) => {
                failure.hint("write that file, or unset CREDMINT_CONFIG")
            }
            MaterialError::Files(_) => failure.hint("credmint status says which settings file is used"),
        }
    }
}

/// Keeps what was read, until the files change.
#[derive(Default)]
pub(crate) struct SettingsCache {
    read: RefCell<HashMap<SettingsFiles, (Fingerprint, Rc<Settings>)>>,
}

type Fingerprint = Vec<(PathBuf, Option<SystemTime>, u64)>;

impl SettingsCache {
    /// Finds the settings of a request: arguments where the helper has them, else the files.
    pub(crate) fn of(&self, got: &Got) -> Result<Rc<Settings>, MaterialError> {
        if got.args.is_empty() {
            self.in_files(got.settings.as_deref(), got.usual_settings.as_deref())
        } else {
            Ok(Rc::new(credmint_settings::from_args(&got.program, &got.args)?))
        }
    }

    /// Finds the settings of the files; none at all is an empty settings, unless the caller named one.
    pub(crate) fn in_files(&self, named: Option<&str>, usual: Option<&str>) -> Result<Rc<Settings>, MaterialError> {
        let Some(files) = SettingsFiles::of(named, usual) else { return Ok(Rc::default()) };
        let fingerprint = fingerprint_of(&files);
        if let Some((_, settings)) = self.read.borrow().get(&files).filter(|(print, _)| *print == fingerprint) {
            return Ok(Rc::clone(settings));
        }
        let settings = Rc::new(credmint_settings::read(&files.read()?)?);
        let mut read = self.read.borrow_mut();
        if read.len() >= MOST_FILES {
            read.clear();
        }
        read.insert(files, (fingerprint, Rc::clone(&settings)));
        Ok(settings)
    }
}

/// A machine that makes a home for every run must not fill the memory with their settings.
const MOST_FILES: usize = 64;

fn fingerprint_of(files: &SettingsFiles) -> Fingerprint {
    let of = |path: PathBuf| match std::fs::metadata(&path) {
        Ok(about) => (path, about.modified().ok(), about.len()),
        Err(_) => (path, None, 0),
    };
    files.paths().into_iter().map(of).collect()
}
