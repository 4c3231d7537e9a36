//! The asking side: one request, perhaps one question back, one answer. Blocking, for helpers without a runtime.
//! A request and any stream come in, the answer goes out.
//! Opens nothing: the stream is given, and what the agent needs from the caller is found by the caller's function.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::frame::{Frame, FrameError, decode, decode_length};
use crate::message::{Answer, Ask, Need, Reply, Request, Supply, VERSION};
use crate::sign_in::Pasted;

/// Says why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The agent went away or was too slow: it may be asked once more.
    #[error("the agent did not answer")]
    Stream(#[from] io::Error),
    /// The agent does not speak this protocol: a new one is needed.
    #[error("the agent's answer was not understood")]
    Frame(#[from] FrameError),
}

/// Any stream to an agent: a socket, a child's stdio, ssh.
pub trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// Asks, supplies what is needed, and gives the answer.
///
/// # Errors
/// [`AskError`], when there is none; a failure that the agent reports is an answer.
pub fn ask(stream: &mut dyn Stream, ask: Ask, supply: &dyn Fn(&Need) -> Supply) -> Result<Answer, AskError> {
    converse::<Reply>(stream, &Request { version: VERSION, ask }, supply)
}

/// Asks with a request that is kept, so that it can be asked again of another agent; hears the replies that `R` knows.
///
/// # Errors
/// As [`ask`].
pub fn converse<R: DeserializeOwned + Into<Reply>>(
    stream: &mut dyn Stream,
    request: &Request,
    supply: &dyn Fn(&Need) -> Supply,
) -> Result<Answer, AskError> {
    send(stream, &Frame::encode(request)?)?;
    match receive::<R>(stream)?.into() {
        Reply::Need(need) => {
            send(stream, &Frame::encode(&supply(&need))?)?;
            Ok(receive::<R>(stream)?.into())
        }
        answer => Ok(answer),
    }
}

/// Asks and attends a sign-in to its end: what the person has to do is given to `told`, which may answer with an address.
/// An error of `told` ends the conversation.
///
/// # Errors
/// As [`ask`].
pub fn attend(
    stream: &mut dyn Stream,
    request: &Request,
    supply: &dyn Fn(&Need) -> Supply,
    told: &mut dyn FnMut(&Reply) -> io::Result<Option<Pasted>>,
) -> Result<Answer, AskError> {
    let mut reply = converse::<Reply>(stream, request, supply)?;
    while reply.is_progress() {
        if let Some(pasted) = told(&reply)? {
            send(stream, &Frame::encode(&pasted)?)?;
        }
        reply = receive(stream)?;
    }
    Ok(reply)
}

fn send(stream: &mut dyn Stream, frame: &Frame) -> Result<(), AskError> {
    stream.write_all(frame.bytes())?;
    Ok(stream.flush()?)
}

/// Sends one more message in a conversation that goes on.
///
/// # Errors
/// As [`ask`].
pub fn say<M: Serialize>(stream: &mut dyn Stream, message: &M) -> Result<(), AskError> {
    send(stream, &Frame::encode(message)?)
}

/// Receives one more message in a conversation that goes on.
///
/// # Errors
/// As [`ask`].
pub fn receive<M: DeserializeOwned>(stream: &mut dyn Stream) -> Result<M, AskError> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let mut json = Zeroizing::new(vec![0; decode_length(head)?]);
    stream.read_exact(&mut json)?;
    Ok(decode(&json)?)
}
