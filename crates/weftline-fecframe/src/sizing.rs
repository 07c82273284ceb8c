//! Window sizes from the values that an application knows: latency, rate, symbol size
//! (RFC 8681, appendix C; Roca et al., "Block or Convolutional AL-FEC Codes?",
//! equations 2 to 6).
//!
//! Latency means the part of the delay budget that erasure coding may use, without the
//! delay of the network (RFC 8681, section 3.1). The RFC does not say how to round.
//! Here a sender rounds down and a receiver up, so the receiver's window is never
//! smaller than the sender assumes.

use core::time::Duration;

use crate::CodeRate;
use crate::payload_id::MAX_NSS;
use crate::time::micros;

/// A window size ratio that RFC 8681 calls reasonable: about 3/4.
pub const REASONABLE_RATIO: u8 = 191;

/// The least number of symbols in the linear system (RFC 8681, appendix D).
pub const LEAST_LINEAR_SYSTEM: u32 = 40;

/// Sizes that belong together, in symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// dw_max: symbols that are still in time.
    pub decoding_window: u32,
    /// ew_max: symbols that a repair covers, at most 4095.
    pub encoding_window: u16,
    /// ls_max: symbols that equations may contain; the others are late.
    pub linear_system: u32,
}

/// Why there are no sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SizingError {
    /// The latency is over before the next symbol.
    #[error(
        "{latency:?} is too short: fewer than 2 symbols fit in; allow more, or use smaller symbols"
    )]
    TooShort {
        /// The latency asked for.
        latency: Duration,
    },
    /// More symbols than any window can have.
    #[error(
        "a decoding window of {symbols} symbols is too long; allow less latency or use larger symbols"
    )]
    TooLong {
        /// Symbols it would have.
        symbols: u64,
    },
    /// A window size ratio of 0 determines nothing.
    #[error(
        "a window size ratio of 0 gives no window; name one from 1 to 255, or the window itself"
    )]
    NoRatio,
    /// E is 0.
    #[error("symbols must have at least 1 octet")]
    NoSymbolSize,
}

/// The rate of the data to protect.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rate {
    /// The rate of source data, in bit/s.
    ConstantInput(u64),
    /// The rate of source and repair data together, in bit/s, at this code
    /// rate.
    ConstantOutput(u64, CodeRate),
    /// Source symbols per second: ADUs per second times symbols of an ADU.
    Symbols(u64),
}

/// Sizes for a maximum latency, a rate, symbols of `symbol_size` octets and a
/// window size ratio.
///
/// ```
/// use std::time::Duration;
/// use weftline_fecframe::sizing::{Rate, sizes};
/// let sizes = sizes(Duration::from_millis(100), Rate::ConstantInput(10_000_000), 1400, 191)?;
/// assert_eq!((sizes.decoding_window, sizes.encoding_window), (89, 66));
/// # Ok::<(), weftline_fecframe::sizing::SizingError>(())
/// ```
///
/// # Errors
///
/// When no window has these properties; see [`SizingError`]. A decoding window above
/// 2^20 symbols is refused; an encoding window has at most 4095.
pub fn sizes(
    latency: Duration,
    rate: Rate,
    symbol_size: u16,
    window_size_ratio: u8,
) -> Result<Sizes, SizingError> {
    if symbol_size == 0 {
        return Err(SizingError::NoSymbolSize);
    }
    let (time, bits) = (u128::from(micros(latency)), 8 * u128::from(symbol_size));
    let per_second = 1_000_000;
    let symbols = match rate {
        Rate::ConstantInput(rate) => time * u128::from(rate) / (bits * per_second),
        Rate::ConstantOutput(rate, code) => {
            let source = time.saturating_mul(u128::from(rate) * u128::from(code.source()));
            source / (bits * per_second * u128::from(code.total()))
        }
        Rate::Symbols(rate) => time * u128::from(rate) / per_second,
    };
    let symbols = u64::try_from(symbols).unwrap_or(u64::MAX);
    if symbols < 2 {
        return Err(SizingError::TooShort { latency });
    }
    let decoding_window = u32::try_from(symbols).ok().filter(|dw| *dw <= 1 << 20);
    let decoding_window = decoding_window.ok_or(SizingError::TooLong { symbols })?;
    Ok(Sizes {
        decoding_window,
        encoding_window: encoding_window(decoding_window, window_size_ratio)?,
        linear_system: linear_system(decoding_window),
    })
}

/// ew_max = dw_max x WSR / 255, rounded down, from 1 to 4095.
///
/// # Errors
///
/// [`SizingError::NoRatio`].
pub fn encoding_window(decoding_window: u32, window_size_ratio: u8) -> Result<u16, SizingError> {
    if window_size_ratio == 0 {
        return Err(SizingError::NoRatio);
    }
    let symbols = u64::from(decoding_window) * u64::from(window_size_ratio) / 255;
    Ok(symbols.clamp(1, u64::from(MAX_NSS)) as u16)
}

