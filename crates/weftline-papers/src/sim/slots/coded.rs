//! The streaming code with real coefficients in GF(2^8): coded, decoded and compared.

use std::collections::VecDeque;

use weftline_codec::{DecodeError, DecoderConfig, WindowDecoder, WindowEncoder};

use super::channel::Channel;
use super::streaming::{Outcome, Streaming, Tally};
use super::{Progress, SlotError};

/// Most symbols that a busy period may delay.
const LONGEST: usize = 1 << 16;
/// Most symbols that may be missing at once.
const MOST_MISSING: usize = 2048;
/// Bytes of a symbol.
const SYMBOL: usize = 8;

/// Runs `model` with a real code. The window of a coded packet begins at the lowest packet that
/// the sender does not know to be delivered; it learns of deliveries `feedback` slots late.
///
/// # Errors
/// Those of [`Streaming::run`]; a busy period is too long for the decoder; or decoded bytes are
/// wrong.
pub fn run(
    model: &Streaming,
    feedback: u64,
    threads: usize,
    progress: Progress<'_>,
) -> Result<Outcome, SlotError> {
    model.check()?;
    super::within(
        "the delay of feedback",
        feedback as f64,
        feedback <= 10_000,
        "at most 10000 slots",
    )?;
    model.run_with(threads, progress, |channel, slots| {
        Run::new(u64::from(model.spacing), feedback, channel).part(slots)
    })
}

struct Run {
    l: u64,
    channel: Channel,
    encoder: WindowEncoder,
    decoder: WindowDecoder,
    /// In-order edges at the ends of the latest intervals, the newest last.
    edges: VecDeque<u64>,
    /// Intervals by which feedback is late.
    late: usize,
    delivered: u64,
    tally: Tally,
}

/// The payload of a symbol: different for each symbol.
fn payload(esi: u64) -> [u8; SYMBOL] {
    (esi ^ 0x5EED)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .to_le_bytes()
}

impl Run {
    fn new(l: u64, feedback: u64, channel: Channel) -> Self {
        let span = LONGEST + 2 * (l + feedback) as usize;
        let config = DecoderConfig::new(span, SYMBOL, MOST_MISSING, span);
        Self {
            l,
            channel,
            encoder: WindowEncoder::new(span, SYMBOL),
            decoder: WindowDecoder::new(config),
            edges: VecDeque::new(),
            late: feedback.div_ceil(l) as usize,
            delivered: 0,
            tally: Tally::default(),
        }
    }

    fn part(mut self, slots: u64) -> Result<Tally, SlotError> {
        let (mut now, mut stalled) = (0, 0);
        let (mut delay, mut packets) = (0, 0);
        let mut repair = Vec::new();
        while now < slots || packets > 0 {
            let mut lost_some = false;
            for _ in 0..self.l - 1 {
                let esi = self.encoder.push(&payload(self.encoder.next()));
                let esi = esi.map_err(|_| too_long())?;
                if self.channel.next_is_lost() {
                    self.decoder.expect(esi + 1).map_err(|e| failed(&e))?;
                    lost_some = true;
                } else {
                    let taken = self.decoder.source(esi, &payload(esi));
                    taken.map_err(|e| failed(&e))?;
                }
                packets += 1;
                delay += self.deliver(now)?;
                now += 1;
            }
            let first = self
                .edges
                .front()
                .copied()
                .filter(|_| self.edges.len() > self.late);
            self.encoder.discard_before(first.unwrap_or(0));
            let window = self.encoder.held();
            if !self.channel.next_is_lost() {
                repair.clear();
                let key = (now / self.l) as u32;
                let made = self.encoder.repair(window.clone(), key, &mut repair);
                made.map_err(|_| too_long())?;
                self.decoder
                    .repair(window.clone(), key, &repair)
                    .map_err(|e| failed(&e))?;
                delay += self.deliver(now)?;
            }
            now += 1;
            self.decoder.forget_before(window.start.min(self.delivered));
            self.edges.push_back(self.delivered);
            if self.edges.len() > self.late + 1 {
                self.edges.pop_front();
            }
            let missing = self.delivered < self.encoder.next();
            stalled += u64::from(stalled > 0 || lost_some || missing);
            if missing {
                continue;
            }
            self.tally.period(std::mem::take(&mut stalled));
            if self.channel.is_fresh() {
                self.tally.ratio.add(delay, packets);
                (delay, packets) = (0, 0);
            }
        }
        self.tally.slots = now;
        Ok(self.tally)
    }

    /// Delivers the symbols known in order: the sum of delays.
    fn deliver(&mut self, now: u64) -> Result<u64, SlotError> {
        while self.decoder.next_known().is_some() {}
        let mut sum = 0;
        while self.delivered < self.decoder.contiguous() {
            let esi = self.delivered;
            if self.decoder.symbol(esi) != Some(&payload(esi)[..]) {
                return Err(SlotError::Wrong { esi });
            }
            let sent = esi / (self.l - 1) * self.l + esi % (self.l - 1);
            sum += now - sent;
            self.tally.delays.add(now - sent);
            self.delivered += 1;
        }
        Ok(sum)
    }
}

fn too_long() -> SlotError {
    SlotError::TooLarge {
        what: "a busy period of the real code",
        limit: LONGEST as u64,
    }
}

fn failed(error: &DecodeError) -> SlotError {
    match error {
        DecodeError::Inconsistent { esi } => SlotError::Wrong { esi: *esi },
        DecodeError::TooManyUnknowns { .. } => SlotError::TooLarge {
            what: "the number of missing symbols",
            limit: MOST_MISSING as u64,
        },
        _ => too_long(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::silent;
    use super::*;

    #[test]
    fn real_coefficients_cost_almost_nothing() {
        for (loss, spacing) in [("0.1", 5), ("markov:0.05,2", 8)] {
            let model = Streaming {
                loss: loss.parse().unwrap(),
                spacing,
                slots: 300_000,
                seed: 5,
            };
            // The losses are the same: the difference is that about one repair in 256 is useless.
            let genie = model.run(2, &silent).unwrap();
            let real = run(&model, 0, 2, &silent).unwrap();
            let ratio = real.mean_delay_slots / genie.mean_delay_slots;
            assert!((0.999..1.1).contains(&ratio), "{loss}: {real:?} {genie:?}");
            let late = run(&model, 60, 2, &silent).unwrap();
            let ratio = late.mean_delay_slots / real.mean_delay_slots;
            assert!((0.95..1.05).contains(&ratio), "{loss}: {late:?} {real:?}");
        }
    }

    #[test]
    fn threads_do_not_change_the_result() {
        let model = Streaming {
            loss: "0.1".parse().unwrap(),
            spacing: 4,
            slots: 20_000,
            seed: 1,
        };
        assert_eq!(run(&model, 10, 1, &silent), run(&model, 10, 2, &silent));
    }
}
