//! A stream whose peer must make progress.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Fails when no byte moves, in either direction, for a time for which this end waited.
pub(super) struct Patient<S> {
    inner: S,
    patience: Duration,
    deadline: Pin<Box<Sleep>>,
    /// The deadline counts from a moment since which this end waits.
    waiting: bool,
}

/// The peer made no progress for so long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stalled(pub(super) Duration);

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no progress for {} s", self.0.as_secs())
    }
}

impl std::error::Error for Stalled {}

impl<S> Patient<S> {
    pub(super) fn new(inner: S, patience: Duration) -> Self {
        Patient {
            inner,
            patience,
            deadline: Box::pin(sleep(patience)),
            waiting: false,
        }
    }

    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let waited = polled.is_pending() && self.waiting;
        if !waited {
            let from_now = Instant::now() + self.patience;
            self.deadline.as_mut().reset(from_now);
        }
        self.waiting = polled.is_pending();
        // The timer wakes this task even if only the other direction made progress.
        match (self.deadline.as_mut().poll(cx), polled) {
            (Poll::Ready(()), Poll::Pending) => {
                let stalled = Stalled(self.patience);
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, stalled)))
            }
            (_, polled) => polled,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_read(cx, buffer);
        self.watch(cx, polled)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, data);
        self.watch(cx, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
