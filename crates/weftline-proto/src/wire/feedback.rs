//! FEEDBACK: the receiver's full state. Reports are idempotent, so that losing one does no harm.

use super::reader::{Malformed, Reader, put_varint};

/// Fixed part: kind, report number, largest transmission, in-order edge.
const FIXED: usize = 1 + 4 + 4 + 4;

/// A packet error rate of 1 in a report.
pub const LOSS_UNITS: u16 = 10_000;

/// A parsed report. Its run lists are checked when it is parsed and read lazily.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackView<'a> {
    /// Low 32 bits of the report's number; a report older than the newest is ignored.
    pub number: u32,
    /// Low 32 bits of the largest transmission number received.
    pub largest: u32,
    /// Low 32 bits of the lowest ESI that is not known (the in-order edge).
    pub next: u32,
    /// Microseconds from the arrival of `largest` to this report.
    pub delay: u64,
    /// Microseconds by which the latest datagram's one-way delay exceeded the smallest seen.
    pub queue_delay: u64,
    /// The highest ESI that the receiver knows of, plus one, minus `next`.
    pub extent: u64,
    /// Independent equations held for symbols that are not known.
    pub rank: u64,
    /// Number of ESIs from `next` that may be sent.
    pub credit: u64,
    /// Packet error rate that the receiver has measured, in [`LOSS_UNITS`]; only if this end asked
    /// for it ([`Measuring`](super::Measuring)).
    pub loss: Option<u16>,
    symbols: &'a [u8],
    transmissions: &'a [u8],
}

/// Two adjacent runs in a report's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Length of the first run.
    pub first: u64,
    /// Length of the second.
    pub second: u64,
}

impl<'a> FeedbackView<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader(bytes);
        let (number, largest, next) = (r.u32()?, r.u32()?, r.u32()?);
        let (delay, queue_delay) = (r.varint()?, r.varint()?);
        let (extent, rank, credit) = (r.varint()?, r.varint()?, r.varint()?);
        if extent > u64::from(u32::MAX / 4) || credit > u64::from(u32::MAX / 4) {
            return Err(Malformed::Range("extent or credit"));
        }
        if rank > extent {
            return Err(Malformed::Range("rank above the number of symbols"));
        }
        let symbols = runs(&mut r, extent)?;
        let transmissions = runs(&mut r, u64::from(u32::MAX / 4))?;
        let loss = match r.is_empty() {
            true => None,
            false => Some(loss(r.varint()?)?),
        };
        if !r.is_empty() {
            return Err(Malformed::Range("bytes after the end"));
        }
        Ok(FeedbackView {
            number,
            largest,
            next,
            delay,
            queue_delay,
            extent,
            rank,
            credit,
            loss,
            symbols,
            transmissions,
        })
    }

    /// From `next` upwards: a run of unknown symbols, then a run of known ones, and so on. Symbols
    /// beyond the listed runs are not reported.
    pub fn symbols(&self) -> impl Iterator<Item = Run> + 'a {
        RunIter(Reader(self.symbols))
    }

    /// From `largest` downwards: a run of received transmission numbers, then a run of missing
    /// ones, and so on. Numbers below the listed runs are not reported.
    pub fn transmissions(&self) -> impl Iterator<Item = Run> + 'a {
        RunIter(Reader(self.transmissions))
    }
}

fn loss(units: u64) -> Result<u16, Malformed> {
    let within = u16::try_from(units).ok().filter(|u| *u <= LOSS_UNITS);
    within.ok_or(Malformed::Range("packet error rate above 1"))
}

/// Checks a list of runs whose lengths add up to at most `limit`, and returns its bytes.
fn runs<'a>(r: &mut Reader<'a>, limit: u64) -> Result<&'a [u8], Malformed> {
    let pairs = r.varint()?;
    let start = r.0;
    let mut sum = 0u64;
    // A pair takes at least two bytes, so that the datagram's end bounds a hostile count.
    for _ in 0..pairs {
        let (first, second) = (r.varint()?, r.varint()?);
        if first == 0 {
            return Err(Malformed::Range("empty run"));
        }
        sum = sum.saturating_add(first).saturating_add(second);
        if sum > limit {
            return Err(Malformed::Range("runs longer than what they describe"));
        }
    }
    Ok(&start[..start.len() - r.0.len()])
}

struct RunIter<'a>(Reader<'a>);

impl Iterator for RunIter<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let first = self.0.varint().ok()?;
        let second = self.0.varint().ok()?;
        Some(Run { first, second })
    }
}

