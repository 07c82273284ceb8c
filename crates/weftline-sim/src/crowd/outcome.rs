//! What came of a run.

use std::time::Duration;

use serde::Serialize;

use super::run::{Run, WINDOW};
use super::{Crowd, Member};
use crate::Summary;
use crate::fairness::jain;

/// A window is fair from this index on.
const FAIR: f64 = 0.95;
/// The worst window is looked for from this time after the last change on.
const SETTLED: Duration = Duration::from_secs(10);

/// The result of a crowd. Flows with a rate of their own are not part of Jain's indices.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrowdOutcome {
    /// Jain's index of the flows that are there to the end, over the second half of the time after the
    /// last of them joined or left.
    pub jain: f64,
    /// Seconds after the last join or leave from which on the index is at least 0.95 in each window
    /// of a second; `None` if it is not in the last.
    pub fair_after_s: Option<f64>,
    /// The lowest index of a window that begins 10 s after the last join or leave, or later.
    pub worst_jain: Option<f64>,
    /// Jain's index in each window of a second, of the flows that are there throughout.
    pub jain_windows: Vec<f64>,
    /// Median and 95th percentile of the wait at the bottleneck, ms, and the longest.
    pub queue_ms: [f64; 3],
    /// Bytes that the bottleneck carried, headers included, as a share of its rate; `None` without one.
    pub utilisation: Option<f64>,
    /// Packets that the bottleneck's queue dropped, and their share.
    pub queue_drops: u64,
    /// The same as a share of all packets.
    pub queue_drop_share: f64,
    /// Goodput of all flows together, Mbit/s.
    pub goodput_mbit: f64,
    /// The flows.
    pub flows: Vec<FlowOutcome>,
}

/// The result of a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowOutcome {
    /// What sent.
    pub sender: &'static str,
    /// When it joined, s.
    pub join_s: f64,
    /// When it left, s.
    pub leave_s: Option<f64>,
    /// The round trip without a queue, ms.
    pub rtt_ms: f64,
    /// Goodput over the windows in which it was there throughout, Mbit/s.
    pub goodput_mbit: f64,
    /// Goodput in the part that [`CrowdOutcome::jain`] is about, Mbit/s.
    pub last_mbit: f64,
    /// Delays of messages, ms, for an application with messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Summary>,
    /// Goodput in each window, Mbit/s.
    pub windows_mbit: Vec<f64>,
}

pub(super) fn outcome(crowd: &Crowd, joins: &[Duration], run: &Run) -> CrowdOutcome {
    let windows = Windows {
        members: &crowd.members,
        joins,
        bytes: &run.windows,
    };
    let changed = windows.last_change(crowd.duration);
    let jains: Vec<f64> = (0..run.windows.len())
        .map(|window| windows.jain(window..window + 1))
        .collect();
    let first = whole(changed).min(jains.len());
    let unfair = jains[first..].iter().rposition(|jain| *jain < FAIR);
    let fair = unfair.map_or(first, |at| first + at + 1);
    let settled = whole(changed + SETTLED).min(jains.len());
    let last = (first + (jains.len() - first) / 2)..jains.len();
    let (waits, link) = run.bottleneck();
    let carried = (link.delivered_bytes - run.before.delivered_bytes + lost_bytes(run)) as f64;
    let counted = crowd.duration.saturating_sub(crowd.skip).as_secs_f64();
    let offered = link.offered_packets - run.before.offered_packets;
    let drops = link.queue_drops - run.before.queue_drops;
    let millis = |share| waits.quantile(share).as_secs_f64() * 1e3;
    let from = whole(crowd.skip).min(jains.len());
    CrowdOutcome {
        jain: windows.jain(last.clone()),
        fair_after_s: (fair < jains.len())
            .then(|| (WINDOW * fair as u32).saturating_sub(changed).as_secs_f64()),
        worst_jain: jains[settled..].iter().copied().reduce(f64::min),
        queue_ms: [millis(0.5), millis(0.95), millis(1.0)],
        utilisation: crowd
            .forward
            .rate
            .filter(|rate| *rate > 0)
            .map(|rate| carried * 8.0 / (rate as f64 * counted.max(1e-9))),
        queue_drops: drops,
        queue_drop_share: drops as f64 / offered.max(1) as f64,
        goodput_mbit: (0..joins.len())
            .map(|flow| windows.mbit(flow, from..jains.len()))
            .sum(),
        flows: (0..joins.len())
            .map(|flow| windows.flow(flow, crowd, run, last.clone()))
            .collect(),
        jain_windows: jains,
    }
}

