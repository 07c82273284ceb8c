//! Which format a byte stream has, by its first bytes.

use std::fmt;
use std::str::FromStr;

use super::annexb::AnnexB;
use super::av1::Obus;
use super::ivf::{Ivf, MAGIC};
use super::ts::{PACKET, SYNC, Ts};
use super::{Parse, Unit};

/// A format of a byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// H.264 as a byte stream (annex B): `ffmpeg -f h264`.
    H264,
    /// MPEG-TS with H.264, and Opus: `ffmpeg -f mpegts`.
    MpegTs,
    /// AV1 as a stream of OBUs: `ffmpeg -f obu`.
    Obu,
    /// AV1 in IVF: `ffmpeg -f ivf`.
    Ivf,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 4] = [Format::H264, Format::MpegTs, Format::Obu, Format::Ivf];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Format::H264 => "h264",
            Format::MpegTs => "mpegts",
            Format::Obu => "obu",
            Format::Ivf => "ivf",
        }
    }

    pub(in crate::view) fn parser(self) -> Box<dyn Parse> {
        match self {
            Format::H264 => Box::new(AnnexB::default()),
            Format::MpegTs => Box::new(Ts::default()),
            Format::Obu => Box::new(Obus::default()),
            Format::Ivf => Box::new(Ivf::default()),
        }
    }

    /// The format of a stream that begins so. `Ok(None)`: more bytes are needed.
    ///
    /// # Errors
    /// It is none of them.
    fn of(bytes: &[u8]) -> Result<Option<Format>, ()> {
        let may_be = |start: &[u8]| {
            let length = start.len().min(bytes.len());
            bytes[..length] == start[..length]
        };
        for (start, format) in [
            (&MAGIC[..], Format::Ivf),
            (&[0, 0, 1], Format::H264),
            (&[0, 0, 0, 1], Format::H264),
            // A temporal delimiter.
            (&[0x12, 0], Format::Obu),
        ] {
            if may_be(start) {
                return Ok((bytes.len() >= start.len()).then_some(format));
            }
        }
        match (bytes.first(), bytes.get(PACKET)) {
            (Some(&SYNC), None) if bytes.len() < PACKET => Ok(None),
            // Datagrams have whole packets.
            (Some(&SYNC), None | Some(&SYNC)) => Ok(Some(Format::MpegTs)),
            _ => Err(()),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not the name of a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a format: give h264, mpegts, obu or ivf")]
pub struct BadFormat(String);

impl FromStr for Format {
    type Err = BadFormat;

    fn from_str(text: &str) -> Result<Self, BadFormat> {
        let named = Format::ALL.into_iter().find(|format| format.name() == text);
        named.ok_or_else(|| BadFormat(text.to_owned()))
    }
}

/// A byte stream whose format shows with its first bytes.
pub(in crate::view) struct Detect {
    start: Vec<u8>,
    parser: Option<Box<dyn Parse>>,
    is_unknown: bool,
    has_told: bool,
}

impl Detect {
    pub(in crate::view) fn new(format: Option<Format>) -> Self {
        Detect {
            start: Vec::new(),
            parser: format.map(Format::parser),
            is_unknown: false,
            has_told: false,
        }
    }
}

impl Parse for Detect {
    fn push(&mut self, bytes: &[u8], at: u64, out: &mut Vec<Unit>) {
        if let Some(parser) = &mut self.parser {
            return parser.push(bytes, at, out);
        }
        self.start.extend_from_slice(bytes);
        match Format::of(&self.start) {
            Ok(None) => {}
            Ok(Some(format)) => {
                let mut parser = format.parser();
                parser.push(&std::mem::take(&mut self.start), at, out);
                self.parser = Some(parser);
            }
            Err(()) => {
                // A stray datagram, perhaps.
                self.is_unknown = true;
                self.start.clear();
            }
        }
    }

    fn quiet(&mut self, out: &mut Vec<Unit>) {
        if let Some(parser) = &mut self.parser {
            parser.quiet(out);
        }
    }

    fn end(&mut self, out: &mut Vec<Unit>) {
        match &mut self.parser {
            Some(parser) => parser.end(out),
            None => self.is_unknown |= !self.start.is_empty(),
        }
    }

    fn frame_time(&self) -> Option<u64> {
        self.parser.as_ref()?.frame_time()
    }

    fn trouble(&mut self) -> Option<String> {
        match &mut self.parser {
            Some(parser) => parser.trouble(),
            None if self.is_unknown && !self.has_told => {
                self.has_told = true;
                Some("the format of the stream is not known: H.264 (-f h264), MPEG-TS (-f mpegts) and AV1 (-f ivf, -f obu) are; --format names it".to_owned())
            }
            None => None,
        }
    }
}
