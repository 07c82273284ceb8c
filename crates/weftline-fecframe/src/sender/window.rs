//! The sender of RFC 8681: a window that slides symbol by symbol.

use std::collections::VecDeque;

use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::{Arithmetic, Field, Gf256};
use weftline_codec::{LENGTH_BYTES, WindowEncoder};

use super::allowance::Allowance;
use super::{Repair, SenderConfig, SenderStats, Sent, config};
use crate::payload_id::{MAX_DENSITY_THRESHOLD, REPAIR_ID_BYTES, RepairId, SourceId};
use crate::{CodeRate, ConfigError, EncodingId, SendError, Time, adui};

/// Keys tried in search of coefficients that are not all 0.
const KEYS_TRIED: usize = 256;

/// A sender of FEC Encoding ID 9 or 10. [`Sender`](super::Sender) has the same methods
/// and describes them.
#[derive(Clone, Debug)]
pub struct WindowSender {
    config: SenderConfig,
    field: Arithmetic,
    encoder: WindowEncoder,
    /// When symbols below an ESI leave, for windows that expire.
    expiries: VecDeque<(u64, Time)>,
    /// Source and repair symbols since the code rate was set.
    spaced: (u64, u64),
    key: u16,
    /// The window of the latest repair symbol.
    covered: (u64, u64),
    allowance: Allowance,
    adui: Vec<u8>,
    vector: Vec<u8>,
    stats: SenderStats,
}

