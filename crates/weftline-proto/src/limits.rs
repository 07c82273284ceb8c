//! The limits of what one end accepts from the other.

use crate::check::{ConfigError, within};

/// A symbol size that every implementation accepts before it has seen HELLO.
pub const MIN_SYMBOL_SIZE: u16 = 1200;

/// Symbols of up to this many bytes, as paths with an MTU of 1500 carry them, count alike. Of longer
/// ones a receiver holds fewer.
pub(crate) const USUAL_SYMBOL: u16 = 1500;

/// The shortest datagram, in bytes, that a path may take: see
/// [`Session::set_largest_datagram`](crate::Session::set_largest_datagram). Every datagram fits its
/// pieces.
pub const MIN_DATAGRAM: usize = 256;

/// Bytes of flow control credit that a message fragment costs in addition to its data, so that
/// credit bounds the receiver's memory even for empty messages.
pub const FRAGMENT_COST: u64 = 256;

/// Shortest fragment of a message, in bytes; only the last one may be shorter.
pub const MIN_FRAGMENT: usize = 64;

/// Most symbols: the span of a datagram has 16 bits and may cover twice the credit.
const MOST_SYMBOLS: u32 = 16_384;

/// Most bytes of any buffer: the wire format can express them, with room for sums.
const MOST_BYTES: u64 = 1 << 60;

/// What one end accepts from the other. The limits bound its memory and its work per datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Limits {
    /// Payload bytes of a source symbol, 1200 to 65,535. Symbols of more than 1500 bytes take no more
    /// memory: while there are some, `symbols` is smaller in proportion.
    pub symbol_size: u16,
    /// Source symbols from the lowest unknown one to the highest one that may be sent, 256 to 16,384.
    pub symbols: u32,
    /// Source symbols that one repair symbol may cover, 64 to 65,535.
    pub window: u16,
    /// Symbols that may be missing at once before further repairs are refused, 128 to 65,535.
    pub unknowns: u16,
    /// Bytes of stream data in the session that the application has not read, at least 256 KiB.
    pub session_data: u64,
    /// Bytes of one stream that the application has not read, at least 256 KiB.
    pub stream_data: u64,
    /// To how many bytes that grows for a stream whose sender it holds back although the application reads all
    /// that arrives; below `stream_data` it does not grow. The peer is not told.
    pub stream_data_most: u32,
    /// Streams that the peer may have open at once, at least 8.
    pub streams: u32,
    /// Bytes of one message, at least 16 KiB. The peer learns a lower limit if `session_data` and
    /// `message_data` cannot hold such a message in the shortest fragments.
    pub message_size: u32,
    /// Bytes of messages that are incomplete or not yet read by the application, at least 128 KiB.
    pub message_data: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            symbol_size: 9000,
            symbols: 8192,
            window: 1024,
            unknowns: 2048,
            session_data: 24 << 20,
            stream_data: 16 << 20,
            stream_data_most: 0,
            streams: 256,
            message_size: 1 << 20,
            message_data: 8 << 20,
        }
    }
}

impl Limits {
    /// The lowest limits that the protocol allows, which a peer may assume before it has seen HELLO.
    pub const LEAST: Limits = Limits {
        symbol_size: MIN_SYMBOL_SIZE,
        symbols: 256,
        window: 64,
        unknowns: 128,
        session_data: 256 << 10,
        stream_data: 256 << 10,
        stream_data_most: 0,
        streams: 8,
        message_size: 16 << 10,
        message_data: 128 << 10,
    };

    /// Refuses the first limit that the protocol does not allow.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let least = Limits::LEAST;
        let most = MOST_BYTES;
        within(
            "limits.symbol_size",
            self.symbol_size,
            least.symbol_size..=u16::MAX,
        )?;
        within("limits.symbols", self.symbols, least.symbols..=MOST_SYMBOLS)?;
        within("limits.window", self.window, least.window..=u16::MAX)?;
        within("limits.unknowns", self.unknowns, least.unknowns..=u16::MAX)?;
        within(
            "limits.session_data",
            self.session_data,
            least.session_data..=most,
        )?;
        within(
            "limits.stream_data",
            self.stream_data,
            least.stream_data..=most,
        )?;
        within("limits.streams", self.streams, least.streams..=u32::MAX)?;
        within(
            "limits.message_data",
            self.message_data,
            least.message_data..=most,
        )?;
        within(
            "limits.message_size",
            self.message_size,
            least.message_size..=u32::MAX,
        )
    }

    /// As `symbols`, while some are longer than usual.
    pub(crate) fn long_symbols(&self) -> u32 {
        let size = self.symbol_size.max(USUAL_SYMBOL);
        (u64::from(self.symbols) * u64::from(USUAL_SYMBOL) / u64::from(size)) as u32
    }

    /// The limits that the peer learns. A message must fit its credit even in the shortest fragments,
    /// and without the quarter of the credit that the receiver has not given back yet.
    pub(crate) fn announced(self) -> Limits {
        let shortest = MIN_FRAGMENT as u64;
        let credit = self.session_data.min(self.message_data) / 4 * 3;
        let longest = credit / (shortest + FRAGMENT_COST) * shortest;
        let longest = u32::try_from(longest).unwrap_or(u32::MAX);
        Limits {
            message_size: self.message_size.min(longest),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_and_the_lowest_limits_are_accepted() {
        assert_eq!(Limits::default().check(), Ok(()));
        assert_eq!(Limits::LEAST.check(), Ok(()));
    }

    #[test]
    fn a_limit_out_of_range_is_refused_by_name() {
        let limits = Limits {
            symbols: 20_000,
            ..Limits::default()
        };
        assert_eq!(
            limits.check().unwrap_err().to_string(),
            "limits.symbols = 20000 is out of range: give 256 to 16384"
        );
    }

    #[test]
    fn the_announced_message_size_fits_the_credit() {
        let limits = Limits {
            message_size: 8 << 20,
            ..Limits::default()
        };
        assert_eq!(limits.announced().message_size, 1_258_240);
        assert_eq!(Limits::default().announced(), Limits::default());
        assert_eq!(Limits::LEAST.announced(), Limits::LEAST);
    }
}
