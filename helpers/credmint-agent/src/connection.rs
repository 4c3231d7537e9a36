//! Frames over an asynchronous stream: the agent's end of the agent protocol.
//! Bytes come in, messages go out, and back; every buffer is wiped.
//! Opens nothing: the stream is given.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use credmint_agent_protocol::{Frame, FrameError, decode, decode_length};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::yield_now;
use zeroize::Zeroizing;

/// Says why a connection ends without more words: there is nobody to tell.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    /// The peer went away.
    #[error("the caller went away")]
    Gone(#[from] std::io::Error),
    /// The peer does not speak the agent protocol.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Any stream to a caller.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

/// Receives one message.
pub(crate) async fn receive<M: DeserializeOwned>(stream: &mut dyn Stream) -> Result<M, ConnectionError> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let mut json = Zeroizing::new(vec![0; decode_length(head)?]);
    stream.read_exact(&mut json).await?;
    Ok(decode(&json)?)
}

/// Receives a message that is about to come: its sender is awake and has it ready. Looks for it a few times before
/// sleeping, because being woken takes longer than the answer.
pub(crate) async fn receive_soon<M: DeserializeOwned>(stream: &mut dyn Stream) -> Result<M, ConnectionError> {
    let mut receiving = pin!(receive(stream));
    for _ in 0..LOOKS {
        let looked = poll_fn(|context| Poll::Ready(receiving.as_mut().poll(context))).await;
        match looked {
            Poll::Ready(received) => return received,
            Poll::Pending => yield_now().await,
        }
    }
    receiving.await
}

/// Sends one message.
pub(crate) async fn send<M: Serialize>(stream: &mut dyn Stream, message: &M) -> Result<(), ConnectionError> {
    let frame = Frame::encode(message)?;
    stream.write_all(frame.bytes()).await?;
    Ok(stream.flush().await?)
}

/// About 50 microseconds.
const LOOKS: u32 = 64;
