//! A stream: ordered bytes both ways, through tokio's own traits.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use weftline_proto::{ReadError, StreamId, WriteError};

use crate::StreamError;
use crate::handle::Handle;
use crate::shared::State;

/// A two-way stream of bytes, reliable and in order, apart from all other streams: a loss in one
/// does not hold up another.
///
/// `poll_shutdown` finishes the writing half: the peer reads to the end and then sees the end. It
/// does not wait for that; [`Stream::finished`] does. The reading half goes on until the peer
/// finishes its own writing half.
///
/// Dropping a writing half that was not finished resets it with code 0. Dropping a reading half
/// before its end tells the peer to stop, with code 0.
///
/// Reading and writing are as cancel safe as tokio's own types: `read` and `write` lose nothing when
/// they are dropped, `read_exact`, `read_to_end` and `write_all` may have moved a part.
#[derive(Debug)]
pub struct Stream {
    read: ReadHalf,
    write: WriteHalf,
}

impl Stream {
    pub(crate) fn new(connection: Arc<Handle>, id: StreamId) -> Self {
        Stream {
            read: ReadHalf {
                connection: connection.clone(),
                id,
                end: None,
            },
            write: WriteHalf {
                connection,
                id,
                end: None,
            },
        }
    }

    /// The stream's number, the same on both ends.
    pub fn id(&self) -> StreamId {
        self.write.id
    }

    /// Finishes writing, as `shutdown` of tokio's `AsyncWriteExt` does.
    ///
    /// # Errors
    ///
    /// The peer stopped reading, the stream was reset, or the connection is over.
    pub fn finish(&mut self) -> Result<(), StreamError> {
        self.write.finish()
    }

    /// Gives up writing: the peer may lose what it has not read, and sees the code.
    pub fn reset(&mut self, code: u64) {
        self.write.reset(code);
    }

    /// Gives up reading: what arrives is discarded, and the peer's writes fail with the code.
    pub fn stop(&mut self, code: u64) {
        self.read.stop(code);
    }

    /// Waits until the peer has everything that was written. [`finish`](Stream::finish) first.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// The stream was not finished, was reset or stopped, or the connection ended before.
    pub async fn finished(&self) -> Result<(), StreamError> {
        self.write.finished().await
    }

    /// Both halves apart, to be used by different tasks.
    pub fn into_split(self) -> (ReadHalf, WriteHalf) {
        (self.read, self.write)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.read).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.write).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.write).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.write).poll_shutdown(cx)
    }
}

/// Bytes read at a time: each read must clear the memory that it may write to.
const MOST_READ: usize = 64 << 10;

/// The reading half of a [`Stream`].
pub struct ReadHalf {
    connection: Arc<Handle>,
    id: StreamId,
    /// What all further reads give: read to its end, failed, or stopped here.
    end: Option<Result<(), StreamError>>,
}

impl ReadHalf {
    /// The stream's number, the same on both ends.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// See [`Stream::stop`].
    pub fn stop(&mut self, code: u64) {
        if self.end.is_none() {
            self.end = Some(Err(StreamError::Finished));
            self.connection.shared().with(|state, _| {
                state.remove_reader(self.id);
                if state.over().is_none() {
                    state.session.stop(self.id, code);
                }
            });
        }
    }
}

impl AsyncRead for ReadHalf {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(end) = &self.end {
            return Poll::Ready(end.clone().map_err(io::Error::from));
        }
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let id = self.id;
        let most = buf.remaining().min(MOST_READ);
        let read = self.connection.shared().with(|state, _| {
            match state.session.read(id, buf.initialize_unfilled_to(most)) {
                Ok(n) => Poll::Ready(Ok(n)),
                Err(ReadError::Blocked) => match state.over() {
                    Some(reason) => Poll::Ready(Err(StreamError::Closed(reason.clone()))),
                    None => {
                        state.set_reader(id, cx.waker());
                        Poll::Pending
                    }
                },
                Err(ReadError::Reset(code)) => Poll::Ready(Err(StreamError::Reset(code))),
                Err(ReadError::Closed(reason)) => Poll::Ready(Err(StreamError::Closed(reason))),
                Err(_) => Poll::Ready(Err(StreamError::Finished)),
            }
        });
        match ready!(read) {
            Ok(0) => self.end = Some(Ok(())),
            Ok(n) => buf.advance(n),
            Err(error) => {
                self.end = Some(Err(error.clone()));
                return Poll::Ready(Err(error.into()));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for ReadHalf {
    fn drop(&mut self) {
        self.stop(0);
    }
}

impl std::fmt::Debug for ReadHalf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ReadHalf").field(&self.id).finish()
    }
}

/// The writing half of a [`Stream`].
pub struct WriteHalf {
    connection: Arc<Handle>,
    id: StreamId,
    end: Option<End>,
}

/// How this end has ended a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Finished,
    Reset,
}

