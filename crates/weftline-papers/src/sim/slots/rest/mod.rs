//! REST (Brulatout et al., "Reliable Streaming Protocol for Lossy Networks"): a repair after each
//! k data packets, and after the last one repairs until the receiver has everything.
//!
//! Every packet takes a slot. Delays are per packet, from sending until received or decoded,
//! without waiting for earlier packets. The receiver acknowledges at fixed times, on a path that
//! loses no acknowledgement, and stops with the first one that says it has everything; the sender
//! stops when that one arrives.

mod estimator;
mod link;
mod receiver;
mod series;
mod tally;

use serde::Serialize;

use std::collections::VecDeque;

use super::channel::Draws;
use super::estimate::Estimate;
use super::spread::spread;
use super::{Code, Progress, SlotError, within};
use crate::theory::rest;
use estimator::Estimator;
use link::Link;
pub use link::Loss;
use receiver::Receiver;
pub use series::{LONGEST_SERIES, Series};
use tally::{Run, Tally};

/// Packets of the longest stream.
const LONGEST: u32 = 1 << 20;
/// Slots for each packet after which a run is given up.
const PATIENCE: u64 = 200;

/// The redundancy before the end of the stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Redundancy {
    /// Repairs for each data packet; 0 is none before the end.
    Fixed(f64),
    /// Redundancy as the receiver's estimate of the packet error rate requires.
    Adaptive,
}

/// The model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rest {
    /// The loss model of the link.
    pub loss: Loss,
    /// The redundancy before the end of the stream.
    pub redundancy: Redundancy,
    /// Data packets of the stream.
    pub packets: u32,
    /// Seconds of a slot.
    pub packet_s: f64,
    /// Round-trip time in seconds.
    pub rtt_s: f64,
    /// Seconds between two acknowledgements.
    pub ack_s: f64,
    /// Most packets that a repair covers, the oldest unacknowledged ones; `None` is all of them.
    pub window: Option<u32>,
    /// Ideal or real; a bounded window is always real.
    pub code: Code,
    /// Weight of the newest value in the estimate: the paper's 0.8.
    pub alpha: f64,
    /// Seconds of the sliding window in which a value of the estimate is measured: the paper's 3.
    pub estimate_s: f64,
    /// Whether the first stream is told over time.
    pub series: bool,
    /// Number of streams, each with the next run of the seed.
    pub runs: u64,
    /// Seed of all random choices.
    pub seed: u64,
}

/// The result; `spread` is that of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Number of streams.
    pub runs: u64,
    /// Seconds from the first packet until the receiver has everything.
    pub duration_s: Estimate,
    /// Mean delay of a stream's packets, seconds.
    pub mean_delay_s: Estimate,
    /// Standard deviation of a stream's delays, seconds.
    pub std_delay_s: Estimate,
    /// The paper's overhead: repairs that arrive and are of no use, and acknowledgements, of all
    /// packets sent in both directions.
    pub overhead: Estimate,
    /// The same without the repairs after the last data packet.
    pub inline_overhead: Estimate,
    /// Repairs that arrive and are of no use, of all packets that the sender sends.
    pub useless_share: Estimate,
    /// The same without repairs after the last data packet.
    pub useless_inline_share: Estimate,
    /// Acknowledgements of a stream.
    pub acknowledgements: Estimate,
    /// Repairs sent for each data packet, those after the last data packet included.
    pub repairs: Estimate,
    /// Repairs sent for each data packet before the last data packet.
    pub inline_repairs: Estimate,
    /// The receiver's estimate of the packet error rate at the end.
    pub estimated_loss: Estimate,
    /// Decodings of a stream: repairs with which missing packets become known.
    pub decodings: Estimate,
    /// Packets that a decoding gives, the unknowns of its matrix: mean over a stream's decodings.
    pub mean_matrix: Estimate,
    /// Standard deviation of the same over a stream's decodings.
    pub std_matrix: Estimate,
    /// The largest of a stream.
    pub largest_matrix: Estimate,
    /// Its share of all packets that a stream's decodings give; 0 without a decoding.
    pub largest_share: Estimate,
    /// Most sent packets missing at a time.
    pub largest_system: Estimate,
    /// The first stream over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
}

impl Rest {
    /// Runs the model on this many threads.
    ///
    /// # Errors
    /// A parameter is out of its range, or with these losses a stream never ends.
    pub fn run(&self, threads: usize, progress: Progress<'_>) -> Result<Outcome, SlotError> {
        self.check()?;
        let runs = spread(self.runs, threads, progress, |run| self.stream(run));
        let mut runs: Vec<Run> = runs.into_iter().collect::<Result<_, _>>()?;
        let series = runs.first_mut().and_then(|run| run.series.take());
        let of = |value: &dyn Fn(&Tally) -> f64| {
            Estimate::of(&runs.iter().map(|run| value(&run.tally)).collect::<Vec<_>>())
        };
        let packets = f64::from(self.packets);
        Ok(Outcome {
            runs: self.runs,
            duration_s: of(&|t| t.duration),
            mean_delay_s: of(&|t| t.mean_delay),
            std_delay_s: of(&|t| t.std_delay),
            overhead: of(&Tally::overhead),
            inline_overhead: of(&Tally::inline_overhead),
            useless_share: of(&|t| t.useless.all as f64 / t.sent() as f64),
            useless_inline_share: of(&|t| t.useless.inline as f64 / t.sent() as f64),
            acknowledgements: of(&|t| t.acks as f64),
            repairs: of(&|t| t.repairs.all as f64 / packets),
            inline_repairs: of(&|t| t.repairs.inline as f64 / packets),
            estimated_loss: of(&|t| t.estimate),
            decodings: of(&|t| t.matrices.count as f64),
            mean_matrix: of(&|t| t.matrices.mean()),
            std_matrix: of(&|t| t.matrices.deviation()),
            largest_matrix: of(&|t| t.matrices.largest.into()),
            largest_share: of(&|t| t.matrices.largest_share()),
            largest_system: of(&|t| t.largest_system as f64),
            series,
        })
    }

