//! Counters and estimates of a session.

use std::time::Duration;

use crate::guard::{given, guard};
use crate::raw;
use crate::session::Session;
use crate::status::Status;

/// Counters and estimates of a session. Counters only rise.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SessionStats {
    /// Datagrams sent.
    pub datagrams: u64,
    /// Their bytes, without what the carrier adds.
    pub bytes: u64,
    /// Source symbols sent for the first time.
    pub source_symbols: u64,
    /// Source symbols sent again.
    pub retransmissions: u64,
    /// Repair symbols sent.
    pub repair_symbols: u64,
    /// Feedback datagrams sent.
    pub feedback: u64,
    /// Times that the retransmission timer has fired.
    pub timeouts: u64,
    /// Bytes of streams and messages sent for the first time.
    pub data: u64,
    /// Messages dropped because their deadline passed before they were sent.
    pub expired_messages: u64,
    /// Datagrams received that passed all checks.
    pub received_datagrams: u64,
    /// Their bytes, without what the carrier adds.
    pub received_bytes: u64,
    /// Source symbols received that were new.
    pub received_source_symbols: u64,
    /// Repair symbols received.
    pub received_repair_symbols: u64,
    /// Of those, the ones that told the decoder something new.
    pub useful_repair_symbols: u64,
    /// Source symbols recovered by decoding.
    pub recovered_symbols: u64,
    /// Source symbols given up because the peer no longer covers them.
    pub abandoned_symbols: u64,
    /// Bytes of streams and messages delivered to the application.
    pub received_data: u64,
    /// Messages that were complete only after their deadline.
    pub late_messages: u64,
    /// Datagrams dropped because they were not valid.
    pub dropped_malformed: u64,
    /// Datagrams dropped because they had arrived before.
    pub dropped_replayed: u64,
    /// Datagrams dropped because their symbols lie outside the limits of this end.
    pub dropped_out_of_window: u64,
    /// Datagrams dropped because they contradict what is known.
    pub dropped_inconsistent: u64,
    /// Bytes sent, not acknowledged and not known to be lost.
    pub in_flight: u64,
    /// Source symbols sent and not acknowledged.
    pub unacknowledged_symbols: u64,
    /// Bytes accepted from the application and not sent.
    pub queued: u64,
    /// Smoothed round-trip time, nanoseconds.
    pub rtt_ns: u64,
    /// Smallest round-trip time, nanoseconds.
    pub min_rtt_ns: u64,
    /// Share of this end's datagrams that were lost recently, 0 to 1.
    pub loss: f64,
    /// Mean length of a run of lost datagrams recently; 0 before the first loss.
    pub mean_burst: f64,
}

/// Writes a snapshot of the counters and estimates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_stats(
    session: Option<&Session>,
    stats: *mut SessionStats,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let stats = unsafe { raw::place(stats) };
        let (end, place) = (given(session)?, given(stats)?);
        let now = end.session.stats();
        let (sent, received, dropped, path) = (now.sent, now.received, now.dropped, now.path);
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        place.write(SessionStats {
            datagrams: sent.datagrams,
            bytes: sent.bytes,
            source_symbols: sent.source_symbols,
            retransmissions: sent.retransmissions,
            repair_symbols: sent.repair_symbols,
            feedback: sent.feedback,
            timeouts: sent.timeouts,
            data: sent.data,
            expired_messages: sent.expired_messages,
            received_datagrams: received.datagrams,
            received_bytes: received.bytes,
            received_source_symbols: received.source_symbols,
            received_repair_symbols: received.repair_symbols,
            useful_repair_symbols: received.useful_repairs,
            recovered_symbols: received.recovered_symbols,
            abandoned_symbols: received.abandoned_symbols,
            received_data: received.data,
            late_messages: received.late_messages,
            dropped_malformed: dropped.malformed,
            dropped_replayed: dropped.replayed,
            dropped_out_of_window: dropped.out_of_window,
            dropped_inconsistent: dropped.inconsistent,
            in_flight: path.in_flight,
            unacknowledged_symbols: path.unacknowledged,
            queued: path.queued,
            rtt_ns: nanos(path.rtt),
            min_rtt_ns: nanos(path.min_rtt),
            loss: path.loss,
            mean_burst: path.mean_burst,
        });
        Ok(())
    })
}
