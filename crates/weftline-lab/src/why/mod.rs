//! Why something was late, from the event logs of both ends of a session.
//!
//! Only what the two ends logged is used. [`Explanation::check`] compares the causes with what the links
//! of a simulation did.

mod carried;
mod cause;
mod check;
mod journey;
mod read;

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use weftline_proto::PathId;

use carried::{carried, pair_paths, smallest_difference};
use cause::Flow;
pub use cause::{Cause, Late};
pub use check::Checked;
use read::End;
pub use read::{Logs, WhyError};

/// What was late in one direction, and why. Times are in microseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Direction {
    /// The sending end.
    pub from: String,
    /// The receiving end.
    pub to: String,
    /// Source symbols with data that were sent.
    pub symbols: u64,
    /// Those that could never be read: given up, or not there when the log ended.
    pub never: u64,
    /// The smallest time from writing to reading.
    pub smallest_us: i64,
    /// What took this much longer is late.
    pub late_us: i64,
    /// The causes, the one with the largest total first.
    pub causes: Vec<Sum>,
    /// The late symbols.
    pub late: Vec<Late>,
}

/// Late symbols with the same cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sum {
    /// Why.
    pub cause: Cause,
    /// They waited for another symbol, which has the cause.
    pub is_behind: bool,
    /// Number of symbols.
    pub count: u64,
    /// The same as a share of the late ones.
    pub share: f64,
    /// Time beyond the smallest: of all of them, and of the worst.
    pub total_us: i64,
    /// See `total_us`.
    pub worst_us: i64,
    /// The worst.
    pub example: Late,
}

/// The clocks of two ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Clocks {
    /// By how much the second end's is ahead of the first one's, if the smallest one-way delays are
    /// equal both ways.
    pub ahead_us: i64,
    /// By how much that may be wrong at most: half of the smallest round trip.
    pub error_us: i64,
}

/// What two logs tell.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Each direction with data.
    pub directions: Vec<Direction>,
    /// `None`: both ends have one clock.
    pub clocks: Option<Clocks>,
    /// Entries that are missing in the logs: some causes may be wrong.
    pub missing: u64,
    /// Entries of a later version.
    pub unknown: u64,
}

/// Two ends with their paths and clocks brought together.
struct Aligned {
    /// For each direction: the receiver's paths by the sender's.
    paths: [HashMap<PathId, PathId>; 2],
    clocks: Clocks,
}

impl Logs {
    /// Names the causes of what took `late_us` longer than the smallest time.
    ///
    /// # Errors
    /// The logs are not of one session.
    pub fn explain(&self, late_us: i64) -> Result<Explanation, WhyError> {
        let aligned = self.align()?;
        let directions = [0, 1].into_iter().filter_map(|from| {
            let flow = self.flow(&aligned, from);
            (!flow.journeys.is_empty()).then(|| self.direction(from, &flow, late_us))
        });
        Ok(Explanation {
            directions: directions.collect(),
            clocks: (!self.is_simulated).then_some(aligned.clocks),
            missing: self.missing,
            unknown: self.unknown,
        })
    }

    fn align(&self) -> Result<Aligned, WhyError> {
        let [a, b] = self.ends.each_ref().map(|end| &end.entries[..]);
        let paths = [pair_paths(a, b), pair_paths(b, a)];
        let there = smallest_difference(a, b, &paths[0]);
        let back = smallest_difference(b, a, &paths[1]);
        let (there, back) = match (there, back) {
            // Nothing arrives before it was sent, whatever the clocks say.
            (Some(there), Some(back)) if there + back >= 0 => (there, back),
            _ => return Err(WhyError::Strangers),
        };
        let clocks = match self.is_simulated {
            true => Clocks {
                ahead_us: 0,
                error_us: 0,
            },
            false => Clocks {
                ahead_us: (there - back) / 2,
                error_us: (there + back) / 2,
            },
        };
        Ok(Aligned { paths, clocks })
    }

    /// What went from this end to the other one.
    fn flow(&self, aligned: &Aligned, from: usize) -> Flow {
        let [
            End { entries: ours, .. },
            End {
                entries: theirs, ..
            },
        ] = [&self.ends[from], &self.ends[1 - from]];
        let paths = &aligned.paths[from];
        let ahead = match from {
            0 => aligned.clocks.ahead_us,
            _ => -aligned.clocks.ahead_us,
        };
        let (mut journeys, holds) = journey::sent(ours);
        journey::receive(&mut journeys, theirs, paths, ahead);
        Flow {
            journeys,
            holds,
            carried: carried(ours, theirs, paths, ahead),
        }
    }

    fn direction(&self, from: usize, flow: &Flow, late_us: i64) -> Direction {
        let smallest_us = flow.smallest().unwrap_or(0);
        let late = flow.late(late_us);
        let never = flow.journeys.values().filter(|j| j.ready.is_none());
        Direction {
            from: self.ends[from].name.clone(),
            to: self.ends[1 - from].name.clone(),
            symbols: flow.journeys.len() as u64,
            never: never.count() as u64,
            smallest_us,
            late_us,
            causes: sums(&late, smallest_us),
            late,
        }
    }
}

fn sums(late: &[Late], smallest_us: i64) -> Vec<Sum> {
    let mut sums: BTreeMap<(Cause, bool), Sum> = BTreeMap::new();
    for one in late {
        let is_behind = one.behind.is_some();
        let over = one.delay_us - smallest_us;
        let sum = sums.entry((one.cause, is_behind)).or_insert_with(|| Sum {
            cause: one.cause,
            is_behind,
            count: 0,
            share: 0.0,
            total_us: 0,
            worst_us: 0,
            example: *one,
        });
        sum.count += 1;
        sum.share = sum.count as f64 / late.len() as f64;
        sum.total_us += over;
        if over > sum.worst_us {
            (sum.worst_us, sum.example) = (over, *one);
        }
    }
    let mut sums: Vec<Sum> = sums.into_values().collect();
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.total_us));
    sums
}
