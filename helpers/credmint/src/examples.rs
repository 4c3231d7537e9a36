//! What stands at the end of each verb's help: commands that a person can copy, each with what it is for.
//! Nothing comes in, texts go out; a test reads them back as command lines.
//! Touches nothing.

/// `credmint setup`.
pub(crate) const SETUP: &str = "\
Examples:
  credmint setup registry.corp.example --dry-run   shows what would change
  credmint setup registry.corp.example --upstream https://10.0.0.7
  credmint setup registry.corp.example --remove    takes it all back";

/// `credmint setup provider`.
pub(crate) const SETUP_PROVIDER: &str = "\
Examples:
  credmint setup provider prod --dry-run     shows what would change
  credmint setup provider lab --for git
  credmint setup provider cluster --print    prints what to write by hand
  credmint setup provider prod --remove      takes it all back";

/// `credmint login`.
pub(crate) const LOGIN: &str = "\
Examples:
  credmint login                  in the browser, or with a code
  credmint login me --device      with a code, on any device
  credmint login me --paste       the browser is on another machine
  credmint login me --lifetime 8h
  credmint login registry.corp.example --csr out.pem";

/// `credmint logout`.
pub(crate) const LOGOUT: &str = "\
Examples:
  credmint logout me
  credmint logout --all";

/// `credmint lock`.
pub(crate) const LOCK: &str = "\
Examples:
  credmint lock           asks for a passphrase, twice
  credmint lock < FILE    the first line of FILE is the passphrase";

/// `credmint unlock`.
pub(crate) const UNLOCK: &str = "\
Examples:
  credmint unlock
  credmint unlock < FILE    the first line of FILE is the passphrase";

/// `credmint needs-login`.
pub(crate) const NEEDS_LOGIN: &str = "\
Examples:
  credmint needs-login && credmint login
  credmint needs-login me";

/// `credmint status`.
pub(crate) const STATUS: &str = "\
Examples:
  credmint status
  credmint status --json | jq .agent.sessions";

/// `credmint explain`.
pub(crate) const EXPLAIN: &str = "\
Examples:
  credmint explain registry.corp.example
  credmint explain registry.corp.example --json | jq .";

/// `credmint cert`.
pub(crate) const CERT: &str = "\
Examples:
  credmint cert registry.corp.example
  credmint cert registry.corp.example --self-check
  credmint cert registry.corp.example --pem | openssl x509 -noout -text";

/// `credmint print`.
pub(crate) const PRINT: &str = "\
Examples:
  credmint print lab | docker login --username oauth2 --password-stdin
  credmint print prod --format env     for eval, in sh
  credmint print prod --format json | jq -r .expires_at
  credmint print lab --format env --variable GITLAB_TOKEN";

/// `credmint exec`.
pub(crate) const EXEC: &str = "\
Examples:
  credmint exec -- terraform init
  credmint exec -- tofu plan
  credmint exec --provider prod -- terraform apply
  credmint exec --carrier proxy -- curl https://registry.corp.example/";

/// `credmint env`.
pub(crate) const ENV: &str = "\
Examples:
  credmint env";

/// `credmint agent`.
pub(crate) const AGENT: &str = "\
Examples:
  credmint agent status
  credmint agent start registry.corp.example    before `terraform login`
  credmint agent stop";

/// `credmint demo`.
pub(crate) const DEMO: &str = "\
Examples:
  credmint demo
  credmint demo --tool /usr/local/bin/tofu --keep";

/// `credmint completion`.
pub(crate) const COMPLETION: &str = "\
Examples:
  source <(credmint completion bash)    in ~/.bashrc
  source <(credmint completion zsh)     in ~/.zshrc, after compinit
  credmint completion fish > ~/.config/fish/completions/credmint.fish";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use crate::command_line::{CommandLine, parse};

    /// Takes the command out of a line: what stands before a remark, a pipe or a redirection.
    fn command(line: &str) -> Option<&str> {
        let line = line.trim().trim_start_matches("source <(").split([')', '|', '<', '>', '&']).next()?;
        line.split("  ").next().map(str::trim).filter(|line| line.starts_with("credmint "))
    }

    #[test]
    fn every_verb_has_examples_that_are_understood_and_fit_a_terminal() {
        for verb in CommandLine::command().get_subcommands() {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let commands: Vec<&str> = help.lines().skip(1).filter_map(command).collect();
            assert_eq!(commands.len(), help.lines().skip(1).count(), "{help}");
            assert!(!commands.is_empty(), "{} has no examples", verb.get_name());
            for line in commands {
                assert!(line.starts_with(&format!("credmint {}", verb.get_name())), "{line}");
                assert!(parse(line.split(' ').map(Into::into)).is_ok(), "{line}");
            }
        }
    }

    #[test]
    fn no_help_is_wider_than_eighty_columns_where_it_cannot_wrap() {
        for verb in CommandLine::command().get_subcommands() {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        }
    }
}
