//! Why a symbol was late.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::Serialize;
use weftline_proto::{HoldReason, PathId};

use super::carried::Carried;
use super::journey::{Holds, How, Journey};

/// What made a symbol late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// It was lost, and decoded from repair symbols.
    Repaired,
    /// It was lost, and sent again.
    SentAgain,
    /// It was sent, or waited at its sender, while nothing arrived for a long time.
    Outage,
    /// It waited in the path's queue, or the path's delay varies.
    Queue,
    /// The path delivered it after datagrams that were sent later.
    Reordered,
    /// It was sent on a path that takes longer than another.
    SlowerPath,
    /// It was sent in repair symbols alone, and waited for enough of them.
    Decoding,
    /// It waited at its sender for the rate.
    Rate,
    /// For the congestion window.
    Window,
    /// For the peer's flow control.
    Credit,
    /// For older symbols to be acknowledged.
    Symbols,
    /// For another path.
    OtherPath,
    /// For its scheme.
    Scheme,
    /// At its sender, although nothing in the engine held it back: the carrier had no room, or the processor
    /// no time.
    Carrier,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Repaired => "lost, and waited for a repair",
            Cause::SentAgain => "lost, and sent again",
            Cause::Outage => "outage: nothing arrived",
            Cause::Queue => "the path's queue, or its jitter",
            Cause::Reordered => "overtaken on the path",
            Cause::SlowerPath => "sent on a slower path",
            Cause::Decoding => "waited for enough repairs",
            Cause::Rate => "waited for the rate",
            Cause::Window => "waited for the congestion window",
            Cause::Credit => "waited for the peer's flow control",
            Cause::Symbols => "waited for acknowledgements",
            Cause::OtherPath => "waited for another path",
            Cause::Scheme => "waited for the scheme",
            Cause::Carrier => "waited for the carrier or the processor",
        })
    }
}

/// A late symbol. Times are in microseconds, on the sender's clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Late {
    /// The symbol.
    pub esi: u64,
    /// When its data was written.
    pub written_us: i64,
    /// How long it took until it could be read.
    pub delay_us: i64,
    /// Why.
    pub cause: Cause,
    /// It was there in time, and waited for this earlier symbol of its stream, which has the cause.
    pub behind: Option<u64>,
}

/// What is known of a flow from one end to the other.
pub(super) struct Flow {
    pub(super) journeys: BTreeMap<u64, Journey>,
    pub(super) holds: Holds,
    pub(super) carried: HashMap<PathId, Carried>,
}

impl Flow {
    /// The smallest time from writing to reading, if anything was read.
    pub(super) fn smallest(&self) -> Option<i64> {
        let delays = self.journeys.values();
        delays.filter_map(|j| Some(j.ready?.0 - j.written)).min()
    }

    /// The late ones: those that took longer than the smallest time and `late`.
    pub(super) fn late(&self, late: i64) -> Vec<Late> {
        let smallest = self.smallest().unwrap_or(0);
        let judge = |(esi, journey): (&u64, &Journey)| {
            let (ready, last) = journey.ready?;
            let delay = ready - journey.written;
            (delay > smallest + late).then(|| Late {
                esi: *esi,
                written_us: journey.written,
                delay_us: delay,
                cause: self.cause(journey, &self.journeys[&last], smallest),
                behind: (last != *esi).then_some(last),
            })
        };
        self.journeys.iter().filter_map(judge).collect()
    }

    /// Why a symbol that had to wait for `last` was late: the larger one of the times that `last` spent at
    /// its sender and on its way, since the symbol was written.
    fn cause(&self, late: &Journey, last: &Journey, smallest: i64) -> Cause {
        let Some((known, how)) = last.known else {
            unreachable!("a symbol that can be read waited for known ones");
        };
        let (at_sender, on_its_way) = split(late.written, last.sent, known, smallest);
        match at_sender >= on_its_way {
            true => self.held(late.written, last),
            false => self.lost_or_slow(last, how),
        }
    }

    /// What held a symbol back most, since `from`.
    fn held(&self, from: i64, last: &Journey) -> Cause {
        let path = last.first.map_or(PathId::FIRST, |(path, _)| path);
        let carried = self.carried.get(&path);
        let down = carried.map_or(0, |carried| carried.down_within(from, last.sent));
        if 2 * down > last.sent - from {
            return Cause::Outage;
        }
        let holds = self.holds.get(&path).map_or(&[][..], Vec::as_slice);
        let mut times: BTreeMap<Cause, i64> = BTreeMap::new();
        let first = holds.partition_point(|(at, _)| *at <= from);
        let mut reason = first.checked_sub(1).and_then(|n| holds[n].1);
        let mut at = from;
        let rest = holds[first..].iter().take_while(|(at, _)| *at < last.sent);
        for (until, next) in rest.copied().chain([(last.sent, None)]) {
            *times.entry(of_hold(reason)).or_default() += until - at;
            (at, reason) = (until, next);
        }
        let longest = times.into_iter().max_by_key(|(_, time)| *time);
        longest.map_or(Cause::Carrier, |(cause, _)| cause)
    }

    fn lost_or_slow(&self, last: &Journey, how: How) -> Cause {
        let Some((path, number)) = last.first else {
            return Cause::Decoding;
        };
        let carried = &self.carried[&path];
        let first = &carried.all[&number];
        if carried.is_in_outage(first) {
            return Cause::Outage;
        }
        let Some(arrived) = first.arrived else {
            return match how {
                How::Decoded => Cause::Repaired,
                How::Arrived(_) => Cause::SentAgain,
            };
        };
        // What is too late on its way may be repaired before it comes.
        let fastest = self.carried.values().map(|path| path.base).min();
        let slower = carried.base - fastest.unwrap_or(carried.base);
        let queued = arrived - first.sent - carried.base;
        if slower > queued {
            Cause::SlowerPath
        } else if carried.is_overtaken(number, arrived) {
            Cause::Reordered
        } else {
            Cause::Queue
        }
    }
}

/// The time at the sender and the time on the way, beyond the smallest, of what was written, then sent, then
/// known.
pub(super) fn split(written: i64, sent: i64, known: i64, smallest: i64) -> (i64, i64) {
    let left = sent.max(written);
    (left - written, known - left - smallest)
}

fn of_hold(reason: Option<HoldReason>) -> Cause {
    match reason {
        Some(HoldReason::Rate) => Cause::Rate,
        Some(HoldReason::Window) => Cause::Window,
        Some(HoldReason::Credit) => Cause::Credit,
        Some(HoldReason::Symbols) => Cause::Symbols,
        Some(HoldReason::OtherPath) => Cause::OtherPath,
        Some(HoldReason::Scheme) => Cause::Scheme,
        // A later version may have more.
        _ => Cause::Carrier,
    }
}
