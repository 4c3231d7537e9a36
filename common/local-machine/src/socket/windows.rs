//! A named pipe in place of the socket: only its owner may open it.
//! The pipe's name comes in, a connection or a listener goes out; the first instance of the name is the one agent.
//! Reads happen on a thread of their own, because a pipe knows no timeout. `protocol-spec/agent-protocol.md`, Security.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Instant;

use credmint_vocabulary::Deadline;
use interprocess::ConnectWaitMode;
use interprocess::local_socket::{ConnectOptions, GenericFilePath, Listener, ListenerOptions, Name, Stream, ToFsName};
use interprocess::os::windows::local_socket::ListenerOptionsExt;
use interprocess::os::windows::security_descriptor::SecurityDescriptor;
use widestring::u16cstr;
use zeroize::Zeroizing;

use super::{ConnectError, ListenError};

/// Says who listens.
#[derive(Debug)]
pub enum Listening {
    /// We do.
    Ours(Listener),
    /// An agent of ours did already.
    AlreadyRunning,
}

/// Carries one conversation with an agent; every read ends with the deadline.
pub struct Connection {
    incoming: Receiver<io::Result<Zeroizing<Vec<u8>>>>,
    rest: Zeroizing<Vec<u8>>,
    outgoing: Box<dyn Write + Send>,
    deadline: Deadline,
}

/// Connects to the agent behind a pipe.
///
/// # Errors
/// [`ConnectError`]; with `Absent` an agent may be started.
pub fn connect(path: &Path, deadline: Deadline) -> Result<Connection, ConnectError> {
    // While every instance of the pipe is taken, the agent is about to make another one.
    let patience = ConnectWaitMode::Timeout(deadline.remaining(Instant::now()));
    let stream = ConnectOptions::new().name(name(path)?).wait_mode(patience).connect_sync();
    let stream = stream.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ConnectError::Absent,
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => ConnectError::Busy,
        _ => ConnectError::Io(error),
    })?;
    let (incoming, outgoing) = Half::both(stream);
    Ok(Connection::over(incoming, outgoing, deadline))
}

/// Describes a pipe that only its owner may open; the agent makes its asynchronous listener from this.
///
/// # Errors
/// What the system says about the name or the access list.
pub fn pipe_options(path: &Path) -> io::Result<ListenerOptions<'_>> {
    let owner_only = SecurityDescriptor::deserialize(OWNER_ONLY)?;
    Ok(ListenerOptions::new().name(name(path)?).security_descriptor(owner_only))
}

/// Listens on a pipe that only its owner may open, unless an agent does already.
///
/// # Errors
/// [`ListenError`], when the pipe cannot be made.
pub fn listen(path: &Path) -> Result<Listening, ListenError> {
    match pipe_options(path)?.create_sync() {
        Ok(listener) => Ok(Listening::Ours(listener)),
        Err(error) if matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied) => {
            Ok(Listening::AlreadyRunning)
        }
        Err(error) => Err(error.into()),
    }
}

/// Does nothing: a pipe's name goes with its last handle.
pub fn withdraw(_listener: &Listener, _path: &Path) {}

/// Gives the same number for everybody: Windows has none, and ports by user number are not for it.
#[must_use]
pub fn own_uid() -> u32 {
    0
}

fn name(path: &Path) -> io::Result<Name<'_>> {
    path.to_fs_name::<GenericFilePath>()
}

impl Connection {
    /// Does nothing yet: a person on Windows is not told what is waited for.
    pub fn tell_when_slow(&mut self, _after: Deadline, _line: String) {}

    /// Takes the pipes of a child over; the child ends by itself once they are closed.
    pub(crate) fn over_child(mut child: Child, deadline: Deadline) -> io::Result<Self> {
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the child has no pipes"));
        };
        Ok(Self::over(stdout, stdin, deadline))
    }

    /// Makes two of it: one to read, one to write.
    ///
    /// # Errors
    /// None on Windows.
    pub fn split(self) -> io::Result<(Self, Self)> {
        let Self { incoming, rest, outgoing, deadline } = self;
        let (_, silent) = sync_channel(1);
        let reading = Self { incoming, rest, outgoing: Box::new(io::sink()), deadline };
        Ok((reading, Self { incoming: silent, rest: Zeroizing::new(Vec::new()), outgoing, deadline }))
    }

    /// Sets another deadline: some conversations wait for a person.
    pub fn wait_until(&mut self, deadline: Deadline) {
        self.deadline = deadline;
    }

    fn over(incoming: impl Read + Send + 'static, outgoing: impl Write + Send + 'static, deadline: Deadline) -> Self {
        let rest = Zeroizing::new(Vec::new());
        Self { incoming: read_aside(incoming), rest, outgoing: Box::new(outgoing), deadline }
    }
}

/// Reads on a thread of its own, one piece ahead; the thread ends with the pipe or with the process.
fn read_aside(mut incoming: impl Read + Send + 'static) -> Receiver<io::Result<Zeroizing<Vec<u8>>>> {
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        loop {
            let mut piece = Zeroizing::new(vec![0; 8 * 1024]);
            let outcome = incoming.read(&mut piece).map(|count| {
                piece.truncate(count);
                piece
            });
            let over = outcome.as_ref().map_or(true, |piece| piece.is_empty());
            if sender.send(outcome).is_err() || over {
                return;
            }
        }
    });
    receiver
}

/// One of the two ends that use a pipe: one thread reads from it while another writes.
struct Half(Arc<Stream>);

impl Half {
    fn both(stream: Stream) -> (Self, Self) {
        let stream = Arc::new(stream);
        (Self(Arc::clone(&stream)), Self(stream))
    }
}

impl Read for Half {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.as_ref().read(buffer)
    }
}

impl Write for Half {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.as_ref().write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_ref().flush()
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = match self.incoming.recv_timeout(self.deadline.remaining(Instant::now())) {
                Ok(piece) => piece?,
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            };
        }
        let count = self.rest.len().min(buffer.len());
        let taken: Zeroizing<Vec<u8>> = Zeroizing::new(self.rest.drain(..count).collect());
        buffer.get_mut(..count).unwrap_or_default().copy_from_slice(&taken);
        Ok(count)
    }
}

impl Write for Connection {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.outgoing.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.outgoing.flush()
    }
}

/// A protected list with one entry: all access for the owner (SDDL).
const OWNER_ONLY: &widestring::U16CStr = u16cstr!("D:P(A;;GA;;;OW)");
