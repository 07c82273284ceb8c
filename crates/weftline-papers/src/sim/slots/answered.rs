//! The streaming code whose sender answers feedback (Karzand et al., closed loop): beside the evenly
//! spaced coded packets there are others for what the receiver is known to lack.

use std::collections::VecDeque;

use serde::Serialize;

use super::arq::{self, Tally, is_bin};
use super::block::Answer;
use super::channel::{Channel, Draws};
use super::spread::spread;
use super::{Progress, SlotError, within};
use crate::theory::SlotLoss;

/// Independent parts of a run, for its standard error.
const PARTS: u64 = 32;
/// Most packets that may wait for a lost one.
const MOST_HELD: usize = 1 << 22;

/// The model: an ideal code, so that each received coded packet replaces one loss.
///
/// In each slot the sender knows how many packets the receiver lacked an RTT ago. It sends a coded
/// packet if those of the last RTT do not cover this number, or if the next evenly spaced one is
/// due; else an information packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answered {
    /// The channel.
    pub loss: SlotLoss,
    /// Evenly spaced coded packets for each information packet: 1/(l-1), or 0 for none.
    pub share: f64,
    /// Slots until the sender knows what the receiver lacks.
    pub rtt: u32,
    /// How many coded packets cover what is missing: that many, or what must be sent for it and for
    /// the information packets in flight that will be lost, which coded packets cover as well;
    /// exactly, or to half a packet.
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
    /// Coded packets in answer to feedback for each information packet.
    pub extra: f64,
    /// Information packets for all packets sent.
    pub effective_rate: f64,
}

#[derive(Clone, Debug, Default)]
struct Part {
    tally: Tally,
    sources: u64,
    extra: u64,
}

