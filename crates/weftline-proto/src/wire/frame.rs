//! Frames: what source symbols carry.

use super::reader::{Malformed, Reader, put_varint, varint_len};

const STREAM: u8 = 0x10;
const MESSAGE: u8 = 0x20;
/// The frame ends a stream, or the message has a deadline.
const FLAG: u8 = 0x01;
/// A length follows; without it the data extends to the end of the symbol.
const LENGTH: u8 = 0x02;
const RESET: u8 = 0x30;
const STOP: u8 = 0x31;
const MAX_DATA: u8 = 0x32;
const MAX_STREAM_DATA: u8 = 0x33;
const MAX_STREAMS: u8 = 0x34;

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Bytes of a stream.
    Stream {
        /// The stream.
        id: u64,
        /// Position of the first byte.
        offset: u64,
        /// The stream ends after these bytes.
        fin: bool,
        /// The bytes.
        data: &'a [u8],
    },
    /// Bytes of a message.
    Message {
        /// The message.
        id: u64,
        /// Bytes in the whole message.
        total: u64,
        /// Position of the first byte.
        offset: u64,
        /// The message is worthless after this time on the sender's clock, in microseconds, if it
        /// travels with the smallest one-way delay.
        deadline: Option<u64>,
        /// The bytes.
        data: &'a [u8],
    },
    /// The sender gave the stream up.
    Reset {
        /// The stream.
        id: u64,
        /// Application error code.
        code: u64,
    },
    /// The receiver no longer reads the stream.
    Stop {
        /// The stream.
        id: u64,
        /// Application error code.
        code: u64,
    },
    /// Bytes of stream data and reliable messages that may be sent since the session began.
    MaxData(u64),
    /// Bytes that may be sent on one stream since it began.
    MaxStreamData {
        /// The stream.
        id: u64,
        /// Bytes.
        max: u64,
    },
    /// Streams that the other end may have opened since the session began.
    MaxStreams(u64),
}

/// Iterates over the frames of a symbol.
#[derive(Clone, Debug)]
pub struct Frames<'a>(Reader<'a>);

impl<'a> Frames<'a> {
    /// The frames of `symbol`.
    pub fn new(symbol: &'a [u8]) -> Self {
        Frames(Reader(symbol))
    }

    fn read(&mut self) -> Result<Frame<'a>, Malformed> {
        let r = &mut self.0;
        let kind = r.u8()?;
        Ok(match kind {
            k if k & !(FLAG | LENGTH) == STREAM => {
                let (id, offset) = (r.varint()?, r.varint()?);
                let data = data(r, k)?;
                if offset
                    .checked_add(data.len() as u64)
                    .is_none_or(|end| end > 1 << 60)
                {
                    return Err(Malformed::Range("stream offset"));
                }
                Frame::Stream {
                    id,
                    offset,
                    fin: k & FLAG != 0,
                    data,
                }
            }
            k if k & !(FLAG | LENGTH) == MESSAGE => {
                let (id, total, offset) = (r.varint()?, r.varint()?, r.varint()?);
                let deadline = match k & FLAG {
                    0 => None,
                    _ => Some(r.varint()?),
                };
                let data = data(r, k)?;
                let end = offset.saturating_add(data.len() as u64);
                if end > total {
                    return Err(Malformed::Range("message fragment beyond its end"));
                }
                if end < total && data.len() < super::MIN_FRAGMENT {
                    return Err(Malformed::Range("message fragment too short"));
                }
                Frame::Message {
                    id,
                    total,
                    offset,
                    deadline,
                    data,
                }
            }
            RESET => Frame::Reset {
                id: r.varint()?,
                code: r.varint()?,
            },
            STOP => Frame::Stop {
                id: r.varint()?,
                code: r.varint()?,
            },
            MAX_DATA => Frame::MaxData(r.varint()?),
            MAX_STREAM_DATA => Frame::MaxStreamData {
                id: r.varint()?,
                max: r.varint()?,
            },
            MAX_STREAMS => Frame::MaxStreams(r.varint()?),
            other => return Err(Malformed::FrameType(other)),
        })
    }
}

fn data<'a>(r: &mut Reader<'a>, kind: u8) -> Result<&'a [u8], Malformed> {
    if kind & LENGTH == 0 {
        return Ok(r.rest());
    }
    let len = usize::try_from(r.varint()?).map_err(|_| Malformed::Truncated)?;
    r.bytes(len)
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let frame = self.read();
        if frame.is_err() {
            self.0.rest();
        }
        Some(frame)
    }
}

