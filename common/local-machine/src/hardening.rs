//! What a process does before it reads a byte, so that its memory stays its own.
//! Nothing comes in, words for `credmint status` go out: what took effect, and what did not.
//! Changes this process only. `setrlimit(2)`, `PR_SET_DUMPABLE`, `mlockall(2)`.

/// Hardens the agent: no core dumps, not readable by its own user's debuggers, umask 077, memory locked where allowed.
#[must_use]
pub fn harden() -> Vec<String> {
    os::harden()
}

/// Hardens a helper, which lives for a millisecond: no core dumps, not readable by debuggers.
pub fn harden_helper() {
    os::no_core();
    os::not_dumpable();
}

#[cfg(unix)]
mod os {
    use rustix::process::{Resource, Rlimit, setrlimit};

    pub(super) fn harden() -> Vec<String> {
        rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
        vec![
            word("no core dumps", no_core()),
            word("not dumpable", not_dumpable()),
            "umask 077".to_owned(),
            lock_memory(),
        ]
    }

    pub(super) fn no_core() -> bool {
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).is_ok()
    }

    #[cfg(target_os = "linux")]
    pub(super) fn not_dumpable() -> bool {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable).is_ok()
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn not_dumpable() -> bool {
        false
    }

    /// Locks pages as they are touched. Under a limit the kernel counts address space, not pages, and later
    /// allocations would fail: so only where there is no limit for us.
    #[cfg(target_os = "linux")]
    fn lock_memory() -> String {
        use rustix::mm::{MlockAllFlags, mlockall};
        use rustix::process::getrlimit;
        use rustix::thread::{CapabilitySet, capabilities};
        let privileged = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
        if !privileged && getrlimit(Resource::Memlock).current.is_some() {
            return "memory not locked: the limit (ulimit -l) is not unlimited".to_owned();
        }
        let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
        word("memory locked", mlockall(flags).is_ok())
    }

    #[cfg(not(target_os = "linux"))]
    fn lock_memory() -> String {
        "memory not locked: not on this system".to_owned()
    }

    fn word(what: &str, took_effect: bool) -> String {
        if took_effect { what.to_owned() } else { format!("{what}: refused by the system") }
    }
}

#[cfg(windows)]
mod os {
    pub(super) fn harden() -> Vec<String> {
        vec!["nothing on Windows yet".to_owned()]
    }

    pub(super) fn no_core() {}

    pub(super) fn not_dumpable() {}
}
