//! Which settings files there are, and what they say.
//! The environment comes in, paths and text go out; the packages' drop-in directory is read after the main file, by name.
//! Understands nothing of the text: `credmint-settings` does.

use std::fs;
use std::path::{Path, PathBuf};

use crate::environment;
use crate::files::{ReadError, read_bounded};

/// Names the settings files of a person.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SettingsFiles {
    /// The file itself.
    pub main: PathBuf,
    /// Directory of further files, `*.toml`; not read when the main file was named by `CREDMINT_CONFIG`.
    pub drop_in: PathBuf,
    /// Whether `CREDMINT_CONFIG` names the main file; then it has to exist.
    pub explicit: bool,
}

/// Says why a settings file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsFilesError {
    /// `CREDMINT_CONFIG` names a file that is not there.
    #[error("the settings file {0} does not exist")]
    Missing(PathBuf),
    /// It is there and cannot be read.
    #[error("the settings file {path} {why}")]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: ReadError,
    },
    /// It is not UTF-8.
    #[error("the settings file {0} is not UTF-8 text")]
    NotText(PathBuf),
}

impl SettingsFiles {
    /// Finds them for this process: `$CREDMINT_CONFIG`, else the usual place.
    #[must_use]
    pub fn find() -> Option<Self> {
        Self::of(caller_settings().as_deref(), None)
    }

    /// Finds them for a caller that said which settings file it wants, or where its usual one is; else for this process.
    #[must_use]
    pub fn of(named: Option<&str>, usual: Option<&str>) -> Option<Self> {
        let explicit = named.is_some();
        let main = match named.or(usual) {
            Some(path) => PathBuf::from(path),
            None => usual_file()?,
        };
        Some(Self { drop_in: main.with_file_name("config.d"), main, explicit })
    }

    /// Lists the files in the order in which they count.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.main.clone()];
        if !self.explicit {
            paths.extend(drop_ins(&self.drop_in));
        }
        paths
    }

    /// Reads them as name and text; a missing main file is none, unless it was named.
    ///
    /// # Errors
    /// [`SettingsFilesError`], with the file's path.
    pub fn read(&self) -> Result<Vec<(String, String)>, SettingsFilesError> {
        let mut all = Vec::new();
        for path in self.paths() {
            match read_bounded(&path, MAXIMUM_FILE) {
                Ok(Some(bytes)) => all.push((path.display().to_string(), text(bytes, &path)?)),
                Ok(None) if self.explicit => return Err(SettingsFilesError::Missing(path)),
                Ok(None) => {}
                Err(why) => return Err(SettingsFilesError::Unreadable { path, why }),
            }
        }
        Ok(all)
    }
}

/// Gives the settings file that the caller's environment names, made absolute: the agent stands elsewhere.
#[must_use]
pub(crate) fn caller_settings() -> Option<String> {
    let named = environment::read(environment::CREDMINT_CONFIG)?;
    let absolute = std::path::absolute(&named).ok().and_then(|path| path.into_os_string().into_string().ok());
    Some(absolute.unwrap_or(named))
}

/// Gives the usual settings file of this caller, which need not exist: an agent of another home has another.
#[must_use]
pub(crate) fn caller_usual_settings() -> Option<String> {
    usual_file()?.into_os_string().into_string().ok()
}

fn usual_file() -> Option<PathBuf> {
    Some(usual_directory()?.join("config.toml"))
}

fn usual_directory() -> Option<PathBuf> {
    if cfg!(windows) {
        return environment::absolute_path(environment::APPDATA).map(|base| base.join("credmint"));
    }
    let base = environment::absolute_path(environment::XDG_CONFIG_HOME);
    base.or_else(|| environment::home().map(|home| home.join(".config"))).map(|base| base.join("credmint"))
}

fn drop_ins(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).filter(|path| is_settings_file(path)).collect();
    paths.sort();
    paths
}

fn is_settings_file(path: &Path) -> bool {
    let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !hidden && path.extension().is_some_and(|extension| extension == "toml")
}

fn text(bytes: Vec<u8>, path: &Path) -> Result<String, SettingsFilesError> {
    String::from_utf8(bytes).map_err(|_| SettingsFilesError::NotText(path.to_owned()))
}

/// Largest settings file, in bytes.
pub(crate) const MAXIMUM_FILE: usize = 1024 * 1024;
