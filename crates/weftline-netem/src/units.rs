//! Numbers with units, as in the text form of a link. A command line parser that takes
//! `fn(&str) -> Result<T, E>` can use each `parse_` function as it is.

use core::fmt;
use core::time::Duration;

use crate::loss::FromMeanError;

/// A value that cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The text is not of the accepted form.
    #[error("`{got}` is not {expected}")]
    Malformed {
        /// The text given, shortened.
        got: String,
        /// What is accepted.
        expected: &'static str,
    },
    /// No loss model has these means.
    #[error(transparent)]
    Impossible(#[from] FromMeanError),
}

const RATE: &str = "a rate such as 25mbit (bit, kbit, mbit, gbit; whole bits per second)";
const DURATION: &str = "a duration such as 30ms (ns, us, ms, s; no finer than 1 ns)";
const SIZE: &str = "a size in bytes such as 1500, 1500B or 64kB (B, kB, MB; 1 kB is 1000 B)";
const PROBABILITY: &str = "a share such as 10% or 0.1, from 0% to 100%";

const RATE_UNITS: &[Unit] = &[
    ("gbit", 1_000_000_000),
    ("mbit", 1_000_000),
    ("kbit", 1000),
    ("bit", 1),
];
const DURATION_UNITS: &[Unit] = &[
    ("ms", 1_000_000),
    ("us", 1000),
    ("ns", 1),
    ("s", 1_000_000_000),
];
const SIZE_UNITS: &[Unit] = &[("MB", 1_000_000), ("kB", 1000), ("B", 1), ("", 1)];

/// Reads a rate such as `25mbit` into bit/s. `0bit` is a link that is down.
///
/// # Errors
/// When the unit is missing or unknown, or the rate is not whole or above `u64`.
pub fn parse_rate(text: &str) -> Result<u64, ValueError> {
    let rate = scaled(text, RATE_UNITS).and_then(|bits| u64::try_from(bits).ok());
    rate.ok_or_else(|| malformed(text, RATE))
}

/// Reads a duration such as `30ms` or `1.5s`; a bare `0` needs no unit.
///
/// # Errors
/// When the unit is missing or unknown, or the value is finer than 1 ns or too large.
pub fn parse_duration(text: &str) -> Result<Duration, ValueError> {
    let nanos = if text == "0" {
        Some(0)
    } else {
        scaled(text, DURATION_UNITS)
    };
    let duration = nanos.and_then(|nanos| {
        let secs = u64::try_from(nanos / 1_000_000_000).ok()?;
        Some(Duration::new(secs, (nanos % 1_000_000_000) as u32))
    });
    duration.ok_or_else(|| malformed(text, DURATION))
}

/// Reads a size such as `64kB`, `1500B` or `1500` into bytes.
///
/// # Errors
/// When the unit is unknown or the size is not whole or above `usize`.
pub fn parse_size(text: &str) -> Result<usize, ValueError> {
    let size = scaled(text, SIZE_UNITS).and_then(|bytes| usize::try_from(bytes).ok());
    size.ok_or_else(|| malformed(text, SIZE))
}

/// Reads a share such as `10%` or `0.1`, 0 to 1 inclusive.
///
/// # Errors
/// When it is not a plain decimal number or outside 0 to 1.
pub fn parse_probability(text: &str) -> Result<f64, ValueError> {
    let value = match text.strip_suffix('%') {
        // Moving the point in the text rounds once, a division would round twice.
        Some(percent) => decimal(percent).and_then(|()| format!("{percent}e-2").parse().ok()),
        None => decimal(text).and_then(|()| text.parse().ok()),
    };
    let within = value.filter(|p: &f64| (0.0..=1.0).contains(p));
    within.ok_or_else(|| malformed(text, PROBABILITY))
}

/// Shows a rate in bit/s in the form [`parse_rate`] reads.
pub fn rate(bits_per_second: u64) -> impl fmt::Display {
    Scaled(bits_per_second.into(), RATE_UNITS, "bit")
}

/// Shows a duration in the form [`parse_duration`] reads.
pub fn duration(duration: Duration) -> impl fmt::Display {
    const LARGEST_FIRST: &[Unit] = &[
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1000),
        ("ns", 1),
    ];
    Scaled(duration.as_nanos(), LARGEST_FIRST, "ms")
}

/// Shows a size in bytes in the form [`parse_size`] reads.
pub fn size(bytes: usize) -> impl fmt::Display {
    Scaled(bytes as u128, SIZE_UNITS, "B")
}

/// Shows a share of 0 to 1 as a percentage [`parse_probability`] reads back exactly.
pub fn percent(share: f64) -> impl fmt::Display {
    Percent(share)
}

pub(crate) fn malformed(got: &str, expected: &'static str) -> ValueError {
    const MOST: usize = 40;
    let mut shown: String = got.chars().take(MOST).collect();
    if shown.len() < got.len() {
        shown.push_str("...");
    }
    ValueError::Malformed {
        got: shown,
        expected,
    }
}

/// `Some` when `text` is digits with at most one point and at least one digit.
pub(crate) fn decimal(text: &str) -> Option<()> {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let points = text.bytes().filter(|b| *b == b'.').count();
    (digits > 0 && points <= 1 && digits + points == text.len()).then_some(())
}

