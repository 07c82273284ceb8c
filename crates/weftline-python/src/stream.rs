//! The two halves of a stream.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::sync::Notify;
use weftline::{ReadHalf, StreamError, WriteHalf};

use crate::bridge::Operation;
use crate::connection::check_code;
use crate::{buffer, errors};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reading half.
#[pyclass(frozen, module = "weftline._native")]
pub(crate) struct ReadStream {
    inbox: Arc<Mutex<Inbox>>,
    id: u64,
}

struct Inbox {
    half: ReadHalf,
    /// The read that waits.
    waiting: Option<Waker>,
}

impl ReadStream {
    fn new(half: ReadHalf) -> Self {
        let id = half.id().0;
        let waiting = None;
        ReadStream {
            inbox: Arc::new(Mutex::new(Inbox { half, waiting })),
            id,
        }
    }
}

/// Bytes that one read of the half gives at most.
const CHUNK: usize = 64 << 10;

impl Inbox {
    /// What is there, `most` bytes at most; nothing at the end.
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
    ) -> Poll<Result<Vec<u8>, StreamError>> {
        let mut data = Vec::new();
        while data.len() < most {
            let start = data.len();
            data.resize(start + CHUNK.min(most - start), 0);
            let mut place = ReadBuf::new(&mut data[start..]);
            let polled = Pin::new(&mut self.half).poll_read(cx, &mut place);
            let got = place.filled().len();
            data.truncate(start + got);
            match polled {
                Poll::Ready(Ok(())) if got > 0 => {}
                // What ends the stream is told by the next read too.
                _ if start > 0 => break,
                Poll::Pending => {
                    self.waiting = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(result) => return Poll::Ready(result.map(|()| data).map_err(inner)),
            }
        }
        self.waiting = None;
        Poll::Ready(Ok(data))
    }
}

/// The error inside of the one that tokio's traits need.
fn inner(error: std::io::Error) -> StreamError {
    let text = error.to_string();
    let inner = error.into_inner().and_then(|inner| inner.downcast().ok());
    inner.map_or_else(
        || StreamError::Closed(weftline::CloseReason::Carrier(text)),
        |inner| *inner,
    )
}

#[pymethods]
impl ReadStream {
    #[getter]
    fn id(&self) -> u64 {
        self.id
    }

    /// At least one byte and `most` at most; nothing at the end of the stream.
    fn read(&self, most: usize) -> Operation {
        let inbox = self.inbox.clone();
        let read = std::future::poll_fn(move |cx| lock(&inbox).poll_read(cx, most));
        Operation::new(read, |py, result| {
            let data = result.map_err(errors::stream)?;
            Ok(PyBytes::new(py, &data).into_any().unbind())
        })
    }

    fn stop(&self, py: Python<'_>, code: u64) -> PyResult<()> {
        check_code(code)?;
        py.detach(|| {
            let mut inbox = lock(&self.inbox);
            inbox.half.stop(code);
            // It fails.
            inbox.waiting.take().into_iter().for_each(Waker::wake);
        });
        Ok(())
    }
}

/// The writing half. What is written waits in a queue, which a task of the runtime empties.
#[pyclass(frozen, module = "weftline._native")]
pub(crate) struct WriteStream {
    outbox: Arc<Outbox>,
    id: u64,
}

/// More queued bytes than this make `drain` wait, until there are [`LOW`].
const HIGH: usize = 256 << 10;
const LOW: usize = 64 << 10;

#[derive(Default)]
struct Outbox {
    queue: Mutex<Queue>,
    /// There is something to do for the task.
    work: Notify,
    /// The queue is short again, or the half is over.
    change: Notify,
}

#[derive(Default)]
struct Queue {
    chunks: VecDeque<Bytes>,
    bytes: usize,
    is_long: bool,
    end: Option<End>,
    /// What became of the half, once it is over.
    outcome: Option<Result<(), StreamError>>,
}

/// How this end ends the half.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Finish,
    Reset(u64),
}

enum Step {
    Write(Bytes),
    Finish,
}

impl WriteStream {
    /// Call this within the runtime.
    fn new(half: WriteHalf) -> Self {
        let (outbox, id) = (Arc::<Outbox>::default(), half.id().0);
        tokio::spawn(empty(half, outbox.clone()));
        WriteStream { outbox, id }
    }
}

async fn empty(mut half: WriteHalf, outbox: Arc<Outbox>) {
    let (outcome, reset) = tokio::select! {
        biased;
        code = outbox.reset() => (Err(StreamError::Finished), Some(code)),
        outcome = write(&mut half, &outbox) => (outcome, None),
    };
    if let Some(code) = reset {
        half.reset(code);
    }
    drop(half);
    let mut queue = lock(&outbox.queue);
    queue.chunks = VecDeque::new();
    queue.outcome = Some(outcome);
    outbox.change.notify_waiters();
}

