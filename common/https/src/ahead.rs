//! A TCP connection that is read ahead of TLS.
//! A connector comes in, one whose connections ask the kernel for more at once goes out.
//! Touches nothing of what passes. rustls asks for 4 KiB at a time, a quarter of a TLS record.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, BufReader, ReadBuf};
use tokio::net::TcpStream;
use tower_service::Service;

use crate::dial::{BoxError, Connecting, Dial};

/// Reads a few TLS records at once, and writes as it is told.
#[derive(Debug)]
pub(crate) struct Ahead(BufReader<TcpStream>);

impl Ahead {
    /// Takes over a socket.
    pub(crate) fn of(socket: TcpStream) -> Self {
        Self(BufReader::with_capacity(AT_ONCE, socket))
    }
}

/// Makes connections that are read ahead of what follows.
#[derive(Clone, Debug)]
pub(crate) struct DialAhead(pub(crate) Dial);

impl Service<Uri> for DialAhead {
    type Response = TokioIo<Ahead>;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move { Ok(TokioIo::new(Ahead::of(connecting.await?.into_inner()))) })
    }
}

impl Connection for Ahead {
    fn connected(&self) -> Connected {
        self.0.get_ref().connected()
    }
}

impl AsyncRead for Ahead {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl AsyncWrite for Ahead {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }
}

/// Two of the largest records.
const AT_ONCE: usize = 32 * 1024;
