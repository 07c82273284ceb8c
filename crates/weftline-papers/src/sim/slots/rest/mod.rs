//! REST (Brulatout et al., "Reliable Streaming Protocol for Lossy Networks"): a repair after each
//! k data packets, and after the last one repairs until the receiver has everything.
//!
//! Every packet takes a slot. Delays are per packet, from sending until received or decoded,
//! without waiting for earlier packets.

mod receiver;

use serde::Serialize;

use super::channel::{Channel, Draws, threshold};
use super::estimate::Estimate;
use super::spread::spread;
use super::{Code, Progress, SlotError, within};
use crate::theory::{SlotLoss, rest};
use receiver::Receiver;

/// Packets of the longest stream.
const LONGEST: u32 = 1 << 20;
/// Slots for each packet after which a run is given up.
const PATIENCE: u64 = 200;

/// The loss model of the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Slots of a channel.
    Slots(SlotLoss),
    /// The paper's Figs 4 to 8: after a packet, with probability `chance`, the next 1 to `longest`
    /// packets are lost, each number with the same probability.
    Bursts {
        /// Probability of a burst after a packet that arrived.
        chance: f64,
        /// Packets of the longest burst.
        longest: u32,
    },
}

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
    /// Seconds over which a value of the estimate is measured: the paper's 3.
    pub estimate_s: f64,
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
    /// Repairs sent for each data packet, those after the end included.
    pub overhead: Estimate,
    /// Repairs sent for each data packet before the end.
    pub inline_overhead: Estimate,
    /// The receiver's estimate of the packet error rate at the end.
    pub estimated_loss: Estimate,
    /// Most sent packets missing at a time: unknowns of the receiver's linear system.
    pub largest_system: Estimate,
}

struct Run {
    duration: f64,
    mean: f64,
    std: f64,
    overhead: f64,
    inline: f64,
    estimate: f64,
    largest: f64,
}

impl Rest {
    /// Runs the model on this many threads.
    ///
    /// # Errors
    /// A parameter is out of its range, or with these losses a stream never ends.
    pub fn run(&self, threads: usize, progress: Progress<'_>) -> Result<Outcome, SlotError> {
        self.check()?;
        let runs = spread(self.runs, threads, progress, |run| self.stream(run));
        let runs: Vec<_> = runs.into_iter().collect::<Result<_, _>>()?;
        let of =
            |value: &dyn Fn(&Run) -> f64| Estimate::of(&runs.iter().map(value).collect::<Vec<_>>());
        Ok(Outcome {
            runs: self.runs,
            duration_s: of(&|run| run.duration),
            mean_delay_s: of(&|run| run.mean),
            std_delay_s: of(&|run| run.std),
            overhead: of(&|run| run.overhead),
            inline_overhead: of(&|run| run.inline),
            estimated_loss: of(&|run| run.estimate),
            largest_system: of(&|run| run.largest),
        })
    }

