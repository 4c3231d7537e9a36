//! Who asks the registry: the real `terraform` or `tofu`, or this program in its place.
//! What is found in `PATH` or named comes in, lines of what happened go out.
//! The part that is played is small: what Terraform does for one registry module, in its order.

use std::path::{Path, PathBuf};

use credmint_vocabulary::{Failure, FailureKind, Secret};

use super::home::Home;
use super::{command, played};
use crate::command_line::Tool;
use crate::programs;

/// Says who asks.
pub(crate) enum Client {
    /// A real one.
    Real {
        /// Its executable.
        program: PathBuf,
        /// Which it is.
        tool: Tool,
    },
    /// None was found.
    Played,
}

impl Client {
    /// Finds one; Windows keeps plug-ins in a place that no variable moves, so there the part is always played.
    pub(crate) fn find(named: Option<&Path>) -> Result<Self, Failure> {
        let known = |tool: Tool| Some(Self::Real { program: programs::in_path(tool.program())?, tool });
        match named {
            Some(path) => Self::named(path),
            None if cfg!(windows) => Ok(Self::Played),
            None => Ok(known(Tool::Terraform).or_else(|| known(Tool::Tofu)).unwrap_or(Self::Played)),
        }
    }

    fn named(path: &Path) -> Result<Self, Failure> {
        let unusable = |why: &str| Failure::new(FailureKind::Usage, format!("--tool {}: {why}", path.display()));
        let program = std::fs::canonicalize(path).map_err(|error| unusable(&error.to_string()))?;
        if cfg!(windows) {
            return Err(unusable("on Windows its plug-in directory cannot be moved").hint("credmint demo"));
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        Ok(Self::Real { program, tool: if name.contains("tofu") { Tool::Tofu } else { Tool::Terraform } })
    }

    /// Gives the word for `credmint setup --tool`.
    pub(crate) fn tool(&self) -> Tool {
        match self {
            Self::Real { tool, .. } => *tool,
            Self::Played => Tool::Terraform,
        }
    }

    /// Says who it is, for people.
    pub(crate) fn words(&self, home: &Home) -> String {
        match self {
            Self::Real { program, .. } => {
                let version = command::run(home, program, &["version"], None).ok();
                let line = version.and_then(|text| text.expose().lines().next().map(str::to_owned));
                format!("{} ({})", line.unwrap_or_default(), program.display())
            }
            Self::Played => "neither terraform nor tofu is in PATH: this program plays the client itself".to_owned(),
        }
    }

    /// Fetches the module, as `init` does.
    pub(crate) fn init(&self, home: &Home, token: &Secret<String>, port: u16) -> Result<Vec<String>, Failure> {
        match self {
            Self::Real { program, .. } => {
                let out = command::run(home, program, &["init", "-no-color", "-input=false"], Some(token))?;
                Ok(telling(out.expose()))
            }
            Self::Played => played::init(home, token, port),
        }
    }

    /// Gives the command that a person would type.
    pub(crate) fn typed(&self) -> String {
        match self {
            Self::Real { tool, .. } => format!("{} init", tool.program()),
            Self::Played => "(the client, played) init".to_owned(),
        }
    }
}

/// Keeps what `init` says about this run, without its advice for beginners.
fn telling(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let mut kept = Vec::new();
    for line in lines {
        kept.push(line.to_owned());
        if line.contains("successfully initialized") {
            break;
        }
    }
    kept
}
