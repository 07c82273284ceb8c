//! Frames to bytes and back.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::{Digest, Entry, Frame, Kind, MAX_DATA, MAX_PATH, MAX_TEXT, Verdict, WireError};
use crate::transfer::path;

const MAGIC: [u8; 4] = *b"WFTX";
const HEADER: usize = 5;
const UNKNOWN: u64 = u64::MAX;

impl Frame {
    /// Removes one frame from the front of `buffer`; `None` when more bytes are needed.
    ///
    /// # Errors
    /// Any error after which reading on is pointless; then nothing is consumed.
    pub fn split(buffer: &mut BytesMut) -> Result<Option<Frame>, WireError> {
        if buffer.len() < HEADER {
            return Ok(None);
        }
        let kind = buffer[0];
        let got = u32::from_be_bytes([buffer[1], buffer[2], buffer[3], buffer[4]]);
        let limit = limit(kind).ok_or(WireError::Type(kind))?;
        let len = got as usize;
        if len > limit {
            return Err(WireError::TooLong { kind, got, limit });
        }
        if buffer.len() < HEADER + len {
            return Ok(None);
        }
        buffer.advance(HEADER);
        let mut body = buffer.split_to(len).freeze();
        let frame = parse(kind, &mut body)?;
        if body.has_remaining() {
            return Err(WireError::Malformed(kind));
        }
        Ok(Some(frame))
    }

    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut BytesMut) {
        let start = out.len();
        out.put_u8(self.kind());
        out.put_u32(0);
        match self {
            Frame::Offer {
                version,
                entries,
                bytes,
            } => {
                out.put_slice(&MAGIC);
                out.put_u16(*version);
                out.put_u32(*entries);
                out.put_u64(bytes.unwrap_or(UNKNOWN));
            }
            Frame::Accept { version } => {
                out.put_slice(&MAGIC);
                out.put_u16(*version);
            }
            Frame::Entry(entry) => entry.encode(out),
            Frame::Want {
                id,
                offset: number,
                prefix: digest,
            }
            | Frame::Have {
                id,
                size: number,
                digest,
            } => {
                out.put_u32(*id);
                out.put_u64(*number);
                out.put_slice(digest);
            }
            Frame::Start { id, offset } => {
                out.put_u32(*id);
                out.put_u64(*offset);
            }
            Frame::Same { id, same } => {
                out.put_u32(*id);
                out.put_u8(u8::from(*same));
            }
            Frame::Data(data) => out.put_slice(data),
            Frame::End { size, digest } => {
                out.put_u64(*size);
                out.put_slice(digest);
            }
            Frame::Fail { id, text } => {
                out.put_u32(*id);
                out.put_slice(cut(text).as_bytes());
            }
            Frame::Verdict { id, verdict, text } => {
                out.put_u32(*id);
                out.put_u8(*verdict as u8);
                out.put_slice(cut(text).as_bytes());
            }
            Frame::Done => {}
            Frame::Final { complete, failed } => {
                out.put_u32(*complete);
                out.put_u32(*failed);
            }
            Frame::Abort { text } => out.put_slice(cut(text).as_bytes()),
        }
        let len = u32::try_from(out.len() - start - HEADER).expect("bodies are below 1 MiB");
        out[start + 1..start + HEADER].copy_from_slice(&len.to_be_bytes());
    }

    fn kind(&self) -> u8 {
        match self {
            Frame::Offer { .. } => 1,
            Frame::Accept { .. } => 2,
            Frame::Entry(_) => 3,
            Frame::Want { .. } => 4,
            Frame::Have { .. } => 5,
            Frame::Start { .. } => 6,
            Frame::Same { .. } => 7,
            Frame::Data(_) => 8,
            Frame::End { .. } => 9,
            Frame::Fail { .. } => 10,
            Frame::Verdict { .. } => 11,
            Frame::Done => 12,
            Frame::Final { .. } => 13,
            Frame::Abort { .. } => 14,
        }
    }
}

impl Entry {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u32(self.id);
        let directory = u8::from(self.kind == Kind::Directory);
        out.put_u8(
            directory | u8::from(self.executable) << 1 | u8::from(self.modified.is_some()) << 2,
        );
        out.put_u64(self.size.unwrap_or(UNKNOWN));
        let (seconds, nanos) = self.modified.unwrap_or_default();
        out.put_i64(seconds);
        out.put_u32(nanos);
        out.put_slice(self.path.as_bytes());
    }

    fn parse(body: &mut Bytes) -> Option<Self> {
        let id = body.try_get_u32().ok()?;
        let flags = body.try_get_u8().ok()?;
        let size = body.try_get_u64().ok()?;
        let seconds = body.try_get_i64().ok()?;
        let nanos = body.try_get_u32().ok()?;
        if flags > 7 || nanos >= 1_000_000_000 {
            return None;
        }
        Some(Entry {
            id,
            kind: if flags & 1 == 0 {
                Kind::File
            } else {
                Kind::Directory
            },
            executable: flags & 2 != 0,
            size: (size != UNKNOWN).then_some(size),
            modified: (flags & 4 != 0).then_some((seconds, nanos)),
            path: text(body)?,
        })
    }
}

