//! What came of an experiment.

use std::time::Duration;

use serde::Serialize;
use weftline_netem::{Counters, Link, Simulation};
use weftline_proto::Stats;

use super::Experiment;
use super::end::{Reader, Writer};
use crate::Summary;

/// The result of an experiment. A delay is the time from when a message was due to when it was
/// read in order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Messages that were due.
    pub sent: u64,
    /// Messages that were read, in order.
    pub got: u64,
    /// Delays of messages, ms.
    #[serde(flatten)]
    pub delay: Summary,
    /// Shares, and the delay in ms that this share of messages does not exceed, if
    /// [`Experiment::distribution`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cdf: Option<Vec<(f64, f64)>>,
    /// Share of messages that were read within [`Experiment::within`].
    pub on_time: Option<f64>,
    /// Bytes that the reader's application read after `skip`.
    pub bytes: u64,
    /// The same as a rate, in Mbit/s of the measured time.
    pub goodput_mbit: f64,
    /// The same as a share of what the forward link could carry in that time, if it has a rate.
    pub capacity_share: Option<f64>,
    /// Seconds until the whole file had been read, for files.
    pub completion_s: Option<f64>,
    /// Bytes offered to the forward link, headers included, for each byte read, over the whole
    /// run.
    pub wire_per_byte: f64,
    /// The same on the return link.
    pub back_per_byte: f64,
    /// Repair symbols for each source symbol.
    pub repair_share: f64,
    /// Source symbols for all symbols sent for them: repairs, and source symbols sent again.
    pub effective_rate: f64,
    /// Share of packets that the forward link lost, without queue drops.
    pub loss_rate: f64,
    /// Packets dropped by a full queue.
    pub queue_drops: u64,
    /// Median and 99th percentile of the wait for the transmitter, ms.
    pub queue_ms: [f64; 2],
    /// The 95th percentile of it.
    pub queue_p95_ms: f64,
    /// Seconds of virtual time.
    pub simulated_s: f64,
    /// The paths, if there are several. Everything above is about all of them together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathOutcome>,
    /// Bytes that the reader's application read in the whole run.
    #[serde(skip)]
    pub total_bytes: u64,
    /// Counters of the writer's end.
    #[serde(skip)]
    pub stats: Stats,
}

/// What one path carried to the reader.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathOutcome {
    /// Bytes offered to the path, headers included.
    pub wire_bytes: u64,
    /// Share of the bytes that arrived, of those of all paths.
    pub share: f64,
    /// What arrived over this path, headers included, in Mbit/s of the whole run.
    pub arrived_mbit: f64,
    /// The same in each whole second.
    pub windows_mbit: Vec<f64>,
    /// Smoothed round trip that the writer knows at the end, ms.
    pub rtt_ms: f64,
    /// Source symbols that were lost on this path and that the reader has without another transmission.
    pub recovered: u64,
    /// Share of packets that the path lost, without queue drops.
    pub loss_rate: f64,
    /// Packets dropped by a full queue, or while the path was down.
    pub queue_drops: u64,
    /// Median and 99th percentile of the wait for the transmitter, ms.
    pub queue_ms: [f64; 2],
}

/// What the forward links delivered by the end of each second.
#[derive(Default)]
pub(super) struct Windows(Vec<Vec<u64>>);

/// What arrived is told for windows of this length.
const WINDOW: Duration = Duration::from_secs(1);

impl Windows {
    /// Called after each step.
    pub(super) fn on_step(&mut self, sim: &Simulation<Writer, Reader>) {
        while sim.now() >= WINDOW * (self.0.len() as u32 + 1) {
            let delivered = forward(sim).map(|link| link.counters().delivered_bytes);
            self.0.push(delivered.collect());
        }
    }

    fn mbit(&self, path: usize) -> Vec<f64> {
        let mut before = 0;
        let each = self.0.iter().map(|window| {
            let bytes = window[path] - std::mem::replace(&mut before, window[path]);
            bytes as f64 * 8.0 / 1e6 / WINDOW.as_secs_f64()
        });
        each.collect()
    }
}

