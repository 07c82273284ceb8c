//! Counters of a server of viewers.

use serde::Serialize;

/// What a [`View`](super::View) has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Viewers now.
    pub viewers: u64,
    /// Sessions of viewers so far.
    pub sessions: u64,
    /// Sessions that found no place.
    pub refused_viewers: u64,
    /// Requests for a session without a token that admits.
    pub refused_tokens: u64,
    /// Pictures from the source.
    pub frames: u64,
    /// Of them, key frames.
    pub key_frames: u64,
    /// Bytes of the pictures.
    pub frame_bytes: u64,
    /// Packets of sound from the source, and their bytes.
    pub sound_packets: u64,
    /// Bytes of the packets of sound.
    pub sound_bytes: u64,
    /// Times that pictures were lost before they came here.
    pub source_gaps: u64,
    /// Frames sent to all viewers together, and their bytes.
    pub sent_frames: u64,
    /// Bytes of these frames.
    pub sent_bytes: u64,
    /// Pictures that viewers did not get: late, lost, or of no use without one that was.
    pub dropped_frames: u64,
    /// Frames longer than a viewer's page takes.
    pub too_long_frames: u64,
}