/// Parses arbitrary bytes from a peer, frame after frame; must never panic. For fuzzing.
pub fn fuzz_entry(data: &[u8]) {
    let mut buffer = BytesMut::from(data);
    while let Ok(Some(frame)) = Frame::split(&mut buffer) {
        let mut again = BytesMut::new();
        frame.encode(&mut again);
        let back = Frame::split(&mut again);
        assert_eq!(
            back,
            Ok(Some(frame)),
            "a frame that parses must survive encoding"
        );
        if let Ok(Some(Frame::Entry(entry))) = back {
            // Paths are the other input from the peer that is parsed.
            let _ = path::check(&entry.path);
        }
    }
}

fn limit(kind: u8) -> Option<usize> {
    Some(match kind {
        1 => 18,
        2 => 6,
        3 => 25 + MAX_PATH,
        4 | 5 => 44,
        6 => 12,
        7 => 5,
        8 => MAX_DATA,
        9 => 40,
        10 => 4 + MAX_TEXT,
        11 => 5 + MAX_TEXT,
        12 => 0,
        13 => 8,
        14 => MAX_TEXT,
        _ => return None,
    })
}

fn parse(kind: u8, body: &mut Bytes) -> Result<Frame, WireError> {
    if matches!(kind, 1 | 2) {
        let mut magic = [0; 4];
        if body.try_copy_to_slice(&mut magic).is_err() || magic != MAGIC {
            return Err(WireError::Magic);
        }
    }
    fields(kind, body).ok_or(WireError::Malformed(kind))
}

fn fields(kind: u8, body: &mut Bytes) -> Option<Frame> {
    Some(match kind {
        1 => {
            let version = body.try_get_u16().ok()?;
            let entries = body.try_get_u32().ok()?;
            let bytes = body.try_get_u64().ok()?;
            Frame::Offer {
                version,
                entries,
                bytes: (bytes != UNKNOWN).then_some(bytes),
            }
        }
        2 => Frame::Accept {
            version: body.try_get_u16().ok()?,
        },
        3 => Frame::Entry(Entry::parse(body)?),
        4 | 5 => {
            let id = body.try_get_u32().ok()?;
            let number = body.try_get_u64().ok()?;
            let digest = digest(body)?;
            if kind == 4 {
                Frame::Want {
                    id,
                    offset: number,
                    prefix: digest,
                }
            } else {
                Frame::Have {
                    id,
                    size: number,
                    digest,
                }
            }
        }
        6 => Frame::Start {
            id: body.try_get_u32().ok()?,
            offset: body.try_get_u64().ok()?,
        },
        7 => {
            let id = body.try_get_u32().ok()?;
            let same = body.try_get_u8().ok()?;
            (same <= 1).then_some(Frame::Same {
                id,
                same: same == 1,
            })?
        }
        8 => Frame::Data(body.split_to(body.len())),
        9 => Frame::End {
            size: body.try_get_u64().ok()?,
            digest: digest(body)?,
        },
        10 => Frame::Fail {
            id: body.try_get_u32().ok()?,
            text: text(body)?,
        },
        11 => {
            let id = body.try_get_u32().ok()?;
            let code = body.try_get_u8().ok()?;
            let verdict = *Verdict::ALL.get(usize::from(code))?;
            Frame::Verdict {
                id,
                verdict,
                text: text(body)?,
            }
        }
        12 => Frame::Done,
        13 => Frame::Final {
            complete: body.try_get_u32().ok()?,
            failed: body.try_get_u32().ok()?,
        },
        14 => Frame::Abort { text: text(body)? },
        _ => return None,
    })
}

fn digest(body: &mut Bytes) -> Option<Digest> {
    let mut digest = [0; 32];
    body.try_copy_to_slice(&mut digest).ok()?;
    Some(digest)
}

fn text(body: &mut Bytes) -> Option<String> {
    let rest = body.split_to(body.len());
    core::str::from_utf8(&rest).ok().map(str::to_owned)
}