/// Writes what is queued, until the half is finished and the peer has everything.
async fn write(half: &mut WriteHalf, outbox: &Outbox) -> Result<(), StreamError> {
    loop {
        match outbox.step().await {
            Step::Write(mut chunk) => {
                let length = chunk.len();
                half.write_all_buf(&mut chunk).await.map_err(inner)?;
                outbox.on_written(length);
            }
            Step::Finish => {
                half.finish()?;
                return half.finished().await;
            }
        }
    }
}

impl Outbox {
    /// Waits until the queue answers.
    async fn look<T>(&self, signal: &Notify, mut look: impl FnMut(&mut Queue) -> Option<T>) -> T {
        loop {
            let mut signalled = pin!(signal.notified());
            signalled.as_mut().enable();
            if let Some(found) = look(&mut lock(&self.queue)) {
                return found;
            }
            signalled.await;
        }
    }

    async fn step(&self) -> Step {
        let step = self.look(&self.work, |queue| match queue.chunks.pop_front() {
            Some(chunk) => Some(Step::Write(chunk)),
            None => (queue.end == Some(End::Finish)).then_some(Step::Finish),
        });
        step.await
    }

    async fn reset(&self) -> u64 {
        let reset = self.look(&self.work, |queue| match queue.end {
            Some(End::Reset(code)) => Some(code),
            _ => None,
        });
        reset.await
    }

    fn on_written(&self, length: usize) {
        let mut queue = lock(&self.queue);
        queue.bytes -= length;
        if queue.is_long && queue.bytes <= LOW {
            queue.is_long = false;
            self.change.notify_waiters();
        }
    }

    /// Ends the half, unless it is over or was reset.
    fn end(&self, end: End) {
        let mut queue = lock(&self.queue);
        if !matches!(queue.end, Some(End::Reset(_))) {
            queue.end = Some(end);
            self.work.notify_waiters();
        }
    }
}

impl Drop for WriteStream {
    /// As a half of Rust that is dropped.
    fn drop(&mut self) {
        let is_open = lock(&self.outbox.queue).end.is_none();
        if is_open {
            self.outbox.end(End::Reset(0));
        }
    }
}

#[pymethods]
impl WriteStream {
    #[getter]
    fn id(&self) -> u64 {
        self.id
    }

    /// Queues a copy of the data.
    fn write(&self, py: Python<'_>, data: buffer::Bytes) -> PyResult<()> {
        let data = data.as_ref();
        py.detach(|| {
            let data = Bytes::copy_from_slice(data);
            let mut queue = lock(&self.outbox.queue);
            match (&queue.outcome, queue.end) {
                (Some(Err(error)), _) => return Err(error.clone()),
                (None, None) => {}
                _ => return Err(StreamError::Finished),
            }
            if !data.is_empty() {
                queue.bytes += data.len();
                queue.is_long |= queue.bytes > HIGH;
                queue.chunks.push_back(data);
                self.outbox.work.notify_waiters();
            }
            Ok(())
        })
        .map_err(errors::stream)
    }

    /// Waits while much is queued.
    fn drain(&self) -> Operation {
        let outbox = self.outbox.clone();
        let drained = async move {
            let short = outbox.look(&outbox.change, |queue| match &queue.outcome {
                Some(outcome) => Some(outcome.clone()),
                None => (!queue.is_long).then_some(Ok(())),
            });
            short.await.map_err(errors::stream)
        };
        Operation::unit(drained)
    }

    /// Bytes that are queued.
    fn queued(&self) -> usize {
        lock(&self.outbox.queue).bytes
    }

    fn finish(&self) {
        self.outbox.end(End::Finish);
    }

    fn reset(&self, code: u64) -> PyResult<()> {
        check_code(code)?;
        self.outbox.end(End::Reset(code));
        Ok(())
    }

    fn is_ending(&self) -> bool {
        let queue = lock(&self.outbox.queue);
        queue.end.is_some() || queue.outcome.is_some()
    }

    /// Waits until the peer has everything.
    fn wait_closed(&self) -> Operation {
        let outbox = self.outbox.clone();
        let closed = async move {
            let over = outbox.look(&outbox.change, |queue| queue.outcome.clone());
            over.await.map_err(errors::stream)
        };
        Operation::unit(closed)
    }
}

/// A stream as its two halves. Call this within the runtime.
pub(crate) fn split(stream: weftline::Stream) -> (ReadStream, WriteStream) {
    let (read, write) = stream.into_split();
    (ReadStream::new(read), WriteStream::new(write))
}
