//! Counters of a session, for people and for monitoring.

use core::time::Duration;

use crate::time::Time;

/// A snapshot of a session's counters and estimates. Counters only ever rise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Stats {
    /// What this end sent.
    pub sent: SentStats,
    /// What this end received.
    pub received: ReceivedStats,
    /// Datagrams that were dropped, by the check that they failed.
    pub dropped: DroppedStats,
    /// What this end knows of the path.
    pub path: PathStats,
}

/// What one end sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct SentStats {
    /// Datagrams of every kind.
    pub datagrams: u64,
    /// Their bytes, without what the carrier adds.
    pub bytes: u64,
    /// Source symbols sent for the first time; with a code that sends none of them, those that it
    /// was given.
    pub source_symbols: u64,
    /// Source symbols sent again.
    pub retransmissions: u64,
    /// Repair symbols.
    pub repair_symbols: u64,
    /// Of them, sent because feedback or the retransmission timer asked for them.
    pub top_up_symbols: u64,
    /// Feedback datagrams.
    pub feedback: u64,
    /// Times the retransmission timer fired.
    pub timeouts: u64,
    /// Bytes of stream and message data put into source symbols.
    pub data: u64,
    /// Messages dropped because their deadline passed before they were sent.
    pub expired_messages: u64,
}

/// What one end received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ReceivedStats {
    /// Datagrams of every kind that passed all checks.
    pub datagrams: u64,
    /// Their bytes, without what the carrier adds.
    pub bytes: u64,
    /// When the newest of them arrived; before the first, when the session began.
    pub last_heard: Time,
    /// Source symbols that were new.
    pub source_symbols: u64,
    /// Repair symbols of any use or none.
    pub repair_symbols: u64,
    /// Repair symbols that raised the decoder's rank.
    pub useful_repairs: u64,
    /// Source symbols recovered by decoding.
    pub recovered_symbols: u64,
    /// Source symbols given up because the sender no longer covers them.
    pub abandoned_symbols: u64,
    /// Feedback datagrams.
    pub feedback: u64,
    /// Bytes of stream and message data handed to the application.
    pub data: u64,
    /// Messages that were complete only after their deadline.
    pub late_messages: u64,
    /// Fragments of messages with a deadline dropped because [`crate::Limits::message_data`] was
    /// full of such messages already.
    pub refused_fragments: u64,
}

/// Datagrams that were dropped, by the check that they failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct DroppedStats {
    /// Truncated, oversized or not of a known kind.
    pub malformed: u64,
    /// Their transmission number had been seen, or was too old to tell.
    pub replayed: u64,
    /// Their symbols lie outside what this end can hold, or decoding them would cost more work than
    /// the peer has earned.
    pub out_of_window: u64,
    /// They contradict what is known (an equation with no solution, impossible feedback).
    pub inconsistent: u64,
}

impl DroppedStats {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.malformed + self.replayed + self.out_of_window + self.inconsistent
    }
}

/// What one end knows of the path on which it sends; of several, the one on which data arrives first, and
/// what is in flight on all. [`Session::paths`](crate::Session::paths) has each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PathStats {
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Smallest round-trip time seen.
    pub min_rtt: Duration,
    /// Share of this end's numbered datagrams that were lost, recently.
    pub loss: f64,
    /// Mean length of a run of lost datagrams, recently; 0 before the first loss.
    pub mean_burst: f64,
    /// Bytes sent and neither acknowledged nor known to be lost.
    pub in_flight: u64,
    /// Source symbols sent and not yet acknowledged.
    pub unacknowledged: u64,
    /// Bytes accepted from the application and not yet sent.
    pub queued: u64,
}