fn forward(sim: &Simulation<Writer, Reader>) -> impl Iterator<Item = &Link> {
    let more = sim.more.iter().map(|path| path[0].link());
    [sim.a_to_b.link()].into_iter().chain(more)
}

/// The counters of several links together.
fn sum<'a>(links: impl Iterator<Item = &'a Link>) -> Counters {
    let mut all = Counters::default();
    for counters in links.map(Link::counters) {
        all.offered_bytes += counters.offered_bytes;
        all.delivered_bytes += counters.delivered_bytes;
        all.delivered_packets += counters.delivered_packets;
        all.lost += counters.lost;
        all.queue_drops += counters.queue_drops;
        all.queue_delay.merge(&counters.queue_delay);
    }
    all
}

fn wait_ms(counters: &Counters, share: f64) -> f64 {
    counters.queue_delay.quantile(share).as_secs_f64() * 1e3
}

impl Experiment {
    pub(super) fn outcome(&self, sim: &Simulation<Writer, Reader>, windows: &Windows) -> Outcome {
        let (writer, reader, now) = (&sim.a, &sim.b, sim.now());
        let there = sum(forward(sim));
        let back = [sim.b_to_a.link()].into_iter();
        let back = sum(back.chain(sim.more.iter().map(|path| path[1].link())));
        let stats = writer.stats();
        let total = reader.bytes().max(1) as f64;
        let measured = now.min(self.duration).saturating_sub(self.skip);
        let capacity: Option<u64> = self
            .paths
            .iter()
            .map(|path| path.forward.capacity(self.skip, self.skip + measured))
            .sum();
        Outcome {
            sent: writer.due(),
            got: reader.messages(),
            delay: reader.delays().summary(),
            cdf: self.distribution.then(|| reader.delays().curve()),
            on_time: reader.on_time(),
            bytes: reader.counted(),
            goodput_mbit: reader.counted() as f64 * 8.0 / 1e6 / measured.as_secs_f64().max(1e-9),
            capacity_share: capacity
                .filter(|bits| *bits > 0)
                .map(|bits| reader.counted() as f64 * 8.0 / bits as f64),
            completion_s: reader.completion().map(|at| at.as_secs_f64()),
            wire_per_byte: there.offered_bytes as f64 / total,
            back_per_byte: back.offered_bytes as f64 / total,
            repair_share: stats.sent.repair_symbols as f64
                / (stats.sent.source_symbols as f64).max(1.0),
            effective_rate: stats.sent.source_symbols as f64
                / ((stats.sent.source_symbols
                    + stats.sent.retransmissions
                    + stats.sent.repair_symbols) as f64)
                    .max(1.0),
            loss_rate: there.loss_rate(),
            queue_drops: there.queue_drops,
            queue_ms: [wait_ms(&there, 0.5), wait_ms(&there, 0.99)],
            queue_p95_ms: wait_ms(&there, 0.95),
            simulated_s: now.as_secs_f64(),
            paths: path_outcomes(sim, windows, &there),
            total_bytes: reader.bytes(),
            stats,
        }
    }
}

/// Nothing if there is one path: all of it is about that path.
fn path_outcomes(
    sim: &Simulation<Writer, Reader>,
    windows: &Windows,
    all: &Counters,
) -> Vec<PathOutcome> {
    if sim.more.is_empty() {
        return Vec::new();
    }
    let secs = sim.now().as_secs_f64().max(1e-9);
    let links = forward(sim).zip(sim.a.path_reports()).enumerate();
    let outcomes = links.map(|(path, (link, report))| {
        let counters = link.counters();
        PathOutcome {
            wire_bytes: counters.offered_bytes,
            share: counters.delivered_bytes as f64 / all.delivered_bytes.max(1) as f64,
            arrived_mbit: counters.delivered_bytes as f64 * 8.0 / 1e6 / secs,
            windows_mbit: windows.mbit(path),
            rtt_ms: report.rtt.as_secs_f64() * 1e3,
            recovered: report.recovered_symbols,
            loss_rate: counters.loss_rate(),
            queue_drops: counters.queue_drops,
            queue_ms: [wait_ms(counters, 0.5), wait_ms(counters, 0.99)],
        }
    });
    outcomes.collect()
}