/// Packs frames into a symbol of bounded size.
#[derive(Debug)]
pub struct FrameWriter<'a> {
    out: &'a mut Vec<u8>,
    max: usize,
}

impl<'a> FrameWriter<'a> {
    /// Appends to `out` until it holds `max` bytes.
    pub fn new(out: &'a mut Vec<u8>, max: usize) -> Self {
        FrameWriter { out, max }
    }

    /// Whether the symbol is still empty.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Bytes that are left.
    pub fn room(&self) -> usize {
        self.max.saturating_sub(self.out.len())
    }

    /// Appends a frame without data. Returns false and writes nothing if it does not fit.
    pub fn control(&mut self, frame: Frame<'_>) -> bool {
        let (kind, fields): (u8, &[u64]) = match frame {
            Frame::Reset { id, code } => (RESET, &[id, code]),
            Frame::Stop { id, code } => (STOP, &[id, code]),
            Frame::MaxData(max) => (MAX_DATA, &[max]),
            Frame::MaxStreamData { id, max } => (MAX_STREAM_DATA, &[id, max]),
            Frame::MaxStreams(max) => (MAX_STREAMS, &[max]),
            Frame::Stream { .. } | Frame::Message { .. } => return false,
        };
        let size = 1 + fields.iter().map(|&f| varint_len(f)).sum::<usize>();
        if size > self.room() {
            return false;
        }
        self.out.push(kind);
        fields.iter().for_each(|&f| put_varint(self.out, f));
        true
    }

    /// Room for the data of a STREAM frame, 0 if not even its header fits.
    pub fn stream_room(&self, id: u64, offset: u64) -> usize {
        self.data_room(1 + varint_len(id) + varint_len(offset))
    }

    /// Appends a STREAM frame whose data, the concatenation of `parts`, fits in
    /// [`Self::stream_room`].
    pub fn stream(&mut self, id: u64, offset: u64, fin: bool, parts: [&[u8]; 2]) {
        let flag = if fin { FLAG } else { 0 };
        self.data(STREAM | flag, &[id, offset], parts);
    }

    /// Room for the data of a MESSAGE frame, 0 if not even its header fits.
    pub fn message_room(&self, id: u64, total: u64, offset: u64, deadline: Option<u64>) -> usize {
        let fields = [id, total, offset].into_iter().chain(deadline);
        self.data_room(1 + fields.map(varint_len).sum::<usize>())
    }

    /// Appends a MESSAGE frame whose data fits in [`Self::message_room`].
    pub fn message(
        &mut self,
        id: u64,
        total: u64,
        offset: u64,
        deadline: Option<u64>,
        data: &[u8],
    ) {
        match deadline {
            Some(d) => self.data(MESSAGE | FLAG, &[id, total, offset, d], [data, &[]]),
            None => self.data(MESSAGE, &[id, total, offset], [data, &[]]),
        }
    }

    /// Room for the data after a header and a two-byte length, which holds any symbol size.
    fn data_room(&self, header: usize) -> usize {
        self.room().saturating_sub(header + 2)
    }

