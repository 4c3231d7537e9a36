//! What a run of Terraform is about: it plans, or it changes things.
//! The arguments of Terraform come in, a phase goes out; in doubt there is none.
//! Pure. Terraform's own reading of its command line: options before the subcommand are `-chdir=…`, `-help` and `-version`.

use std::fmt;

/// Says what a run is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// It looks, and changes nothing but its own state.
    Plan,
    /// It makes, changes and destroys.
    Apply,
}

impl Phase {
    /// Both, by their words.
    pub const WORDS: [(&'static str, Self); 2] = [("plan", Self::Plan), ("apply", Self::Apply)];

    /// Gives its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Apply => "apply",
        }
    }

    /// Reads a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, phase)| *phase)
    }

    /// Tells what a subcommand of Terraform is about; `None` for one that is not known.
    #[must_use]
    pub fn of_subcommand(subcommand: &str) -> Option<Self> {
        match subcommand {
            "apply" | "destroy" => Some(Self::Apply),
            // `test` makes what it tests, but nobody has read the plan of it: who wants that says so.
            _ if READING.contains(&subcommand) => Some(Self::Plan),
            _ => None,
        }
    }

    /// Finds the subcommand among the arguments of Terraform.
    #[must_use]
    pub fn subcommand<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        arguments.into_iter().find(|argument| !argument.starts_with('-')).filter(|word| !word.is_empty())
    }

    /// Tells whether a program of this name is Terraform, or OpenTofu.
    #[must_use]
    pub fn is_of_program(name: &str) -> bool {
        ["terraform", "tofu"].contains(&name)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

const READING: [&str; 20] = [
    "plan",
    "refresh",
    "import",
    "console",
    "test",
    "init",
    "validate",
    "show",
    "state",
    "output",
    "graph",
    "get",
    "providers",
    "workspace",
    "taint",
    "untaint",
    "query",
    "modules",
    "force-unlock",
    "stacks",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<Phase> {
        Phase::subcommand(line.split(' ')).and_then(Phase::of_subcommand)
    }

    #[test]
    fn the_first_word_that_is_no_option_is_the_subcommand() {
        assert_eq!(of("plan -out=tfplan"), Some(Phase::Plan));
        assert_eq!(of("plan -destroy"), Some(Phase::Plan));
        assert_eq!(of("-chdir=apply plan apply"), Some(Phase::Plan));
        assert_eq!(of("-chdir=envs/prod apply tfplan"), Some(Phase::Apply));
        assert_eq!(of("destroy -auto-approve"), Some(Phase::Apply));
        assert_eq!(of("test"), Some(Phase::Plan), "never more by doubt");
    }

    #[test]
    fn what_is_not_known_has_no_phase() {
        assert_eq!([of(""), of("-version"), of("APPLY"), of("applyx"), of("deploy")], [None; 5]);
        assert_eq!(Phase::from_word("destroy"), None);
        assert!(
            Phase::WORDS.iter().all(|(word, phase)| phase.word() == *word && Phase::from_word(word) == Some(*phase))
        );
    }
}
