//! Reading and writing frames on a byte stream.

use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;

use super::TransferError;
use super::wire::{Frame, MAX_DATA};

/// Frames are collected until this many bytes wait.
const GATHER: usize = MAX_DATA;
/// An end that is busy with its own work says so this often.
pub(super) const WAIT_PERIOD: Duration = Duration::from_secs(5);

pub(super) struct FrameReader<R> {
    input: R,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(super) fn new(input: R) -> Self {
        FrameReader {
            input,
            buffer: BytesMut::with_capacity(2 * MAX_DATA),
        }
    }

    /// The next frame that says more than that the peer is busy. Cancel-safe: cancelling loses
    /// nothing.
    pub(super) async fn next(&mut self) -> Result<Frame, TransferError> {
        loop {
            match Frame::split(&mut self.buffer)? {
                Some(Frame::Wait) => continue,
                Some(frame) => return Ok(frame),
                None => {}
            }
            // A frame is bounded, so the buffer is too.
            self.buffer.reserve(MAX_DATA);
            let read = self
                .input
                .read_buf(&mut self.buffer)
                .await
                .map_err(TransferError::stream)?;
            if read == 0 {
                return Err(TransferError::Ended);
            }
        }
    }
}

pub(super) struct FrameWriter<W> {
    output: W,
    buffer: BytesMut,
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    pub(super) fn new(output: W) -> Self {
        FrameWriter {
            output,
            buffer: BytesMut::with_capacity(2 * GATHER),
        }
    }

    /// Queues a frame; returns whether enough bytes wait to be written.
    pub(super) fn queue(&mut self, frame: &Frame) -> bool {
        frame.encode(&mut self.buffer);
        self.buffer.len() >= GATHER
    }

    /// Queues a frame, and writes once enough bytes wait.
    pub(super) async fn put(&mut self, frame: &Frame) -> Result<(), TransferError> {
        match self.queue(frame) {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    pub(super) async fn flush(&mut self) -> Result<(), TransferError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = self.output.write_all(&self.buffer).await;
        self.buffer.clear();
        written.map_err(TransferError::stream)?;
        self.output.flush().await.map_err(TransferError::stream)
    }

    /// Does `work` of this end, and tells the peer to wait for as long as that takes.
    pub(super) async fn during<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, TransferError> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                () = sleep(WAIT_PERIOD) => {
                    self.queue(&Frame::Wait);
                    self.flush().await?;
                }
            }
        }
    }

    /// Writes what is queued and ends the stream.
    pub(super) async fn finish(&mut self) -> Result<(), TransferError> {
        self.flush().await?;
        self.output.shutdown().await.map_err(TransferError::stream)
    }
}
