//! Block codes: k source packets, then combinations of them; and ARQ for packets still missing.

use std::collections::VecDeque;

use serde::Serialize;

use super::arq::{self, Tally, is_bin};
use super::channel::{Channel, Draws};
use super::spread::spread;
use super::{Progress, SlotError, within};
use crate::theory::SlotLoss;

/// Independent parts of a run, for its standard error.
const PARTS: u64 = 32;
/// Source packets of the longest block.
const LONGEST: u32 = 100_000;
/// Most blocks that may wait for an incomplete one.
const MOST_BLOCKS: usize = 1 << 16;
/// Most repairs of a block for each of its source packets.
const MOST_REPAIRS: f64 = 10.0;

/// The model: an ideal code, so that any k packets of a block decode it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// The channel.
    pub loss: SlotLoss,
    /// Source packets of a block.
    pub k: u32,
    /// Repairs of a block. A fraction is carried from block to block, so that this is the mean.
    pub repairs: f64,
    /// Slots from a block's last packet until the sender knows how many packets the receiver
    /// lacks, and sends repairs for them before anything else (Karzand et al.'s safety net).
    /// `None`: open loop; packets that are not recovered by the end of a block are given up.
    pub rtt: Option<u32>,
    /// How many repairs that is.
    pub answer: Answer,
    /// Least number of slots to run.
    pub slots: u64,
    /// Slots of a bin of the delays' histogram; `None`: no histogram.
    pub bin: Option<f64>,
    /// Seed of all random choices.
    pub seed: u64,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Delays and throughput of delivered packets.
    #[serde(flatten)]
    pub delivered: arq::Outcome,
    /// Share of source packets that never arrived.
    pub residual_loss: f64,
    /// Packets sent in answer to feedback for each complete block.
    pub extra: f64,
    /// Source packets for all packets sent for them.
    pub effective_rate: f64,
}

#[derive(Clone, Debug, Default)]
struct Part {
    tally: Tally,
    lost: u64,
    blocks: u64,
    extra: u64,
}

impl Block {
    /// Runs the model on this many threads.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn run(&self, threads: usize, progress: Progress<'_>) -> Result<Outcome, SlotError> {
        self.loss.checked()?;
        within(
            "k",
            self.k,
            (1..=LONGEST).contains(&self.k),
            "from 1 to 100000",
        )?;
        let most = MOST_REPAIRS * f64::from(self.k);
        let fits = (0.0..=most).contains(&self.repairs);
        within(
            "the number of repairs of a block",
            self.repairs,
            fits,
            "from 0 to 10 k: n must be at least k",
        )?;
        is_bin(self.bin)?;
        if let Some(rtt) = self.rtt {
            within(
                "the RTT",
                rtt,
                (1..=1_000_000).contains(&rtt),
                "from 1 to 1000000 slots",
            )?;
        }
        let fits = (1..=super::streaming::MOST_SLOTS).contains(&self.slots);
        within(
            "the number of slots",
            self.slots as f64,
            fits,
            "from 1 to 2^46",
        )?;
        let each = self.slots.div_ceil(PARTS);
        let parts = spread(PARTS, threads, progress, |index| {
            let channel = Channel::new(self.loss, Draws::new(self.seed, index));
            match self.rtt {
                None => Ok(self.open(channel, each)),
                Some(rtt) => self.closed(channel, each, u64::from(rtt)),
            }
        });
        let parts: Vec<Part> = parts.into_iter().collect::<Result<_, _>>()?;
        let sum = |of: &dyn Fn(&Part) -> u64| parts.iter().map(of).sum::<u64>() as f64;
        let (lost, blocks, extra) = (sum(&|p| p.lost), sum(&|p| p.blocks), sum(&|p| p.extra));
        let tallies: Vec<_> = parts.into_iter().map(|part| part.tally).collect();
        let delivered = Tally::outcome(&tallies, self.bin);
        let (k, extra) = (f64::from(self.k), extra / blocks.max(1.0));
        Ok(Outcome {
            residual_loss: lost / (lost + delivered.packets as f64).max(1.0),
            extra,
            effective_rate: k / (k + self.repairs + extra),
            delivered,
        })
    }

    /// One block after the other: the received packets of an undecoded block are delivered at its
    /// end.
    fn open(&self, mut channel: Channel, slots: u64) -> Part {
        let k = u64::from(self.k);
        let mut sizes = Sizes::new(self);
        let mut part = Part::default();
        let mut received = vec![false; self.k as usize];
        while part.tally.slots < slots {
            let n = u64::from(sizes.next());
            let (mut missing, mut first) = (0, k);
            let mut decoded = None;
            for slot in 0..n {
                let lost = channel.next_is_lost();
                if slot < k {
                    received[slot as usize] = !lost;
                    missing += u64::from(lost);
                    first = if lost { first.min(slot) } else { first };
                } else if !lost && missing > 0 {
                    missing -= 1;
                    decoded = (missing == 0).then_some(slot).or(decoded);
                }
            }
            part.tally.delays.add_times(0, first);
            let end = decoded.unwrap_or(n - 1);
            for packet in first..k {
                if decoded.is_some() || received[packet as usize] {
                    part.tally.delays.add(end - packet);
                } else {
                    part.lost += 1;
                }
            }
            part.tally.slots += n;
            part.blocks += 1;
        }
        part
    }

    fn closed(&self, mut channel: Channel, slots: u64, rtt: u64) -> Result<Part, SlotError> {
        let mut part = Part::default();
        let mut receiver = Receiver::new(self.k);
        let mut sizes = Sizes::new(self);
        let loss = self.loss.rate();
        // Requests: when the sender learns of it, the block, and the number of packets left to
        // send.
        let mut asked: VecDeque<(u64, u64, u32)> = VecDeque::new();
        let (mut block, mut place, mut n) = (0, 0, 0);
        for now in 0..slots {
            let ready = asked.front_mut().filter(|(at, _, _)| *at <= now);
            if let Some((_, which, left)) = ready {
                let which = *which;
                *left -= 1;
                let last = *left == 0;
                if last {
                    asked.pop_front();
                }
                part.extra += 1;
                if !channel.next_is_lost() {
                    receiver.repair(which);
                }
                let missing = receiver.missing(which);
                if last && missing > 0 {
                    asked.push_back((now + rtt, which, self.answer.repairs(missing, loss)));
                }
            } else {
                if place == 0 {
                    receiver.begin();
                    n = sizes.next();
                }
                let lost = channel.next_is_lost();
                if place < self.k {
                    receiver.source(block, now, !lost);
                } else if !lost {
                    receiver.repair(block);
                }
                place += 1;
                if place == n {
                    let missing = receiver.missing(block);
                    if missing > 0 {
                        asked.push_back((now + rtt, block, self.answer.repairs(missing, loss)));
                    }
                    (block, place) = (block + 1, 0);
                }
            }
            receiver.deliver(now, &mut part);
            if receiver.blocks.len() > MOST_BLOCKS {
                let (what, limit) = ("the number of blocks that wait", MOST_BLOCKS as u64);
                return Err(SlotError::TooLarge { what, limit });
            }
        }
        part.tally.slots = slots;
        Ok(part)
    }
}

