//! `kind = "coder"`: the token of a workspace's owner, which a provisioner gives to plan and apply.
//! What the provisioner says of its job comes in, why it has no token goes out.
//! Shows no value of the environment.

use crate::absence::Absence;
use crate::caller::Caller;

/// Variable that is not empty in the build of a workspace alone.
pub const CODER_BUILD: &str = "CODER_WORKSPACE_BUILD_ID";
/// Variable that says what becomes of the workspace: `start`, `stop` or `destroy`.
pub const CODER_TRANSITION: &str = "CODER_WORKSPACE_TRANSITION";

/// What to configure at Coder's OpenID Provider.
pub(crate) const REMEDY: &str = "it is the access token of the owner's sign-in at Coder: let CODER_OIDC_SCOPES name a scope of an API of your own, so that it is a JWT \
     for that API and not for Microsoft Graph, and offline_access, so that Coder renews it; then sign in to Coder again (coder/coder#20991)";

/// Says why there is no token.
pub(crate) fn absence(caller: &Caller, variable: String) -> Absence {
    let transition = caller.variable(CODER_TRANSITION);
    match (caller.variable(CODER_BUILD).is_some(), transition.is_some()) {
        (true, _) => {
            let known = ["start", "stop", "destroy"].into_iter();
            let is = |word: &&str| transition.is_some_and(|found| found.same_as(word.as_bytes()));
            Absence::OwnerWithoutToken { transition: known.into_iter().find(is) }
        }
        (false, true) => Absence::NoUserInJob,
        (false, false) => Absence::NotSet { variable },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use credmint_vocabulary::Secret;

    fn told(build: &str, transition: &str) -> String {
        let mut caller = Caller::default();
        caller.environment.insert(CODER_BUILD.into(), Secret::from(build));
        caller.environment.insert(CODER_TRANSITION.into(), Secret::from(transition));
        absence(&caller, "TOKEN".into()).to_string()
    }

    #[test]
    fn each_job_without_a_token_says_which_it_is_coder_9120() {
        assert_eq!(told("", "start"), "no user token in this job (template push or dry run)");
        assert_eq!(told("b", "stop"), "the owner has no OIDC link at Coder, or the refresh failed (transition: stop)");
        assert_eq!(told("b", "canary"), "the owner has no OIDC link at Coder, or the refresh failed");
        assert_eq!(told("", ""), "TOKEN is not set");
    }
}
