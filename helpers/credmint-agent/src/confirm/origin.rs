//! Who is asking, as the kernel tells it: the process at the other end, and the one that started it.
//! A process id of the socket's peer comes in; words for the question, a run and a terminal go out.
//! Looks at processes and asks them nothing; what they call themselves is shown as that.

use std::fmt;

use credmint_local_machine::process::{self, Process};

/// A process that asks, and its parent, as far as they are known.
pub(super) struct Origin {
    asking: Option<Process>,
    parent: Option<Process>,
}

/// Names a run: the process that starts the helpers, by its id and when it started.
pub(super) type Run = (u32, u64);

impl Origin {
    pub(super) fn of(peer: Option<u32>) -> Self {
        let asking = peer.and_then(process::look);
        let parent = asking.as_ref().and_then(|asking| process::look(asking.parent));
        Self { asking, parent }
    }

    pub(super) fn run(&self) -> Option<Run> {
        self.parent.as_ref().map(|parent| (parent.id, parent.started))
    }

    pub(super) fn terminal(&self) -> Option<i32> {
        self.asking.as_ref().map(|asking| asking.terminal)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.asking, &self.parent) {
            (Some(asking), Some(parent)) => {
                write!(out, "{} (process {}), by {} (process {}),", parent.name, parent.id, asking.name, asking.id)
            }
            (Some(asking), None) => write!(out, "{} (process {})", asking.name, asking.id),
            (None, _) => out.write_str("a program"),
        }
    }
}
