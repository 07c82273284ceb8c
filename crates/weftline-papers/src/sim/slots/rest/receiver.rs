//! The packets that a REST receiver has, ideal or real, and the delay of each.

use weftline_codec::{DecodeError, DecoderConfig, Outcome, WindowDecoder, WindowEncoder};

use super::super::SlotError;

/// Bytes of a symbol.
const SYMBOL: usize = 8;
/// Packets that may be missing at once.
const MOST_MISSING: usize = 8192;

pub(super) struct Receiver {
    /// When each data packet was sent.
    sent: Vec<f64>,
    known: Vec<bool>,
    count: u32,
    edge: u32,
    code: Code,
    sum: f64,
    squares: f64,
}

enum Code {
    /// Every repair that arrives replaces one missing packet.
    Ideal {
        missing: Vec<u32>,
        repairs: usize,
    },
    Real(Box<Real>),
}

struct Real {
    encoder: WindowEncoder,
    decoder: WindowDecoder,
    window: u64,
    key: u32,
    repair: Vec<u8>,
}

fn payload(esi: u64) -> [u8; SYMBOL] {
    (esi ^ 0x4E57)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .to_le_bytes()
}

impl Receiver {
    pub(super) fn new(ideal: bool, packets: u32, window: Option<u32>) -> Self {
        let span = packets as usize;
        let code = if ideal {
            Code::Ideal {
                missing: Vec::new(),
                repairs: 0,
            }
        } else {
            let config = DecoderConfig::new(span + 1, SYMBOL, MOST_MISSING.min(span + 1), span);
            Code::Real(Box::new(Real {
                encoder: WindowEncoder::new(span, SYMBOL),
                decoder: WindowDecoder::new(config),
                window: window.map_or(u64::MAX, u64::from),
                key: 0,
                repair: Vec::new(),
            }))
        };
        Self {
            sent: Vec::with_capacity(span),
            known: Vec::with_capacity(span),
            count: 0,
            edge: 0,
            code,
            sum: 0.0,
            squares: 0.0,
        }
    }

    /// Data packets sent.
    pub(super) fn sent(&self) -> u32 {
        self.sent.len() as u32
    }

    /// All data packets below it have arrived or are decoded.
    pub(super) fn edge(&self) -> u32 {
        self.edge
    }

    /// Sends the next data packet, which arrives or not.
    pub(super) fn data(&mut self, now: f64, arrives: bool) -> Result<(), SlotError> {
        let packet = self.sent();
        self.sent.push(now);
        self.known.push(false);
        match &mut self.code {
            Code::Ideal { missing, .. } if !arrives => missing.push(packet),
            Code::Ideal { .. } => self.learn(packet, now),
            Code::Real(real) => {
                let esi = real.encoder.push(&payload(packet.into()));
                let esi = esi.expect("the encoder has room for all packets");
                if arrives {
                    real.decoder
                        .source(esi, &payload(esi))
                        .map_err(|e| failed(&e))?;
                } else {
                    real.decoder.expect(esi + 1).map_err(|e| failed(&e))?;
                }
                self.settle(now)?;
            }
        }
        self.advance();
        Ok(())
    }

    /// Sends a repair over the packets that are sent and, as far as the sender knows, missing.
    /// Returns whether the receiver had a use for it.
    pub(super) fn repair(
        &mut self,
        now: f64,
        acknowledged: u32,
        arrives: bool,
    ) -> Result<bool, SlotError> {
        let useful;
        match &mut self.code {
            Code::Ideal { missing, repairs } => {
                useful = arrives && !missing.is_empty();
                *repairs += usize::from(useful);
                if *repairs > 0 && *repairs == missing.len() {
                    *repairs = 0;
                    let decoded = std::mem::take(missing);
                    decoded
                        .into_iter()
                        .for_each(|packet| self.learn(packet, now));
                }
            }
            Code::Real(real) => {
                let first = u64::from(acknowledged);
                let end = first.saturating_add(real.window).min(real.encoder.next());
                real.key += 1;
                useful = if arrives && first < end {
                    real.repair.clear();
                    let made = real.encoder.repair(first..end, real.key, &mut real.repair);
                    made.expect("the encoder holds all packets");
                    let taken = real.decoder.repair(first..end, real.key, &real.repair);
                    taken.map_err(|e| failed(&e))? == Outcome::Innovative
                } else {
                    false
                };
                self.settle(now)?;
            }
        }
        self.advance();
        Ok(useful)
    }

    /// Data packets that are known.
    pub(super) fn known(&self) -> u32 {
        self.count
    }

    /// Data packets that were sent and are not known.
    pub(super) fn missing(&self) -> usize {
        match &self.code {
            Code::Ideal { missing, .. } => missing.len(),
            Code::Real(real) => real.decoder.unknowns(),
        }
    }

    fn settle(&mut self, now: f64) -> Result<(), SlotError> {
        let Code::Real(real) = &mut self.code else {
            return Ok(());
        };
        let mut new = Vec::new();
        while let Some(esi) = real.decoder.next_known() {
            if real.decoder.symbol(esi) != Some(&payload(esi)[..]) {
                return Err(SlotError::Wrong { esi });
            }
            new.push(esi as u32);
        }
        new.into_iter().for_each(|packet| self.learn(packet, now));
        Ok(())
    }

    fn learn(&mut self, packet: u32, now: f64) {
        let delay = now - self.sent[packet as usize];
        self.known[packet as usize] = true;
        self.count += 1;
        self.sum += delay;
        self.squares += delay * delay;
    }

    fn advance(&mut self) {
        while self.known.get(self.edge as usize).copied().unwrap_or(false) {
            self.edge += 1;
        }
    }

    /// Mean and standard deviation of delays, without the path's delay.
    pub(super) fn delays(&self) -> (f64, f64) {
        let n = self.sent.len() as f64;
        let mean = self.sum / n;
        (mean, (self.squares / n - mean * mean).max(0.0).sqrt())
    }
}

fn failed(error: &DecodeError) -> SlotError {
    match error {
        DecodeError::Inconsistent { esi } => SlotError::Wrong { esi: *esi },
        _ => SlotError::TooLarge {
            what: "the number of missing packets",
            limit: MOST_MISSING as u64,
        },
    }
}
