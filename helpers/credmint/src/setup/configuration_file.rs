//! Which file is Terraform's or OpenTofu's CLI configuration, and what it says.
//! The environment comes in, a path and a text go out.
//! Reads only. Terraform `cliconfig.go` `cliConfigFile`, OpenTofu `config_unix.go`: the first that exists counts.

use std::path::{Path, PathBuf};

use credmint_local_machine::{environment, files};
use credmint_vocabulary::{Failure, FailureKind, Hostname};

use super::cli_configuration::{self, EditError};
use crate::command_line::Tool;

/// What names the CLI configuration, in the tools' order; the second is the older one.
const NAMES: [&str; 2] = ["TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"];
const LARGEST: usize = 1 << 20;

/// The places of one tool.
pub(crate) struct Places {
    /// The CLI configuration.
    pub(crate) configuration: PathBuf,
    /// Whether a variable names it; then the files of `directory` are not read.
    pub(crate) named: bool,
    /// Where further configuration is.
    pub(crate) directory: PathBuf,
    /// Directories that have `plugins` in them, the one to install into first.
    pub(crate) plugins: Vec<PathBuf>,
}

impl Places {
    /// Finds them.
    pub(crate) fn of(tool: Tool) -> Result<Self, Failure> {
        let base = base().ok_or_else(no_home)?;
        let named = NAMES.into_iter().find_map(environment::read).and_then(|path| std::path::absolute(path).ok());
        let usual_directory = base.join(if cfg!(windows) { "terraform.d" } else { ".terraform.d" });
        let [config, data] = if tool == Tool::Tofu { tofu_directories() } else { [None, None] };
        let mut plugins = vec![usual_directory.clone()];
        plugins.extend(data);
        // Tofu leaves its XDG directory for ~/.terraform.d as soon as that exists: do not make it without need.
        let xdg = config.filter(|_| !usual_directory.exists());
        if xdg.is_some() {
            plugins.reverse();
        }
        Ok(Self {
            named: named.is_some(),
            configuration: named.unwrap_or_else(|| usual(tool, &base)),
            directory: xdg.unwrap_or(usual_directory),
            plugins,
        })
    }

    /// Lists the further files that the tool reads.
    pub(crate) fn further(&self) -> Vec<PathBuf> {
        self.files_of_directory(".tfrc")
    }

    /// Lists those in JSON, as `terraform login` writes one.
    pub(crate) fn further_in_json(&self) -> Vec<PathBuf> {
        self.files_of_directory(".tfrc.json")
    }

    fn files_of_directory(&self, ending: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let is_read = |path: &PathBuf| !self.named && path.to_string_lossy().ends_with(ending);
        entries.map(|entry| entry.path()).filter(is_read).collect()
    }

    /// Lists the CLI configurations of the other tools, which may use the same helper.
    pub(crate) fn others(&self) -> Vec<PathBuf> {
        let tools = [Tool::Terraform, Tool::Tofu].into_iter();
        let usual = base().into_iter().flat_map(move |base| tools.clone().map(move |tool| usual(tool, &base)));
        usual.filter(|path| *path != self.configuration).collect()
    }

    /// Says when an installation makes tofu read another directory than before.
    pub(crate) fn note(&self) -> Option<String> {
        let target = self.plugins.first()?;
        let moves = *target != self.directory && self.directory.exists() && !target.exists() && self.plugins.len() == 1;
        moves.then(|| {
            let (old, new) = (self.directory.display(), target.display());
            format!("{new} comes into being, and tofu then reads it in place of {old}: move your files there")
        })
    }
}

/// Tofu's directories for configuration and data, where the variables of XDG are set.
fn tofu_directories() -> [Option<PathBuf>; 2] {
    let names = [environment::XDG_CONFIG_HOME, "XDG_DATA_HOME"];
    names.map(|name| environment::absolute_path(name).filter(|_| cfg!(unix)).map(|base| base.join("opentofu")))
}

/// Reads a file that people write; `None` when there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Failure> {
    let failure = |why: String| Failure::new(FailureKind::Settings, format!("{} {why}", path.display()));
    let bytes = files::read_bounded(path, LARGEST).map_err(|error| failure(error.to_string()))?;
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|_| failure("is not UTF-8 text".to_owned()).hint("save it as UTF-8, then run this again"))
}

/// Puts into words why the file is left alone.
pub(crate) fn refuse(path: &Path, host: &Hostname, error: &EditError) -> Failure {
    let path = path.display();
    let failure = Failure::new(FailureKind::Settings, format!("{path}: {error}; nothing was changed"));
    match error {
        EditError::Broken { .. } => failure.hint(format!("mend {path}, which Terraform reads too, and run this again")),
        EditError::OtherHelper { label, .. } => failure.hint(format!(
            "take the block `credentials_helper \"{label}\"` out, if credmint is to answer in its place, and run this again"
        )),
        EditError::OtherHost { .. } => {
            failure.hint(format!("take the block `host \"{host}\"` out and run this again, or keep it and use no bridge"))
        }
    }
}

/// Refuses a second helper in a file that Terraform reads beside the main one: it would choose one by chance.
pub(crate) fn refuse_other_helpers(places: &Places, host: &Hostname) -> Result<(), Failure> {
    for path in places.further() {
        if let Some((line, label)) = read(&path)?.and_then(|text| cli_configuration::other_helper(&text)) {
            return Err(refuse(&path, host, &EditError::OtherHelper { line, label }));
        }
    }
    Ok(())
}

/// Tofu reads Terraform's file as long as it has none of its own.
fn usual(tool: Tool, base: &Path) -> PathBuf {
    let [own, legacy] = if cfg!(windows) { ["tofu.rc", "terraform.rc"] } else { [".tofurc", ".terraformrc"] };
    let (own, legacy) = (base.join(own), base.join(legacy));
    let xdg = environment::absolute_path(environment::XDG_CONFIG_HOME).filter(|_| cfg!(unix));
    match (tool, xdg) {
        (Tool::Terraform, _) => legacy,
        (Tool::Tofu, _) if own.exists() => own,
        (Tool::Tofu, _) if legacy.exists() => legacy,
        (Tool::Tofu, Some(xdg)) => xdg.join("opentofu/tofurc"),
        (Tool::Tofu, None) => own,
    }
}

fn base() -> Option<PathBuf> {
    if cfg!(windows) { environment::absolute_path(environment::APPDATA) } else { environment::home() }
}

fn no_home() -> Failure {
    let name = if cfg!(windows) { environment::APPDATA } else { environment::HOME };
    Failure::new(FailureKind::Settings, "there is no home directory to set up").hint(format!("set {name}"))
}
