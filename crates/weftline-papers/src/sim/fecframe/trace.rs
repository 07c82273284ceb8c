//! A trace of one run: what the receiver got, held and decoded in each tick.

use serde::Serialize;
use weftline_fecframe::payload_id::RepairId;
use weftline_fecframe::{Outcome, Receiver, Sender, Time};
use weftline_netem::Losses;

use super::code::Code;
use super::run::{Check, HEADER};
use super::{Experiment, StudyError, payload};

/// The most ticks of a trace.
pub const MOST_TICKS: u64 = 100_000;

/// A tick: a source packet is sent, and the repair packets after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tick {
    /// Its number, which is the number (ESI) of the source symbol sent.
    pub tick: u64,
    /// Whether the source packet arrived.
    pub received: bool,
    /// Repair packets that were sent in this tick.
    pub repairs: Vec<TracedRepair>,
    /// One past the highest ESI that the receiver has heard of, after the tick.
    pub end: u64,
    /// The lowest ESI in the decoding window (dw): from there on a symbol is in time.
    pub dw_first: Option<u64>,
    /// The lowest ESI in the linear system (ls), which equations may contain.
    pub ls_first: Option<u64>,
    /// Missing symbols in the linear system. Those below 0, which a receiver assumes because it may
    /// have joined a running flow, are among them until they leave.
    pub unknowns: Option<u64>,
    /// Independent equations about them.
    pub rank: Option<u64>,
    /// Lost symbols that were decoded in time.
    pub decoded: Vec<u64>,
    /// Lost symbols that were decoded after they had left the decoding window.
    pub late: Vec<u64>,
    /// Symbols that left the decoding window unknown.
    pub given_up: Vec<u64>,
    /// Symbols that left the linear system unknown: they are never known.
    pub lost: Vec<u64>,
}

/// A repair packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TracedRepair {
    /// The lowest ESI of its encoding window (ew), or of its block.
    pub first: u64,
    /// Symbols of that window.
    pub count: u64,
    /// Whether it arrived.
    pub received: bool,
    /// Whether it raised the rank; `None` if it did not arrive, or arrives with the next tick, as the
    /// repairs of a block do.
    pub useful: Option<bool>,
}

/// Runs the experiment once, with this seed, and tells each tick. Every delivered octet is compared
/// with the sent one.
///
/// # Errors
/// See [`StudyError`]; the run has more than [`MOST_TICKS`] ticks.
pub fn trace(experiment: &Experiment, seed: u64) -> Result<Vec<Tick>, StudyError> {
    experiment.check()?;
    let sent = experiment.sent();
    if sent > MOST_TICKS {
        return Err(StudyError::Parameter {
            what: "the number of ticks of a trace",
            got: sent,
            expected: "at most 100,000: count fewer symbols",
        });
    }
    let mut run = Traced::new(experiment, seed)?;
    (0..sent).map(|tick| run.tick(tick)).collect()
}

struct Traced {
    sender: Sender,
    receiver: Receiver,
    losses: Losses,
    check: Check,
    seed: u64,
    dw: u64,
    block: Option<u64>,
    adu: Vec<u8>,
    packet: Vec<u8>,
    /// Repair packets of a block, which arrive with the next tick.
    pending: Vec<Vec<u8>>,
    known: Vec<bool>,
    end: u64,
    dw_first: u64,
    ls_first: u64,
}

impl Traced {
    fn new(experiment: &Experiment, seed: u64) -> Result<Self, StudyError> {
        let Experiment {
            code, symbol_size, ..
        } = *experiment;
        let sender = code.sender(experiment.code_rate, symbol_size, seed);
        let receiver = code.receiver(symbol_size, experiment.decoding_window);
        Ok(Self {
            sender: Sender::new(sender)?,
            receiver: Receiver::new(receiver)?,
            losses: Losses::new(experiment.loss.clone(), seed),
            check: Check::new(experiment, seed),
            seed,
            dw: experiment.decoding_window.into(),
            block: match code {
                Code::Window(_) => None,
                Code::Block(k) => Some(k.into()),
            },
            adu: vec![0; usize::from(symbol_size) - HEADER],
            packet: Vec::new(),
            pending: Vec::new(),
            known: Vec::new(),
            end: 0,
            dw_first: 0,
            ls_first: 0,
        })
    }

    fn tick(&mut self, tick: u64) -> Result<Tick, StudyError> {
        let now = Time::from_micros(tick);
        let refused = |error| StudyError::Receiver { tick, error };
        self.known.push(false);
        for packet in std::mem::take(&mut self.pending) {
            self.receiver.repair_packet(&packet, now).map_err(refused)?;
        }
        payload::fill(self.seed, tick, &mut self.adu);
        let taken = (self.sender).source(0, &self.adu, now, &mut self.packet);
        taken.map_err(|error| StudyError::Sender {
            symbol: tick,
            error,
        })?;
        // As in a run: the receiver starts with the first source packet.
        let received = !self.losses.next_is_lost() || tick == 0;
        if received {
            let taken = self.receiver.source_packet(0, &self.packet, now);
            taken.map_err(refused)?;
            self.check.received(tick);
            self.end = tick + 1;
        }
        let mut repairs = Vec::new();
        while self.sender.poll_repair(now, &mut self.packet).is_some() {
            let received = !self.losses.next_is_lost();
            let (first, count) = self.window(tick);
            let mut useful = None;
            if received && self.block.is_some() {
                self.pending.push(self.packet.clone());
            } else if received {
                let taken = self.receiver.repair_packet(&self.packet, now);
                useful = Some(taken.map_err(refused)? == Outcome::Useful);
                self.end = self.end.max(first + count);
            }
            repairs.push(TracedRepair {
                first,
                count,
                received,
                useful,
            });
        }
        let (decoded, late) = self.deliver(tick)?;
        let mut told = Tick {
            tick,
            received,
            repairs,
            end: self.end,
            dw_first: None,
            ls_first: None,
            unknowns: None,
            rank: None,
            decoded,
            late,
            given_up: Vec::new(),
            lost: Vec::new(),
        };
        self.windows(&mut told);
        Ok(told)
    }

