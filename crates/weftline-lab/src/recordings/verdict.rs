//! "Never worse than none": what coding may cost where it does not help.

use std::fmt;

use serde::Serialize;

/// What is compared of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Numbers {
    /// Mbit/s that the application read.
    pub goodput: f64,
    /// The 99th percentile of message delays in ms, for messages.
    pub p99: Option<f64>,
    /// Bytes on the wire for each byte read.
    pub wire: f64,
}

/// A number that is worse than it may be, and its ratio to that without coding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Worse {
    /// Which: `goodput`, `p99` or `bytes`.
    pub what: &'static str,
    /// With coding, over without.
    pub ratio: f64,
}

impl fmt::Display for Worse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x{:.3}", self.what, self.ratio)
    }
}

/// Delay and goodput may be this much worse.
const TOLERANCE: f64 = 0.05;
/// Bytes that may be spent where nothing is lost.
const SPARE: f64 = 0.02;

/// What is worse with coding than without: goodput or the 99th percentile of delay by more than 5 %,
/// or, on a path without losses, bytes by more than 2 %.
pub fn never_worse(coded: &Numbers, none: &Numbers, is_lossless: bool) -> Vec<Worse> {
    let p99 = coded.p99.zip(none.p99).map(|(coded, none)| coded / none);
    let ratios = [
        ("goodput", Some(coded.goodput / none.goodput), false),
        ("p99", p99, true),
        ("bytes", is_lossless.then_some(coded.wire / none.wire), true),
    ];
    let worse = ratios
        .into_iter()
        .filter_map(|(what, ratio, more_is_worse)| {
            let ratio = ratio?;
            let limit = if what == "bytes" { SPARE } else { TOLERANCE };
            let is_worse = match more_is_worse {
                true => ratio > 1.0 + limit,
                false => ratio < 1.0 - limit,
            };
            is_worse.then_some(Worse { what, ratio })
        });
    worse.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_its_limit() {
        let none = Numbers {
            goodput: 10.0,
            p99: Some(100.0),
            wire: 1.1,
        };
        let judge = |goodput, p99, wire, is_lossless| {
            let coded = Numbers {
                goodput,
                p99: Some(p99),
                wire,
            };
            let worse = never_worse(&coded, &none, is_lossless);
            Vec::from_iter(worse.iter().map(|worse| worse.what))
        };
        assert!(judge(9.6, 104.0, 1.12, true).is_empty());
        assert!(judge(20.0, 50.0, 2.0, false).is_empty());
        assert_eq!(judge(9.4, 104.0, 2.0, false), ["goodput"]);
        assert_eq!(judge(9.4, 106.0, 1.13, true), ["goodput", "p99", "bytes"]);
        let bulk = Numbers { p99: None, ..none };
        assert!(never_worse(&bulk, &none, true).is_empty());
    }
}