/// The decoding window that a receiver derives from the longest window it has seen:
/// dw_max = NSS x 255 / WSR, rounded up. `None` with a ratio of 0, which determines
/// nothing.
#[must_use]
pub fn decoding_window(nss: u16, window_size_ratio: u8) -> Option<u32> {
    let ratio = u32::from(window_size_ratio);
    (ratio > 0).then(|| (u32::from(nss) * 255).div_ceil(ratio))
}

/// ls_max = max(2 dw_max, 40): late symbols stay unknowns, because solving for them can
/// recover others that are in time (RFC 8681, appendix D).
#[must_use]
pub fn linear_system(decoding_window: u32) -> u32 {
    decoding_window.saturating_mul(2).max(LEAST_LINEAR_SYSTEM)
}

/// How long a symbol may stay in the encoding window when the rate varies: the
/// latency x WSR / 255. Zero with a ratio of 0.
#[must_use]
pub fn validity(latency: Duration, window_size_ratio: u8) -> Duration {
    let micros = u128::from(micros(latency)) * u128::from(window_size_ratio) / 255;
    Duration::from_micros(micros as u64)
}

/// The most source symbols of a Reed-Solomon block over GF(2^`m`) at a code rate,
/// max_k = floor((2^m - 1) x CR) (RFC 6865, section 4.2), `m` from 2 to 16.
#[must_use]
pub fn longest_block(m: u8, code_rate: CodeRate) -> u16 {
    let symbols = (1_u64 << m.clamp(2, 16)) - 1;
    (symbols * u64::from(code_rate.source()) / u64::from(code_rate.total())) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(latency: u64, rate: u64, symbol_size: u16) -> Sizes {
        let latency = Duration::from_millis(latency);
        sizes(latency, Rate::ConstantInput(rate), symbol_size, 191).unwrap()
    }

    #[test]
    fn sizes_are_those_worked_by_hand() {
        let first = constant(100, 10_000_000, 1400);
        assert_eq!((first.decoding_window, first.encoding_window), (89, 66));
        assert_eq!(first.linear_system, 178);
        // 66 x 255 / 191 = 88.1: up, so that the sender's 89 comes back.
        assert_eq!(decoding_window(66, 191), Some(89));
        let second = constant(50, 2_000_000, 1200);
        assert_eq!((second.decoding_window, second.encoding_window), (10, 7));
        assert_eq!(second.linear_system, 40);
        assert_eq!(decoding_window(7, 191), Some(10));
        assert_eq!(decoding_window(7, 0), None);
    }

    #[test]
    fn an_output_rate_is_shared_with_the_repair() {
        let code_rate = CodeRate::new(2, 3).unwrap();
        let rate = Rate::ConstantOutput(15_000_000, code_rate);
        let sizes = sizes(Duration::from_millis(100), rate, 1400, 191).unwrap();
        assert_eq!(sizes, constant(100, 10_000_000, 1400));
    }

    #[test]
    fn the_papers_parameters_come_out() {
        let code_rate = CodeRate::new(2, 3).unwrap();
        let rate = Rate::Symbols(1000);
        let sizes = sizes(Duration::from_millis(167), rate, 256, 128).unwrap();
        assert_eq!((sizes.decoding_window, sizes.encoding_window), (167, 83));
        assert_eq!(longest_block(8, code_rate), 170);
        assert_eq!(longest_block(4, code_rate), 10);
    }

    #[test]
    fn impossible_sizes_are_refused_and_nothing_overflows() {
        let hour = Duration::from_secs(3600);
        let refused = |latency, rate, e, wsr| sizes(latency, rate, e, wsr).unwrap_err();
        let input = Rate::ConstantInput;
        assert_eq!(refused(hour, input(1), 0, 1), SizingError::NoSymbolSize);
        assert_eq!(
            refused(hour, input(1_000_000), 1400, 0),
            SizingError::NoRatio
        );
        let short = Duration::from_micros(1);
        let error = refused(short, input(1_000_000), 1400, 191);
        assert_eq!(error, SizingError::TooShort { latency: short });
        for rate in [
            input(u64::MAX),
            Rate::Symbols(u64::MAX),
            Rate::ConstantOutput(u64::MAX, CodeRate::ONE),
        ] {
            let error = refused(Duration::MAX, rate, 1, 1);
            assert!(matches!(error, SizingError::TooLong { .. }), "{error}");
        }
        let long = sizes(Duration::from_secs(10), Rate::Symbols(100_000), 1, 255);
        assert_eq!(long.unwrap().encoding_window, 4095);
        assert_eq!(validity(Duration::from_millis(255), 191).as_millis(), 191);
    }
}
