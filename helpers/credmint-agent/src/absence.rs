//! A job that has no user: no identity has an answer, because there is nobody, and not because something is broken.
//! What the caller says of its job and what an attempt came to come in; what the settings have for that goes out, or a sentence that explains it.
//! Keeps no placeholder, and remembers only that one was given. `protocol-spec/settings.md`, Jobs without a user.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use credmint_agent_protocol::Credential;
use credmint_identities::{CODER_BUILD, CODER_TRANSITION, Caller};
use credmint_local_machine::clock;
use credmint_settings::{Settings, WhenAbsent};
use credmint_vocabulary::{Deadline, Failure, FailureKind, RouteName, Secret, Timestamp};

use crate::agent::Agent;
use crate::get::{self, Pair};
use crate::recipe::Recipe;
use crate::who;

/// What a provisioner of Coder says about a job; empty is the same as not there.
pub(crate) const READS: &[&str] = &[CODER_BUILD, CODER_TRANSITION];

/// Lists what of the caller's environment tells a job without a user from one with a user.
pub(crate) fn reads(settings: &Settings, name: &RouteName) -> &'static [&'static str] {
    let is_provider = matches!(name, RouteName::Provider(_)) && settings.route(name).is_some();
    if is_provider { READS } else { &[] }
}

/// Describes a job of a provisioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// A template push or a dry run: it has no user.
    WithoutUser,
    /// A workspace is started for its owner.
    Start,
    /// A workspace is stopped or deleted.
    End,
}

impl Job {
    /// Finds out which it is; `None` elsewhere than at a provisioner.
    pub(crate) fn of(found: &[(String, Secret<String>)]) -> Option<Self> {
        let is = |name: &str, value: &[u8]| found.iter().any(|(own, found)| own == name && found.same_as(value));
        let has = |name: &str| found.iter().any(|(own, value)| own == name && !value.is_empty());
        match (has(CODER_TRANSITION), has(CODER_BUILD)) {
            (false, _) => None,
            (true, false) => Some(Self::WithoutUser),
            (true, true) if is(CODER_TRANSITION, b"start") => Some(Self::Start),
            (true, true) => Some(Self::End),
        }
    }

    /// Finds out which it is from all that was read of a caller.
    pub(crate) fn of_caller(caller: &Caller) -> Option<Self> {
        let own = |name: &&str| Some(((*name).to_owned(), caller.environment.get(*name)?.copied()));
        Self::of(&READS.iter().filter_map(own).collect::<Vec<_>>())
    }

    /// Tells whether it goes on without its user: to end something needs no more than to make it would.
    const fn goes_on_without(self) -> bool {
        matches!(self, Self::WithoutUser | Self::End)
    }

    const fn words(self) -> &'static str {
        match self {
            Self::WithoutUser => "a template push or a dry run of Coder has no user, and no token of one",
            Self::Start => {
                "the owner of this workspace has no token at Coder: no sign-in by OpenID Connect, or one that could not be renewed"
            }
            Self::End => "the owner of the workspace that is stopped or deleted has no token at Coder any more",
        }
    }

    fn hint(self, name: &RouteName) -> String {
        match self {
            Self::Start => "sign in to Coder again by OpenID Connect, then build once more".to_owned(),
            _ => format!(
                "set when_absent of {name} in the settings: \"fallback\" to an identity with few rights, or \"placeholder\" for AWS"
            ),
        }
    }
}

/// What a job without a user gets.
pub(crate) enum Instead {
    /// What was granted to the other identity.
    Fallback(Rc<Recipe>, Pair),
    /// Something that opens nothing.
    Placeholder(Box<Credential>),
}

/// Finds what takes the place of a credential that could not be had; the failure itself, better explained, where nothing does.
pub(crate) async fn instead(
    agent: &Rc<Agent>,
    (recipe, fallback): (&Rc<Recipe>, Option<&Rc<Recipe>>),
    (job, failure): (Option<Job>, Failure),
    deadline: Deadline,
) -> Result<Instead, Failure> {
    let Some(job) = job else { return Err(failure) };
    if !who::has_nobody(agent, recipe, deadline).await {
        return Err(failure);
    }
    let route = recipe.route().ok_or_else(|| crate::failure::no_route(&recipe.name))?;
    match (&route.host.policy.when_absent, fallback) {
        (WhenAbsent::Fallback { .. }, Some(fallback)) if job.goes_on_without() => {
            let pair = get::pair_of(agent, fallback, deadline).await?;
            Ok(Instead::Fallback(Rc::clone(fallback), pair))
        }
        (WhenAbsent::Placeholder, _) if job.goes_on_without() => {
            let now = clock::now();
            agent.placeholders.note(&recipe.name, now);
            Ok(Instead::Placeholder(placeholder(now).into()))
        }
        _ => Err(explained(&recipe.name, job, &failure)),
    }
}

