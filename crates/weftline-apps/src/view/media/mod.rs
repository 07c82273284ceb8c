//! Media formats: from bytes to frames. No I/O and no clock; all input is hostile.
//!
//! | file | contents |
//! | --- | --- |
//! | `h264` | access units from NAL units, parameter sets |
//! | `annexb` | NAL units from a byte stream |
//! | `ts`, `section`, `pes` | MPEG-TS |
//! | `opus` | Opus packets: durations, and their form in MPEG-TS |
//! | `rtp` | RTP with H.264 or Opus |
//! | `av1` | AV1: sequence headers, and temporal units from OBUs |
//! | `ivf` | the container IVF |
//! | `detect` | which of them a byte stream is |
//! | `bits` | bits and Exp-Golomb numbers |

pub(super) mod annexb;
mod av1;
mod bits;
pub(super) mod detect;
mod h264;
mod ivf;
mod opus;
mod pes;
pub(super) mod rtp;
mod section;
pub(super) mod ts;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;

/// Longest frame that is taken, in bytes: a key frame of 8K video is shorter.
pub(super) const LONGEST_FRAME: usize = 8 << 20;

/// A coded picture or a packet of sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) kind: Kind,
    /// When it is to be shown, in microseconds on the source's clock, if the container says so.
    pub(super) pts: Option<u64>,
    /// When its first byte came in, in microseconds.
    pub(super) came: u64,
    pub(super) data: Bytes,
}

/// What a [`Unit`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A picture that needs no other one, with the name of its codec (RFC 6381).
    Key(Arc<str>),
    /// A picture that needs the one before it.
    Delta,
    /// Opus.
    Sound {
        /// 1 or 2.
        channels: u8,
    },
    /// Pictures were lost before they came here: none can be decoded until the next key frame.
    Gap,
}

/// A format: bytes go in, units come out.
pub(super) trait Parse: Send {
    /// Takes bytes, or a datagram, that came in at this moment, in microseconds.
    fn push(&mut self, bytes: &[u8], at: u64, out: &mut Vec<Unit>);

    /// A live source is quiet: what is complete need not wait for what comes next.
    fn quiet(&mut self, _out: &mut Vec<Unit>) {}

    /// The source has ended.
    fn end(&mut self, out: &mut Vec<Unit>);

    /// Microseconds from one picture to the next, for formats without time stamps.
    fn frame_time(&self) -> Option<u64> {
        None
    }

    /// Something that people should know, once.
    fn trouble(&mut self) -> Option<String> {
        None
    }
}