impl WriteHalf {
    /// The stream's number, the same on both ends.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// See [`Stream::finish`].
    ///
    /// # Errors
    ///
    /// The peer stopped reading, the stream was reset, or the connection is over.
    pub fn finish(&mut self) -> Result<(), StreamError> {
        match self.end {
            Some(End::Finished) => return Ok(()),
            Some(End::Reset) => return Err(StreamError::Finished),
            None => {}
        }
        self.connection.shared().with(|state, _| {
            if let Some(reason) = state.over() {
                return Err(StreamError::Closed(reason.clone()));
            }
            let finished = state.session.finish(self.id);
            finished.map_err(|error| stream_error(state, self.id, error))
        })?;
        self.end = Some(End::Finished);
        Ok(())
    }

    /// See [`Stream::reset`].
    pub fn reset(&mut self, code: u64) {
        self.end = Some(End::Reset);
        self.connection.shared().with(|state, _| {
            if state.over().is_none() {
                state.session.reset(self.id, code);
            }
        });
    }

    /// See [`Stream::finished`]. Cancel safe.
    ///
    /// # Errors
    ///
    /// The stream was not finished, was reset or stopped, or the connection ended before.
    pub async fn finished(&self) -> Result<(), StreamError> {
        let shared = self.connection.shared();
        let fate = shared.with_as_driver(|state, _| {
            let writer = state.writer_mut(self.id)?;
            Some(writer.fate.get_or_insert_default().clone())
        });
        let fate = fate.ok_or(StreamError::Finished)?;
        let finished = shared.wait(&fate, |state, _| {
            let over = state.over().cloned();
            match state.writer_mut(self.id) {
                Some(writer) if writer.acknowledged => Poll::Ready(Ok(())),
                Some(writer) => match (writer.stopped, over) {
                    (Some(code), _) => Poll::Ready(Err(StreamError::Stopped(code))),
                    (None, Some(reason)) => Poll::Ready(Err(StreamError::Closed(reason))),
                    (None, None) => match self.end {
                        Some(End::Finished) => Poll::Pending,
                        Some(End::Reset) => Poll::Ready(Err(StreamError::Finished)),
                        None => Poll::Ready(Err(StreamError::NotFinished)),
                    },
                },
                None => Poll::Ready(Err(StreamError::Finished)),
            }
        });
        finished.await
    }
}

impl AsyncWrite for WriteHalf {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.connection.shared().with(|state, _| {
            if let Some(reason) = state.over() {
                return Poll::Ready(Err(StreamError::Closed(reason.clone())));
            }
            match state.session.write(self.id, data) {
                Ok(n) => Poll::Ready(Ok(n)),
                Err(WriteError::Blocked) => {
                    if let Some(writer) = state.writer_mut(self.id) {
                        writer.waker = Some(cx.waker().clone());
                    }
                    Poll::Pending
                }
                Err(error) => Poll::Ready(Err(stream_error(state, self.id, error))),
            }
        });
        written.map_err(io::Error::from)
    }

    /// Does nothing: what was written is sent as soon as the path takes it.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.finish().map_err(io::Error::from))
    }
}

impl Drop for WriteHalf {
    fn drop(&mut self) {
        if self.end.is_none() {
            self.reset(0);
        }
        let shared = self.connection.shared();
        shared.with(|state, _| state.remove_writer(self.id));
    }
}

impl std::fmt::Debug for WriteHalf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("WriteHalf").field(&self.id).finish()
    }
}

fn stream_error(state: &mut State, id: StreamId, error: WriteError) -> StreamError {
    match error {
        WriteError::Stopped(code) => StreamError::Stopped(code),
        WriteError::Closed(reason) => StreamError::Closed(reason),
        // The session has forgotten a stream with both halves over, and with it that the peer stopped one.
        _ => match state.writer_mut(id).and_then(|writer| writer.stopped) {
            Some(code) => StreamError::Stopped(code),
            None => StreamError::Finished,
        },
    }
}
