//! Who is asking, and what their run is about: what the settings allow to some and not to others.
//! The process at the other end and what the caller says come in; a phase, or a refusal that names what was seen, goes out.
//! Believes the kernel about processes, and the caller only where that makes it less. `protocol-spec/settings.md`, Phases.

use std::path::{Path, PathBuf};

use credmint_local_machine::{Ancestor, ancestors, resolved};
use credmint_settings::Allow;
use credmint_vocabulary::{Failure, FailureKind, Phase, RouteName, printable};

/// Describes a run as far as it is known.
pub(crate) struct Asking {
    /// What it is about; `None`: that is not known, and counts as less.
    pub(crate) phase: Option<Phase>,
    /// How that is known, or why not, in words.
    pub(crate) why: String,
    line: Vec<Ancestor>,
}

impl Asking {
    /// Looks at the process that asks and at those it came from; what the caller says never widens what is seen.
    pub(crate) fn of(peer: Option<u32>, said: Option<&str>) -> Result<Self, Failure> {
        let word = |word: &str| Phase::from_word(word).ok_or_else(|| no_phase(word));
        Ok(Self::judged(peer.map(ancestors).unwrap_or_default(), said.map(word).transpose()?))
    }

    fn judged(line: Vec<Ancestor>, said: Option<Phase>) -> Self {
        let terraform = nearest(&line);
        let seen = terraform.and_then(|it| Phase::of_subcommand(it.subcommand.as_deref()?));
        let phase = match (seen, said) {
            (Some(seen), Some(said)) => Some(seen.min(said)),
            (one, other) => one.or(other),
        };
        let why = match (terraform, said) {
            (_, Some(said)) if phase == Some(said) && seen != phase => "it was said".to_owned(),
            (Some(terraform), _) => described(terraform),
            (None, _) if line.is_empty() => "the process that asks cannot be seen from here".to_owned(),
            (None, _) => "no terraform or tofu is among the processes that it came from".to_owned(),
        };
        Self { phase, why, line }
    }

    /// Refuses what is not allowed.
    pub(crate) fn judge(&self, name: &RouteName, allow: Option<&Allow>) -> Result<(), Failure> {
        let Some(allow) = allow else { return Ok(()) };
        let found = self.against_commands(allow).or_else(|| self.against_directories(allow));
        let Some((only, seen)) = found.or_else(|| self.against_phases(allow)) else { return Ok(()) };
        let what = format!("no credential for {name}: it is for {only} alone, and {seen}");
        let hint = format!("change `allow` in the settings of {name}, or ask from there: credmint explain {name}");
        Err(Failure::new(FailureKind::Refused, what).hint(hint))
    }

    fn against_commands(&self, allow: &Allow) -> Option<(String, String)> {
        let is_it = |wanted: &String, process: &Ancestor| match Path::new(wanted).is_absolute() {
            true => process.executable.as_deref() == Some(Path::new(wanted)),
            false => process.name == *wanted,
        };
        let allowed = |wanted: &String| self.line.iter().any(|process| is_it(wanted, process));
        let wanted = &allow.commands;
        (!wanted.is_empty() && !wanted.iter().any(allowed)).then(|| (wanted.join(", "), self.asked_by()))
    }

    fn asked_by(&self) -> String {
        let names: Vec<&str> = self.line.iter().map(|process| process.name.as_str()).take(MOST_NAMED).collect();
        match names.as_slice() {
            [] => "the process that asks cannot be seen from here".to_owned(),
            names => format!("what asks is {}", names.join(", of ")),
        }
    }

    fn against_directories(&self, allow: &Allow) -> Option<(String, String)> {
        if allow.directories.is_empty() {
            return None;
        }
        // The one that asks keeps the kernel from telling where it is.
        let place = nearest(&self.line).or_else(|| self.line.get(1)).and_then(|process| process.directory.clone());
        let below = |wanted: &PathBuf| place.as_ref().is_some_and(|place| place.starts_with(resolved(wanted)));
        let seen = || match &place {
            Some(place) => format!("this one is in {}", printable(&place.display().to_string(), 200)),
            None => "where this one is cannot be seen from here".to_owned(),
        };
        let wanted = || allow.directories.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        (!allow.directories.iter().any(below)).then(|| (format!("runs in {}", wanted()), seen()))
    }

    fn against_phases(&self, allow: &Allow) -> Option<(String, String)> {
        let allowed = self.phase.is_some_and(|phase| allow.phases.contains(&phase));
        let seen = || match self.phase {
            Some(phase) => format!("this is the phase {phase} ({})", self.why),
            None => format!("the phase of this run is not known ({})", self.why),
        };
        let wanted = || allow.phases.iter().map(|phase| phase.word()).collect::<Vec<_>>().join(", ");
        (!allow.phases.is_empty() && !allowed).then(|| (format!("the phase {}", wanted()), seen()))
    }
}