    fn data(&mut self, kind: u8, fields: &[u64], parts: [&[u8]; 2]) {
        let len = parts[0].len() + parts[1].len();
        let header = 1 + fields.iter().map(|&f| varint_len(f)).sum::<usize>();
        // The data fills the symbol and needs no length.
        let last = header + len + 2 >= self.room();
        self.out.push(if last { kind } else { kind | LENGTH });
        fields.iter().for_each(|&f| put_varint(self.out, f));
        if !last {
            put_varint(self.out, len as u64);
        }
        parts.iter().for_each(|p| self.out.extend_from_slice(p));
        if last {
            self.max = self.out.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_round_trip_and_the_last_one_needs_no_length() {
        let mut out = Vec::new();
        let mut writer = FrameWriter::new(&mut out, 200);
        let control = [
            Frame::Reset { id: 4, code: 9 },
            Frame::Stop {
                id: 5,
                code: 1 << 40,
            },
            Frame::MaxData(1 << 20),
            Frame::MaxStreamData { id: 1, max: 70_000 },
            Frame::MaxStreams(300),
        ];
        for frame in control {
            assert!(writer.control(frame));
        }
        writer.stream(2, 1000, true, [b"ab", b"cd"]);
        let message = [7u8; 300];
        let room = writer.message_room(1, 300, 0, Some(77));
        writer.message(1, 300, 0, Some(77), &message[..room]);
        assert_eq!(writer.room(), 0);
        assert!(!writer.control(Frame::MaxStreams(1)));
        assert!(out.len() <= 200);

        let read: Result<Vec<_>, _> = Frames::new(&out).collect();
        let mut expected = control.to_vec();
        expected.push(Frame::Stream {
            id: 2,
            offset: 1000,
            fin: true,
            data: b"abcd",
        });
        expected.push(Frame::Message {
            id: 1,
            total: 300,
            offset: 0,
            deadline: Some(77),
            data: &message[..room],
        });
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn a_frame_takes_the_room_that_it_needs() {
        let (id, offset) = (70, 1 << 14);
        let controls = [
            (Frame::Reset { id, code: 9 }, 4),
            (Frame::Stop { id, code: 100 }, 5),
            (Frame::MaxData(1 << 30), 9),
            (Frame::MaxStreamData { id, max: offset }, 7),
            (Frame::MaxStreams(63), 2),
        ];
        for (frame, size) in controls {
            let mut out = Vec::new();
            assert!(!FrameWriter::new(&mut out, size - 1).control(frame));
            assert!(out.is_empty());
            let mut writer = FrameWriter::new(&mut out, size);
            assert!(writer.control(frame));
            assert_eq!(writer.room(), 0);
        }
        // Two bytes are kept for a length, which the last frame does not need.
        for deadline in [None, Some(63)] {
            for spare in [0, 1] {
                let (mut symbol, mut out) = (Vec::new(), Vec::new());
                let mut writer = FrameWriter::new(&mut symbol, 200);
                let room = writer.stream_room(id, offset);
                assert_eq!(room, 200 - 1 - 2 - 4 - 2);
                writer.stream(id, offset, false, [&[7; 200][..room - spare], &[]]);
                let room = FrameWriter::new(&mut out, 200).message_room(id, 1 << 20, 1, deadline);
                assert_eq!(
                    room,
                    200 - 1 - 2 - 4 - 1 - usize::from(deadline.is_some()) - 2
                );
                let mut writer = FrameWriter::new(&mut out, 200);
                writer.message(id, 1 << 20, 1, deadline, &[7; 200][..room - spare]);
                let (len, flag) = [(198, 0), (199, LENGTH)][spare];
                assert_eq!((symbol.len(), out.len()), (len, len));
                assert_eq!((symbol[0] & LENGTH, out[0] & LENGTH), (flag, flag));
            }
        }
    }

    #[test]
    fn offsets_and_fragments_are_accepted_up_to_their_limits() {
        let reads = |kind, fields: &[u64], len| {
            let mut symbol = vec![kind];
            fields.iter().for_each(|&f| put_varint(&mut symbol, f));
            symbol.resize(symbol.len() + len, 7);
            Frames::new(&symbol).all(|frame| frame.is_ok())
        };
        const MOST: u64 = 1 << 60;
        assert!(reads(STREAM, &[0, MOST - 3], 3) && !reads(STREAM, &[0, MOST - 3], 4));
        assert!(!reads(STREAM, &[0, MOST + 1], 0));
        let shortest = super::super::MIN_FRAGMENT;
        assert!(reads(MESSAGE, &[0, 100, 0], shortest) && !reads(MESSAGE, &[0, 100, 0], 63));
        assert!(reads(MESSAGE, &[0, 100, 99], 1) && !reads(MESSAGE, &[0, 100, 99], 2));
    }

    #[test]
    fn hostile_frames_are_refused_and_end_the_symbol() {
        let cases: [&[u8]; 5] = [
            &[0x12, 0, 0, 5, 1], // length beyond the end
            &[0x77],             // unknown type
            &[0x10, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], // offset
            &[0x20, 0, 2, 1, 1, 1], // beyond its total
            &[0x20, 0, 60, 0, 1], // short, not the last
        ];
        for case in cases {
            let all: Vec<_> = Frames::new(case).collect();
            assert_eq!(all.len(), 1, "{case:?}");
            assert!(all[0].is_err(), "{case:?}");
        }
    }
}