/// How many repairs answer feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// As many as the receiver lacks.
    Missing,
    /// As many as must be sent for that number to arrive on average, rounded up.
    Expected,
}

impl Answer {
    /// The number of repairs for this number of missing packets.
    pub(super) fn repairs(self, missing: u32, loss: f64) -> u32 {
        match self {
            Answer::Missing => missing,
            // To rounding: 8 / 0.8 is 10.
            Answer::Expected => (f64::from(missing) / (1.0 - loss) - 1e-9).ceil() as u32,
        }
    }
}

/// The number of packets of each block.
struct Sizes {
    k: u32,
    repairs: f64,
    carry: f64,
}

impl Sizes {
    fn new(model: &Block) -> Self {
        let (k, repairs) = (model.k, model.repairs);
        let carry = 0.0;
        Self { k, repairs, carry }
    }

    fn next(&mut self) -> u32 {
        let owed = self.repairs + self.carry;
        let sent = (owed + 1e-9).floor();
        self.carry = owed - sent;
        self.k + sent as u32
    }
}

/// A receiver of blocks, in order.
struct Receiver {
    k: usize,
    /// The number of the first of `blocks`.
    first: u64,
    blocks: VecDeque<Held>,
}

#[derive(Default)]
struct Held {
    /// When each packet was sent, and whether it arrived.
    packets: Vec<(u64, bool)>,
    delivered: usize,
    missing: u32,
}

impl Receiver {
    fn new(k: u32) -> Self {
        Self {
            k: k as usize,
            first: 0,
            blocks: VecDeque::new(),
        }
    }

    fn begin(&mut self) {
        self.blocks.push_back(Held::default());
    }

    fn held(&mut self, block: u64) -> Option<&mut Held> {
        self.blocks
            .get_mut(usize::try_from(block.checked_sub(self.first)?).ok()?)
    }

    /// Number of packets that a block still lacks; 0 if it is delivered.
    fn missing(&mut self, block: u64) -> u32 {
        self.held(block).map_or(0, |held| held.missing)
    }

    fn source(&mut self, block: u64, now: u64, arrived: bool) {
        if let Some(held) = self.held(block) {
            held.packets.push((now, arrived));
            held.missing += u32::from(!arrived);
        }
    }