/// What the loss model dropped used its time on the link; its length is about that of the others.
fn lost_bytes(run: &Run) -> u64 {
    let (_, link) = run.bottleneck();
    let lost = link.lost - run.before.lost;
    let packets = link.delivered_packets - run.before.delivered_packets;
    let bytes = link.delivered_bytes - run.before.delivered_bytes;
    lost * bytes / packets.max(1)
}

/// The first window that begins at this time or later.
fn whole(time: Duration) -> usize {
    (time.as_secs_f64() / WINDOW.as_secs_f64()).ceil() as usize
}

struct Windows<'a> {
    members: &'a [Member],
    joins: &'a [Duration],
    bytes: &'a [Vec<u64>],
}

impl Windows<'_> {
    /// Whether a flow is there during these windows.
    fn is_there(&self, flow: usize, windows: &core::ops::Range<usize>) -> bool {
        let joined = self.joins[flow] <= WINDOW * windows.start as u32;
        let leave = self.members[flow].leave;
        joined && leave.is_none_or(|leave| leave >= WINDOW * windows.end as u32)
    }

    fn last_change(&self, end: Duration) -> Duration {
        let leaves = self.members.iter().filter_map(|member| member.leave);
        let changes = self.joins.iter().copied().chain(leaves);
        changes.filter(|at| *at < end).max().unwrap_or_default()
    }

    fn mbit(&self, flow: usize, windows: core::ops::Range<usize>) -> f64 {
        let time = WINDOW.as_secs_f64() * windows.len() as f64;
        let bytes: u64 = self.bytes[windows].iter().map(|bytes| bytes[flow]).sum();
        bytes as f64 * 8.0 / 1e6 / time.max(1e-9)
    }

    fn jain(&self, windows: core::ops::Range<usize>) -> f64 {
        let there = (0..self.joins.len()).filter(|flow| {
            self.members[*flow].sender.is_greedy() && self.is_there(*flow, &windows)
        });
        let shares: Vec<f64> = there.map(|flow| self.mbit(flow, windows.clone())).collect();
        jain(&shares)
    }

    fn flow(
        &self,
        n: usize,
        crowd: &Crowd,
        run: &Run,
        last: core::ops::Range<usize>,
    ) -> FlowOutcome {
        let member = &self.members[n];
        let count = self.bytes.len();
        let there: Vec<usize> = (whole(crowd.skip)..count)
            .filter(|window| self.is_there(n, &(*window..window + 1)))
            .collect();
        let total: f64 = there.iter().map(|w| self.mbit(n, *w..w + 1)).sum();
        let rtt = crowd.forward.delay + crowd.back.delay + 2 * member.extra;
        FlowOutcome {
            sender: member.sender.name(),
            join_s: self.joins[n].as_secs_f64(),
            leave_s: member.leave.map(|leave| leave.as_secs_f64()),
            rtt_ms: rtt.as_secs_f64() * 1e3,
            goodput_mbit: total / there.len().max(1) as f64,
            last_mbit: self.mbit(n, last),
            delay: run
                .reader(n)
                .filter(|reader| reader.messages() > 0)
                .map(|reader| reader.delays().summary()),
            windows_mbit: (0..count).map(|w| self.mbit(n, w..w + 1)).collect(),
        }
    }
}
