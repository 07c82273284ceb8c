//! A sender and a receiver with a lossy path between them.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use weftline_fecframe::{
    Adu, CodeRate, EncodingId, Fssi, Receiver, ReceiverConfig, Sender, SenderConfig, Time,
};

/// Pseudo-random numbers, the same in each run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}

pub fn rlc(symbol_size: u16, window_size_ratio: u8) -> Fssi {
    Fssi::Rlc {
        symbol_size,
        window_size_ratio,
    }
}

pub fn rs(symbol_size: u16, strict: bool, m: u8) -> Fssi {
    Fssi::ReedSolomon {
        symbol_size,
        strict,
        m,
    }
}

pub fn rate(text: &str) -> CodeRate {
    text.parse().unwrap()
}

pub fn sender_config(id: EncodingId, fssi: Fssi, code_rate: &str, window: u16) -> SenderConfig {
    SenderConfig::new(id, fssi, rate(code_rate), window)
}

pub fn receiver_config(sender: &SenderConfig) -> ReceiverConfig {
    let mut config = ReceiverConfig::new(sender.encoding_id, sender.fssi);
    config.flows = sender.flows;
    config.one_symbol_adus = sender.one_symbol_adus;
    config
}

/// The traffic of a path: ADUs sent, with flow and ESI, and ADUs handed over.
#[derive(Default)]
pub struct Run {
    pub sent: Vec<(u8, u32, Vec<u8>)>,
    pub got: Vec<Adu>,
    pub lost_sources: usize,
}

/// Sends ADUs a microsecond apart. `lost` decides the loss of each packet; its flag is
/// true for a repair packet.
pub fn run(
    sender: &mut Sender,
    receiver: &mut Receiver,
    adus: impl IntoIterator<Item = (u8, Vec<u8>)>,
    mut lost: impl FnMut(bool) -> bool,
) -> Run {
    let mut run = Run::default();
    let mut packet = Vec::new();
    for (tick, (flow, adu)) in adus.into_iter().enumerate() {
        let now = Time::from_micros(tick as u64);
        let sent = sender.source(flow, &adu, now, &mut packet).unwrap();
        run.sent.push((flow, sent.esi, adu));
        if lost(false) {
            run.lost_sources += 1;
        } else {
            receiver.source_packet(flow, &packet, now).unwrap();
        }
        while sender.poll_repair(now, &mut packet).is_some() {
            if !lost(true) {
                receiver.repair_packet(&packet, now).unwrap();
            }
        }
        run.got.extend(std::iter::from_fn(|| receiver.poll_adu()));
    }
    receiver.flush();
    run.got.extend(std::iter::from_fn(|| receiver.poll_adu()));
    run
}

impl Run {
    /// Whether every ADU handed over is one that was sent, at most once.
    pub fn check(&self) {
        let mut sent: Vec<Option<&(u8, u32, Vec<u8>)>> = self.sent.iter().map(Some).collect();
        for adu in &self.got {
            let place = sent.iter_mut().find(|sent| {
                sent.is_some_and(|(flow, esi, data)| {
                    (*flow, *esi, data) == (adu.flow, adu.esi, &adu.data)
                })
            });
            let place = place.unwrap_or_else(|| panic!("{adu:?} was not sent, or came twice"));
            *place = None;
        }
    }
}
