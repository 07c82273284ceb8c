//! A short run, packet by packet, for drawings of a receiver's windows.

use serde::Serialize;
use weftline_fecframe::payload_id::RepairId;
use weftline_fecframe::{Outcome, Receiver, Sender, Time};
use weftline_netem::Losses;

use super::{Experiment, StudyError, payload};

/// Longest run that is traced, in source symbols: a trace is for reading.
const LONGEST: u64 = 10_000;
/// Octets of a coded symbol in addition to the ADU's: flow and length.
const HEADER: usize = 3;

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "packet", rename_all = "snake_case")]
pub enum Packet {
    /// A source packet.
    Source {
        /// Its symbol.
        symbol: u64,
    },
    /// A repair packet.
    Repair {
        /// The first symbol of the encoding window.
        first: u64,
        /// The number of symbols in the encoding window: ew, or fewer at the beginning.
        symbols: u64,
    },
}

/// The windows of a receiver, in symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Windows {
    /// One past the newest symbol that the receiver has heard of.
    pub end: u64,
    /// The first symbol in time: `end` - dw.
    pub in_time: u64,
    /// The first symbol that equations may contain: `end` - ls.
    pub first: u64,
    /// Unknown symbols in the linear system.
    pub unknowns: usize,
    /// Independent equations about them.
    pub equations: usize,
}

/// A packet sent, and the receiver after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The tick in which it was sent: the number of the newest source symbol.
    pub tick: u64,
    /// The packet.
    #[serde(flatten)]
    pub packet: Packet,
    /// Whether the path lost it.
    pub lost: bool,
    /// Whether the receiver learned something from it.
    pub useful: bool,
    /// Symbols that became known by decoding and are in time.
    pub decoded: Vec<u64>,
    /// Symbols that became known by decoding after their time.
    pub late: Vec<u64>,
    /// The receiver's windows after it.
    pub windows: Windows,
}

/// Sends the experiment's symbols through the real sender and receiver of a sliding window, with
/// the losses of this seed.
///
/// # Errors
/// The code is no sliding window, the run is longer than 10,000 symbols, or the codec fails.
pub fn trace(experiment: &Experiment, seed: u64) -> Result<Vec<Step>, StudyError> {
    experiment.check()?;
    if experiment.symbols > LONGEST {
        return Err(StudyError::Parameter {
            what: "the number of symbols of a run with events",
            got: experiment.symbols,
            expected: "100 to 10,000",
        });
    }
    let (code, size) = (experiment.code, experiment.symbol_size);
    let receiver = Receiver::new(code.receiver(size, experiment.decoding_window))?;
    let Receiver::Window(_) = &receiver else {
        return Err(StudyError::NoWindow(code.to_string()));
    };
    let mut trace = Trace {
        receiver,
        newest: 0,
        received: vec![false; experiment.symbols as usize],
        steps: Vec::new(),
    };
    let mut sender = Sender::new(code.sender(experiment.code_rate, size, seed))?;
    let mut losses = Losses::new(experiment.loss.clone(), seed);
    let (mut adu, mut packet) = (vec![0; usize::from(size) - HEADER], Vec::new());
    for tick in 0..experiment.symbols {
        let now = Time::from_micros(tick);
        payload::fill(seed, tick, &mut adu);
        let taken = sender.source(0, &adu, now, &mut packet);
        taken.map_err(|error| StudyError::Sender {
            symbol: tick,
            error,
        })?;
        // A receiver starts with the first source packet: it gets this one.
        let lost = losses.next_is_lost() && tick > 0;
        trace.pass(tick, Packet::Source { symbol: tick }, lost, &packet)?;
        while sender.poll_repair(now, &mut packet).is_some() {
            let Some((id, _)) = RepairId::split(&packet) else {
                continue;
            };
            let window = Packet::Repair {
                first: id.first_esi.into(),
                symbols: id.nss.into(),
            };
            trace.pass(tick, window, losses.next_is_lost(), &packet)?;
        }
    }
    Ok(trace.steps)
}