    fn repair(&mut self, block: u64) {
        if let Some(held) = self.held(block) {
            held.missing = held.missing.saturating_sub(1);
        }
    }

    /// Delivers the packets that have become deliverable.
    fn deliver(&mut self, now: u64, part: &mut Part) {
        while let Some(held) = self.blocks.front_mut() {
            let decoded = held.packets.len() == self.k && held.missing == 0;
            while let Some((sent, arrived)) = held.packets.get(held.delivered) {
                if !*arrived && !decoded {
                    return;
                }
                part.tally.delays.add(now - sent);
                held.delivered += 1;
            }
            if !decoded {
                return;
            }
            part.blocks += 1;
            self.blocks.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::silent;
    use super::*;

    fn model(k: u32, n: u32, loss: &str) -> Block {
        let loss = loss.parse().unwrap();
        Block {
            loss,
            k,
            repairs: f64::from(n - k),
            rtt: None,
            answer: Answer::Missing,
            slots: 3_200_000,
            bin: None,
            seed: 4,
        }
    }

    #[test]
    fn open_loop_is_the_reference_simulation() {
        for (k, n, loss, delay, residual) in [
            (8, 10, "0.05", 0.7218, 0.003470),
            (16, 20, "0.05", 2.3227, 0.000651),
            (32, 40, "0.05", 7.2501, 0.000034),
            (32, 40, "0.1", 12.0122, 0.003730),
        ] {
            let got = model(k, n, loss).run(2, &silent).unwrap();
            let mean = got.delivered.mean_delay_slots;
            // The reference has no error estimate: it is assumed to be the same as here.
            let error = 4.0 * 2_f64.sqrt() * got.delivered.stderr;
            assert!(
                (mean - delay).abs() < error.max(0.003 * delay),
                "{k}: {got:?}"
            );
            assert!(
                (got.residual_loss - residual).abs() < 0.1 * residual + 2e-5,
                "{k}: {got:?}"
            );
        }
    }

    #[test]
    fn with_feedback_everything_arrives_later() {
        let open = model(32, 40, "0.1").run(2, &silent).unwrap();
        let closed = Block {
            rtt: Some(63),
            ..model(32, 40, "0.1")
        }
        .run(2, &silent)
        .unwrap();
        assert_eq!(closed.residual_loss, 0.0);
        assert!(closed.delivered.mean_delay_slots > open.delivered.mean_delay_slots);
        // Most incomplete blocks get their missing packets in one round.
        assert!((0.02..0.3).contains(&closed.extra), "{closed:?}");
        assert!(closed.delivered.throughput < 0.8 && closed.delivered.throughput > 0.78);
    }

    #[test]
    fn a_block_of_one_without_repairs_is_arq() {
        let block = Block {
            rtt: Some(20),
            ..model(1, 1, "0.1")
        };
        let arq = arq::Arq {
            loss: block.loss,
            rtt: 20,
            slots: block.slots,
            bin: None,
            seed: block.seed,
        };
        assert_eq!(
            block.run(2, &silent).unwrap().delivered,
            arq.run(2, &silent).unwrap()
        );
    }

    #[test]
    fn a_fraction_of_a_repair_is_carried_to_the_next_block() {
        let block = Block {
            repairs: 1.25,
            ..model(4, 4, "0")
        };
        let mut sizes = Sizes::new(&block);
        let first: Vec<u32> = (0..8).map(|_| sizes.next()).collect();
        assert_eq!(first, [5, 5, 5, 6, 5, 5, 5, 6]);
        // One slot in 0.25 more: the rate without losses.
        let rtt = Some(10);
        let got = Block { rtt, ..block }.run(2, &silent).unwrap();
        assert!((got.effective_rate - 4.0 / 5.25).abs() < 1e-12);
        assert!((got.delivered.throughput - got.effective_rate).abs() < 1e-4);
    }

    #[test]
    fn answering_for_expected_losses_costs_packets_and_saves_rounds() {
        let rtt = Some(63);
        let exact = Block {
            rtt,
            ..model(32, 34, "0.2")
        };
        let answer = Answer::Expected;
        let more = Block { answer, ..exact }.run(2, &silent).unwrap();
        let exact = exact.run(2, &silent).unwrap();
        assert!(more.effective_rate < exact.effective_rate);
        assert!(more.delivered.mean_delay_slots < exact.delivered.mean_delay_slots);
        // Nothing that arrives is wasted if nothing is asked for in excess.
        assert!((exact.effective_rate - 0.8).abs() < 0.003, "{exact:?}");
        assert_eq!(Answer::Expected.repairs(8, 0.2), 10);
        assert_eq!(Answer::Expected.repairs(1, 0.05), 2);
    }
}
