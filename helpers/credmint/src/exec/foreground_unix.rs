//! A program in the foreground, as a shell has it: its signals reach it, once; it ends, and so do we, in the same way.
//! A program, its arguments and variables come in, how it ended goes out.
//! Standard streams, process group and terminal are the program's: it inherits them untouched.

use std::ffi::{CString, NulError, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use credmint_local_machine::environment;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use rustix::process::{Resource, Rlimit, WaitId, WaitIdOptions, WaitOptions, setrlimit, waitid, waitpid};

use super::variables::Variable;

/// How a program ended.
pub(crate) struct Ended(ExitStatus);

/// What our caller had blocked, and the program is to have.
pub(crate) struct Before(SigSet);

/// Keeps the signals that are for the program, from now on; before other threads are started, which could get them.
pub(crate) fn hold_signals() -> io::Result<Before> {
    let before = SigSet::thread_get_mask()?;
    // Blocked, not caught: what our caller ignores stays ignored, for the program as well.
    held().thread_block()?;
    Ok(Before(before))
}

fn held() -> SigSet {
    PASSED_ON.into_iter().collect()
}

/// Runs a program to its end.
pub(crate) fn run(before: &Before, words: &[OsString], variables: &[Variable]) -> io::Result<Ended> {
    let pid = start(before, words, variables)?;
    let living = Arc::new(Mutex::new(Some(pid)));
    pass_on(Arc::clone(&living));
    wait(pid, &living).map(Ended)
}

/// The standard library lets a program inherit what is blocked.
fn start(before: &Before, words: &[OsString], variables: &[Variable]) -> io::Result<Pid> {
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_sigmask(&before.0)?;
    // Rust ignores it, and the program would inherit that.
    attributes.set_sigdefault(&SigSet::from(Signal::SIGPIPE))?;
    attributes.set_flags(PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF)?;
    let words = words.iter().map(|word| CString::new(word.as_bytes())).collect::<Result<Vec<_>, NulError>>()?;
    let program = words.first().ok_or(io::ErrorKind::InvalidInput)?;
    let environment = environment_with(variables)?;
    Ok(posix_spawnp(program, &PosixSpawnFileActions::init()?, &attributes, &words, &environment)?)
}

fn environment_with(variables: &[Variable]) -> Result<Vec<CString>, NulError> {
    let is_ours = |name: &OsStr| variables.iter().any(|variable| name == variable.name());
    let inherited = environment::all().filter(|(name, _)| !is_ours(name));
    let own = variables.iter().filter_map(|variable| Some((variable.name().into(), variable.value()?.into())));
    let line = |(name, value): (OsString, OsString)| CString::new([name.into_vec(), value.into_vec()].join(&b'='));
    inherited.chain(own).map(line).collect()
}

type Living = Mutex<Option<Pid>>;

/// Waits without a gap in which the number could be somebody else's.
fn wait(pid: Pid, living: &Living) -> io::Result<ExitStatus> {
    let pid = rustix::process::Pid::from_raw(pid.as_raw()).ok_or(io::ErrorKind::NotFound)?;
    let ends = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), ends) {}
    living.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (_, status) = waitpid(Some(pid), WaitOptions::empty())?.ok_or(io::ErrorKind::NotFound)?;
    Ok(ExitStatus::from_raw(status.as_raw()))
}

/// Passes signals on from a thread of its own, as long as there is somebody to have them.
fn pass_on(living: Arc<Living>) {
    thread::spawn(move || {
        let Ok(mut arrivals) = Arrivals::of(held()) else { return };
        while let Some((signal, is_from_terminal)) = arrivals.next() {
            // What comes from the terminal goes to the whole group: the program has it already.
            if !is_from_terminal || signal == Signal::SIGCONT {
                send(&living, signal);
            }
            if signal == Signal::SIGTSTP {
                kill(Pid::this(), Signal::SIGSTOP).unwrap_or_default();
            }
        }
    });
}

fn send(living: &Living, signal: Signal) {
    let living = living.lock().unwrap_or_else(PoisonError::into_inner);
    living.iter().for_each(|pid| kill(*pid, signal).unwrap_or_default());
}

/// The signals that come, each with whether the terminal sent it.
#[cfg(target_os = "linux")]
struct Arrivals(nix::sys::signalfd::SignalFd);

#[cfg(target_os = "linux")]
impl Arrivals {
    fn of(signals: SigSet) -> io::Result<Self> {
        use nix::sys::signalfd::{SfdFlags, SignalFd};
        Ok(Self(SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC)?))
    }

    fn next(&mut self) -> Option<(Signal, bool)> {
        let arrival = self.0.read_signal().ok()??;
        let signal = Signal::try_from(i32::try_from(arrival.ssi_signo).ok()?).ok()?;
        // The kernel's own are above zero (`SI_KERNEL`); those of processes are not (`SI_USER`, `SI_TKILL`).
        Some((signal, arrival.ssi_code > 0))
    }
}

/// The signals that come; where the system does not say from whom, those of the keyboard are the terminal's while we have it.
#[cfg(not(target_os = "linux"))]
struct Arrivals(SigSet);

#[cfg(not(target_os = "linux"))]
impl Arrivals {
    fn of(signals: SigSet) -> io::Result<Self> {
        Ok(Self(signals))
    }

    fn next(&mut self) -> Option<(Signal, bool)> {
        let signal = self.0.wait().ok()?;
        let is_of_keyboard = matches!(signal, Signal::SIGINT | Signal::SIGQUIT | Signal::SIGTSTP | Signal::SIGWINCH);
        Some((signal, is_of_keyboard && has_terminal()))
    }
}

/// Tells whether our process group is the one that the keyboard's signals go to.
#[cfg(not(target_os = "linux"))]
fn has_terminal() -> bool {
    let group = rustix::termios::tcgetpgrp(std::io::stderr()).or_else(|_| rustix::termios::tcgetpgrp(std::io::stdin()));
    group.is_ok_and(|group| group == rustix::process::getpgrp())
}

impl Ended {
    /// Tells whether the program says that all went well.
    pub(crate) fn is_success(&self) -> bool {
        self.0.success()
    }

    /// Ends as the program did: with its exit status, or by its signal, which a shell shows as 128 and its number.
    pub(crate) fn pass_on(&self) -> ExitCode {
        if let Some(code) = self.0.code() {
            return ExitCode::from(u8::try_from(code).unwrap_or(1));
        }
        let number = self.0.signal().unwrap_or_default();
        end_by(number);
        ExitCode::from(u8::try_from(128 + number).unwrap_or(u8::MAX))
    }
}

/// Sends itself a signal; one that we ignore, or that the first process of a container gets, does nothing.
fn end_by(number: i32) {
    let Ok(signal) = Signal::try_from(number) else { return };
    // Our memory has session tokens in it.
    if setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).is_err() {
        return;
    }
    SigSet::from(signal).thread_unblock().unwrap_or_default();
    kill(Pid::this(), signal).unwrap_or_default();
}

/// What a program is told by others: to end, to stop, to go on, and what they agreed upon.
const PASSED_ON: [Signal; 9] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTSTP,
    Signal::SIGCONT,
    Signal::SIGWINCH,
];
