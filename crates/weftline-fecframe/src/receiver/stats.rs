//! What a receiver has seen and done.

use crate::PacketError;

/// What a receiver has seen and done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiverStats {
    /// Source packets given, refused ones too.
    pub source_packets: u64,
    /// Source packets that told nothing new.
    pub duplicates: u64,
    /// Repair packets given, refused ones too.
    pub repair_packets: u64,
    /// Repair symbols that raised the rank.
    pub useful_repair: u64,
    /// Repair symbols that told nothing new.
    pub redundant_repair: u64,
    /// Packets about what has left the receiver.
    pub too_old: u64,
    /// ADUs received and handed over, or to be.
    pub received: u64,
    /// ADUs decoded in time and handed over, or to be.
    pub recovered: u64,
    /// ADUs received or decoded after their time.
    pub late: u64,
    /// Source symbols that were unknown when their time was over. Some of them may
    /// have been found out later: see [`late`](Self::late).
    pub symbols_lost: u64,
    /// ADUs dropped because nobody took them in time.
    pub overrun: u64,
    /// Times a sender that had started again was followed.
    pub resyncs: u64,
    /// Recovered ADUs that were none: flow, length or padding impossible.
    pub implausible: u64,
    /// Symbols that the equations made out to be impossible.
    pub inconsistent: u64,
    /// Packets refused because of their lengths, counts or windows.
    pub malformed: u64,
    /// Packets refused because their flow is unknown.
    pub unknown_flow: u64,
    /// Packets refused because they were too far away.
    pub jumps: u64,
    /// Packets refused because they contradict an earlier one.
    pub conflicts: u64,
}

impl ReceiverStats {
    pub(super) fn refuse(&mut self, error: PacketError) -> PacketError {
        let counter = match error {
            PacketError::UnknownFlow { .. } => &mut self.unknown_flow,
            PacketError::Jump { .. } => &mut self.jumps,
            PacketError::Conflict { .. } => &mut self.conflicts,
            _ => &mut self.malformed,
        };
        *counter += 1;
        error
    }
}
