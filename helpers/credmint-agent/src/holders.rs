//! Who was given what an entry holds: runs, each by its number, and whoever else asked.
//! A use comes in, whether a run was the last who has it goes out.
//! Pure memory.

use std::collections::BTreeSet;

use crate::bridge::RunNumber;

/// Lists who may still have what was handed out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holders {
    runs: BTreeSet<RunNumber>,
    others: bool,
}

impl Holders {
    /// Notes one more: a run, or somebody who never says when they are done.
    pub(crate) fn note(&mut self, run: Option<RunNumber>) {
        match run {
            Some(run) => self.runs.extend([run]),
            None => self.others = true,
        }
    }

    /// Lets a run go, and tells whether it had it, and nobody else has it now.
    pub(crate) fn leave(&mut self, run: RunNumber) -> bool {
        self.runs.remove(&run) && self.runs.is_empty() && !self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_leaves_nothing_behind_unless_somebody_else_asked() {
        let mut holders = Holders::default();
        [1, 2, 2].into_iter().for_each(|run| holders.note(Some(run)));
        assert!(!holders.leave(3) && !holders.leave(1), "another run goes on");
        assert!(holders.leave(2) && !holders.leave(2));
        holders.note(Some(4));
        holders.note(None);
        assert!(!holders.leave(4), "who else has it never says when they are done");
    }
}
