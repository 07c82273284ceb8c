//! Runs: a sender, losses, a receiver, and the result for each symbol.

use std::time::Duration;

use weftline_fecframe::{Adu, Receiver, Sender, Time};
use weftline_netem::Losses;

use super::batches::{BATCHES, Batches};
use super::code::Code;
use super::events::Events;
use super::{Experiment, Latencies, StudyError, payload};
use crate::sim::cpu;

/// Octets of a coded symbol in addition to the ADU's: flow and length.
pub(super) const HEADER: usize = 3;
/// Ticks whose packets are recorded before the receiver gets them, because its time is read this
/// rarely.
const CHUNK: u64 = 1024;
/// A symbol that is not known.
const UNKNOWN: u32 = u32::MAX;

/// The result of one run, or of several together.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    pub(super) symbols: u64,
    pub(super) received: u64,
    pub(super) on_time: u64,
    /// Known, but after dw ticks.
    pub(super) late: u64,
    pub(super) latencies: Latencies,
    pub(super) on_time_batches: Batches,
    pub(super) latency_batches: Batches,
    pub(super) sources: u64,
    pub(super) repairs: u64,
    pub(super) sending: Duration,
    pub(super) receiving: Duration,
}

pub(super) fn run(experiment: &Experiment, seed: u64) -> Result<Run, StudyError> {
    let Experiment {
        code, symbol_size, ..
    } = *experiment;
    let sender = code.sender(experiment.code_rate, symbol_size, seed);
    let receiver = code.receiver(symbol_size, experiment.decoding_window);
    let (mut sender, mut receiver) = (Sender::new(sender)?, Receiver::new(receiver)?);
    let mut losses = Losses::new(experiment.loss.clone(), seed);
    let sent = experiment.sent();
    let mut check = Check::new(experiment, seed);
    let (mut events, mut adus) = (Events::default(), Vec::new());
    let (mut adu, mut packet) = (vec![0; usize::from(symbol_size) - HEADER], Vec::new());
    let mut sum = Run::default();
    for start in (0..sent).step_by(CHUNK as usize) {
        events.clear();
        let ticks = start..sent.min(start + CHUNK);
        for tick in ticks {
            let now = Time::from_micros(tick);
            payload::fill(seed, tick, &mut adu);
            let taken = sender.source(0, &adu, now, &mut packet);
            taken.map_err(|error| StudyError::Sender {
                symbol: tick,
                error,
            })?;
            let lost = losses.next_is_lost();
            // A receiver starts with the first source packet: it gets this one.
            if !lost || tick == 0 {
                events.push(tick, false, &packet);
                check.received(tick);
            }
            let later = u64::from(matches!(code, Code::Block(_)));
            let begun = cpu::thread_time();
            while sender.poll_repair(now, &mut packet).is_some() {
                if !losses.next_is_lost() {
                    events.push(tick + later, true, &packet);
                }
            }
            sum.sending += cpu::thread_time().saturating_sub(begun);
        }
        sum.receiving += receive(&mut receiver, &events, &mut adus)?;
        for (tick, adu) in adus.drain(..) {
            check.take(tick, &adu)?;
        }
    }
    let stats = receiver.stats();
    let count = stats.inconsistent + stats.implausible + stats.conflicts;
    if count > 0 {
        return Err(StudyError::Inconsistent { count, seed });
    }
    sum.sources = sent;
    sum.repairs = sender.stats().repair_symbols;
    check.count(experiment, &mut sum);
    Ok(sum)
}

/// Passes packets to the receiver and checks the delivered ADUs; returns its processor time.
fn receive(
    receiver: &mut Receiver,
    events: &Events,
    adus: &mut Vec<(u64, Adu)>,
) -> Result<Duration, StudyError> {
    let begun = cpu::thread_time();
    for event in events.iter() {
        let (tick, now) = (event.tick, Time::from_micros(event.tick));
        let taken = if event.is_repair {
            receiver.repair_packet(event.packet, now)
        } else {
            receiver.source_packet(0, event.packet, now)
        };
        taken.map_err(|error| StudyError::Receiver { tick, error })?;
        while let Some(adu) = receiver.poll_adu() {
            adus.push((tick, adu));
        }
    }
    Ok(cpu::thread_time().saturating_sub(begun))
}

/// When each symbol became known.
pub(super) struct Check {
    seed: u64,
    /// Symbols of a block.
    block: Option<u64>,
    expected: Vec<u8>,
    /// Ticks from when each symbol was sent until it became known.
    after: Vec<u32>,
    received: Vec<bool>,
}

impl Check {
    pub(super) fn new(experiment: &Experiment, seed: u64) -> Self {
        let sent = experiment.sent() as usize;
        Self {
            seed,
            block: match experiment.code {
                Code::Window(_) => None,
                Code::Block(k) => Some(k.into()),
            },
            expected: vec![0; usize::from(experiment.symbol_size) - HEADER],
            after: vec![UNKNOWN; sent],
            received: vec![false; sent],
        }
    }

    pub(super) fn received(&mut self, symbol: u64) {
        self.received[symbol as usize] = true;
    }

    /// Compares a delivered ADU with the sent one. Returns the number of its symbol.
    pub(super) fn take(&mut self, tick: u64, adu: &Adu) -> Result<u64, StudyError> {
        let esi = u64::from(adu.esi);
        let symbol = match (self.block, adu.block) {
            (Some(k), Some(block)) => u64::from(block) * k + esi,
            _ => esi,
        };
        let wrong = |what| StudyError::Wrong {
            symbol,
            seed: self.seed,
            what,
        };
        let after = self.after.get_mut(symbol as usize);
        let after = after.ok_or(wrong("one that was never sent"))?;
        if *after != UNKNOWN {
            return Err(wrong("a second copy"));
        }
        let ticks = tick.checked_sub(symbol);
        let ticks = ticks.ok_or(wrong("known before it was sent"))?;
        payload::fill(self.seed, symbol, &mut self.expected);
        if adu.data != self.expected {
            return Err(wrong("other octets"));
        }
        *after = ticks.min(u64::from(UNKNOWN - 1)) as u32;
        Ok(symbol)
    }

