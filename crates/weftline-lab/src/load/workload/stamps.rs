//! Pieces of a stream that carry the time at which the transport accepted them.

use std::future::poll_fn;
use std::pin::Pin;

use tokio::time::timeout_at;

use crate::load::LoadError;
use crate::load::arrivals::Header;
use crate::load::clock::{instant, now};
use crate::load::filler::Filler;
use crate::load::schedule::HEADER;
use crate::load::transport::ByteStream;
use weftline_sim::Delays;

/// Writes pieces of `size` bytes until `amount` bytes are written or `end` has come, and returns
/// the number of bytes that the transport accepted.
///
/// A piece gets a new time stamp each time it is offered to the transport, so that the time it
/// waited for room is not counted.
pub(super) async fn pour(
    stream: &mut dyn ByteStream,
    size: usize,
    amount: Option<u64>,
    end: i64,
) -> u64 {
    let mut filler = Filler::new(size);
    let mut piece = vec![0; size];
    let (limit, mut bytes) = (instant(end), 0u64);
    for index in 0.. {
        let left = amount.map_or(u64::MAX, |amount| amount - bytes);
        if left == 0 || now() >= end {
            break;
        }
        let length = left.min(size as u64) as usize;
        piece.copy_from_slice(filler.next(size));
        let mut written = 0;
        while written < length {
            let write = poll_fn(|context| {
                if written == 0 {
                    let scheduled = now();
                    Header { scheduled, index }.write(&mut piece);
                }
                Pin::new(&mut *stream).poll_write(context, &piece[written..length])
            });
            match timeout_at(limit, write).await {
                Ok(Ok(n)) if n > 0 => written += n,
                _ => return bytes + written as u64,
            }
        }
        bytes += written as u64;
    }
    bytes
}

/// The receiver's record of stamped pieces.
pub(super) struct Stamps {
    size: usize,
    /// Bytes of the current piece that have arrived.
    filled: usize,
    header: [u8; HEADER],
    next: u64,
    delays: Delays,
}

impl Stamps {
    /// Pieces of this many bytes, [`HEADER`] or more.
    pub(super) fn new(size: usize) -> Self {
        Stamps {
            size,
            filled: 0,
            header: [0; HEADER],
            next: 0,
            delays: Delays::default(),
        }
    }

    /// Records bytes that were read at `time`. A piece counts when its last byte has arrived.
    pub(super) fn read(&mut self, mut bytes: &[u8], time: i64) -> Result<(), LoadError> {
        while !bytes.is_empty() {
            let taken = bytes.len().min(self.size - self.filled);
            if self.filled < HEADER {
                let part = taken.min(HEADER - self.filled);
                self.header[self.filled..self.filled + part].copy_from_slice(&bytes[..part]);
            }
            self.filled += taken;
            bytes = &bytes[taken..];
            if self.filled == self.size {
                let header = Header::read(&self.header).filter(|h| h.index == self.next);
                let Some(header) = header else {
                    let what = format!("expected piece {}, received other data", self.next);
                    return Err(LoadError::Corrupt(what));
                };
                self.delays.add(time.saturating_sub(header.scheduled));
                self.next += 1;
                self.filled = 0;
            }
        }
        Ok(())
    }

    /// Delays from when the transport accepted a piece to when it was read in order.
    pub(super) fn into_delays(self) -> Delays {
        self.delays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn pieces(times: &[i64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (index, &scheduled) in times.iter().enumerate() {
            let mut piece = [7; 40];
            let index = index as u64;
            Header { scheduled, index }.write(&mut piece);
            bytes.extend_from_slice(&piece);
        }
        bytes
    }

    #[test]
    fn pieces_are_found_wherever_reads_split_them() {
        let bytes = pieces(&[0, MS, 2 * MS]);
        for cut in 1..bytes.len() {
            let mut stamps = Stamps::new(40);
            for piece in bytes.chunks(cut) {
                stamps.read(piece, 10 * MS).unwrap();
            }
            let summary = stamps.into_delays().summary();
            assert_eq!(
                (summary.mean, summary.max),
                (Some(9.0), Some(10.0)),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn data_out_of_order_is_an_error() {
        let bytes = pieces(&[0, MS]);
        let mut stamps = Stamps::new(40);
        let error = stamps.read(&bytes[40..], MS).unwrap_err();
        assert!(matches!(error, LoadError::Corrupt(_)));
    }

    /// Accepts `room` bytes, then none until it has been polled `times` times more.
    struct Narrow {
        room: usize,
        times: usize,
        taken: Vec<u8>,
    }

    impl tokio::io::AsyncRead for Narrow {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            _: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::task::Poll::Pending
        }
    }

    impl tokio::io::AsyncWrite for Narrow {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut std::task::Context<'_>,
            bytes: &[u8],
        ) -> std::task::Poll<std::io::Result<usize>> {
            if self.room == 0 && self.times > 0 {
                self.times -= 1;
                std::thread::sleep(std::time::Duration::from_millis(2));
                context.waker().wake_by_ref();
                return std::task::Poll::Pending;
            }
            let length = if self.room == 0 {
                bytes.len()
            } else {
                bytes.len().min(self.room)
            };
            self.room -= length.min(self.room);
            self.taken.extend_from_slice(&bytes[..length]);
            std::task::Poll::Ready(Ok(length))
        }

        fn poll_flush(
            self: Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }

        fn poll_shutdown(
            self: Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }
    }

    impl ByteStream for Narrow {
        fn close(self: Box<Self>) -> crate::load::transport::Task<'static, ()> {
            Box::pin(async { Ok(()) })
        }
    }

    #[tokio::test]
    async fn time_spent_waiting_for_room_is_not_counted() {
        let mut stream = Narrow {
            room: 100,
            times: 10,
            taken: Vec::new(),
        };
        let start = now();
        // The second piece is cut at 50 bytes; the third waits for 20 ms before any of it is
        // accepted.
        stream.room = 100;
        let taken = pour(&mut stream, 50, Some(150), start + 10_000 * MS).await;
        let end = now();
        assert_eq!((taken, stream.taken.len()), (150, 150));
        let third = Header::read(&stream.taken[100..]).unwrap();
        assert_eq!(third.index, 2);
        assert!(
            third.scheduled - start >= 20 * MS,
            "it is stamped when it is accepted"
        );
        let mut stamps = Stamps::new(50);
        stamps.read(&stream.taken, end).unwrap();
    }

    #[tokio::test]
    async fn an_amount_that_is_not_a_multiple_of_a_piece_is_written_exactly() {
        let mut stream = Narrow {
            room: 0,
            times: 0,
            taken: Vec::new(),
        };
        let taken = pour(&mut stream, 50, Some(120), now() + 10_000 * MS).await;
        assert_eq!((taken, stream.taken.len()), (120, 120));
    }
}