/// Says what `allow` has, in words.
pub(crate) fn allowed(allow: &Allow) -> Vec<String> {
    let directories: Vec<String> = allow.directories.iter().map(|path| path.display().to_string()).collect();
    let phases: Vec<&str> = allow.phases.iter().map(|phase| phase.word()).collect();
    let all = [
        ("started by ", allow.commands.join(", ")),
        ("in ", directories.join(", ")),
        ("in the phase ", phases.join(", ")),
    ];
    all.into_iter().filter(|(_, what)| !what.is_empty()).map(|(before, what)| format!("{before}{what}")).collect()
}

fn nearest(line: &[Ancestor]) -> Option<&Ancestor> {
    line.iter().find(|process| Phase::is_of_program(&process.name))
}

fn described(terraform: &Ancestor) -> String {
    let subcommand = terraform.subcommand.as_deref().unwrap_or("without a subcommand");
    format!("{} {subcommand}, process {}", terraform.name, terraform.id)
}

fn no_phase(word: &str) -> Failure {
    let what = format!("`{}` is no phase", printable(word, 32));
    Failure::new(FailureKind::Usage, what).hint("CREDMINT_PHASE and --phase are plan or apply")
}

/// How many processes a refusal names.
const MOST_NAMED: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn process(name: &str, subcommand: Option<&str>, directory: &str) -> Ancestor {
        let (name, directory) = (name.to_owned(), Some(PathBuf::from(directory)));
        Ancestor { id: 7, name, directory, subcommand: subcommand.map(str::to_owned), ..Ancestor::default() }
    }

    fn line(subcommand: &str) -> Vec<Ancestor> {
        let at = |name, subcommand| process(name, subcommand, "/srv/infra/prod");
        vec![
            at("credmint-aws", None),
            at("terraform-provider-aws", None),
            at("terraform", Some(subcommand)),
            process("terraform", Some("apply"), "/"),
        ]
    }

    fn refusal(asking: &Asking, allow: Allow) -> String {
        let name = RouteName::provider("prod").expect("a name");
        asking.judge(&name, Some(&allow)).expect_err("refused").what
    }

    #[test]
    fn the_nearest_terraform_counts_and_what_is_said_never_widens_it() {
        let phase = |subcommand, said| Asking::judged(line(subcommand), said).phase;
        assert_eq!(phase("plan", None), Some(Phase::Plan));
        assert_eq!(phase("plan", Some(Phase::Apply)), Some(Phase::Plan));
        assert_eq!(phase("apply", Some(Phase::Plan)), Some(Phase::Plan));
        assert_eq!(phase("destroy", Some(Phase::Apply)), Some(Phase::Apply));
        assert_eq!(phase("of-a-later-version", None), None);
        assert_eq!(phase("of-a-later-version", Some(Phase::Apply)), Some(Phase::Apply));
        assert_eq!(Asking::judged(Vec::new(), None).phase, None);
        assert!(Asking::of(None, Some("destroy")).is_err());
    }

    #[test]
    fn what_is_allowed_has_to_hold_whole_and_a_refusal_names_both_sides() {
        let allow = || Allow {
            commands: vec!["terraform".into()],
            directories: vec!["/srv/infra".into()],
            phases: vec![Phase::Plan],
        };
        let name = RouteName::provider("prod").expect("a name");
        assert!(Asking::judged(line("plan"), None).judge(&name, Some(&allow())).is_ok());
        let apply = refusal(&Asking::judged(line("apply"), None), allow());
        assert_eq!(
            apply,
            "no credential for provider/prod: it is for the phase plan alone, and this is the phase apply (terraform apply, process 7)"
        );
        let elsewhere = refusal(
            &Asking::judged(line("plan"), None),
            Allow { directories: vec!["/srv/infra/pro".into()], ..allow() },
        );
        assert!(elsewhere.ends_with("runs in /srv/infra/pro alone, and this one is in /srv/infra/prod"), "{elsewhere}");
        let shell = vec![process("credmint-aws", None, "/"), process("bash", None, "/srv/infra")];
        let bash = refusal(&Asking::judged(shell, None), allow());
        assert!(bash.ends_with("it is for terraform alone, and what asks is credmint-aws, of bash"), "{bash}");
        let unseen = refusal(
            &Asking::judged(Vec::new(), None),
            Allow { commands: Vec::new(), directories: Vec::new(), ..allow() },
        );
        assert!(unseen.contains("is not known (the process that asks cannot be seen from here)"), "{unseen}");
        let by_path = Allow { commands: vec!["/usr/bin/terraform".into()], ..Allow::default() };
        assert!(refusal(&Asking::judged(line("plan"), None), by_path).contains("/usr/bin/terraform alone"));
    }
}
