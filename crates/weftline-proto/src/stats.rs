//! Counters of a session, for people and for monitoring.

use core::time::Duration;

use crate::histogram::Histogram;
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
    /// How long at least one symbol was missing, from the datagram that showed it to the one after
    /// which nothing was: what losses add to the delay of data in order.
    pub stalls: Histogram,
    /// The repair symbols for each source symbol that the scheme may send before anything is known to be
    /// lost; `None` if it has no such limit.
    pub budget: Option<f64>,
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
    /// Of the repair symbols, sent in the datagram of a source symbol.
    pub riding_symbols: u64,
    /// Feedback datagrams.
    pub feedback: u64,
    /// Datagrams without a symbol, which ask for feedback or look for the longest datagram.
    pub probes: u64,
    /// Datagrams with a symbol and probes, but for those of a size, that this end took for lost. Feedback
    /// is not acknowledged: nobody knows how much of it is lost.
    pub lost_datagrams: u64,
    /// Of them, those that arrived after all, as far as they are remembered.
    pub spurious_losses: u64,
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

impl Stats {
    /// Adds the counters of another session, for totals. Estimates of the path are not added.
    pub fn add_counters(&mut self, other: &Stats) {
        let Stats {
            sent,
            received,
            dropped,
            stalls,
            budget: _,
            path: _,
        } = other;
        self.sent.add(sent);
        self.received.add(received);
        self.dropped.add(dropped);
        self.stalls.add(stalls);
    }
}

impl SentStats {
    pub(crate) fn add(&mut self, other: &SentStats) {
        let SentStats {
            datagrams,
            bytes,
            source_symbols,
            retransmissions,
            repair_symbols,
            top_up_symbols,
            riding_symbols,
            feedback,
            probes,
            lost_datagrams,
            spurious_losses,
            timeouts,
            data,
            expired_messages,
        } = other;
        self.datagrams += datagrams;
        self.bytes += bytes;
        self.source_symbols += source_symbols;
        self.retransmissions += retransmissions;
        self.repair_symbols += repair_symbols;
        self.top_up_symbols += top_up_symbols;
        self.riding_symbols += riding_symbols;
        self.feedback += feedback;
        self.probes += probes;
        self.lost_datagrams += lost_datagrams;
        self.spurious_losses += spurious_losses;
        self.timeouts += timeouts;
        self.data += data;
        self.expired_messages += expired_messages;
    }
}

impl ReceivedStats {
    fn add(&mut self, other: &ReceivedStats) {
        let ReceivedStats {
            datagrams,
            bytes,
            last_heard,
            source_symbols,
            repair_symbols,
            useful_repairs,
            recovered_symbols,
            abandoned_symbols,
            feedback,
            data,
            late_messages,
            refused_fragments,
        } = other;
        self.datagrams += datagrams;
        self.bytes += bytes;
        self.last_heard = self.last_heard.max(*last_heard);
        self.source_symbols += source_symbols;
        self.repair_symbols += repair_symbols;
        self.useful_repairs += useful_repairs;
        self.recovered_symbols += recovered_symbols;
        self.abandoned_symbols += abandoned_symbols;
        self.feedback += feedback;
        self.data += data;
        self.late_messages += late_messages;
        self.refused_fragments += refused_fragments;
    }
}

impl DroppedStats {
    fn add(&mut self, other: &DroppedStats) {
        let DroppedStats {
            malformed,
            replayed,
            out_of_window,
            inconsistent,
        } = other;
        self.malformed += malformed;
        self.replayed += replayed;
        self.out_of_window += out_of_window;
        self.inconsistent += inconsistent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_add_up_and_estimates_do_not() {
        let mut one = Stats::default();
        one.sent.datagrams = 3;
        one.received.late_messages = 2;
        one.stalls.record(Duration::from_millis(7));
        one.dropped.replayed = 1;
        one.path.rtt = Duration::from_millis(5);
        let mut all = one;
        all.add_counters(&one);
        assert_eq!((all.sent.datagrams, all.received.late_messages), (6, 4));
        assert_eq!((all.stalls.count(), all.dropped.total()), (2, 2));
        assert_eq!(all.path, one.path);
    }
}