    fn check(&self) -> Result<(), SlotError> {
        self.loss.check()?;
        if let Redundancy::Fixed(share) = self.redundancy {
            rest::spacing(share)?;
        }
        let packets = self.packets;
        within(
            "the number of packets",
            packets,
            (1..=LONGEST).contains(&packets),
            "from 1 to 1048576",
        )?;
        if let Some(window) = self.window {
            within("the window", window, window > 0, "at least 1 packet")?;
        }
        let positive = |seconds: f64| seconds > 0.0 && seconds <= 3600.0;
        within(
            "the time of a packet",
            self.packet_s,
            positive(self.packet_s),
            "above 0 s",
        )?;
        within(
            "the ack interval",
            self.ack_s,
            positive(self.ack_s),
            "above 0 s, at most 3600",
        )?;
        within(
            "the estimate's window",
            self.estimate_s,
            positive(self.estimate_s),
            "above 0 s",
        )?;
        within(
            "the RTT",
            self.rtt_s,
            (0.0..=3600.0).contains(&self.rtt_s),
            "from 0 to 3600 s",
        )?;
        within(
            "alpha",
            self.alpha,
            (0.0..=1.0).contains(&self.alpha),
            "from 0 to 1",
        )?;
        let fits = (1..=1_000_000).contains(&self.runs);
        within(
            "the number of runs",
            self.runs as f64,
            fits,
            "from 1 to 1000000",
        )
    }

    /// Redundancy and spacing for the latest estimate.
    fn plan(&self, loss: f64) -> Result<(f64, u32), SlotError> {
        let share = match self.redundancy {
            Redundancy::Fixed(share) => share,
            Redundancy::Adaptive => rest::redundancy(loss.min(0.99))?,
        };
        let spacing = match self.redundancy {
            Redundancy::Fixed(0.0) => u32::MAX,
            _ => rest::spacing(share)?,
        };
        Ok((share, spacing))
    }

    fn stream(&self, run: u64) -> Result<Run, SlotError> {
        let mut link = Link::new(self.loss, Draws::new(self.seed, run));
        let ideal = self.code == Code::Genie && self.window.is_none();
        let mut receiver = Receiver::new(ideal, self.packets, self.window);
        let mut estimator = Estimator::new(self.alpha, self.estimate_s);
        let mut series = (self.series && run == 0).then(Series::default);
        let mut tally = Tally::new(self.packets);
        let way = self.rtt_s / 2.0;
        // Times of slots are multiples, which rounding must not move to the other side of an
        // acknowledgement's time.
        let grain = 1e-9 * self.packet_s.min(self.ack_s);
        let mut under_way: VecDeque<Ack> = VecDeque::new();
        let mut next_ack = ((way - grain) / self.ack_s).ceil().max(0.0);
        let (mut acknowledged, mut since) = (0, 0);
        let mut plan = self.plan(0.0)?;
        let limit = u64::from(self.packets) * PATIENCE + 100_000;
        for slot in 0..=limit {
            let now = slot as f64 * self.packet_s;
            while let Some(ack) = under_way.front()
                && ack.arrives <= now + grain
            {
                acknowledged = ack.edge;
                plan = self.plan(ack.loss)?;
                if let Some(series) = &mut series {
                    let shown = plan.1.min(rest::LONGEST_SPACING);
                    series.on_ack(ack.arrives, ack.edge, ack.loss, (plan.0, shown));
                }
                under_way.pop_front();
            }
            if acknowledged == self.packets {
                return Ok(Run { tally, series });
            }
            let more = receiver.sent() < self.packets;
            let is_data = more && (since < plan.1 || acknowledged >= receiver.sent());
            let lost = link.next_is_lost(now);
            let arrives = now + way;
            let was_complete = receiver.edge() == self.packets;
            if is_data {
                since += 1;
                receiver.data(now, !lost)?;
            } else {
                since = 0;
                let known = receiver.known();
                let useful = receiver.repair(now, acknowledged, !lost)?;
                tally.on_repair(more, !lost && !useful);
                let decoded = receiver.known() - known;
                if decoded > 0 {
                    tally.matrices.add(decoded);
                    if let Some(series) = &mut series {
                        series.on_decoding(arrives, decoded);
                    }
                }
            }
            tally.largest_system = tally.largest_system.max(receiver.missing());
            estimator.on_packet(arrives, lost);
            let complete = receiver.edge() == self.packets;
            if complete && !was_complete {
                let (mean, std) = receiver.delays();
                (tally.duration, tally.mean_delay, tally.std_delay) = (arrives, mean + way, std);
            }
            // Acknowledgements before the next packet arrives; none follows one with the end.
            while !tally.ended && next_ack * self.ack_s < arrives + self.packet_s - grain {
                let leaves = next_ack * self.ack_s;
                next_ack += 1.0;
                tally.acks += 1;
                tally.ended = complete;
                tally.estimate = estimator.on_ack(leaves);
                under_way.push_back(Ack {
                    arrives: leaves + way,
                    edge: receiver.edge(),
                    loss: tally.estimate,
                });
            }
        }
        let what = "the number of slots of a stream";
        Err(SlotError::TooLarge { what, limit })
    }
}

/// An acknowledgement on its way.
struct Ack {
    /// When it reaches the sender, s.
    arrives: f64,
    /// All packets below it have arrived or are decoded.
    edge: u32,
    /// The receiver's estimate of the packet error rate.
    loss: f64,
}

#[cfg(test)]
mod tests;
