//! When the receiver reports its state.

use core::time::Duration;

use crate::check::{ConfigError, within};

/// The longest interval between reports. With a longer one a lost report would stall the sender.
pub(crate) const LONGEST_FEEDBACK_INTERVAL: Duration = Duration::from_secs(10);
const MILLISECOND: Duration = Duration::from_millis(1);

/// When the receiver reports its state.
///
/// The sender of a flow chooses, and tells its peer in HELLO: tuning one end is enough. Where reports
/// wait for each other on a slow return path, the receiver sends fewer than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Feedback {
    /// After every datagram; at most once in `min_interval` while there is no news, neither a gap
    /// nor a recovery.
    EveryDatagram {
        /// Shortest time between two reports without news, at most 10 s.
        min_interval: Duration,
    },
    /// Once in each `interval` while data arrives.
    Periodic {
        /// Time between two reports, 1 ms to 10 s.
        interval: Duration,
    },
    /// When a block of [`Rateless`](crate::Rateless) is complete, and again at once for each
    /// further repair symbol of that block. Otherwise once in each `interval` while data arrives,
    /// for the rate control and the estimates of the path. Only `Rateless` has such blocks.
    Block {
        /// Time between two reports while no block completes, 1 ms to 10 s.
        interval: Duration,
    },
    /// As rarely as a delay allows: when something has been missing for `target`, or after as many
    /// datagrams as a report covers at most, and otherwise after [`Feedback::SELDOM`] times `target`.
    Adaptive {
        /// Losses wait no longer than this for a report, 1 us to 1.25 s.
        target: Duration,
    },
}

impl Feedback {
    /// While nothing is missing, [`Feedback::Adaptive`] reports after this many times its target.
    pub const SELDOM: u32 = 8;

    /// The longest time between two reports while data arrives.
    pub(crate) fn longest(self) -> Duration {
        match self {
            Feedback::EveryDatagram { min_interval } => min_interval,
            Feedback::Periodic { interval } | Feedback::Block { interval } => interval,
            Feedback::Adaptive { target } => target * Feedback::SELDOM,
        }
    }

    pub(crate) fn check(self) -> Result<(), ConfigError> {
        let most = LONGEST_FEEDBACK_INTERVAL;
        match self {
            Feedback::EveryDatagram { min_interval } => {
                within("feedback.min_interval", min_interval, Duration::ZERO..=most)
            }
            Feedback::Periodic { interval } | Feedback::Block { interval } => {
                within("feedback.interval", interval, MILLISECOND..=most)
            }
            Feedback::Adaptive { target } => within(
                "feedback.target",
                target,
                Duration::from_micros(1)..=most / Feedback::SELDOM,
            ),
        }
    }
}
