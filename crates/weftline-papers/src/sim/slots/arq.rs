//! Selective-repeat ARQ: a lost packet is sent again as soon as the sender knows of the loss.

use std::collections::VecDeque;

use serde::Serialize;

use super::channel::{Channel, Draws};
use super::delays::Delays;
use super::estimate::Estimate;
use super::spread::spread;
use super::{DelaySummary, Progress, SlotError, within};
use crate::theory::SlotLoss;

/// Most packets that may wait for a lost one.
const MOST_HELD: usize = 1 << 22;
/// Independent parts of a run, for its standard error.
const PARTS: u64 = 32;

/// The model. Every slot carries a packet: one that was lost and reported, else a new one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arq {
    /// The channel.
    pub loss: SlotLoss,
    /// Slots from sending a packet until its loss is known and it can be sent again.
    pub rtt: u32,
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
    /// Number of slots.
    pub slots: u64,
    /// Packets delivered.
    pub packets: u64,
    /// New packets for each slot.
    pub throughput: f64,
    /// Mean in-order delay from the first sending, in slots.
    pub mean_delay_slots: f64,
    /// Its standard error, from 32 independent parts.
    pub stderr: f64,
    /// Share of packets that were not delayed.
    pub undelayed: f64,
    /// In-order delays, in slots.
    pub delay_slots: DelaySummary,
    /// The smallest delay, those that 1 % to 99 % of packets do not exceed, and the longest, in
    /// slots.
    #[serde(skip)]
    pub delay_percentiles: Vec<u64>,
    /// The share of packets in each bin of delays, from 0 on, where a histogram is wanted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<Estimate>,
}

/// Counts of a part.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) slots: u64,
    pub(super) delays: Delays,
}

impl Tally {
    pub(super) fn outcome(parts: &[Tally], bin: Option<f64>) -> Outcome {
        let mut sum = Tally::default();
        for part in parts {
            sum.slots += part.slots;
            sum.delays.merge(&part.delays);
        }
        let histogram = bin.map(|width| {
            let rows: Vec<_> = parts.iter().map(|part| part.delays.bins(width)).collect();
            Estimate::of_columns(&rows)
        });
        let means: Vec<_> = parts.iter().map(|part| part.delays.mean()).collect();
        Outcome {
            slots: sum.slots,
            packets: sum.delays.total(),
            throughput: sum.delays.total() as f64 / (sum.slots as f64).max(1.0),
            mean_delay_slots: sum.delays.mean(),
            stderr: Estimate::of(&means).stderr,
            undelayed: sum.delays.within(0),
            delay_slots: sum.delays.summary(),
            delay_percentiles: sum.delays.percentiles(),
            histogram: histogram.unwrap_or_default(),
        }
    }
}

/// Checks the width of a histogram's bins.
pub(super) fn is_bin(bin: Option<f64>) -> Result<(), SlotError> {
    let width = bin.unwrap_or(1.0);
    let fits = width.is_finite() && width >= 1.0;
    within("the width of a bin", width, fits, "at least 1 slot")
}

