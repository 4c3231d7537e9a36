//! Every environment name that credmint reads itself, with its meaning.
//! Constants only. `credmint-local-machine` reads them; nobody else may.
//! Names that the settings mention (`variable`, `{ env = … }`) are the user's and are read from the caller.

/// Describes one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvironmentName {
    /// The name.
    pub name: &'static str,
    /// What it changes, in one line.
    pub meaning: &'static str,
}

/// All names, ours first.
pub const ENVIRONMENT: &[EnvironmentName] = &[
    name("CREDMINT_CONFIG", "path of the settings file; no drop-in directory is read then"),
    name(
        "CREDMINT_AGENT",
        "`auto`: use a running agent, else start one; `once`: a child for each request, nothing kept",
    ),
    name("CREDMINT_SOCKET", "path of the agent's socket"),
    name("CREDMINT_AGENT_PROGRAM", "path of `credmint-agent`, in place of the one beside the helper or in `PATH`"),
    name("CREDMINT_PHASE", "`plan` or `apply`: what the run is about, where the agent cannot see it"),
    name(
        "CREDMINT_BEFORE_EXEC",
        "set by `credmint exec` with a proxy: what `HTTPS_PROXY`, `NO_PROXY` and `SSL_CERT_FILE` were before, as a JSON object",
    ),
    name("XDG_CONFIG_HOME", "directory of `credmint/config.toml` (default `~/.config`)"),
    name("XDG_RUNTIME_DIR", "directory of the agent's socket, in `credmint/`"),
    name(
        "DBUS_SESSION_BUS_ADDRESS",
        "where the Secret Service is, for `remember = \"keyring\"` (default `$XDG_RUNTIME_DIR/bus`)",
    ),
    name("XDG_STATE_HOME", "directory of the last failures, in `credmint/` (default `~/.local/state`)"),
    name("HOME", "the user's home, for the defaults above and for `~/` in the settings"),
    name("TMPDIR", "directory of the agent's socket where there is no runtime directory (default `/tmp`)"),
    name("TF_CLI_CONFIG_FILE", "Terraform's CLI configuration, which `credmint setup` writes to"),
    name("TERRAFORM_CONFIG", "its older name, which Terraform reads where that is not set"),
    name(
        "TF_REGISTRY_CLIENT_TIMEOUT",
        "how long Terraform waits for a registry, in seconds; `credmint exec` sets it for mirrors, unless it is set",
    ),
    name(
        "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE",
        "Google's libraries: the type of subject token that `credmint-google` is to print",
    ),
    name(
        "KUBERNETES_EXEC_INFO",
        "clients of Kubernetes: the version of ExecCredential that `credmint-kubernetes` is to print",
    ),
    name("VAULT_ADDR", "the server whose token `credmint-vault` is to print"),
    name("BAO_ADDR", "the same, where that is not set"),
    name(
        "AWS_CONFIG_FILE",
        "the AWS SDKs' configuration, which `credmint setup provider` writes to (default `~/.aws/config`)",
    ),
    name(
        "AWS_SHARED_CREDENTIALS_FILE",
        "the AWS SDKs' file of keys, which goes before the configuration; only looked at",
    ),
    name(
        "GIT_CONFIG_GLOBAL",
        "git's configuration, which `credmint setup provider` writes to (default `~/.gitconfig`)",
    ),
    name("VAULT_CONFIG_PATH", "vault's configuration, which `credmint setup provider` writes to (default `~/.vault`)"),
    name("BAO_CONFIG_PATH", "OpenBao's configuration, the same (default `~/.bao`)"),
    name("KUBECONFIG", "the kubeconfig that `credmint setup provider` writes to (default `~/.kube/config`)"),
    name(
        "DOCKER_CONFIG",
        "directory of docker's configuration, which `credmint setup provider` writes to (default `~/.docker`)",
    ),
    name(
        "XDG_DATA_HOME",
        "directory of links to programs of ours, in `credmint/` (default `~/.local/share`), and of OpenTofu's plug-ins",
    ),
    name("APPDATA", "on Windows: directory of the settings and of `terraform.rc`"),
    name("LOCALAPPDATA", "on Windows: directory of the last failures"),
    name("USERPROFILE", "on Windows: the user's home"),
    name("USERNAME", "on Windows: the user's name, a part of the name of the agent's pipe"),
    name("SystemRoot", "on Windows: where the system is; handed on to the agent, which cannot open sockets without it"),
    name("PATH", "where programs are looked up: the agent, `terraform`, commands of the settings"),
    name("BROWSER", "commands that open a browser for `credmint login`, tried in order; `%s` is the address"),
    name("DISPLAY", "whether there is a display that shows a browser (X11)"),
    name("WAYLAND_DISPLAY", "whether there is a display that shows a browser (Wayland)"),
    name("XAUTHORITY", "handed on, with the display, to the program that asks for `confirm = true`"),
    name("SSH_CONNECTION", "set over ssh: `credmint login` signs in with a code"),
    name("SSH_CLIENT", "the same"),
    name("SSH_TTY", "the same"),
    name("container", "set in a container: `credmint login` signs in with a code"),
    name("KUBERNETES_SERVICE_HOST", "the same, in Kubernetes"),
    name("WSL_DISTRO_NAME", "set in Windows' Linux subsystem, where the browser is Windows' one"),
];

const fn name(name: &'static str, meaning: &'static str) -> EnvironmentName {
    EnvironmentName { name, meaning }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_listed_once_and_explained() {
        for (at, entry) in ENVIRONMENT.iter().enumerate() {
            assert!(!entry.meaning.is_empty(), "{}", entry.name);
            assert!(ENVIRONMENT.iter().skip(at + 1).all(|other| other.name != entry.name), "{}", entry.name);
        }
    }

    #[test]
    fn whatever_local_machine_reads_is_listed() {
        let room = include_str!("../../local-machine/src/environment.rs");
        let constants = room.lines().filter_map(|line| line.strip_prefix("pub const ")?.split('"').nth(1));
        let names: Vec<&str> = constants.collect();
        assert!(names.contains(&"CREDMINT_CONFIG"), "the constants are no longer written as this test expects");
        for name in names {
            assert!(ENVIRONMENT.iter().any(|entry| entry.name == name), "{name} is read but not listed");
        }
    }
}
