//! Hostile packets between honest ones.

#![allow(unreachable_pub, reason = "used by the example and by a test")]

use weftline_fecframe::{
    CodeRate, EncodingId, FlowSet, Fssi, Order, Receiver, ReceiverConfig, ReceiverStats, Sender,
    SenderConfig, Time,
};

/// The receiver under attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// FEC Encoding ID 10.
    Gf256,
    /// FEC Encoding ID 9.
    Gf2,
    /// FEC Encoding ID 10 with symbols of one octet.
    Tiny,
    /// FEC Encoding ID 8.
    Blocks,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 4] = [Target::Gf256, Target::Gf2, Target::Tiny, Target::Blocks];
}

/// An honest flow, and an attacker who can send to its receiver.
pub struct Attack {
    sender: Sender,
    receiver: Receiver,
    random: u64,
    now: Time,
    count: u64,
    symbol_size: usize,
    honest: Vec<u8>,
    /// The packet to deliver, and whether it goes to the repair flow.
    packet: Vec<u8>,
    repair: bool,
    newest: u32,
    altered: u64,
}

impl Attack {
    /// The same attack for the same seed.
    pub fn new(target: Target, seed: u64) -> Self {
        let (encoding_id, symbol_size, window) = match target {
            Target::Gf256 => (EncodingId::RlcGf256, 1280, 200),
            Target::Gf2 => (EncodingId::RlcGf2, 1280, 200),
            Target::Tiny => (EncodingId::RlcGf256, 1, 400),
            Target::Blocks => (EncodingId::ReedSolomon, 1280, 100),
        };
        let fssi = match encoding_id {
            EncodingId::ReedSolomon => Fssi::ReedSolomon {
                symbol_size,
                strict: false,
                m: 8,
            },
            _ => Fssi::Rlc {
                symbol_size,
                window_size_ratio: 128,
            },
        };
        let rate = CodeRate::new(2, 3).expect("2 of 3 is a rate");
        let mut config = SenderConfig::new(encoding_id, fssi, rate, window);
        config.bandwidth_cap = false;
        config.flows = FlowSet::from_iter([0, 1]);
        let mut theirs = ReceiverConfig::new(encoding_id, fssi);
        theirs.flows = config.flows;
        theirs.order = if seed.is_multiple_of(2) {
            Order::AsDecoded
        } else {
            Order::InOrder
        };
        theirs.deliver_late = true;
        Self {
            sender: Sender::new(config).expect("the configuration is right"),
            receiver: Receiver::new(theirs).expect("the configuration is right"),
            random: seed,
            now: Time::ZERO,
            count: 0,
            symbol_size: usize::from(symbol_size),
            honest: Vec::new(),
            packet: Vec::new(),
            repair: false,
            newest: 0,
            altered: 0,
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }

    fn octets(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.below(256) as u8).collect()
    }

    /// Makes the next packet: more than half are honest.
    pub fn prepare(&mut self) {
        self.count += 1;
        self.now = Time::from_micros(self.count * 10);
        match self.below(64) {
            0..36 => self.honest(),
            36..42 => {
                self.honest();
                let flips = 1 + self.below(4);
                for _ in 0..flips {
                    let at = self.below(self.packet.len().max(1) as u64) as usize;
                    // Mostly in the identifiers, where changes do the most harm.
                    let at = if self.below(2) == 0 { at } else { at % 8 };
                    let flip = 1 << self.below(8);
                    if let Some(octet) = self.packet.get_mut(at) {
                        *octet ^= flip;
                    }
                }
            }
            42..46 => {
                let length = self.below(2000) as usize;
                self.packet = self.octets(length);
                self.repair = self.below(2) == 0;
            }
            46..56 => self.window(),
            // Few: each one that is near enough to be accepted interrupts the flow.
            56 => self.jump(),
            _ => {
                self.honest();
                let keep = self.below(self.packet.len() as u64 + 1) as usize;
                self.packet.truncate(keep);
            }
        }
    }

    /// Passes the packet to the receiver, and polls its ADUs.
    pub fn deliver(&mut self) {
        let _ = if self.repair {
            self.receiver.repair_packet(&self.packet, self.now)
        } else {
            self.receiver.source_packet(0, &self.packet, self.now)
        };
        while let Some(adu) = self.receiver.poll_adu() {
            let first = adu.data.first().copied().unwrap_or(0);
            self.altered += u64::from(adu.data.iter().any(|octet| *octet != first));
        }
    }

    /// Counters of the receiver.
    pub fn stats(&self) -> &ReceiverStats {
        self.receiver.stats()
    }

    /// Octets the receiver holds.
    pub fn memory(&self) -> usize {
        self.receiver.memory()
    }

    /// Delivered ADUs that the sender did not send: nothing is authenticated here.
    #[allow(dead_code, reason = "the test does not look at it")]
    pub fn altered(&self) -> u64 {
        self.altered
    }

    /// A packet of the flow, a fifth of them lost.
    fn honest(&mut self) {
        loop {
            self.repair = self
                .sender
                .poll_repair(self.now, &mut self.packet)
                .is_some();
            if !self.repair {
                let most = self.symbol_size.max(20) as u64 - 2;
                let (length, fill) = (self.below(most) as usize, self.below(256) as u8);
                self.honest.clear();
                self.honest.resize(length, fill);
                let sent = self
                    .sender
                    .source(0, &self.honest, self.now, &mut self.packet);
                if let Ok(sent) = sent {
                    self.newest = sent.esi;
                }
            }
            if self.below(5) > 0 {
                return;
            }
        }
    }

    /// A repair packet over the longest window allowed, near the newest symbol, with as
    /// many symbols as allowed.
    fn window(&mut self) {
        let symbols = 1 + self.below(16) as usize;
        let nss = [1024, 1023, 512, 1, 4095, 0][self.below(6) as usize];
        // Mostly ending with the newest symbol, where most symbols are unknown.
        let end = self.newest.wrapping_add(self.below(40) as u32);
        let back = self.below(600) as u32;
        let first = end
            .wrapping_sub(u32::from(nss))
            .wrapping_add(300)
            .wrapping_sub(back);
        let threshold = (self.below(16) as u16) << 12;
        let key = self.below(1 << 16) as u16;
        self.packet.clear();
        self.packet.extend_from_slice(&key.to_be_bytes());
        self.packet
            .extend_from_slice(&(threshold | nss).to_be_bytes());
        self.packet.extend_from_slice(&first.to_be_bytes());
        let data = self.octets(symbols * self.symbol_size);
        self.packet.extend_from_slice(&data);
        self.repair = true;
    }

    /// A source packet with another ESI: at the edges of the accepted range, far away,
    /// or half the range away.
    fn jump(&mut self) {
        let (near, far) = (self.below(5000) as u32, self.below(1 << 32) as u32);
        let by = [near, near.wrapping_neg(), 512, 513, 1 << 31, far][self.below(6) as usize];
        let length = self.below(300) as usize;
        self.packet = self.octets(length);
        self.packet
            .extend_from_slice(&self.newest.wrapping_add(by).to_be_bytes());
        self.repair = false;
    }
}
