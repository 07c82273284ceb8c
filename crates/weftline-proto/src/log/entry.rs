//! Entries of a log.

use weftline_codec::Esi;

use super::few::Few;
use crate::path::PathId;
use crate::time::Time;

/// Consecutive ESIs: the first, and how many.
pub type EsiRun = (Esi, u64);

/// Something that happened in a session. With the feature `serde` it is an event of qlog: `time` in
/// milliseconds, `name`, `data`; and `path`, unless that is the first.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "form::Read"))]
#[non_exhaustive]
pub struct LogEntry {
    /// When, on the clock of this end's driver.
    #[cfg_attr(feature = "serde", serde(with = "form::millis"))]
    pub time: Time,
    /// The path of the datagram that was sent or received, and that a timer or a wait is of; else the
    /// first.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "form::is_first"))]
    pub path: PathId,
    /// What.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub event: LogEvent,
}

/// The entries of a log as JSON.
#[cfg(feature = "serde")]
mod form {
    use serde::Deserialize;

    use super::{LogEntry, LogEvent};
    use crate::path::PathId;
    use crate::time::Time;

    pub(super) fn is_first(path: &PathId) -> bool {
        *path == PathId::FIRST
    }

    fn first() -> PathId {
        PathId::FIRST
    }

    /// What is read: an entry that this version knows, or one of a later version.
    #[derive(Deserialize)]
    #[serde(untagged)]
    pub(super) enum Read {
        Known {
            #[serde(with = "millis")]
            time: Time,
            #[serde(default = "first")]
            path: PathId,
            #[serde(flatten)]
            event: LogEvent,
        },
        Later {
            #[serde(with = "millis")]
            time: Time,
            #[serde(default = "first")]
            path: PathId,
        },
    }

    impl From<Read> for LogEntry {
        fn from(read: Read) -> Self {
            let (time, path, event) = match read {
                Read::Known { time, path, event } => (time, path, event),
                Read::Later { time, path } => (time, path, LogEvent::Unknown),
            };
            LogEntry { time, path, event }
        }
    }

    /// Milliseconds with three decimals: all that a [`Time`] has.
    pub(super) mod millis {
        use serde::{Deserialize, Deserializer, Serializer};

        use crate::time::Time;

