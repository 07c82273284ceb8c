//! The share of source symbols among all symbols sent.

use core::fmt;
use core::str::FromStr;

/// Code rate: source symbols / (source + repair symbols), as an exact ratio, so
/// that the spacing of repairs never drifts. 1 means no repair.
///
/// ```
/// use weftline_fecframe::CodeRate;
/// let rate: CodeRate = "2/3".parse()?;
/// assert_eq!(rate, CodeRate::new(4, 6)?);
/// assert_eq!(rate.repairs_after(10), 5);
/// # Ok::<(), weftline_fecframe::CodeRateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeRate {
    source: u32,
    total: u32,
}

impl CodeRate {
    /// No repair at all.
    pub const ONE: CodeRate = CodeRate {
        source: 1,
        total: 1,
    };

    /// `source` of every `total` symbols are source symbols.
    ///
    /// # Errors
    ///
    /// When `source` is 0 or above `total`, or `total` above 1,000,000.
    pub fn new(source: u32, total: u32) -> Result<Self, CodeRateError> {
        if source == 0 || source > total || total > 1_000_000 {
            return Err(CodeRateError::Range {
                numerator: source,
                denominator: total,
            });
        }
        let divisor = greatest_common_divisor(source, total);
        Ok(Self {
            source: source / divisor,
            total: total / divisor,
        })
    }

    /// The numerator, in lowest terms.
    #[must_use]
    pub fn source(self) -> u32 {
        self.source
    }

    /// The denominator, in lowest terms.
    #[must_use]
    pub fn total(self) -> u32 {
        self.total
    }

    /// Repair symbols due once `sources` source symbols have been sent:
    /// floor(sources x (1 / rate - 1)).
    #[must_use]
    pub fn repairs_after(self, sources: u64) -> u64 {
        let repairs = u128::from(sources) * u128::from(self.total - self.source);
        u64::try_from(repairs / u128::from(self.source)).unwrap_or(u64::MAX)
    }

    /// Source symbols between two repair symbols, rate / (1 - rate) (Roca et al.,
    /// "sl"); `None` without repair.
    #[must_use]
    pub fn spacing(self) -> Option<f64> {
        let repairs = self.total - self.source;
        (repairs > 0).then(|| f64::from(self.source) / f64::from(repairs))
    }

    /// As a number above 0, at most 1.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.source) / f64::from(self.total)
    }
}

fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl fmt::Display for CodeRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.source, self.total)
    }
}

impl FromStr for CodeRate {
    type Err = CodeRateError;

    /// Two forms: `2/3`, and decimals such as `0.9` or `1`.
    fn from_str(text: &str) -> Result<Self, CodeRateError> {
        let syntax = || CodeRateError::Syntax {
            got: text.chars().take(40).collect(),
        };
        let digits = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| text.parse::<u32>().ok()).flatten()
        };
        if let Some((source, total)) = text.split_once('/') {
            let (source, total) = (digits(source.trim()), digits(total.trim()));
            return Self::new(source.ok_or_else(syntax)?, total.ok_or_else(syntax)?);
        }
        let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
        if fraction.len() > 6 {
            return Err(syntax());
        }
        let unit = 10_u32.pow(fraction.len() as u32);
        let fraction = digits(fraction).ok_or_else(syntax)?;
        let whole = digits(whole).ok_or_else(syntax)?;
        let source = whole
            .checked_mul(unit)
            .and_then(|w| w.checked_add(fraction));
        Self::new(source.ok_or_else(syntax)?, unit)
    }
}

/// Why a code rate is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodeRateError {
    /// The ratio is 0, above 1, or too fine.
    #[error(
        "a code rate of {numerator}/{denominator} is not possible: it must be above 0 and at most 1, \
         with a denominator up to 1000000"
    )]
    Range {
        /// Source symbols asked for.
        numerator: u32,
        /// All symbols.
        denominator: u32,
    },
    /// The text is neither a ratio nor a decimal number.
    #[error("{got:?} is not a code rate; write 2/3 or 0.667")]
    Syntax {
        /// The text, cut if long.
        got: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repairs_are_spaced_exactly_for_ever() {
        let rate = CodeRate::new(2, 3).unwrap();
        let due: Vec<u64> = (0..7).map(|n| rate.repairs_after(n)).collect();
        assert_eq!(due, [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!(rate.repairs_after(1 << 60), 1 << 59);
        assert_eq!(rate.spacing(), Some(2.0));
        assert_eq!(CodeRate::ONE.repairs_after(u64::MAX), 0);
        assert_eq!(CodeRate::ONE.spacing(), None);
        assert_eq!(CodeRate::new(1, 3).unwrap().repairs_after(5), 10);
    }

    #[test]
    fn text_is_read_and_written() {
        for (text, source, total) in [("2/3", 2, 3), ("0.75", 3, 4), ("1", 1, 1), ("10/15", 2, 3)] {
            let rate: CodeRate = text.parse().unwrap();
            assert_eq!((rate.source(), rate.total()), (source, total));
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        for text in [
            "",
            "0",
            "2",
            "3/2",
            "1/0",
            "x",
            "-1/2",
            "+1/2",
            "0.1234567",
            "1.",
            "9999999999",
        ] {
            assert!(text.parse::<CodeRate>().is_err(), "{text}");
        }
    }
}