    fn check(&self) -> Result<(), SlotError> {
        match self.loss {
            Loss::Slots(loss) => {
                let rate = loss.checked()?.rate();
                within("the loss", rate, rate <= 0.95, "at most 0.95")?;
            }
            Loss::Bursts { chance, longest } => {
                within(
                    "the chance of a burst",
                    chance,
                    (0.0..=0.5).contains(&chance),
                    "from 0 to 0.5",
                )?;
                within(
                    "the longest burst",
                    longest,
                    (1..=10_000).contains(&longest),
                    "from 1 to 10000",
                )?;
            }
        }
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

    /// The sender's knowledge at slot `slot`: the end of the history that the latest
    /// acknowledgement covers. Each direction takes half a round trip.
    fn heard(&self, slot: u64) -> usize {
        let way = self.rtt_s / 2.0;
        let now = slot as f64 * self.packet_s;
        let told = ((now - way) / self.ack_s + 1e-9).floor() * self.ack_s;
        let sent_by = (told - way) / self.packet_s + 1e-9;
        if sent_by < 0.0 {
            0
        } else {
            sent_by.floor() as usize + 1
        }
    }

    fn stream(&self, run: u64) -> Result<Run, SlotError> {
        let mut link = Link::new(self.loss, Draws::new(self.seed, run));
        let ideal = self.code == Code::Genie && self.window.is_none();
        let mut receiver = Receiver::new(ideal, self.packets, self.window);
        let mut history: Vec<(u32, f64)> = Vec::new();
        let mut estimate = Estimator::default();
        let limit = u64::from(self.packets) * PATIENCE + 100_000;
        let (mut since, mut repairs, mut inline, mut largest) = (0, 0_u64, 0_u64, 0);
        for slot in 0.. {
            let heard = self.heard(slot);
            let (acknowledged, loss) = heard.checked_sub(1).map_or((0, 0.0), |at| {
                history
                    .get(at)
                    .or(history.last())
                    .copied()
                    .unwrap_or((0, 0.0))
            });
            let spacing = match self.redundancy {
                Redundancy::Fixed(0.0) => u32::MAX,
                Redundancy::Fixed(share) => rest::spacing(share)?,
                Redundancy::Adaptive => rest::spacing(rest::redundancy(loss.min(0.99))?)?,
            };
            let more = receiver.sent() < self.packets;
            let is_data = more && (since < spacing || acknowledged >= receiver.sent());
            let lost = link.next_is_lost();
            let now = slot as f64 * self.packet_s;
            if is_data {
                since += 1;
                receiver.data(now, !lost)?;
            } else {
                since = 0;
                repairs += 1;
                inline += u64::from(more);
                receiver.repair(now, acknowledged, !lost)?;
            }
            largest = largest.max(receiver.missing());
            estimate.packet(now, lost, self);
            history.push((receiver.edge(), estimate.value));
            if receiver.sent() == self.packets && receiver.edge() == self.packets {
                let packets = f64::from(self.packets);
                let (mean, std) = receiver.delays();
                return Ok(Run {
                    duration: now + self.rtt_s / 2.0,
                    mean: mean + self.rtt_s / 2.0,
                    std,
                    overhead: repairs as f64 / packets,
                    inline: inline as f64 / packets,
                    estimate: estimate.value,
                    largest: largest as f64,
                });
            }
            if slot > limit {
                break;
            }
        }
        let what = "the number of slots of a stream";
        Err(SlotError::TooLarge { what, limit })
    }
}

/// The receiver's estimate of the packet error rate: an EWMA of the loss in each interval.
#[derive(Default)]
struct Estimator {
    value: f64,
    stretches: u64,
    packets: f64,
    lost: f64,
}

impl Estimator {
    fn packet(&mut self, now: f64, lost: bool, rest: &Rest) {
        if now >= (self.stretches + 1) as f64 * rest.estimate_s && self.packets > 0.0 {
            let newest = self.lost / self.packets;
            self.value = match self.stretches {
                0 => newest,
                _ => rest.alpha * newest + (1.0 - rest.alpha) * self.value,
            };
            self.stretches += 1;
            (self.packets, self.lost) = (0.0, 0.0);
        }
        self.packets += 1.0;
        self.lost += f64::from(u8::from(lost));
    }
}

/// A link that loses packets.
struct Link {
    slots: Option<Channel>,
    draws: Draws,
    begins: u64,
    longest: u32,
    left: u64,
}

impl Link {
    fn new(loss: Loss, draws: Draws) -> Self {
        let (slots, begins, longest) = match loss {
            Loss::Slots(loss) => (Some(Channel::new(loss, draws.clone())), 0, 1),
            Loss::Bursts { chance, longest } => (None, threshold(chance), longest),
        };
        Self {
            slots,
            draws,
            begins,
            longest,
            left: 0,
        }
    }

    fn next_is_lost(&mut self) -> bool {
        if let Some(slots) = &mut self.slots {
            return slots.next_is_lost();
        }
        if self.left > 0 {
            self.left -= 1;
            return true;
        }
        if self.draws.chance(self.begins) {
            self.left = 1 + self.draws.below(self.longest.into());
        }
        false
    }
}

#[cfg(test)]
mod tests;