    /// Counts the symbols that are to be counted.
    fn count(&self, experiment: &Experiment, sum: &mut Run) {
        let (dw, lead) = (u64::from(experiment.decoding_window), experiment.lead());
        let end = lead + experiment.symbols;
        let mut released = 0;
        let mut batch = Batch::default();
        let known = self.after.iter().zip(&self.received).zip(0..end);
        for ((after, received), symbol) in known {
            let on_time = u64::from(*after) <= dw;
            let until = if on_time { u64::from(*after) } else { dw };
            released = (symbol + until).max(released);
            let Some(index) = symbol.checked_sub(lead) else {
                continue;
            };
            sum.received += u64::from(*received);
            sum.on_time += u64::from(on_time);
            sum.late += u64::from(!on_time && *after != UNKNOWN);
            batch.symbols += 1;
            if on_time {
                // At most dw, because no earlier symbol waits longer.
                let latency = (released - symbol) as u32;
                sum.latencies.add(latency);
                batch.on_time += 1;
                batch.ticks += u64::from(latency);
            }
            if (index + 1) * BATCHES / experiment.symbols > index * BATCHES / experiment.symbols {
                std::mem::take(&mut batch).close(sum);
            }
        }
        sum.symbols = experiment.symbols;
    }
}

/// A part of the symbols.
#[derive(Default)]
struct Batch {
    symbols: u64,
    on_time: u64,
    ticks: u64,
}

impl Batch {
    fn close(self, sum: &mut Run) {
        let symbols = self.symbols.max(1) as f64;
        sum.on_time_batches.push(self.on_time as f64 / symbols);
        if self.on_time > 0 {
            let mean = self.ticks as f64 / self.on_time as f64;
            sum.latency_batches.push(mean);
        }
    }
}

impl Run {
    pub(super) fn merge(&mut self, other: &Self) {
        self.symbols += other.symbols;
        self.received += other.received;
        self.on_time += other.on_time;
        self.late += other.late;
        self.latencies.merge(&other.latencies);
        self.on_time_batches.merge(&other.on_time_batches);
        self.latency_batches.merge(&other.latency_batches);
        self.sources += other.sources;
        self.repairs += other.repairs;
        self.sending += other.sending;
        self.receiving += other.receiving;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Code, WindowCode};
    use super::*;
    use weftline_fecframe::CodeRate;
    use weftline_netem::LossModel;

    fn experiment() -> Experiment {
        Experiment {
            code: Code::Window(WindowCode::new(2, 4)),
            code_rate: CodeRate::new(2, 3).unwrap(),
            decoding_window: 4,
            loss: LossModel::None,
            symbols: 100,
            symbol_size: 16,
        }
    }

    fn adu(esi: u32, seed: u64) -> Adu {
        let mut data = vec![0; 13];
        payload::fill(seed, esi.into(), &mut data);
        Adu {
            flow: 0,
            block: None,
            esi,
            recovered: true,
            late: false,
            heard: Time::ZERO,
            data,
        }
    }

    #[test]
    fn a_symbol_that_was_not_sent_fails_the_run() {
        let mut check = Check::new(&experiment(), 7);
        let what = |taken: Result<u64, StudyError>| match taken {
            Err(StudyError::Wrong { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        let mut spoilt = adu(3, 7);
        spoilt.data[12] ^= 1;
        assert_eq!(what(check.take(3, &spoilt)), "other octets");
        spoilt.data.pop();
        assert_eq!(what(check.take(3, &spoilt)), "other octets");
        assert_eq!(what(check.take(3, &adu(4, 7))), "known before it was sent");
        check.take(3, &adu(3, 7)).unwrap();
        assert_eq!(what(check.take(3, &adu(3, 7))), "a second copy");
        assert_eq!(
            what(check.take(9999, &adu(999, 7))),
            "one that was never sent"
        );
    }

    #[test]
    fn latency_is_in_order_and_gives_up_after_dw() {
        let experiment = experiment();
        let mut check = Check::new(&experiment, 7);
        // The fifth symbol and later are counted: known, late, two ticks after, never.
        check.after.fill(0);
        let lead = experiment.lead() as usize;
        check.after[lead + 1] = 2;
        check.after[lead + 5] = 5;
        check.after[lead + 20] = UNKNOWN;
        let mut sum = Run::default();
        check.count(&experiment, &mut sum);
        assert_eq!((sum.symbols, sum.on_time, sum.late), (100, 98, 1));
        // The first gap delays itself by 2 and the next symbol by 1; each of the two others delays
        // three symbols by 3, 2 and 1.
        let all = sum.latencies;
        assert_eq!(all.counts(), [90, 3, 3, 2]);
        assert_eq!(sum.on_time_batches.stderr(), {
            let mut expected = Batches::default();
            (0..20).for_each(|i| expected.push(if i == 1 || i == 4 { 0.8 } else { 1.0 }));
            expected.stderr()
        });
    }

    #[test]
    fn without_loss_nothing_waits() {
        let run = run(&experiment(), 1).unwrap();
        assert_eq!((run.on_time, run.late, run.received), (100, 0, 100));
        assert_eq!(run.latencies.counts(), [100]);
        assert_eq!(run.repairs, run.sources / 2);
    }
}