/// Writes a report.
#[derive(Debug)]
pub struct FeedbackWriter {
    /// See [`FeedbackView::number`].
    pub number: u32,
    /// See [`FeedbackView::largest`].
    pub largest: u32,
    /// See [`FeedbackView::next`].
    pub next: u32,
    /// See [`FeedbackView::delay`].
    pub delay: u64,
    /// See [`FeedbackView::queue_delay`].
    pub queue_delay: u64,
    /// See [`FeedbackView::extent`].
    pub extent: u64,
    /// See [`FeedbackView::rank`].
    pub rank: u64,
    /// See [`FeedbackView::credit`].
    pub credit: u64,
    /// See [`FeedbackView::loss`].
    pub loss: Option<u16>,
}

impl FeedbackWriter {
    /// Appends the report to `out`, with as many runs as fit in `max` bytes. At most half of the
    /// space after the fixed part goes to `symbols`, the rest to `transmissions`.
    pub fn write(
        &self,
        symbols: impl Iterator<Item = Run>,
        transmissions: impl Iterator<Item = Run>,
        max: usize,
        out: &mut Vec<u8>,
    ) {
        let begin = out.len();
        let loss = self.loss.map(u64::from);
        let max = max.saturating_sub(loss.map_or(0, super::varint_len));
        out.push(super::datagram::KIND_FEEDBACK);
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.largest.to_be_bytes());
        out.extend_from_slice(&self.next.to_be_bytes());
        debug_assert_eq!(out.len() - begin, FIXED);
        for field in [
            self.delay,
            self.queue_delay,
            self.extent,
            self.rank,
            self.credit,
        ] {
            put_varint(out, field);
        }
        let room = max.saturating_sub(out.len() - begin);
        put_runs(symbols, room / 2, out);
        let room = max.saturating_sub(out.len() - begin);
        put_runs(transmissions, room, out);
        if let Some(loss) = loss {
            put_varint(out, loss);
        }
    }
}

/// At most this many pairs in one list: enough for a bandwidth-delay product at high loss.
const MAX_PAIRS: usize = 128;

