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
                Some(rtt) if self.answer == Answer::Known => self.known(channel, each, rtt),
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
            effective_rate: match self.answer {
                // Blocks may end early.
                Answer::Known if self.rtt.is_some() => delivered.throughput,
                _ => k / (k + self.repairs + extra),
            },
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
            receiver.deliver(now, &mut part)?;
        }
        part.tally.slots = slots;
        Ok(part)
    }

    /// As `closed`, but the sender learns the fate of each packet an RTT after its slot, and answers
    /// packet by packet.
    fn known(&self, mut channel: Channel, slots: u64, rtt: u32) -> Result<Part, SlotError> {
        let (rtt, loss) = (rtt as usize, self.loss.rate());
        let mut part = Part::default();
        let mut receiver = Receiver::new(self.k);
        let mut sizes = Sizes::new(self);
        // The packets whose fates are unknown, the oldest first.
        let mut in_flight: VecDeque<Sent> = VecDeque::with_capacity(rtt + 1);
        // What the sender knows of the blocks that it does not know to be decoded.
        let mut views: VecDeque<View> = VecDeque::new();
        let (mut first, mut newest, mut place, mut n) = (0, 0, 0, 0);
        for now in 0..slots {
            if in_flight.len() == rtt
                && let Some(sent) = in_flight.pop_front()
                && let Some(view) = view(&mut views, first, sent.block)
            {
                view.learn(sent);
                while views.front().is_some_and(|view| view.is_decoded(self.k)) {
                    views.pop_front();
                    first += 1;
                }
                // A decoded block needs no more repairs in advance.
                place = if first > newest { 0 } else { place };
            }
            let mut asked = views.iter().enumerate();
            let asked = asked.find(|(_, view)| view.is_short(self, loss));
            let asked = asked.map(|(at, _)| first + at as u64);
            if asked.is_none() && place == 0 {
                receiver.begin();
                n = sizes.next();
                newest = first + views.len() as u64;
                views.push_back(View {
                    owed: n - self.k,
                    ..View::default()
                });
            }
            let block = asked.unwrap_or(newest);
            let is_source = asked.is_none() && place < self.k;
            let lost = channel.next_is_lost();
            if is_source {
                receiver.source(block, now, !lost);
            } else if !lost {
                receiver.repair(block);
            }
            if let Some(view) = view(&mut views, first, block) {
                view.sources += u32::from(is_source);
                view.in_flight += u32::from(!is_source);
                view.owed -= u32::from(!is_source && asked.is_none());
            }
            match asked {
                Some(_) => part.extra += 1,
                None => place = (place + 1) % n,
            }
            in_flight.push_back(Sent {
                block,
                is_source,
                lost,
            });
            receiver.deliver(now, &mut part)?;
        }
        part.tally.slots = slots;
        Ok(part)
    }
}

/// A packet whose fate the sender does not know.
#[derive(Clone, Copy, Debug)]
struct Sent {
    block: u64,
    is_source: bool,
    lost: bool,
}

/// What the sender knows of a block.
#[derive(Clone, Copy, Debug, Default)]
struct View {
    /// Source packets that were sent.
    sources: u32,
    /// Source packets whose fates are known.
    known: u32,
    /// Source packets that were lost.
    lost: u32,
    /// Repairs in advance that are still to be sent.
    owed: u32,
    /// Repairs whose fates are unknown.
    in_flight: u32,
    /// Repairs that arrived.
    arrived: u32,
}

impl View {
    fn learn(&mut self, sent: Sent) {
        if sent.is_source {
            self.known += 1;
            self.lost += u32::from(sent.lost);
        } else {
            self.in_flight -= 1;
            self.arrived += u32::from(!sent.lost);
        }
    }

    fn is_decoded(&self, k: u32) -> bool {
        self.known == k && self.lost <= self.arrived
    }

    fn is_short(&self, model: &Block, loss: f64) -> bool {
        let is_open = self.sources == model.k && !self.is_decoded(model.k);
        let needed = self.lost.saturating_sub(self.arrived).max(1);
        let sent = self.in_flight + self.owed;
        is_open && self.lost > 0 && model.answer.is_short(f64::from(needed), sent, loss)
    }
}

