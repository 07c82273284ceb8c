//! The application's traffic.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use weftline_netem::units;

use crate::Pace;

/// The traffic of the writer's application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Application {
    /// Messages on one stream at a constant rate, whether or not they arrive.
    Cbr {
        /// Bits per second.
        rate: u64,
        /// Bytes of a message, 16 at least.
        size: usize,
    },
    /// The same as a video of 30 frames/s: [`Pace::Video`].
    Video {
        /// Bits per second.
        rate: u64,
        /// Bytes of a message, 16 at least.
        size: usize,
    },
    /// As much data as the path carries.
    Bulk,
    /// The same in messages, each due when the session accepts it.
    Saturating {
        /// Bytes of a message, 16 at least.
        size: usize,
    },
    /// One transfer, then the end.
    File {
        /// Bytes.
        size: u64,
    },
}

/// Not an application.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an application: give cbr:RATE,SIZE or video:RATE,SIZE (as cbr:10mbit,1200), bulk, bulk:SIZE \
     or file:SIZE (as file:1MB)"
)]
pub struct UnknownApplication(String);

/// A message begins with its number and its due time.
const HEADER: usize = 16;

impl Application {
    /// Bytes of a message, if it writes messages.
    pub(super) fn message(self) -> Option<usize> {
        match self {
            Application::Cbr { size, .. }
            | Application::Video { size, .. }
            | Application::Saturating { size } => Some(size),
            Application::Bulk | Application::File { .. } => None,
        }
    }

    /// Its messages, if they are due whether or not the session accepts them.
    pub(super) fn timed(self) -> Option<Timed> {
        let (pace, rate, size) = match self {
            Application::Cbr { rate, size } => (Pace::Constant, rate, size),
            Application::Video { rate, size } => (Pace::Video, rate, size),
            _ => return None,
        };
        Some(Timed { pace, rate, size })
    }
}

/// Messages that are due at times of their own.
#[derive(Clone, Copy)]
pub(super) struct Timed {
    pace: Pace,
    rate: u64,
    pub(super) size: usize,
}

impl Timed {
    /// When message `number` is due.
    pub(super) fn due(self, number: u64) -> Duration {
        self.pace.due(self.rate, self.size, number)
    }
}

impl FromStr for Application {
    type Err = UnknownApplication;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || UnknownApplication(text.to_owned());
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "bulk" if rest.is_empty() => Ok(Application::Bulk),
            "bulk" => {
                let size = rest.parse().map_err(|_| wrong())?;
                let fits = (HEADER..=1 << 16).contains(&size);
                fits.then_some(Application::Saturating { size })
                    .ok_or_else(wrong)
            }
            "cbr" | "video" => {
                let (rate, size) = rest.split_once(',').unwrap_or((rest, "1200"));
                let rate = units::parse_rate(rate).map_err(|_| wrong())?;
                let size = size.parse().map_err(|_| wrong())?;
                let fits = rate > 0 && (HEADER..=1 << 20).contains(&size);
                let application = match kind {
                    "cbr" => Application::Cbr { rate, size },
                    _ => Application::Video { rate, size },
                };
                fits.then_some(application).ok_or_else(wrong)
            }
            "file" => {
                let size = units::parse_size(rest).map_err(|_| wrong())? as u64;
                (size > 0)
                    .then_some(Application::File { size })
                    .ok_or_else(wrong)
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Application::Cbr { rate, size } => write!(f, "cbr:{rate}bit,{size}"),
            Application::Video { rate, size } => write!(f, "video:{rate}bit,{size}"),
            Application::Bulk => f.write_str("bulk"),
            Application::Saturating { size } => write!(f, "bulk:{size}"),
            Application::File { size } => write!(f, "file:{size}"),
        }
    }
}