fn put_runs(runs: impl Iterator<Item = Run>, room: usize, out: &mut Vec<u8>) {
    use super::varint_len;
    // The count comes first and always fits in two bytes.
    let count_at = out.len();
    out.extend_from_slice(&[0x40, 0]);
    let mut pairs = 0u16;
    for run in runs.take(MAX_PAIRS) {
        let size = varint_len(run.first) + varint_len(run.second);
        if out.len() - count_at + size > room {
            break;
        }
        put_varint(out, run.first);
        put_varint(out, run.second);
        pairs += 1;
    }
    out[count_at..count_at + 2].copy_from_slice(&(pairs | 0x4000).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::super::Datagram;
    use super::*;

    fn report() -> FeedbackWriter {
        FeedbackWriter {
            number: 1,
            largest: 900,
            next: 70,
            delay: 120,
            queue_delay: 3,
            extent: 500,
            rank: 4,
            credit: 8192,
            loss: None,
        }
    }

    #[test]
    fn a_report_round_trips() {
        let symbols = [
            Run {
                first: 2,
                second: 300,
            },
            Run {
                first: 1,
                second: 197,
            },
        ];
        let transmissions = [
            Run {
                first: 64,
                second: 1,
            },
            Run {
                first: 800,
                second: 0,
            },
        ];
        let mut out = Vec::new();
        report().write(
            symbols.into_iter(),
            transmissions.into_iter(),
            1200,
            &mut out,
        );
        let Ok(Datagram::Feedback(view)) = Datagram::parse(&out) else {
            panic!("not a report: {out:?}")
        };
        assert_eq!(view.largest, 900);
        assert_eq!(view.credit, 8192);
        assert_eq!(view.symbols().collect::<Vec<_>>(), symbols);
        assert_eq!(view.transmissions().collect::<Vec<_>>(), transmissions);
        for n in 0..out.len() {
            assert!(Datagram::parse(&out[..n]).is_err(), "{n} bytes");
        }
    }

    #[test]
    fn a_report_has_the_measured_rate_only_where_it_was_asked_for() {
        for loss in [None, Some(0), Some(63), Some(1500), Some(LOSS_UNITS)] {
            let mut out = Vec::new();
            let writer = FeedbackWriter { loss, ..report() };
            writer.write([].into_iter(), [].into_iter(), 1200, &mut out);
            let Ok(Datagram::Feedback(view)) = Datagram::parse(&out) else {
                panic!("not a report: {out:?}")
            };
            assert_eq!(view.loss, loss);
            // What follows the rate, and a rate above 1, are refused.
            for more in [&[0][..], &[0x67, 0x11]] {
                let mut longer = out.clone();
                longer.extend_from_slice(more);
                let is_refused = Datagram::parse(&longer).is_err();
                assert_eq!(
                    is_refused,
                    loss.is_some() || more.len() > 1,
                    "{loss:?} {more:?}"
                );
            }
        }
    }

    #[test]
    fn runs_that_do_not_fit_are_left_out() {
        let many = || {
            (0..10_000).map(|_| Run {
                first: 1,
                second: 20_000,
            })
        };
        let mut writer = report();
        writer.extent = u64::from(u32::MAX / 4);
        let mut out = Vec::new();
        writer.write(many(), many(), 600, &mut out);
        assert!(out.len() <= 600, "{}", out.len());
        let Ok(Datagram::Feedback(view)) = Datagram::parse(&out) else {
            panic!("not a report")
        };
        assert!(view.symbols().count() > 20);
        assert!(view.transmissions().count() > 20);
    }

    /// Behind other bytes, as in a CLOSE.
    #[test]
    fn runs_are_written_where_they_just_fit() {
        let run = |n| Run {
            first: n,
            second: 1,
        };
        let few = || [run(1), run(70), run(2)].into_iter();
        let none = || [].into_iter();
        let counts = |symbols: bool, max| {
            let mut out = vec![0; 30];
            match symbols {
                true => report().write(few(), none(), max, &mut out),
                false => report().write(none(), few(), max, &mut out),
            }
            match Datagram::parse(&out[30..]) {
                Ok(Datagram::Feedback(view)) => {
                    let counts = [view.symbols().count(), view.transmissions().count()];
                    (counts[usize::from(!symbols)], out.len() - 30)
                }
                other => panic!("not a report: {other:?}"),
            }
        };
        let (_, whole) = counts(false, 1200);
        assert_eq!(counts(false, whole), (3, whole));
        assert_eq!(counts(false, whole - 1), (2, whole - 2));
        // What the transmissions had is half of what the symbols leave for them.
        let runs = 2 + 2 + 3 + 2;
        let twice = whole - 2 - runs + 2 * runs;
        assert_eq!(counts(true, twice).0, 3);
        assert_eq!(counts(true, twice - 1).0, 2);
    }

    #[test]
    fn numbers_are_accepted_up_to_their_limits() {
        const MOST: u64 = (u32::MAX / 4) as u64;
        let reads = |report: FeedbackWriter, symbols: Run, transmissions: Run| {
            let mut out = Vec::new();
            let lists = [symbols, transmissions].map(|r| [r].into_iter());
            let [symbols, transmissions] = lists;
            report.write(symbols, transmissions, 1200, &mut out);
            Datagram::parse(&out).is_ok()
        };
        let run = |sum| Run {
            first: 1,
            second: sum - 1,
        };
        let with = |extent, rank, credit| FeedbackWriter {
            extent,
            rank,
            credit,
            ..report()
        };
        assert!(reads(with(MOST, MOST, MOST), run(MOST), run(MOST)));
        assert!(!reads(with(MOST + 1, 0, 0), run(1), run(1)));
        assert!(!reads(with(1, 0, MOST + 1), run(1), run(1)));
        assert!(!reads(with(1 << 61, 0, 1 << 61), run(1), run(1)));
        assert!(!reads(with(1, 0, 0), run(1), run(MOST + 1)));
        assert!(!reads(with(7, 0, 0), run(8), run(1)));
        assert!(!reads(with(7, 8, 0), run(7), run(1)));
        let empty = Run {
            first: 0,
            second: 1,
        };
        assert!(!reads(with(7, 0, 0), empty, run(1)) && !reads(with(7, 0, 0), run(1), empty));
    }

    #[test]
    fn impossible_reports_are_refused() {
        let mut out = Vec::new();
        let mut writer = report();
        writer.rank = 501;
        writer.write([].into_iter(), [].into_iter(), 1200, &mut out);
        assert!(matches!(Datagram::parse(&out), Err(Malformed::Range(_))));
        out.clear();
        report().write(
            [Run {
                first: 400,
                second: 101,
            }]
            .into_iter(),
            [].into_iter(),
            1200,
            &mut out,
        );
        assert!(matches!(Datagram::parse(&out), Err(Malformed::Range(_))));
    }
}