struct Trace {
    receiver: Receiver,
    /// One past the newest symbol heard of.
    newest: u64,
    received: Vec<bool>,
    steps: Vec<Step>,
}

impl Trace {
    /// Passes a packet to the receiver, unless it is lost.
    fn pass(
        &mut self,
        tick: u64,
        packet: Packet,
        lost: bool,
        octets: &[u8],
    ) -> Result<(), StudyError> {
        let (mut useful, mut decoded, mut late) = (false, Vec::new(), Vec::new());
        if !lost {
            let now = Time::from_micros(tick);
            let (taken, end) = match packet {
                Packet::Source { symbol } => {
                    self.received[symbol as usize] = true;
                    (self.receiver.source_packet(0, octets, now), symbol + 1)
                }
                Packet::Repair { first, symbols } => {
                    (self.receiver.repair_packet(octets, now), first + symbols)
                }
            };
            let taken = taken.map_err(|error| StudyError::Receiver { tick, error })?;
            useful = taken == Outcome::Useful;
            self.newest = self.newest.max(end);
        }
        while let Some(adu) = self.receiver.poll_adu() {
            let symbol = u64::from(adu.esi);
            if self.received.get(symbol as usize) == Some(&false) {
                let known = if adu.late { &mut late } else { &mut decoded };
                known.push(symbol);
            }
        }
        let windows = self.windows();
        self.steps.push(Step {
            tick,
            packet,
            lost,
            useful,
            decoded,
            late,
            windows,
        });
        Ok(())
    }

    fn windows(&self) -> Windows {
        let Receiver::Window(receiver) = &self.receiver else {
            unreachable!("a trace has a window's receiver")
        };
        let (unknowns, equations) = receiver.missing();
        let back = |symbols: u32| self.newest.saturating_sub(symbols.into());
        Windows {
            end: self.newest,
            in_time: back(receiver.decoding_window()),
            first: back(receiver.linear_system()),
            unknowns,
            equations,
        }
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
            code: Code::Window(WindowCode::new(6, 12)),
            code_rate: CodeRate::new(2, 3).unwrap(),
            decoding_window: 12,
            loss: LossModel::iid(0.3),
            symbols: 400,
            symbol_size: 16,
        }
    }

    #[test]
    fn every_packet_has_a_step_and_windows_move_with_the_newest_symbol() {
        let steps = trace(&experiment(), 1).unwrap();
        assert_eq!(steps.len(), 400 + 200);
        assert_eq!(steps, trace(&experiment(), 1).unwrap());
        for step in &steps {
            let windows = step.windows;
            assert!(windows.end <= step.tick + 1 && windows.equations <= windows.unknowns);
            assert_eq!(windows.in_time, windows.end.saturating_sub(12));
            assert_eq!(windows.first, windows.end.saturating_sub(40));
            assert!(step.late.iter().all(|symbol| *symbol < windows.in_time));
            assert!(step.decoded.iter().all(|symbol| *symbol >= windows.in_time));
            assert!(!step.lost || (!step.useful && step.decoded.is_empty()));
        }
        let late = steps.iter().map(|step| step.late.len()).sum::<usize>();
        let decoded = steps.iter().map(|step| step.decoded.len()).sum::<usize>();
        assert!(late > 0 && decoded > 50, "{late} late, {decoded} decoded");
    }

    #[test]
    fn what_cannot_be_traced_is_refused() {
        let blocks = Experiment {
            code: Code::Block(12),
            ..experiment()
        };
        assert!(matches!(trace(&blocks, 1), Err(StudyError::NoWindow(_))));
        let long = Experiment {
            symbols: 10_001,
            ..experiment()
        };
        assert!(trace(&long, 1).unwrap_err().to_string().contains("10,000"));
    }
}
