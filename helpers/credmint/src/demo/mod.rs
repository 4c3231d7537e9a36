//! `credmint demo`.
use credmint_vocabulary::Failure;

use crate::command_line::DemoArguments;

/// Runs the verb.
pub(crate) fn run(_arguments: &DemoArguments) -> Result<(), Failure> {
    Ok(())
}
