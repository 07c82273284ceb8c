//! One way over UDP: a sender without feedback, and a receiver that joins late,
//! loses every tenth packet, and sits through an outage. The example ends by
//! itself. It fails unless every payload is right and every loss is accounted
//! for.
//!
//! ```sh
//! cargo run -p weftline-codec --example one_way
//! ```
//!
//! There are two kinds of packet; numbers are big endian:
//!
//! ```text
//! source:  0, ESI (16 bits), payload
//! repair:  1, first ESI (16 bits), symbols of the window (8 bits), key (32 bits), data
//! ```

use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use weftline_codec::{
    DecodeError, DecoderConfig, DecoderStats, Skipped, WindowDecoder, WindowEncoder, expand_esi,
};

/// Symbols that a repair covers.
const WINDOW: u8 = 48;
/// Source symbols to each repair.
const SPACING: u64 = 4;
/// Symbols sent before the receiver joins. Soon after it joins, ESIs exceed 16
/// bits.
const BEFORE: u64 = 65_000;
/// Symbols sent while it listens, and those of them in the outage.
const LISTENED: u64 = 2000;
const OUTAGE: std::ops::Range<u64> = BEFORE + 900..BEFORE + 1300;
/// Outside the outage, one packet in this many is lost.
const LOSS: u32 = 10;

fn payload(esi: u64) -> String {
    format!("payload number {esi}")
}

struct Sender {
    socket: UdpSocket,
    to: SocketAddr,
    encoder: WindowEncoder,
    dice: u32,
    packet: Vec<u8>,
}

impl Sender {
    /// Sends the next source symbol, and a repair after every few of them.
    /// `delivered` is called after each packet that is not lost.
    fn send(
        &mut self,
        mut delivered: impl FnMut() -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        let text = payload(self.encoder.next());
        // A full window drops its oldest symbol by itself.
        let esi = self.encoder.push(text.as_bytes())?;
        self.packet.clear();
        self.packet.push(0);
        self.packet.extend_from_slice(&(esi as u16).to_be_bytes());
        self.packet.extend_from_slice(text.as_bytes());
        self.transmit(esi, &mut delivered)?;
        if esi.is_multiple_of(SPACING) {
            let window = self.encoder.held();
            let symbols = (window.end - window.start) as u8;
            // Each repair needs its own key: the ESI.
            let key = esi as u32;
            self.packet.clear();
            self.packet.push(1);
            self.packet
                .extend_from_slice(&(window.start as u16).to_be_bytes());
            self.packet.push(symbols);
            self.packet.extend_from_slice(&key.to_be_bytes());
            self.encoder.repair(window, key, &mut self.packet)?;
            self.transmit(esi, &mut delivered)?;
        }
        Ok(())
    }

    fn transmit(
        &mut self,
        esi: u64,
        delivered: &mut impl FnMut() -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        self.dice = self
            .dice
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        let is_lost = (self.dice >> 16).is_multiple_of(LOSS);
        if esi < BEFORE || OUTAGE.contains(&esi) || is_lost {
            return Ok(());
        }
        self.socket.send_to(&self.packet, self.to)?;
        delivered()
    }
}

struct Receiver {
    socket: UdpSocket,
    /// Made when the first source symbol comes.
    decoder: Option<WindowDecoder>,
    /// The first ESI heard.
    joined: u64,
    known: u64,
    /// Skipped in the outage.
    outage: Skipped,
}

impl Receiver {
    /// Waits for a packet, and checks each payload that becomes known by it.
    fn receive(&mut self) -> Result<(), Box<dyn Error>> {
        let mut buffer = [0; 1500];
        let length = self.socket.recv(&mut buffer)?;
        match &buffer[..length] {
            [0, a, b, payload @ ..] => self.source(u16::from_be_bytes([*a, *b]), payload)?,
            [1, a, b, symbols, k0, k1, k2, k3, data @ ..] => {
                let key = u32::from_be_bytes([*k0, *k1, *k2, *k3]);
                self.repair(u16::from_be_bytes([*a, *b]), *symbols, key, data)?;
            }
            _ => return Err("a packet that is neither source nor repair".into()),
        }
        let Some(decoder) = &mut self.decoder else {
            return Ok(());
        };
        let mut wrong = None;
        decoder.each_known(|esi, bytes| {
            self.known += 1;
            if bytes != payload(esi).as_bytes() {
                wrong = Some(esi);
            }
        });
        if let Some(esi) = wrong {
            return Err(format!("payload {esi} differs from the one sent").into());
        }
        // Later repairs cover only the latest symbols, so give up the others.
        let floor = decoder.end().saturating_sub(WINDOW.into());
        decoder.forget_before(floor);
        Ok(())
    }