impl Answered {
    /// Runs the model on this many threads.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn run(&self, threads: usize, progress: Progress<'_>) -> Result<Outcome, SlotError> {
        self.loss.checked()?;
        let fits = (0.0..=10.0).contains(&self.share);
        within(
            "the share of coded packets",
            self.share,
            fits,
            "from 0 to 10",
        )?;
        let fits = (1..=1_000_000).contains(&self.rtt);
        within("the RTT", self.rtt, fits, "from 1 to 1000000 slots")?;
        is_bin(self.bin)?;
        let fits = (1..=super::streaming::MOST_SLOTS).contains(&self.slots);
        let slots = self.slots as f64;
        within("the number of slots", slots, fits, "from 1 to 2^46")?;
        let each = self.slots.div_ceil(PARTS);
        let parts = spread(PARTS, threads, progress, |index| {
            self.part(Channel::new(self.loss, Draws::new(self.seed, index)), each)
        });
        let parts: Vec<Part> = parts.into_iter().collect::<Result<_, _>>()?;
        let sum = |of: &dyn Fn(&Part) -> u64| parts.iter().map(of).sum::<u64>() as f64;
        let (sources, extra) = (sum(&|p| p.sources), sum(&|p| p.extra));
        let sent = sum(&|p| p.tally.slots);
        let tallies: Vec<_> = parts.into_iter().map(|part| part.tally).collect();
        Ok(Outcome {
            delivered: Tally::outcome(&tallies, self.bin),
            extra: extra / sources.max(1.0),
            effective_rate: sources / sent.max(1.0),
        })
    }

    fn part(&self, mut channel: Channel, slots: u64) -> Result<Part, SlotError> {
        let (rtt, loss) = (self.rtt as usize, self.loss.rate());
        let mut part = Part::default();
        // What the receiver lacked after each of the latest slots, and whether that slot had a coded
        // packet; the oldest first.
        let mut recent: VecDeque<(u32, bool)> = VecDeque::with_capacity(rtt + 1);
        let (mut covering, mut missing, mut owed) = (0_u32, 0_u32, 0.0);
        // When the packets that wait were sent.
        let mut held: VecDeque<u64> = VecDeque::new();
        for now in 0..slots {
            let mut known = 0;
            if recent.len() == rtt
                && let Some((lacked, coded)) = recent.pop_front()
            {
                known = lacked;
                covering -= u32::from(coded);
            }
            let in_flight = recent.len() as u32 - covering;
            let to_come = match self.answer {
                Answer::Missing => 0.0,
                Answer::Expected | Answer::Known => loss * f64::from(in_flight),
            };
            let needed = f64::from(known) + to_come;
            let asked = known > 0 && self.answer.is_short(needed, covering, loss);
            let due = owed >= 1.0 - 1e-9;
            let lost = channel.next_is_lost();
            if asked || due {
                if asked {
                    part.extra += 1;
                } else {
                    owed -= 1.0;
                }
                missing -= u32::from(!lost && missing > 0);
            } else {
                owed += self.share;
                part.sources += 1;
                missing += u32::from(lost);
                held.push_back(now);
                if held.len() > MOST_HELD {
                    let (what, limit) = ("the receiver's buffer", MOST_HELD as u64);
                    return Err(SlotError::TooLarge { what, limit });
                }
            }
            if missing == 0 {
                for sent in held.drain(..) {
                    part.tally.delays.add(now - sent);
                }
            }
            covering += u32::from(asked || due);
            recent.push_back((missing, asked || due));
        }
        part.tally.slots = slots;
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::super::silent;
    use super::*;
    use crate::theory::streaming::Streaming;

    fn model(loss: &str, share: f64, rtt: u32) -> Answered {
        Answered {
            loss: loss.parse().unwrap(),
            share,
            rtt,
            answer: Answer::Missing,
            slots: 3_200_000,
            bin: None,
            seed: 5,
        }
    }

    #[test]
    fn feedback_that_is_too_late_leaves_the_open_loop() {
        let got = model("0.1", 0.25, 100_000).run(2, &silent).unwrap();
        let exact = Streaming::new(0.1, 5).unwrap().mean_delay();
        let off = got.delivered.mean_delay_slots - exact;
        assert!(off.abs() < 4.0 * got.delivered.stderr, "{got:?} {exact}");
        assert!((got.effective_rate - 0.8).abs() < 1e-3 && got.extra == 0.0);
    }

    #[test]
    fn feedback_alone_reaches_the_capacity_and_repairs_in_advance_shorten_the_delay() {
        let alone = model("0.1", 0.0, 60).run(2, &silent).unwrap();
        assert!((alone.effective_rate - 0.9).abs() < 0.002, "{alone:?}");
        // Every loss waits a round trip at least, as do those behind it.
        assert!(alone.delivered.mean_delay_slots > 30.0);
        let more = model("0.1", 0.15, 60).run(2, &silent).unwrap();
        assert!(more.delivered.mean_delay_slots < 0.5 * alone.delivered.mean_delay_slots);
        assert!(more.effective_rate < alone.effective_rate);
        assert_eq!(alone, model("0.1", 0.0, 60).run(1, &silent).unwrap());
    }

    #[test]
    fn covering_expected_losses_costs_packets_and_ends_long_stalls() {
        let exact = model("0.1", 0.06, 60);
        let answer = Answer::Expected;
        let ahead = Answered { answer, ..exact }.run(2, &silent).unwrap();
        let exact = exact.run(2, &silent).unwrap();
        assert!(ahead.delivered.mean_delay_slots < 0.5 * exact.delivered.mean_delay_slots);
        assert!(ahead.effective_rate < exact.effective_rate);
        assert!(ahead.effective_rate > 0.85, "{ahead:?}");
    }

    #[test]
    fn an_answer_arrives_after_a_round_trip() {
        // The only loss within the run of a slot in ten thousand: delays up to the RTT.
        let got = model("0.0001", 0.0, 50).run(2, &silent).unwrap();
        assert!(got.delivered.delay_slots.p999 <= 50, "{got:?}");
        assert!(got.delivered.delay_slots.max >= 50, "{got:?}");
    }
}