        pub(in super::super) fn serialize<S: Serializer>(
            time: &Time,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            to.serialize_f64(time.as_micros() as f64 / 1e3)
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Time, D::Error> {
            let millis = f64::deserialize(from)?;
            Ok(Time::from_micros((millis * 1e3).round() as u64))
        }
    }
}

#[cfg(feature = "serde")]
fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// What happened. `*_sent`, `Filled`, `EdgeMoved`, `Estimates` and `AllAcknowledged` are about the
/// flow that this end sends; the others about the one that it receives.
///
/// `size` is in bytes of the session's datagram, without the carrier's headers. `number` is the
/// number of a transmission: each source, repair and probe datagram has the next one.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "name", content = "data"))]
#[non_exhaustive]
#[allow(
    missing_docs,
    reason = "fields are explained at the variants and above"
)]
pub enum LogEvent {
    /// HELLO left.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:hello_sent"))]
    HelloSent { size: u32 },
    /// The application wrote `bytes` to a stream, or gave a message; the other one is `None`.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:written"))]
    Written {
        stream: Option<u64>,
        message: Option<u64>,
        bytes: u64,
    },
    /// Data waits to be sent on this path for another reason than before; `None`: nothing waits any
    /// more, or it leaves as soon as the carrier asks for it.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:held"))]
    Held { by: Option<HoldReason> },
    /// A source symbol left. `edge` is the oldest unacknowledged ESI; `again`: it was sent before;
    /// `fin`: a stream ends in it; `riders`: repair symbols in the same datagram. When it is sent first:
    /// `streams` of which bytes are in it, and how many; `messages` of which bytes are in it.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:source_sent"))]
    SourceSent {
        number: u64,
        size: u32,
        esi: Esi,
        edge: Esi,
        again: bool,
        fin: bool,
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
        riders: u8,
        #[cfg_attr(
            feature = "serde",
            serde(default, skip_serializing_if = "Few::is_empty")
        )]
        streams: Few<(u64, u64)>,
        #[cfg_attr(
            feature = "serde",
            serde(default, skip_serializing_if = "Few::is_empty")
        )]
        messages: Few<u64>,
    },
    /// A repair symbol left. Its encoding window is `first` and the `count - 1` ESIs after it. `key`
    /// determines the coding vector, unless the datagram carries it.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:repair_sent"))]
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
    #[cfg_attr(feature = "serde", serde(rename = "weftline:probe_sent"))]
    ProbeSent {
        number: u64,
        size: u32,
        next: Esi,
        edge: Esi,
    },
    /// A report left.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:report_sent"))]
    ReportSent(Box<LogReport>),
    /// CLOSE left.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:close_sent"))]
    CloseSent { size: u32 },
    /// A part of a datagram too long for the path left. The datagram has an entry of its own, when
    /// its first part leaves, which has none.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:piece_sent"))]
    PieceSent { size: u32 },
    /// Source symbols that are sent only in repair symbols entered the encoding window.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:filled"))]
    Filled { first: Esi, count: u64, fin: bool },
    /// HELLO arrived.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:hello_received"))]
    HelloReceived { size: u32 },
    /// A source symbol arrived. `useful`: this end lacked it; `riders`: repair symbols in the same
    /// datagram; `delivered`: the number of symbols, from `esi` on, over which it moved the in-order edge.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:source_received"))]
    SourceReceived {
        number: u64,
        size: u32,
        esi: Esi,
        useful: bool,
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
        riders: u8,
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
        delivered: u64,
    },
    /// A repair symbol arrived. `useful`: it raised the rank. `unknowns` symbols are missing now, and
    /// `rank` equations are left about them.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:repair_received"))]
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
    #[cfg_attr(feature = "serde", serde(rename = "weftline:probe_received"))]
    ProbeReceived { number: u64, size: u32, next: Esi },
    /// A report arrived. `news`: it is newer than all before.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:report_received"))]
    ReportReceived {
        #[cfg_attr(feature = "serde", serde(flatten))]
        report: Box<LogReport>,
        news: bool,
    },
    /// CLOSE arrived.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:close_received"))]
    CloseReceived { size: u32 },
    /// A datagram was refused.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:dropped"))]
    Dropped { size: u32, reason: DropReason },
    /// `count` missing symbols became known together, solved from repair symbols: the size of the
    /// decoded matrix. `unknowns` symbols are still missing, with `rank` equations.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:decoded"))]
    Decoded {
        symbols: Vec<EsiRun>,
        count: u64,
        unknowns: u64,
        rank: u64,
    },
    /// The in-order edge moved over these symbols, and no `SourceReceived` tells it. `given_up` of them are
    /// not known: their sender no longer covers them.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:delivered"))]
    Delivered {
        first: Esi,
        count: u64,
        given_up: u64,
    },
    /// In-order delivery stalls: `esi` is missing, and nothing was missing before.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:stall_began"))]
    StallBegan { esi: Esi },
    /// Nothing is missing any more. The stall began at `began`.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:stall_ended"))]
    StallEnded {
        #[cfg_attr(feature = "serde", serde(rename = "began_us"))]
        began: Time,
        next: Esi,
    },
    /// The lower edge of the encoding window moved from `previous` to `edge`, the oldest unacknowledged
    /// ESI now. `next` is the ESI of the next new source symbol.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:edge_moved"))]
    EdgeMoved { previous: Esi, edge: Esi, next: Esi },
    /// What the sender knows of the path after a report: the loss rate and mean burst of its rate
    /// control and schemes, the smoothed round-trip time, bytes in flight; and, from the scheme if
    /// it has them, the loss rate that it plans with, its share of repairs for each source symbol
    /// (R), and the source symbols between two repairs (k).
    #[cfg_attr(feature = "serde", serde(rename = "weftline:estimates"))]
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
    #[cfg_attr(feature = "serde", serde(rename = "weftline:end_of_data"))]
    EndOfData { esi: Esi },
    /// The peer has everything that was written, up to `next`.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:all_acknowledged"))]
    AllAcknowledged { next: Esi },
    /// The session is over.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:closed"))]
    Closed { reason: EndReason },
    /// The log was full: this many entries are missing here.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:gap"))]
    Gap { entries: u64 },
    /// An entry of a later version, when a log is read.
    #[cfg_attr(feature = "serde", serde(rename = "weftline:unknown"))]
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

/// Why data waits at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum HoldReason {
    /// The peer's flow control: its application has not read enough.
    Credit,
    /// The peer's limit of symbols, or this end's own, is reached: older ones must be acknowledged first.
    Symbols,
    /// The congestion window is full.
    Window,
    /// The rate: the path takes the next datagram later.
    Rate,
    /// Another path is to send it.
    OtherPath,
    /// The scheme: it sends a new symbol later, as after the repairs of a block.
    Scheme,
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
