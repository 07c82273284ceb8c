//! Reading and writing frames on a byte stream.

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::TransferError;
use super::wire::{Frame, MAX_DATA};

/// Frames are collected until this many bytes wait.
const GATHER: usize = MAX_DATA;

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

    /// The next frame. Cancel-safe: cancelling loses nothing.
    pub(super) async fn next(&mut self) -> Result<Frame, TransferError> {
        loop {
            if let Some(frame) = Frame::split(&mut self.buffer)? {
                return Ok(frame);
            }
            // A frame is bounded, so the buffer is too.
            self.buffer.reserve(MAX_DATA);
            let read = self
                .input
                .read_buf(&mut self.buffer)
                .await
                .map_err(TransferError::Stream)?;
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

    /// Queues a frame, and writes once enough bytes wait.
    pub(super) async fn put(&mut self, frame: &Frame) -> Result<(), TransferError> {
        frame.encode(&mut self.buffer);
        if self.buffer.len() >= GATHER {
            self.flush().await
        } else {
            Ok(())
        }
    }

    pub(super) async fn flush(&mut self) -> Result<(), TransferError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = self.output.write_all(&self.buffer).await;
        self.buffer.clear();
        written.map_err(TransferError::Stream)?;
        self.output.flush().await.map_err(TransferError::Stream)
    }

    /// Writes what is queued and ends the stream.
    pub(super) async fn finish(&mut self) -> Result<(), TransferError> {
        self.flush().await?;
        self.output.shutdown().await.map_err(TransferError::Stream)
    }
}
