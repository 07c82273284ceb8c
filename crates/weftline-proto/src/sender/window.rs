//! The encoding window of a sliding-window code.

use crate::check::{ConfigError, within};
use crate::settings::{Settings, TextError};

/// The source symbols that a repair symbol of a sliding-window code covers. The peer's limits may
/// shorten the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum EncodingWindow {
    /// All unacknowledged source symbols, at most the newest `max`.
    Elastic {
        /// Upper bound on the number of source symbols covered, at least 1.
        max: u16,
    },
    /// The newest `size` source symbols.
    Fixed {
        /// Number of source symbols covered, at least 1.
        size: u16,
    },
    /// The oldest unacknowledged source symbols, at most `size`: the window stays until they are
    /// acknowledged (REST's mobile window).
    Mobile {
        /// Upper bound on the number of source symbols covered, at least 1.
        size: u16,
    },
}

impl EncodingWindow {
    /// The most symbols covered.
    pub(crate) fn size(self) -> u16 {
        match self {
            EncodingWindow::Elastic { max } => max,
            EncodingWindow::Fixed { size } | EncodingWindow::Mobile { size } => size,
        }
    }

    /// Reads a window; `self` if the settings have none.
    pub(crate) fn read(self, settings: &mut Settings) -> Result<Self, TextError> {
        let window = settings.take("encoding", "elastic:N, fixed:N or mobile:N", |value| {
            let (kind, size) = value.split_once(':')?;
            let size = size.parse().ok().filter(|size| (1..=1024).contains(size))?;
            match kind {
                "elastic" => Some(EncodingWindow::Elastic { max: size }),
                "fixed" => Some(EncodingWindow::Fixed { size }),
                "mobile" => Some(EncodingWindow::Mobile { size }),
                _ => None,
            }
        })?;
        Ok(window.unwrap_or(self))
    }

    pub(crate) fn check(self, field: &'static str) -> Result<(), ConfigError> {
        within(field, self.size(), 1..=u16::MAX)
    }
}
