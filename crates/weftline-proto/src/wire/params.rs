//! HELLO: version and limits.

use core::time::Duration;

use super::VERSION;
use super::reader::{Malformed, Reader, put_varint, varint_len};
use crate::feedback::{Feedback, LONGEST_FEEDBACK_INTERVAL};
use crate::limits::Limits;
use crate::time::micros;

/// The first datagram of each end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The sender of this HELLO has seen the other end's HELLO, which need not be sent again.
    pub seen: bool,
    /// What the sender accepts.
    pub limits: Limits,
    /// When the sender wants reports on what it sends.
    pub feedback: Feedback,
    /// How the other end measures the packet error rate, which it then puts in each report.
    pub measuring: Option<Measuring>,
    /// The sender accepts repair symbols in the datagram of a source symbol.
    pub riders: bool,
}

/// How a receiver measures the packet error rate: a moving average over a window that slides with
/// each report (Brulatout et al.).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measuring {
    /// The length of the window (the paper's W_EWMA).
    pub window: Duration,
    /// Weight of the newest value (the paper's alpha), in thousandths.
    pub weight: u16,
}

impl Measuring {
    /// A weight of 1.
    pub const WEIGHT_UNITS: u16 = 1000;
    const WINDOWS: core::ops::RangeInclusive<Duration> =
        Duration::from_millis(10)..=Duration::from_secs(3600);
    const USUAL_WEIGHT: u16 = 800;
}

/// Flags. Unknown ones are ignored.
const SEEN: u8 = 1;
const RIDERS: u8 = 2;

/// Parameter identifiers. Unknown ones are skipped, so later versions can add some.
mod id {
    pub(super) const SYMBOL_SIZE: u64 = 1;
    pub(super) const SYMBOLS: u64 = 2;
    pub(super) const WINDOW: u64 = 3;
    pub(super) const UNKNOWNS: u64 = 4;
    pub(super) const SESSION_DATA: u64 = 5;
    pub(super) const STREAM_DATA: u64 = 6;
    pub(super) const STREAMS: u64 = 7;
    pub(super) const MESSAGE_SIZE: u64 = 8;
    pub(super) const MESSAGE_DATA: u64 = 9;
    pub(super) const FEEDBACK_EACH: u64 = 10;
    pub(super) const FEEDBACK_PERIODIC: u64 = 11;
    pub(super) const FEEDBACK_BLOCK: u64 = 12;
    pub(super) const FEEDBACK_ADAPTIVE: u64 = 13;
    pub(super) const MEASURE_OVER: u64 = 14;
    pub(super) const MEASURE_WEIGHT: u64 = 15;
}

impl Hello {
    pub(super) fn parse(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let version = r.u8()?;
        if version != VERSION {
            return Err(Malformed::Version(version));
        }
        let flags = r.u8()?;
        let mut limits = Limits::LEAST;
        let mut feedback = Feedback::EveryDatagram {
            min_interval: Duration::ZERO,
        };
        let mut window = None;
        let mut weight = Measuring::USUAL_WEIGHT;
        while !r.is_empty() {
            let (param, len) = (r.varint()?, r.varint()?);
            let len = usize::try_from(len).map_err(|_| Malformed::Truncated)?;
            let mut value = Reader(r.bytes(len)?);
            let mut number = || value.varint();
            let interval = |us: u64| Duration::from_micros(us).min(LONGEST_FEEDBACK_INTERVAL);
            match param {
                id::SYMBOL_SIZE => limits.symbol_size = at_least(limits.symbol_size, number()?),
                id::SYMBOLS => limits.symbols = at_least(limits.symbols, number()?),
                id::WINDOW => limits.window = at_least(limits.window, number()?),
                id::UNKNOWNS => limits.unknowns = at_least(limits.unknowns, number()?),
                id::SESSION_DATA => limits.session_data = at_least(limits.session_data, number()?),
                id::STREAM_DATA => limits.stream_data = at_least(limits.stream_data, number()?),
                id::STREAMS => limits.streams = at_least(limits.streams, number()?),
                id::MESSAGE_SIZE => limits.message_size = at_least(limits.message_size, number()?),
                id::MESSAGE_DATA => limits.message_data = at_least(limits.message_data, number()?),
                id::FEEDBACK_EACH => {
                    feedback = Feedback::EveryDatagram {
                        min_interval: interval(number()?),
                    };
                }
                id::FEEDBACK_PERIODIC => {
                    feedback = Feedback::Periodic {
                        interval: interval(number()?).max(Duration::from_millis(1)),
                    };
                }
                id::FEEDBACK_BLOCK => {
                    feedback = Feedback::Block {
                        interval: interval(number()?).max(Duration::from_millis(1)),
                    };
                }
                id::FEEDBACK_ADAPTIVE => {
                    let most = LONGEST_FEEDBACK_INTERVAL / Feedback::SELDOM;
                    feedback = Feedback::Adaptive {
                        target: interval(number()?).min(most),
                    };
                }
                id::MEASURE_OVER => {
                    let most = *Measuring::WINDOWS.end();
                    let over = Duration::from_micros(number()?).min(most);
                    window = Some(over.max(*Measuring::WINDOWS.start()));
                }
                id::MEASURE_WEIGHT => {
                    let given = u16::try_from(number()?).unwrap_or(u16::MAX);
                    weight = given.min(Measuring::WEIGHT_UNITS);
                }
                _ => {}
            }
        }
        Ok(Hello {
            seen: flags & SEEN != 0,
            limits,
            feedback,
            measuring: window.map(|window| Measuring { window, weight }),
            riders: flags & RIDERS != 0,
        })
    }