fn explained(name: &RouteName, job: Job, failure: &Failure) -> Failure {
    let asked = failure.what.split_once(" (").map_or("", |(_, asked)| asked.strip_suffix(')').unwrap_or(asked));
    let asked = if asked.is_empty() { String::new() } else { format!(" ({asked})") };
    let what = format!("no credential for {name}: {}{asked}", job.words());
    Failure::new(FailureKind::Refused, what).hint(job.hint(name))
}

/// Makes keys that look like keys, and that no account has: they say so themselves.
fn placeholder(now: Timestamp) -> Credential {
    Credential {
        access_key_id: Some("CREDMINTPLACEHOLDER0".to_owned()),
        secret_access_key: Some(Secret::from("credmint/placeholder/that/opens/nothing0").into()),
        session_token: Some(Secret::from("credmint-placeholder-that-opens-nothing").into()),
        expires_at: Some(now.plus(LIFE).to_string()),
        ..Credential::default()
    }
}

/// The SDKs ask again and again for what has less than a quarter of an hour left.
const LIFE: Duration = Duration::from_secs(60 * 60);

/// Remembers which providers a placeholder was given for, and when the last time was.
#[derive(Default)]
pub(crate) struct Placeholders(RefCell<BTreeMap<RouteName, Timestamp>>);

impl Placeholders {
    fn note(&self, name: &RouteName, now: Timestamp) {
        self.0.borrow_mut().insert(name.clone(), now);
    }

    /// Says when one was given for a provider, if one was.
    pub(crate) fn last(&self, name: &RouteName) -> Option<Timestamp> {
        self.0.borrow().get(name).copied()
    }

    /// Says for which providers of these settings one was given, in words.
    pub(crate) fn given(&self, settings: &Settings) -> Vec<String> {
        let own = settings.names().filter_map(|name| Some((self.last(&name)?, name)));
        own.map(|(at, name)| format!("{name}: a placeholder that opens nothing, at {at}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(build: &str, transition: &str) -> Option<Job> {
        let found = [(CODER_BUILD, build), (CODER_TRANSITION, transition)];
        Job::of(&found.map(|(name, value)| (name.to_owned(), Secret::from(value))))
    }

    #[test]
    fn a_push_sets_all_variables_and_leaves_those_of_a_build_empty_coder_9120() {
        assert_eq!(job("", "start"), Some(Job::WithoutUser));
        assert_eq!(job("", "stop"), Some(Job::WithoutUser), "the second plan of an import");
        assert_eq!(job("b", "start"), Some(Job::Start));
        assert_eq!((job("b", "stop"), job("b", "destroy")), (Some(Job::End), Some(Job::End)));
        assert_eq!((job("", ""), job("b", ""), Job::of(&[])), (None, None, None));
    }

    #[test]
    fn a_start_never_goes_on_without_its_user_and_an_end_does() {
        assert!(!Job::Start.goes_on_without() && Job::End.goes_on_without() && Job::WithoutUser.goes_on_without());
    }

    #[test]
    fn what_the_identity_coder_says_of_its_absence_stands_whole_in_the_refusal_coder_9120() {
        let name = RouteName::provider("prod").expect("a name");
        let absent = credmint_identities::Absence::NoUserInJob;
        let nobody = crate::failure::nobody(&name, &[format!("owner: {absent}")], None);
        let told = explained(&name, Job::WithoutUser, &nobody).what;
        assert!(told.ends_with("(owner: no user token in this job (template push or dry run))"), "{told}");
    }

    #[test]
    fn a_refusal_says_what_is_missing_and_that_nothing_is_broken() {
        let name = RouteName::provider("prod").expect("a name");
        let nobody = crate::failure::nobody(&name, &["job: WORKLOAD_TOKEN is not set".to_owned()], None);
        let told = explained(&name, Job::WithoutUser, &nobody);
        assert_eq!(
            told.what,
            "no credential for provider/prod: a template push or a dry run of Coder has no user, and no token of one (job: WORKLOAD_TOKEN is not set)"
        );
        assert!(told.hint.is_some_and(|hint| hint.contains("when_absent of provider/prod")));
    }
}
