//! `kind = "env"`: the token stands in a variable of the caller's environment.
//! The variable's name comes in, its value or its absence goes out.
//! Reads the agent's own environment never: that is not the caller's.

use credmint_vocabulary::Secret;

use crate::caller::Caller;

/// Reads the variable; empty counts as absent (Coder sets it to nothing on a template push).
pub(crate) fn read(variable: &str, caller: &Caller) -> Option<Secret<String>> {
    caller.variable(variable).map(Secret::copied)
}
