//! Entries of a log.

use weftline_codec::Esi;

use crate::time::Time;

/// Consecutive ESIs: the first, and how many.
pub type EsiRun = (Esi, u64);

/// Something that happened in a session.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LogEntry {
    /// When, on the clock of this end's driver; in JSON, microseconds.
    #[cfg_attr(feature = "serde", serde(rename = "time_us"))]
    pub time: Time,
    /// What.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub event: LogEvent,
}

#[cfg(feature = "serde")]
fn is_zero(riders: &u8) -> bool {
    *riders == 0
}

/// What happened. `*_sent`, `Filled`, `EdgeMoved`, `Estimates` and `AllAcknowledged` are about the
/// flow that this end sends; the others about the one that it receives.
///
/// `size` is in bytes of the session's datagram, without the carrier's headers. `number` is the
/// number of a transmission: each source, repair and probe datagram has the next one.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "event", rename_all = "snake_case"))]
#[non_exhaustive]
#[allow(
    missing_docs,
    reason = "fields are explained at the variants and above"
)]
pub enum LogEvent {
    /// HELLO left.
    HelloSent { size: u32 },
    /// A source symbol left. `edge` is the oldest unacknowledged ESI; `again`: it was sent before;
    /// `fin`: a stream ends in it; `riders`: repair symbols in the same datagram.
    SourceSent {
        number: u64,
        size: u32,
        esi: Esi,
        edge: Esi,
        again: bool,
        fin: bool,
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
        riders: u8,
    },
    /// A repair symbol left. Its encoding window is `first` and the `count - 1` ESIs after it. `key`
    /// determines the coding vector, unless the datagram carries it.
    RepairSent {
        number: u64,
        size: u32,
        first: Esi,
        count: u32,
        edge: Esi,
        reason: RepairReason,
        vector: CodingVectorKind,
        key: Option<u32>,
        field_bits: u8,
    },
    /// A datagram without a symbol left. `next` is the ESI of the next new source symbol.
    ProbeSent {
        number: u64,
        size: u32,
        next: Esi,
        edge: Esi,
    },
    /// A report left.
    ReportSent(LogReport),
    /// CLOSE left.
    CloseSent { size: u32 },
    /// A part of a datagram too long for the path left. The datagram has an entry of its own, when
    /// its first part leaves, which has none.
    PieceSent { size: u32 },
    /// Source symbols that are sent only in repair symbols entered the encoding window.
    Filled { first: Esi, count: u64, fin: bool },
    /// HELLO arrived.
    HelloReceived { size: u32 },
    /// A source symbol arrived. `useful`: this end lacked it; `riders`: repair symbols in the same
    /// datagram.
    SourceReceived {
        number: u64,
        size: u32,
        esi: Esi,
        useful: bool,
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
        riders: u8,
    },
    /// A repair symbol arrived. `useful`: it raised the rank. `unknowns` symbols are missing now, and
    /// `rank` equations are left about them.
    RepairReceived {
        number: u64,
        size: u32,
        first: Esi,
        count: u32,
        useful: bool,
        unknowns: u64,
        rank: u64,
    },
    /// A probe arrived. `next` is the ESI of the next new source symbol.
    ProbeReceived { number: u64, size: u32, next: Esi },
    /// A report arrived. `news`: it is newer than all before.
    ReportReceived {
        #[cfg_attr(feature = "serde", serde(flatten))]
        report: LogReport,
        news: bool,
    },
    /// CLOSE arrived.
    CloseReceived { size: u32 },
    /// A datagram was refused.
    Dropped { size: u32, reason: DropReason },
    /// `count` missing symbols became known together, solved from repair symbols: the size of the
    /// decoded matrix. `unknowns` symbols are still missing, with `rank` equations.
    Decoded {
        symbols: Vec<EsiRun>,
        count: u64,
        unknowns: u64,
        rank: u64,
    },
    /// The in-order edge moved over these symbols. `given_up` of them are not known: their sender
    /// no longer covers them.
    Delivered {
        first: Esi,
        count: u64,
        given_up: u64,
    },
    /// In-order delivery stalls: `esi` is missing, and nothing was missing before.
    StallBegan { esi: Esi },
    /// Nothing is missing any more. The stall began at `began`.
    StallEnded {
        #[cfg_attr(feature = "serde", serde(rename = "began_us"))]
        began: Time,
        next: Esi,
    },
    /// The lower edge of the encoding window moved from `previous` to `edge`, the oldest unacknowledged
    /// ESI now. `next` is the ESI of the next new source symbol.
    EdgeMoved { previous: Esi, edge: Esi, next: Esi },
    /// What the sender knows of the path after a report: the loss rate and mean burst of its rate
    /// control and schemes, the smoothed round-trip time, bytes in flight; and, from the scheme if
    /// it has them, the loss rate that it plans with, its share of repairs for each source symbol
    /// (R), and the source symbols between two repairs (k).
    Estimates {
        loss: f64,
        mean_burst: f64,
        rtt_us: u64,
        in_flight: u64,
        planned_loss: Option<f64>,
        share: Option<f64>,
        apart: Option<f64>,
    },
    /// A stream ends in the symbol `esi`. At its sender: the symbol was sent first, or filled. At
    /// its receiver: the symbol and all before it are known.
    EndOfData { esi: Esi },
    /// The peer has everything that was written, up to `next`.
    AllAcknowledged { next: Esi },
    /// The session is over.
    Closed { reason: EndReason },
    /// The log was full: this many entries are missing here.
    Gap { entries: u64 },
    /// An entry of a later version, when a log is read.
    #[cfg_attr(feature = "serde", serde(other))]
    Unknown,
}

/// What a report says.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LogReport {
    /// Number of the report.
    pub report: u64,
    /// Bytes of the datagram.
    pub size: u32,
    /// The largest transmission number that had arrived.
    pub largest: u64,
    /// The in-order edge: the lowest ESI that is not known.
    pub next: Esi,
    /// Symbols that the receiver knows of from `next` on.
    pub extent: u64,
    /// What it says is missing, as far as it has room.
    pub missing: Vec<EsiRun>,
    /// Equations held about missing symbols.
    pub rank: u64,
    /// ESIs from `next` on that may be sent.
    pub credit: u64,
    /// Microseconds between the arrival of `largest` and the report.
    pub delay_us: u64,
    /// Microseconds of queueing that the newest datagram met.
    pub queue_us: u64,
    /// The packet error rate that the receiver has measured, if the sender asked for it.
    pub loss: Option<f64>,
}

/// Why a repair symbol was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum RepairReason {
    /// The scheme's own plan.
    Scheduled,
    /// A report showed a deficit, or the data came to a pause.
    TopUp,
    /// The retransmission timer.
    Probe,
}

/// How a repair datagram gives its coding vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum CodingVectorKind {
    /// A repair key of 16 bits, over GF(2^8).
    Key,
    /// A seed of 32 bits.
    Seed,
    /// The vector itself.
    Explicit,
}

/// Why a datagram was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum DropReason {
    /// It is not a datagram of the protocol.
    Malformed,
    /// Its transmission number arrived before.
    Replayed,
    /// Its symbols are outside of the credit, or the decoder has no room.
    OutOfWindow,
    /// It contradicts what is known.
    Inconsistent,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum EndReason {
    /// This end closed it.
    Local,
    /// The peer closed it.
    Peer,
    /// Nothing arrived for the idle timeout.
    TimedOut,
    /// The peer broke the protocol.
    Violation,
    /// The peer found that this end broke the protocol.
    Refused,
    /// The carrier failed.
    Carrier,
}