impl WindowSender {
    /// A sender with an empty window.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn new(config: SenderConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let field = config.encoding_id.window_field();
        let symbol_size = usize::from(config.fssi.symbol_size());
        let window = usize::from(config.window);
        // Allow at least one repair packet, even with a small window.
        let packet = REPAIR_ID_BYTES + usize::from(config.symbols_per_packet) * symbol_size;
        let most = (window * symbol_size).max(2 * packet) as u64;
        let field = field.unwrap_or_else(Gf256::arithmetic);
        Ok(Self {
            field,
            encoder: WindowEncoder::with_field(window, symbol_size, field).evicting(),
            expiries: VecDeque::new(),
            spaced: (0, 0),
            key: config.first_key,
            covered: (0, 0),
            allowance: Allowance::new(config.bandwidth_cap, most),
            adui: Vec::new(),
            vector: Vec::new(),
            stats: SenderStats::default(),
            config,
        })
    }

    /// See [`Sender::source`](super::Sender::source).
    ///
    /// # Errors
    ///
    /// See [`SendError`].
    pub fn source(
        &mut self,
        flow: u8,
        adu: &[u8],
        now: Time,
        packet: &mut Vec<u8>,
    ) -> Result<Sent, SendError> {
        if !self.config.flows.contains(flow) {
            return Err(SendError::UnknownFlow { flow });
        }
        let limit = self.longest_adu();
        if adu.len() > limit {
            let got = adu.len();
            return Err(SendError::AduTooLong { got, limit });
        }
        self.expire(now);
        let symbol_size = self.config.fssi.symbol_size();
        adui::write(flow, adu, symbol_size, &mut self.adui);
        let esi = self.wire(self.encoder.next());
        let mut symbols = 0;
        for symbol in self.adui.chunks_exact(usize::from(symbol_size)) {
            let pushed = self.encoder.push(symbol);
            debug_assert!(
                pushed.is_ok(),
                "the encoder evicts and symbols have their size"
            );
            symbols += 1;
        }
        if let Some(validity) = self.config.validity {
            let first = self.encoder.first();
            while self.expiries.front().is_some_and(|(end, _)| *end <= first) {
                self.expiries.pop_front();
            }
            self.expiries
                .push_back((self.encoder.next(), now + validity));
        }
        self.spaced.0 += u64::from(symbols);
        self.allowance.earn(adu.len());
        self.stats.adus += 1;
        self.stats.source_octets += adu.len() as u64;
        self.stats.source_symbols += u64::from(symbols);

        packet.clear();
        packet.extend_from_slice(adu);
        packet.extend_from_slice(&SourceId { esi }.to_bytes());
        Ok(Sent {
            block: None,
            esi,
            symbols,
        })
    }

    /// See [`Sender::poll_repair`](super::Sender::poll_repair).
    pub fn poll_repair(&mut self, now: Time, packet: &mut Vec<u8>) -> Option<Repair> {
        let symbols = u64::from(self.config.symbols_per_packet);
        loop {
            let due = self.config.code_rate.repairs_after(self.spaced.0);
            if due.saturating_sub(self.spaced.1) < symbols {
                return None;
            }
            self.spaced.1 += symbols;
            // A due packet that cannot be made is skipped for good: later it would be
            // part of a burst.
            if let Some(repair) = self.repair(now, packet) {
                return Some(repair);
            }
        }
    }

    /// See [`Sender::extra_repair`](super::Sender::extra_repair).
    pub fn extra_repair(&mut self, now: Time, packet: &mut Vec<u8>) -> Option<Repair> {
        self.repair(now, packet)
    }

    /// See [`Sender::set_code_rate`](super::Sender::set_code_rate).
    ///
    /// # Errors
    ///
    /// [`ConfigError::CodeRate`].
    pub fn set_code_rate(&mut self, rate: CodeRate) -> Result<(), ConfigError> {
        config::check_rate(rate, self.config.bandwidth_cap)?;
        self.config.code_rate = rate;
        self.spaced = (0, 0);
        Ok(())
    }

    /// The longest ADU, in octets: its symbols must all fit in the window.
    #[must_use]
    pub fn longest_adu(&self) -> usize {
        let symbols = if self.config.one_symbol_adus {
            1
        } else {
            usize::from(self.config.window)
        };
        let octets = symbols * usize::from(self.config.fssi.symbol_size());
        octets.saturating_sub(adui::HEADER_BYTES).min(adui::MAX_ADU)
    }

    /// Symbols in the encoding window now.
    #[must_use]
    pub fn window(&self) -> usize {
        self.encoder.len()
    }

    /// Counts of what happened so far.
    #[must_use]
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &SenderConfig {
        &self.config
    }

    /// Makes a repair packet over the current window, if it is useful and the allowance
    /// permits it.
    fn repair(&mut self, now: Time, packet: &mut Vec<u8>) -> Option<Repair> {
        self.expire(now);
        let symbols = self.config.symbols_per_packet;
        let held = self.encoder.held();
        let covered = (held.start, held.end);
        let only_one = self.is_plain_sum();
        let useless = held.is_empty() || only_one && covered == self.covered;
        let key = if useless {
            None
        } else {
            self.useful_key(held.end - held.start)
        };
        let Some(key) = key else {
            self.stats.useless += u64::from(symbols);
            return None;
        };
        let symbol_size = usize::from(self.config.fssi.symbol_size());
        let octets = REPAIR_ID_BYTES + usize::from(symbols) * symbol_size;
        if !self.allowance.spend(octets) {
            self.stats.capped += u64::from(symbols);
            return None;
        }
        self.covered = covered;
        let id = RepairId {
            key: if only_one { 0 } else { key },
            density_threshold: self.config.density_threshold,
            // A window has at most MAX_NSS symbols.
            nss: (held.end - held.start) as u16,
            first_esi: self.wire(held.start),
        };
        self.write(id, packet);
        self.key = key.wrapping_add(u16::from(symbols));
        self.stats.repair_packets += 1;
        self.stats.repair_symbols += u64::from(symbols);
        self.stats.repair_octets += octets as u64;
        Some(Repair {
            block: None,
            first_esi: id.first_esi,
            window: id.nss,
            key: id.key,
            symbols,
        })
    }

    /// Writes the packet of an identifier over the current window.
    fn write(&self, id: RepairId, packet: &mut Vec<u8>) {
        packet.clear();
        packet.resize(REPAIR_ID_BYTES, 0);
        for i in 0..u16::from(self.config.symbols_per_packet) {
            let coefficients = Coefficients::Rfc8681 {
                repair_key: id.key.wrapping_add(i),
                density_threshold: id.density_threshold,
            };
            // The codec writes a length before each symbol, which this format does not
            // have. It overwrites the bytes before the symbol, which are then restored.
            let place = packet.len() - LENGTH_BYTES;
            let before = [packet[place], packet[place + 1]];
            packet.truncate(place);
            let made = self
                .encoder
                .repair(self.encoder.held(), coefficients, packet);
            debug_assert!(made.is_ok(), "the window is held and the vector exists");
            packet[place..place + LENGTH_BYTES].copy_from_slice(&before);
        }
        packet[..REPAIR_ID_BYTES].copy_from_slice(&id.to_bytes());
    }

    /// Whether there is only one repair symbol per window, the sum of all.
    fn is_plain_sum(&self) -> bool {
        self.config.encoding_id == EncodingId::RlcGf2
            && self.config.density_threshold == MAX_DENSITY_THRESHOLD
    }

    /// The next key with which no repair symbol of a packet is all zeros.
    fn useful_key(&mut self, window: u64) -> Option<u16> {
        let density_threshold = self.config.density_threshold;
        if density_threshold == MAX_DENSITY_THRESHOLD {
            return Some(self.key);
        }
        self.vector.resize(window as usize, 0);
        let (mut first, mut in_a_row) = (self.key, 0);
        for i in 0..KEYS_TRIED as u16 {
            let repair_key = self.key.wrapping_add(i);
            let coefficients = Coefficients::Rfc8681 {
                repair_key,
                density_threshold,
            };
            let filled = coefficients.fill(self.field, &mut self.vector);
            debug_assert!(filled.is_ok(), "field and threshold have been checked");
            if self.vector.iter().all(|c| *c == 0) {
                (first, in_a_row) = (repair_key.wrapping_add(1), 0);
                continue;
            }
            in_a_row += 1;
            if in_a_row == self.config.symbols_per_packet {
                return Some(first);
            }
        }
        None
    }

    /// Drops symbols whose time is over.
    fn expire(&mut self, now: Time) {
        while let Some((end, _)) = self.expiries.front().filter(|(_, at)| *at <= now) {
            let gone = end.saturating_sub(self.encoder.first());
            self.stats.expired += gone;
            self.encoder.discard_before(*end);
            self.expiries.pop_front();
        }
    }

    fn wire(&self, esi: u64) -> u32 {
        self.config.first.wrapping_add(esi as u32)
    }
}