    fn source(&mut self, short: u16, payload: &[u8]) -> Result<(), Box<dyn Error>> {
        let Some(decoder) = &mut self.decoder else {
            // A late join: begin with the first symbol heard of. Nothing is known
            // of the upper bits of its ESI; let them be 0.
            let esi = u64::from(short);
            let config = DecoderConfig::new(256, 1200, 128, WINDOW.into());
            let mut decoder = WindowDecoder::new(config).starting_at(esi);
            decoder.source(esi, payload)?;
            self.joined = esi;
            self.decoder = Some(decoder);
            return Ok(());
        };
        let Some(esi) = expand_esi(short.into(), 16, decoder.end()) else {
            return Ok(());
        };
        match decoder.source(esi, payload) {
            Err(DecodeError::OutOfSpan { .. } | DecodeError::TooManyUnknowns { .. }) => {
                // More is missing than the limits allow: an outage. Go on here.
                self.outage = decoder.skip_to(esi);
                println!("outage: {:?} before symbol {esi}", self.outage);
                decoder.source(esi, payload)?;
            }
            taken => _ = taken?,
        }
        Ok(())
    }

    fn repair(
        &mut self,
        short: u16,
        symbols: u8,
        key: u32,
        data: &[u8],
    ) -> Result<(), Box<dyn Error>> {
        let Some(decoder) = &mut self.decoder else {
            return Ok(());
        };
        let Some(start) = expand_esi(short.into(), 16, decoder.end()) else {
            return Ok(());
        };
        match decoder.repair(start..start + u64::from(symbols), key, data) {
            // It needs symbols from before the join, or the outage is not over.
            Err(
                DecodeError::NotHeld { .. }
                | DecodeError::OutOfSpan { .. }
                | DecodeError::TooManyUnknowns { .. },
            ) => {}
            taken => _ = taken?,
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut sender = Sender {
        socket: UdpSocket::bind("127.0.0.1:0")?,
        to: socket.local_addr()?,
        encoder: WindowEncoder::new(WINDOW.into(), 1200).evicting(),
        dice: 1,
        packet: Vec::new(),
    };
    let mut receiver = Receiver {
        socket,
        decoder: None,
        joined: 0,
        known: 0,
        outage: Skipped::default(),
    };
    // Each packet is received before the next is sent, so that nothing is lost
    // but what the example means to lose.
    for _ in 0..BEFORE + LISTENED {
        sender.send(|| receiver.receive())?;
    }

    let decoder = receiver.decoder.as_ref().ok_or("nothing arrived")?;
    let DecoderStats {
        sources,
        recovered,
        abandoned,
        ..
    } = *decoder.stats();
    let missing = decoder.unknowns() as u64;
    println!(
        "joined at {}: {sources} received, {recovered} recovered, {abandoned} given up, \
         {missing} missing at the end",
        receiver.joined
    );
    let heard_of = decoder.end() - receiver.joined;
    let lost_in_outage = receiver.outage.missing + receiver.outage.unheard;
    let checks = [
        ("the receiver joined late", receiver.joined >= BEFORE),
        ("ESIs went past 16 bits", decoder.end() > 1 << 16),
        (
            "every known payload was checked",
            receiver.known == sources + recovered,
        ),
        (
            "every symbol has a fate",
            sources + recovered + abandoned + missing == heard_of,
        ),
        ("losses were recovered", recovered >= 100),
        (
            "the outage was skipped",
            lost_in_outage >= OUTAGE.end - OUTAGE.start,
        ),
        (
            "little else was given up",
            abandoned - lost_in_outage <= LISTENED / 100,
        ),
    ];
    for (what, holds) in checks {
        if !holds {
            return Err(format!("this does not hold: {what}").into());
        }
    }
    Ok(())
}