impl Arq {
    /// Runs the model on this many threads.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn run(&self, threads: usize, progress: Progress<'_>) -> Result<Outcome, SlotError> {
        self.loss.checked()?;
        within(
            "the RTT",
            self.rtt,
            (1..=1_000_000).contains(&self.rtt),
            "from 1 to 1000000 slots",
        )?;
        is_bin(self.bin)?;
        let fits = (1..=super::streaming::MOST_SLOTS).contains(&self.slots);
        within(
            "the number of slots",
            self.slots as f64,
            fits,
            "from 1 to 2^46",
        )?;
        let each = self.slots.div_ceil(PARTS);
        let parts = spread(PARTS, threads, progress, |index| {
            self.part(Channel::new(self.loss, Draws::new(self.seed, index)), each)
        });
        let parts: Vec<_> = parts.into_iter().collect::<Result<_, _>>()?;
        Ok(Tally::outcome(&parts, self.bin))
    }

    fn part(&self, mut channel: Channel, slots: u64) -> Result<Tally, SlotError> {
        let mut tally = Tally::default();
        // From the first undelivered packet on: when it was first sent, and whether it has
        // arrived.
        let mut held: VecDeque<(u64, bool)> = VecDeque::new();
        let mut delivered = 0_u64;
        let mut again: VecDeque<(u64, u64)> = VecDeque::new();
        for now in 0..slots {
            let packet = match again.front() {
                Some((ready, packet)) if *ready <= now => {
                    let packet = *packet;
                    again.pop_front();
                    packet
                }
                _ => {
                    held.push_back((now, false));
                    delivered + held.len() as u64 - 1
                }
            };
            if channel.next_is_lost() {
                again.push_back((now + u64::from(self.rtt), packet));
                if held.len() > MOST_HELD {
                    let (what, limit) = ("the receiver's buffer", MOST_HELD as u64);
                    return Err(SlotError::TooLarge { what, limit });
                }
                continue;
            }
            held[(packet - delivered) as usize].1 = true;
            while let Some((sent, true)) = held.front() {
                tally.delays.add(now - sent);
                held.pop_front();
                delivered += 1;
            }
        }
        tally.slots = slots;
        Ok(tally)
    }
}

#[cfg(test)]
mod tests {
    use super::super::silent;
    use super::*;

    #[test]
    fn the_throughput_is_the_channels_capacity() {
        let arq = Arq {
            loss: "0.2".parse().unwrap(),
            rtt: 63,
            slots: 640_000,
            bin: None,
            seed: 2,
        };
        let got = arq.run(2, &silent).unwrap();
        // Packets that wait at the end of a part are not counted.
        assert!((got.throughput - 0.8).abs() < 0.008, "{got:?}");
        assert_eq!(got, arq.run(1, &silent).unwrap());
        // Karzand et al., Fig. 1a: rarely below one RTT after a loss, mostly one to a few.
        assert!(got.undelayed < 0.02 && got.delay_slots.p50 > 63, "{got:?}");
        assert!(got.delay_slots.p95 < 6 * 63, "{got:?}");
    }

    #[test]
    fn an_rtt_of_one_slot_gives_the_queue_with_immediate_feedback() {
        // A lost packet is repeated until it arrives, and no other is sent meanwhile: the delay is
        // geometric, with a mean of e / (1-e) slots.
        let arq = Arq {
            loss: "0.25".parse().unwrap(),
            rtt: 1,
            slots: 800_000,
            bin: None,
            seed: 2,
        };
        let got = arq.run(2, &silent).unwrap();
        assert!(
            (got.mean_delay_slots - 1.0 / 3.0).abs() < 4.0 * got.stderr,
            "{got:?}"
        );
    }

    #[test]
    fn a_histogram_adds_up_and_has_its_errors() {
        let arq = Arq {
            loss: "0.2".parse().unwrap(),
            rtt: 20,
            slots: 320_000,
            bin: Some(5.5),
            seed: 2,
        };
        let got = arq.run(2, &silent).unwrap();
        let sum: f64 = got.histogram.iter().map(|bin| bin.mean).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        // Delays of 0 to 5 slots.
        assert!(got.histogram[0].mean >= got.undelayed && got.histogram[0].stderr > 0.0);
        let bin = Some(0.5);
        assert!(Arq { bin, ..arq }.run(1, &silent).is_err());
    }

    #[test]
    fn without_loss_nothing_waits() {
        let arq = Arq {
            loss: "0".parse().unwrap(),
            rtt: 5,
            slots: 1000,
            bin: None,
            seed: 2,
        };
        let got = arq.run(1, &silent).unwrap();
        assert_eq!(
            (got.mean_delay_slots, got.throughput, got.delay_slots.max),
            (0.0, 1.0, 0)
        );
    }
}
