//! The paths of a session, as its driver and its application see them.

use core::time::Duration;

use crate::histogram::Histogram;

/// At most this many paths at a time.
pub const MAX_PATHS: usize = 8;

/// Bits of a transmission's number in its name: each path can send as many datagrams.
const NUMBER_BITS: u32 = 40;

/// Names a path of a session. Each end numbers its own paths; no number is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PathId(u32);

impl PathId {
    /// The path that a session begins with.
    pub const FIRST: PathId = PathId(0);

    /// The number of the path, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// A name for transmission `number` of this path that no other transmission of the session has.
    pub(crate) fn name(self, number: u64) -> u64 {
        u64::from(self.0) << NUMBER_BITS | number
    }

    /// Whether the name is one of this path's.
    pub(crate) fn owns(self, name: u64) -> bool {
        name >> NUMBER_BITS == u64::from(self.0)
    }

    pub(crate) fn next(self) -> Option<PathId> {
        let next = self.0 + 1;
        (next < 1 << (64 - NUMBER_BITS)).then_some(PathId(next))
    }
}

/// How a path is to be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PathOptions {
    /// A path carries data only while those of a lower cost are not enough, or silent. 0 by default.
    pub cost: u8,
}

/// Why a session takes no further path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddPathError {
    /// It has [`MAX_PATHS`].
    #[error("a session has at most {MAX_PATHS} paths at a time: remove one first")]
    TooMany,
    /// Its scheme works over one path.
    #[error("scheme {0} works over one path: use auto, streaming or arq")]
    Scheme(&'static str),
    /// The session is over.
    #[error("the session is over")]
    Closed,
}

/// What one end knows of a path. Counters only ever rise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PathReport {
    /// As the path was added.
    pub cost: u8,
    /// Nothing is heard of the path: what was sent on it and should have been answered was not. Where there
    /// are others, only probes leave on it.
    pub silent: bool,
    /// Smoothed round-trip time; what the configuration assumes before the first measurement.
    pub rtt: Duration,
    /// Smallest round-trip time seen.
    pub min_rtt: Duration,
    /// How long round trips took, as reports measured them, without the peer's delay.
    pub round_trips: Histogram,
    /// Share of recent numbered datagrams that were lost.
    pub loss: f64,
    /// Mean length of a run of lost datagrams; 0 before the first loss.
    pub mean_burst: f64,
    /// Bytes a second that may leave, if the engine controls the rate.
    pub rate: Option<u64>,
    /// How long datagrams waited in a queue of the path, as its newest report told.
    pub queue: Duration,
    /// Bytes sent and neither acknowledged nor known to be lost.
    pub in_flight: u64,
    /// Datagrams of every kind sent on it, and their bytes.
    pub sent_datagrams: u64,
    /// See [`Self::sent_datagrams`].
    pub sent_bytes: u64,
    /// Bytes of numbered datagrams that arrived, as far as reports tell.
    pub arrived_bytes: u64,
    /// Datagrams received on it, and their bytes.
    pub received_datagrams: u64,
    /// See [`Self::received_datagrams`].
    pub received_bytes: u64,
    /// Source symbols sent on it for the first time.
    pub source_symbols: u64,
    /// Source symbols sent on it that were sent before, on any path.
    pub retransmissions: u64,
    /// Repair symbols sent on it.
    pub repair_symbols: u64,
    /// Datagrams sent on it that were taken for lost, and those of them that arrived after all: as in
    /// [`SentStats`](crate::SentStats).
    pub lost_datagrams: u64,
    /// See [`Self::lost_datagrams`].
    pub spurious_losses: u64,
    /// Source symbols that were lost on this path, and that the peer has without another transmission.
    pub recovered_symbols: u64,
}
