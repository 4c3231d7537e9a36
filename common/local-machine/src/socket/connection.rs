//! A stream to an agent that never waits beyond its deadline.
//! A connected socket, or the two pipes of a child, come in; a `Read` and `Write` goes out.
//! Looks at no byte that passes.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Child;
use std::time::Instant;

use credmint_vocabulary::Deadline;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::terminal;

/// Carries one conversation with an agent; every read and write ends with the deadline.
pub struct Connection {
    incoming: OwnedFd,
    outgoing: Option<OwnedFd>,
    deadline: Deadline,
    /// What the person at the terminal is told, once, when an answer is not there by then.
    slow: Option<(Deadline, String)>,
}

impl Connection {
    /// Takes a connected socket over.
    pub(crate) fn over_socket(socket: OwnedFd, deadline: Deadline) -> io::Result<Self> {
        never_block(&socket)?;
        Ok(Self { incoming: socket, outgoing: None, deadline, slow: None })
    }

    /// Takes the pipes of a child over; the child ends by itself once they are closed.
    pub(crate) fn over_child(mut child: Child, deadline: Deadline) -> io::Result<Self> {
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let (incoming, outgoing) = (OwnedFd::from(stdout), OwnedFd::from(stdin));
        never_block(&incoming)?;
        never_block(&outgoing)?;
        Ok(Self { incoming, outgoing: Some(outgoing), deadline, slow: None })
    }

    /// Makes two of it: one to read, one to write.
    ///
    /// # Errors
    /// What the system says.
    pub fn split(self) -> io::Result<(Self, Self)> {
        let outgoing = self.outgoing.as_ref().map(OwnedFd::try_clone).transpose()?;
        let writing = Self { incoming: self.incoming.try_clone()?, outgoing, deadline: self.deadline, slow: None };
        Ok((self, writing))
    }

    /// Sets another deadline: some conversations wait for a person, who knows what is waited for.
    pub fn wait_until(&mut self, deadline: Deadline) {
        self.deadline = deadline;
        self.slow = None;
    }

    /// Tells the person at the terminal what is waited for, if it takes longer than that.
    pub fn tell_when_slow(&mut self, after: Deadline, line: String) {
        self.slow = Some((after, line));
    }

    /// Waits for an answer; somebody who waits longer than usual is told for what.
    fn wait_for_answer(&mut self) -> io::Result<()> {
        let Some((after, line)) = self.slow.take() else {
            return wait(self.incoming.as_fd(), PollFlags::IN, self.deadline);
        };
        let waited = wait(self.incoming.as_fd(), PollFlags::IN, after.min(self.deadline));
        match waited {
            Err(error) if error.kind() == io::ErrorKind::TimedOut && after < self.deadline => terminal::say(&line),
            outcome => {
                self.slow = Some((after, line));
                return outcome;
            }
        }
        Ok(())
    }

    fn outgoing(&self) -> BorrowedFd<'_> {
        self.outgoing.as_ref().unwrap_or(&self.incoming).as_fd()
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut looks = 0;
        loop {
            match rustix::io::read(&self.incoming, &mut *buffer) {
                Err(rustix::io::Errno::WOULDBLOCK) if looks < LOOKS => looks += 1,
                Err(rustix::io::Errno::WOULDBLOCK) => self.wait_for_answer()?,
                outcome => return Ok(outcome?),
            }
        }
    }
}

impl Write for Connection {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(self.outgoing(), buffer) {
                Err(rustix::io::Errno::WOULDBLOCK) => wait(self.outgoing(), PollFlags::OUT, self.deadline)?,
                outcome => return Ok(outcome?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn never_block(fd: &OwnedFd) -> io::Result<()> {
    Ok(fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?)
}

/// Waits until the descriptor is ready or the deadline has passed.
fn wait(fd: BorrowedFd<'_>, what: PollFlags, deadline: Deadline) -> io::Result<()> {
    let remaining = deadline.remaining(Instant::now());
    if remaining.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let timeout = Timespec::try_from(remaining).map_err(|_| io::ErrorKind::InvalidInput)?;
    match poll(&mut [PollFd::from_borrowed_fd(fd, what)], Some(&timeout)) {
        Ok(0) => Err(io::ErrorKind::TimedOut.into()),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// How often a read is tried before the descriptor is waited for: an agent that is awake answers sooner than a process
/// that sleeps is woken. A tenth of a millisecond at most.
const LOOKS: u32 = 300;
