//! A duration as the wire and people write it: `80ms`, `1.5s`.

use std::fmt;
use std::time::Duration;

/// Units and their nanoseconds. `ms` stands before `s`, which it ends with.
const UNITS: [(&str, u128); 4] = [
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
    ("s", 1_000_000_000),
];

/// Reads a decimal number with a unit; nothing finer than a nanosecond. A bare `0` needs no unit.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let is_decimal = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if number.bytes().filter(u8::is_ascii_digit).count() == 0
        || !is_decimal(whole)
        || !is_decimal(fraction)
    {
        return None;
    }
    let scale = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let digits = |text: &str| match text {
        "" => Some(0),
        text => text.parse::<u128>().ok(),
    };
    let part = digits(fraction)?.checked_mul(unit)?;
    if part % scale != 0 {
        return None;
    }
    let nanos = digits(whole)?
        .checked_mul(unit)?
        .checked_add(part / scale)?;
    let secs = u64::try_from(nanos / 1_000_000_000).ok()?;
    Some(Duration::new(secs, (nanos % 1_000_000_000) as u32))
}

/// Shows a duration in the form that [`parse`] reads: in the largest unit that is not larger than
/// it, with all digits.
pub(crate) fn show(duration: Duration) -> impl fmt::Display {
    let nanos = duration.as_nanos();
    let [ms, us, ns, s] = UNITS;
    let Some((name, unit)) = [s, ms, us, ns].into_iter().find(|(_, unit)| *unit <= nanos) else {
        return "0ms".to_owned();
    };
    let places = unit.ilog10() as usize;
    let fraction = format!("{:0places$}", nanos % unit);
    match fraction.trim_end_matches('0') {
        "" => format!("{}{name}", nanos / unit),
        digits => format!("{}.{digits}{name}", nanos / unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The link emulator has the same text form, so that people learn only one.
    #[test]
    fn it_is_the_form_that_links_have() {
        for text in [
            "0",
            "0s",
            "80ms",
            "1.5s",
            "1500us",
            "250ns",
            "0.25us",
            ".5s",
            "1.s",
            "60s",
            "61.0ms",
            "",
            "s",
            ".s",
            "1",
            "1.2.3s",
            "-1s",
            "1m",
            "1e3s",
            "0.1ns",
            " 1s",
            "99999999999999999999s",
            "18446744073709551615s",
            "18446744073709551616s",
        ] {
            let theirs = weftline_netem::units::parse_duration(text).ok();
            assert_eq!(parse(text), theirs, "{text}");
            if let Some(duration) = theirs {
                let shown = weftline_netem::units::duration(duration).to_string();
                assert_eq!(show(duration).to_string(), shown, "{text}");
            }
        }
    }
}