/// The view of a block that may be known to be decoded.
fn view(views: &mut VecDeque<View>, first: u64, block: u64) -> Option<&mut View> {
    views.get_mut(usize::try_from(block.checked_sub(first)?).ok()?)
}

/// How many repairs answer feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// As many as the receiver lacks.
    Missing,
    /// As many as must be sent for that number to arrive on average, rounded up.
    Expected,
    /// The rule of the engine's presets: packet by packet, as soon as each loss is known, so that
    /// the repairs in flight cover what is lost on average, to half a repair.
    Known,
}

impl Answer {
    /// The number of repairs for this number of missing packets.
    pub(super) fn repairs(self, missing: u32, loss: f64) -> u32 {
        match self {
            Answer::Missing => missing,
            // To rounding: 8 / 0.8 is 10.
            Answer::Expected | Answer::Known => {
                (f64::from(missing) / (1.0 - loss) - 1e-9).ceil() as u32
            }
        }
    }

    /// Whether what is `needed` is more than `sent` repairs cover, whose fates are unknown.
    pub(super) fn is_short(self, needed: f64, sent: u32, loss: f64) -> bool {
        let sent = f64::from(sent);
        match self {
            Answer::Missing => needed > sent,
            Answer::Expected => needed / (1.0 - loss) - 1e-9 > sent,
            Answer::Known => needed >= sent * (1.0 - loss) + 0.5,
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
    ///
    /// # Errors
    /// Too many blocks wait for an incomplete one.
    fn deliver(&mut self, now: u64, part: &mut Part) -> Result<(), SlotError> {
        self.advance(now, part);
        match self.blocks.len() > MOST_BLOCKS {
            false => Ok(()),
            true => Err(SlotError::TooLarge {
                what: "the number of blocks that wait",
                limit: MOST_BLOCKS as u64,
            }),
        }
    }

    fn advance(&mut self, now: u64, part: &mut Part) {
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
        let arq = arq.run(2, &silent).unwrap();
        assert_eq!(block.run(2, &silent).unwrap().delivered, arq);
        let answer = Answer::Known;
        let block = Block { answer, ..block };
        assert_eq!(block.run(2, &silent).unwrap().delivered, arq);
    }

    #[test]
    fn answering_each_loss_when_it_is_known_is_sooner_than_at_the_end_of_the_block() {
        let answer = |answer| {
            let block = model(64, 64, "0.1");
            let (rtt, repairs) = (Some(60), 6.5);
            Block {
                rtt,
                repairs,
                answer,
                ..block
            }
            .run(2, &silent)
            .unwrap()
        };
        let (late, soon) = (answer(Answer::Expected), answer(Answer::Known));
        assert!(soon.delivered.mean_delay_slots < 0.9 * late.delivered.mean_delay_slots);
        assert_eq!(soon.residual_loss, 0.0);
        assert!((soon.effective_rate - 64.0 / (70.5 + soon.extra)).abs() < 0.001);
    }

    #[test]
    fn repairs_on_their_way_cover_what_arrives_of_them() {
        assert!(Answer::Missing.is_short(2.0, 1, 0.5) && !Answer::Missing.is_short(2.0, 2, 0.5));
        assert!(Answer::Expected.is_short(2.0, 3, 0.5) && !Answer::Expected.is_short(2.0, 4, 0.5));
        assert!(Answer::Known.is_short(2.0, 3, 0.5) && !Answer::Known.is_short(2.0, 4, 0.5));
        assert!(!Answer::Known.is_short(1.4, 1, 0.0) && Answer::Known.is_short(1.5, 1, 0.0));
    }

    #[test]
    fn a_block_that_is_decoded_early_gets_no_more_repairs() {
        let block = Block {
            rtt: Some(5),
            answer: Answer::Known,
            ..model(4, 40, "0.05")
        };
        let got = block.run(2, &silent).unwrap();
        assert!(got.effective_rate > 0.3, "{got:?}");
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
