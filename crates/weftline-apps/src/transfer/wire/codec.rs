//! Frames to bytes and back.

#[cfg(test)]
mod tests;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use weftline::printable;

use super::{Digest, Entry, Frame, Kind, MAX_DATA, MAX_PATH, MAX_TEXT, Meta, Verdict, WireError};
use crate::transfer::path;

const MAGIC: [u8; 4] = *b"WFTX";
const HEADER: usize = 5;
const UNKNOWN: u64 = u64::MAX;
/// Bytes of [`Meta`].
const META: usize = 23;

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
                left_out,
                bytes,
            } => {
                out.put_slice(&MAGIC);
                out.put_u16(*version);
                out.put_u32(*entries);
                out.put_u32(*left_out);
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
            Frame::Start { id, offset, meta } => {
                out.put_u32(*id);
                out.put_u64(*offset);
                meta.encode(out);
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
            Frame::Done | Frame::Wait => {}
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
            Frame::Wait => 15,
        }
    }
}

impl Entry {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u32(self.id);
        out.put_u8(u8::from(self.kind == Kind::Directory));
        self.meta.encode(out);
        out.put_slice(self.path.as_bytes());
    }

    fn parse(body: &mut Bytes) -> Option<Self> {
        Some(Entry {
            id: body.try_get_u32().ok()?,
            kind: match body.try_get_u8().ok()? {
                0 => Kind::File,
                1 => Kind::Directory,
                _ => return None,
            },
            meta: Meta::parse(body)?,
            path: rest(body)?,
        })
    }
}

impl Meta {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u8(u8::from(self.modified.is_some()) | u8::from(self.mode.is_some()) << 1);
        out.put_u64(self.size.unwrap_or(UNKNOWN));
        let (seconds, nanos) = self.modified.unwrap_or_default();
        out.put_i64(seconds);
        out.put_u32(nanos);
        out.put_u16(self.mode.unwrap_or_default());
    }

    fn parse(body: &mut Bytes) -> Option<Self> {
        let flags = body.try_get_u8().ok()?;
        let size = body.try_get_u64().ok()?;
        let seconds = body.try_get_i64().ok()?;
        let nanos = body.try_get_u32().ok()?;
        let mode = body.try_get_u16().ok()?;
        if flags > 3 || nanos >= 1_000_000_000 || mode > 0o777 {
            return None;
        }
        Some(Meta {
            size: (size != UNKNOWN).then_some(size),
            modified: (flags & 1 != 0).then_some((seconds, nanos)),
            mode: (flags & 2 != 0).then_some(mode),
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
        1 => 22,
        2 => 6,
        3 => 5 + META + MAX_PATH,
        4 | 5 => 44,
        6 => 12 + META,
        7 => 5,
        8 => MAX_DATA,
        9 => 40,
        10 => 4 + MAX_TEXT,
        11 => 5 + MAX_TEXT,
        12 | 15 => 0,
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
            let left_out = body.try_get_u32().ok()?;
            let bytes = body.try_get_u64().ok()?;
            Frame::Offer {
                version,
                entries,
                left_out,
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
            meta: Meta::parse(body)?,
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
        15 => Frame::Wait,
        _ => return None,
    })
}

fn digest(body: &mut Bytes) -> Option<Digest> {
    let mut digest = [0; 32];
    body.try_copy_to_slice(&mut digest).ok()?;
    Some(digest)
}

fn rest(body: &mut Bytes) -> Option<String> {
    let rest = body.split_to(body.len());
    core::str::from_utf8(&rest).ok().map(str::to_owned)
}

/// A text for people, made printable.
fn text(body: &mut Bytes) -> Option<String> {
    let text = printable(&rest(body)?);
    Some(cut(&text).to_owned())
}

fn cut(text: &str) -> &str {
    let end = (0..=MAX_TEXT.min(text.len())).rfind(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}