fn cut(text: &str) -> &str {
    let end = (0..=MAX_TEXT.min(text.len())).rfind(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    fn examples() -> Vec<Frame> {
        let entry = Entry {
            id: 7,
            kind: Kind::File,
            executable: true,
            size: Some(12),
            modified: Some((-5, 999_999_999)),
            path: "a/ü b".into(),
        };
        let unknown = Entry {
            size: None,
            modified: None,
            kind: Kind::Directory,
            ..entry.clone()
        };
        let mut frames = vec![
            Frame::Offer {
                version: 1,
                entries: 3,
                bytes: Some(9),
            },
            Frame::Offer {
                version: 2,
                entries: u32::MAX,
                bytes: None,
            },
            Frame::Accept { version: 1 },
            Frame::Entry(entry),
            Frame::Entry(unknown),
            Frame::Want {
                id: 1,
                offset: 5,
                prefix: [3; 32],
            },
            Frame::Have {
                id: 1,
                size: 5,
                digest: [4; 32],
            },
            Frame::Start { id: 1, offset: 5 },
            Frame::Same { id: 1, same: true },
            Frame::Data(Bytes::from_static(b"bytes")),
            Frame::End {
                size: 12,
                digest: [5; 32],
            },
            Frame::Fail {
                id: 1,
                text: "gone".into(),
            },
            Frame::Done,
            Frame::Final {
                complete: 1,
                failed: 2,
            },
            Frame::Abort {
                text: String::new(),
            },
        ];
        frames.extend(Verdict::ALL.map(|verdict| Frame::Verdict {
            id: 9,
            verdict,
            text: "why".into(),
        }));
        frames
    }

    fn encoded(frames: &[Frame]) -> BytesMut {
        let mut out = BytesMut::new();
        frames.iter().for_each(|f| f.encode(&mut out));
        out
    }

    #[test]
    fn every_frame_round_trips_in_pieces_of_any_size() {
        let all = encoded(&examples());
        let (mut buffer, mut back) = (BytesMut::new(), Vec::new());
        for byte in all {
            buffer.put_u8(byte);
            while let Some(frame) = Frame::split(&mut buffer).unwrap() {
                back.push(frame);
            }
        }
        assert_eq!(back, examples());
        assert!(buffer.is_empty());
    }

    #[test]
    fn a_body_that_is_too_long_is_refused_before_it_arrives() {
        let mut buffer = BytesMut::from(&[8, 0, 1, 0, 1][..]);
        let error = Frame::split(&mut buffer).unwrap_err();
        assert_eq!(
            error,
            WireError::TooLong {
                kind: 8,
                got: 65537,
                limit: MAX_DATA
            }
        );
        let mut buffer = BytesMut::from(&[99, 0, 0, 0, 0][..]);
        assert_eq!(Frame::split(&mut buffer), Err(WireError::Type(99)));
    }

    #[test]
    fn missing_and_surplus_bytes_are_malformed() {
        for frame in examples() {
            let whole = encoded(std::slice::from_ref(&frame));
            // A frame that ends in text or data may have any length.
            if matches!(
                frame,
                Frame::Data(_) | Frame::Abort { .. } | Frame::Entry(_)
            ) {
                continue;
            }
            if matches!(frame, Frame::Fail { .. } | Frame::Verdict { .. }) {
                continue;
            }
            let surplus = edit(&whole, 1);
            assert!(
                Frame::split(&mut surplus.clone()).is_err(),
                "{frame:?} with a byte more"
            );
            if whole.len() > HEADER {
                let missing = edit(&whole, -1);
                assert!(
                    Frame::split(&mut missing.clone()).is_err(),
                    "{frame:?} with a byte less"
                );
            }
        }
    }

    fn edit(whole: &BytesMut, by: i64) -> BytesMut {
        let len = (whole.len() as i64 + by) as usize;
        let mut out = whole.clone();
        out.resize(len, 0);
        out[1..5].copy_from_slice(&((len - HEADER) as u32).to_be_bytes());
        out
    }

    #[test]
    fn another_protocol_is_named_as_such() {
        let mut buffer = BytesMut::from(&[2, 0, 0, 0, 6, b'H', b'T', b'T', b'P', 0, 1][..]);
        assert_eq!(Frame::split(&mut buffer), Err(WireError::Magic));
    }

    #[test]
    fn a_long_text_is_truncated_at_a_character_boundary() {
        let frame = Frame::Abort {
            text: "ü".repeat(MAX_TEXT),
        };
        let Ok(Some(Frame::Abort { text })) = Frame::split(&mut encoded(&[frame])) else {
            panic!("must parse")
        };
        assert_eq!(text, "ü".repeat(MAX_TEXT / 2));
    }

    /// Inputs that the fuzzer kept.
    #[test]
    fn the_fuzzers_corpus_is_parsed() {
        let fuzz = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
        let folder = std::fs::read_dir(fuzz.join("corpus/transfer")).unwrap();
        let inputs: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
        assert!(!inputs.is_empty());
        for input in inputs {
            fuzz_entry(&std::fs::read(input).unwrap());
        }
    }

    #[test]
    fn hostile_bytes_never_panic() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let good = encoded(&examples());
        for round in 0..20_000 {
            let mut data = good.to_vec();
            if round % 2 == 0 {
                data = vec![0; (random.next_u32() % 200) as usize];
                random.fill_bytes(&mut data);
                // Mostly plausible headers, because random bytes rarely pass them.
                if let [kind, a, b, c, d, ..] = &mut data[..] {
                    (*kind, *a, *b, *c) = (*kind % 16, 0, 0, 0);
                    *d %= 64;
                }
            } else {
                for _ in 0..1 + random.next_u32() % 8 {
                    let at = random.next_u32() as usize % data.len();
                    data[at] = random.next_u32() as u8;
                }
            }
            fuzz_entry(&data);
        }
    }
}