/// Name and size in the base unit.
type Unit = (&'static str, u128);

/// Reads a decimal number with a unit, exactly. Where one name ends another, the
/// longer one must come first in `units`.
fn scaled(text: &str, units: &[Unit]) -> Option<u128> {
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    decimal(number)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let whole: u128 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut total = whole.checked_mul(*unit)?;
    let mut place = *unit;
    for digit in fraction.bytes() {
        if place % 10 != 0 {
            return None;
        }
        place /= 10;
        total = total.checked_add(place * u128::from(digit - b'0'))?;
    }
    Some(total)
}

/// A number in the largest unit that is not larger than it, all digits shown;
/// zero in the unit given last.
struct Scaled(u128, &'static [Unit], &'static str);

impl fmt::Display for Scaled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value, units, zero) = *self;
        let Some((name, unit)) = units.iter().find(|(_, unit)| *unit <= value) else {
            return write!(f, "0{zero}");
        };
        let places = unit.ilog10() as usize;
        let fraction = format!("{:0places$}", value % unit);
        write!(f, "{}", value / unit)?;
        match fraction.trim_end_matches('0') {
            "" => {}
            digits => write!(f, ".{digits}")?,
        }
        write!(f, "{name}")
    }
}

struct Percent(f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The shortest decimal that reads back as this number, then the point
        // moved by two places in the text: no rounding.
        let text = self.0.to_string();
        if decimal(&text).is_none() {
            return write!(f, "{text}");
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let (moved, rest) = fraction.split_at(fraction.len().min(2));
        let digits = format!("{whole}{moved:0<2}");
        let digits = digits.trim_start_matches('0');
        write!(f, "{}", if digits.is_empty() { "0" } else { digits })?;
        if !rest.is_empty() {
            write!(f, ".{rest}")?;
        }
        write!(f, "%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_exactly() {
        assert_eq!(parse_rate("25mbit"), Ok(25_000_000));
        assert_eq!(parse_rate("2.5gbit"), Ok(2_500_000_000));
        assert_eq!(parse_rate("0.064mbit"), Ok(64_000));
        assert_eq!(parse_rate("1bit"), Ok(1));
        assert_eq!(parse_rate("18446744073709551615bit"), Ok(u64::MAX));
        for bad in [
            "",
            "25",
            "mbit",
            "0.5bit",
            "-1mbit",
            "25MB",
            "1e3bit",
            "1.2.3kbit",
            "20000000000gbit",
        ] {
            assert!(parse_rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations_are_read_exactly() {
        assert_eq!(parse_duration("30ms"), Ok(Duration::from_millis(30)));
        assert_eq!(parse_duration("1.000000001s"), Ok(Duration::new(1, 1)));
        assert_eq!(parse_duration(".5us"), Ok(Duration::from_nanos(500)));
        assert_eq!(parse_duration("7.0ns"), Ok(Duration::from_nanos(7)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        for bad in [
            "",
            "30",
            "s",
            ".s",
            "0.5ns",
            "1.0000000001s",
            "30m",
            "-1s",
            "30 ms",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
        let too_long = format!("{}s", u128::MAX);
        assert!(parse_duration(&too_long).is_err());
    }

    #[test]
    fn sizes_are_read_exactly() {
        assert_eq!(parse_size("64kB"), Ok(64_000));
        assert_eq!(parse_size("1500"), Ok(1500));
        assert_eq!(parse_size("1.5MB"), Ok(1_500_000));
        for bad in ["", "B", "64kbit", "64KB", "0.5B"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shares_are_read_as_percentage_or_fraction() {
        assert_eq!(parse_probability("10%"), Ok(0.1));
        assert_eq!(parse_probability("0.1"), Ok(0.1));
        // 7.1 / 100.0 would be another number.
        assert_eq!(parse_probability("7.1%"), Ok(0.071));
        assert_eq!(parse_probability("100%"), Ok(1.0));
        for bad in ["", "%", "101%", "1.1", "-1%", "nan", "inf", "1e-3", "10 %"] {
            assert!(parse_probability(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_are_shown_in_the_unit_people_would_choose() {
        assert_eq!(rate(25_000_000).to_string(), "25mbit");
        assert_eq!(rate(2_500_000).to_string(), "2.5mbit");
        assert_eq!(rate(0).to_string(), "0bit");
        assert_eq!(duration(Duration::from_micros(1500)).to_string(), "1.5ms");
        assert_eq!(duration(Duration::from_secs(90)).to_string(), "90s");
        assert_eq!(duration(Duration::new(1, 1)).to_string(), "1.000000001s");
        assert_eq!(duration(Duration::ZERO).to_string(), "0ms");
        assert_eq!(size(64_000).to_string(), "64kB");
        assert_eq!(percent(0.1).to_string(), "10%");
        assert_eq!(percent(0.07).to_string(), "7%");
        assert_eq!(percent(0.005).to_string(), "0.5%");
        assert_eq!(percent(1.0).to_string(), "100%");
        assert_eq!(percent(0.0).to_string(), "0%");
    }

    #[test]
    fn a_long_wrong_value_is_shortened_in_the_error() {
        let message = parse_rate(&"9".repeat(10_000)).unwrap_err().to_string();
        assert!(message.len() < 200 && message.contains("99...") && message.contains("25mbit"));
    }
}