    /// Appends this HELLO.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.push(super::datagram::KIND_HELLO);
        out.push(VERSION);
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        out.push(flag(self.seen, SEEN) | flag(self.riders, RIDERS));
        let l = &self.limits;
        let (feedback_id, interval) = match self.feedback {
            Feedback::EveryDatagram { min_interval } => (id::FEEDBACK_EACH, min_interval),
            Feedback::Periodic { interval } => (id::FEEDBACK_PERIODIC, interval),
            Feedback::Block { interval } => (id::FEEDBACK_BLOCK, interval),
            Feedback::Adaptive { target } => (id::FEEDBACK_ADAPTIVE, target),
        };
        let params = [
            (id::SYMBOL_SIZE, u64::from(l.symbol_size)),
            (id::SYMBOLS, u64::from(l.symbols)),
            (id::WINDOW, u64::from(l.window)),
            (id::UNKNOWNS, u64::from(l.unknowns)),
            (id::SESSION_DATA, l.session_data),
            (id::STREAM_DATA, l.stream_data),
            (id::STREAMS, u64::from(l.streams)),
            (id::MESSAGE_SIZE, u64::from(l.message_size)),
            (id::MESSAGE_DATA, l.message_data),
            (feedback_id, micros(interval)),
        ];
        let measuring = self.measuring.map(|m| {
            [
                (id::MEASURE_OVER, micros(m.window)),
                (id::MEASURE_WEIGHT, u64::from(m.weight)),
            ]
        });
        for (param, value) in params.into_iter().chain(measuring.into_iter().flatten()) {
            put_varint(out, param);
            put_varint(out, varint_len(value) as u64);
            put_varint(out, value);
        }
    }
}

/// A limit is never lower than what may be sent before HELLO arrives. A value that the field cannot
/// hold means its maximum.
fn at_least<T: Copy + Ord + TryFrom<u64> + Bounded>(initial: T, value: u64) -> T {
    T::try_from(value).unwrap_or(T::MAX).max(initial)
}

trait Bounded {
    const MAX: Self;
}

macro_rules! bounded {
    ($($t:ty)*) => { $(impl Bounded for $t { const MAX: Self = <$t>::MAX; })* };
}
bounded!(u16 u32 u64);

#[cfg(test)]
mod tests {
    use super::super::Datagram;
    use super::*;

    #[test]
    fn hello_round_trips_and_skips_parameters_it_does_not_know() {
        let interval = Duration::from_millis(20);
        let measuring = Measuring {
            window: Duration::from_secs(3),
            weight: 800,
        };
        for (feedback, measuring) in [
            (Feedback::Periodic { interval }, Some(measuring)),
            (Feedback::Block { interval }, None),
            (Feedback::Adaptive { target: interval }, None),
            (
                Feedback::EveryDatagram {
                    min_interval: interval,
                },
                None,
            ),
        ] {
            let hello = Hello {
                seen: true,
                limits: Limits::default(),
                feedback,
                measuring,
                riders: measuring.is_some(),
            };
            let mut out = Vec::new();
            hello.put(&mut out);
            out.extend_from_slice(&[0x3f, 3, 9, 9, 9]);
            assert_eq!(Datagram::parse(&out), Ok(Datagram::Hello(hello)));
        }
    }

    /// A report must come while the sender still waits for it.
    #[test]
    fn intervals_beyond_the_longest_are_shortened() {
        for (param, expected) in [
            (id::FEEDBACK_PERIODIC, LONGEST_FEEDBACK_INTERVAL),
            (
                id::FEEDBACK_ADAPTIVE,
                LONGEST_FEEDBACK_INTERVAL / Feedback::SELDOM,
            ),
        ] {
            let mut out = vec![5, VERSION, 0, param as u8, 8];
            put_varint(&mut out, 1 << 40);
            let feedback = match Datagram::parse(&out) {
                Ok(Datagram::Hello(hello)) => hello.feedback,
                other => panic!("not a hello: {other:?}"),
            };
            let (Feedback::Periodic { interval: got } | Feedback::Adaptive { target: got }) =
                feedback
            else {
                panic!("another kind: {feedback:?}")
            };
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn limits_below_the_minimum_are_raised_and_an_unknown_version_is_named() {
        let low = [5, VERSION, 0, 2, 1, 3];
        let Ok(Datagram::Hello(hello)) = Datagram::parse(&low) else {
            panic!("not a hello")
        };
        assert_eq!(hello.limits, Limits::LEAST);
        // A window of 1 us and a weight of 63; the weight alone asks for nothing.
        let short = [5, VERSION, 0, 14, 1, 1, 15, 1, 63];
        let Ok(Datagram::Hello(hello)) = Datagram::parse(&short) else {
            panic!("not a hello")
        };
        let window = Duration::from_millis(10);
        assert_eq!(hello.measuring, Some(Measuring { window, weight: 63 }));
        let Ok(Datagram::Hello(hello)) = Datagram::parse(&[5, VERSION, 0, 15, 1, 63]) else {
            panic!("not a hello")
        };
        assert_eq!(hello.measuring, None);
        assert_eq!(Datagram::parse(&[5, 9, 0]), Err(Malformed::Version(9)));
    }
}
