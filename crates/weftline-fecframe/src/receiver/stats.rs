//! Statistics of a receiver.

use crate::PacketError;

/// Statistics of a receiver since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiverStats {
    /// Source packets given, including refused ones.
    pub source_packets: u64,
    /// Source packets that were redundant.
    pub duplicates: u64,
    /// Repair packets given, including refused ones.
    pub repair_packets: u64,
    /// Repair symbols that raised the rank.
    pub useful_repair: u64,
    /// Repair symbols that were redundant.
    pub redundant_repair: u64,
    /// Packets whose symbols had left the receiver.
    pub too_old: u64,
    /// ADUs received and handed over, or to be.
    pub received: u64,
    /// ADUs decoded in time and handed over, or to be.
    pub recovered: u64,
    /// ADUs received or decoded after their time.
    pub late: u64,
    /// Source symbols that were unknown when their time was over. Some of them may have
    /// become known later: see [`late`](Self::late).
    pub symbols_lost: u64,
    /// ADUs dropped because the caller did not poll them in time.
    pub overrun: u64,
    /// How often the receiver followed a restarted sender.
    pub resyncs: u64,
    /// Recovered ADUs that were not valid: flow, length or padding impossible.
    pub implausible: u64,
    /// Impossible symbols that the equations gave.
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