    /// The encoding window of the repair packet just made.
    fn window(&self, tick: u64) -> (u64, u64) {
        match self.block {
            Some(k) => (tick / k * k, k),
            None => RepairId::split(&self.packet).map_or((0, 0), |(id, _)| {
                (u64::from(id.first_esi), u64::from(id.nss))
            }),
        }
    }

    /// Takes what the receiver hands over: symbols decoded in time, and late ones.
    fn deliver(&mut self, tick: u64) -> Result<(Vec<u64>, Vec<u64>), StudyError> {
        let (mut decoded, mut late) = (Vec::new(), Vec::new());
        while let Some(adu) = self.receiver.poll_adu() {
            let symbol = self.check.take(tick, &adu)?;
            self.known[symbol as usize] = true;
            match (adu.recovered, adu.late) {
                (true, true) => late.push(symbol),
                (true, false) => decoded.push(symbol),
                (false, _) => {}
            }
        }
        Ok((decoded, late))
    }

    /// The receiver's windows after the tick, and the symbols that left them unknown.
    fn windows(&mut self, told: &mut Tick) {
        let Receiver::Window(receiver) = &self.receiver else {
            return;
        };
        let (unknowns, rank) = receiver.missing();
        told.unknowns = Some(unknowns as u64);
        told.rank = Some(rank as u64);
        let known = &self.known;
        let left = |from: &mut u64, to: u64| -> Vec<u64> {
            let left = std::mem::replace(from, to)..to;
            left.filter(|esi| !known[*esi as usize]).collect()
        };
        let dw_first = self.end.saturating_sub(self.dw);
        told.given_up = left(&mut self.dw_first, dw_first);
        let ls_first = self.end.saturating_sub(receiver.held());
        told.lost = left(&mut self.ls_first, ls_first);
        told.dw_first = Some(dw_first);
        told.ls_first = Some(ls_first);
    }
}

#[cfg(test)]
mod tests {
    use super::super::WindowCode;
    use super::*;
    use weftline_fecframe::CodeRate;
    use weftline_netem::LossModel;

    fn experiment(code: Code, dw: u32) -> Experiment {
        Experiment {
            code,
            code_rate: CodeRate::new(2, 3).unwrap(),
            decoding_window: dw,
            loss: "iid:30%".parse::<LossModel>().unwrap(),
            symbols: 400,
            symbol_size: 16,
        }
    }

    #[test]
    fn every_symbol_of_a_window_code_has_one_fate() {
        let mut code = WindowCode::new(8, 12);
        code.linear_system = 40;
        let ticks = trace(&experiment(Code::Window(code), 12), 3).unwrap();
        let mut fates = vec![Vec::new(); ticks.len()];
        for tick in &ticks {
            let named = [
                ("decoded", &tick.decoded),
                ("late", &tick.late),
                ("given up", &tick.given_up),
                ("lost", &tick.lost),
            ];
            if tick.received {
                fates[tick.tick as usize].push("received");
            }
            for (name, symbols) in named {
                symbols.iter().for_each(|s| fates[*s as usize].push(name));
            }
            let (end, ls) = (tick.end, tick.ls_first.unwrap());
            assert!(ls <= tick.dw_first.unwrap() && end <= tick.tick + 1);
            assert!(end - ls <= 40 && tick.rank <= tick.unknowns, "{tick:?}");
            for repair in &tick.repairs {
                assert_eq!(repair.first + repair.count, tick.tick + 1, "{tick:?}");
                assert!(repair.count <= 8);
                assert_eq!(repair.received, repair.useful.is_some());
            }
        }
        let possible: [&[&str]; 4] = [
            &["received"],
            &["decoded"],
            &["given up", "late"],
            &["given up", "lost"],
        ];
        let settled = ticks.last().unwrap().ls_first.unwrap() as usize;
        for (symbol, fate) in fates.iter().enumerate().take(settled) {
            assert!(possible.contains(&fate.as_slice()), "{symbol}: {fate:?}");
        }
        for fate in possible {
            assert!(fates.iter().any(|f| f == fate), "no symbol is {fate:?}");
        }
    }

    #[test]
    fn a_block_decodes_at_once_when_its_repairs_arrive() {
        let ticks = trace(&experiment(Code::Block(10), 10), 1).unwrap();
        let decoded: Vec<_> = ticks.iter().filter(|t| !t.decoded.is_empty()).collect();
        assert!(decoded.len() > 20);
        for tick in decoded {
            assert_eq!(tick.tick % 10, 0, "with the next block's first tick");
            let block = tick.tick - 10..tick.tick;
            assert!(tick.decoded.iter().all(|symbol| block.contains(symbol)));
            assert!(tick.unknowns.is_none());
        }
    }

    #[test]
    fn a_long_trace_is_refused() {
        let mut long = experiment(Code::Block(10), 10);
        long.symbols = MOST_TICKS;
        assert!(matches!(trace(&long, 1), Err(StudyError::Parameter { .. })));
    }
}
