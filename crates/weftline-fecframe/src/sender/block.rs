//! The sender of RFC 6865: blocks of k ADUs, each a symbol.

use weftline_codec::field::Arithmetic;
use weftline_codec::reed_solomon::{Code, Construction};

use super::allowance::Allowance;
use super::{Repair, SenderConfig, SenderStats, Sent, config};
use crate::payload_id::{BLOCK_ID_BYTES, BlockId};
use crate::{CodeRate, ConfigError, Fssi, SendError, Time, adui};

/// A sender of FEC Encoding ID 8. [`Sender`](super::Sender) has the same methods and
/// describes them.
///
/// Source packets leave at once. They state k, so a block always has the k of the
/// configuration; a block that is not full in time gets no repair.
#[derive(Clone, Debug)]
pub struct BlockSender {
    config: SenderConfig,
    m: u8,
    strict: bool,
    code: Option<Code>,
    /// The block being filled.
    block: u32,
    opened: Time,
    aduis: Vec<Vec<u8>>,
    used: usize,
    /// The block whose repair is due, and its next repair symbol.
    complete: Vec<Vec<u8>>,
    complete_block: u32,
    next: usize,
    allowance: Allowance,
    stats: SenderStats,
}

impl BlockSender {
    /// A sender with an empty block.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn new(config: SenderConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let Fssi::ReedSolomon {
            symbol_size,
            strict,
            m,
        } = config.fssi
        else {
            return Err(ConfigError::Fssi {
                id: config.encoding_id,
                fssi: config.fssi,
            });
        };
        let most = u64::from(config.window) * u64::from(symbol_size);
        Ok(Self {
            code: code(m, config.window, config.code_rate)?,
            m,
            strict,
            block: config.first & u32::MAX >> m,
            opened: Time::ZERO,
            aduis: vec![Vec::new(); usize::from(config.window)],
            used: 0,
            complete: vec![Vec::new(); usize::from(config.window)],
            complete_block: 0,
            next: usize::MAX,
            allowance: Allowance::new(config.bandwidth_cap, most.max(2 * u64::from(symbol_size))),
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
        let symbol_size = self.config.fssi.symbol_size();
        let limit = usize::from(symbol_size).saturating_sub(adui::HEADER_BYTES);
        if adu.len() > limit {
            let got = adu.len();
            return Err(SendError::AduTooLong { got, limit });
        }
        self.expire(now);
        if self.used == 0 {
            self.opened = now;
        }
        // Padded when the block is complete: its symbol size may not be known yet.
        let exact = (adui::HEADER_BYTES + adu.len()) as u16;
        adui::write(flow, adu, exact, &mut self.aduis[self.used]);
        let id = BlockId {
            block: self.block,
            esi: self.used as u16,
            k: self.config.window,
        };
        self.used += 1;
        self.allowance.earn(adu.len());
        self.stats.adus += 1;
        self.stats.source_octets += adu.len() as u64;
        self.stats.source_symbols += 1;
        packet.clear();
        packet.extend_from_slice(adu);
        packet.extend_from_slice(&id.to_bytes(self.m));
        if self.used == self.aduis.len() {
            self.complete();
        }
        Ok(Sent {
            block: Some(id.block),
            esi: id.esi.into(),
            symbols: 1,
        })
    }

    /// See [`Sender::poll_repair`](super::Sender::poll_repair): all repair of a
    /// block is due as soon as the block is full.
    pub fn poll_repair(&mut self, now: Time, packet: &mut Vec<u8>) -> Option<Repair> {
        self.expire(now);
        let code = self.code.as_ref()?;
        let symbol_size = self.complete[0].len();
        while self.next < code.repairs() {
            let repair = self.next;
            self.next += 1;
            let octets = BLOCK_ID_BYTES + symbol_size;
            if !self.allowance.spend(octets) {
                self.stats.capped += 1;
                continue;
            }
            let k = self.config.window;
            let id = BlockId {
                block: self.complete_block,
                // The constructor has checked that k + repairs symbols fit in the
                // field.
                esi: k + repair as u16,
                k,
            };
            packet.clear();
            packet.extend_from_slice(&id.to_bytes(self.m));
            packet.resize(octets, 0);
            let sources: Vec<&[u8]> = self.complete.iter().map(Vec::as_slice).collect();
            let made = code.encode_one(repair, &sources, &mut packet[BLOCK_ID_BYTES..]);
            debug_assert!(made.is_ok(), "all symbols have one length");
            self.stats.repair_packets += 1;
            self.stats.repair_symbols += 1;
            self.stats.repair_octets += octets as u64;
            return Some(Repair {
                block: Some(id.block),
                first_esi: 0,
                window: k,
                key: id.esi,
                symbols: 1,
            });
        }
        None
    }

    /// See [`Sender::set_code_rate`](super::Sender::set_code_rate).
    ///
    /// # Errors
    ///
    /// [`ConfigError::CodeRate`] and [`ConfigError::Range`].
    pub fn set_code_rate(&mut self, rate: CodeRate) -> Result<(), ConfigError> {
        config::check_rate(rate, self.config.bandwidth_cap)?;
        self.code = code(self.m, self.config.window, rate)?;
        self.config.code_rate = rate;
        Ok(())
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

    /// Makes the current block the one whose repair is due.
    fn complete(&mut self) {
        if let Some(code) = &self.code {
            self.stats.useless += code.repairs().saturating_sub(self.next) as u64;
        }
        core::mem::swap(&mut self.aduis, &mut self.complete);
        let longest = self.complete.iter().map(Vec::len).max().unwrap_or(0);
        let symbol_size = if self.strict {
            usize::from(self.config.fssi.symbol_size())
        } else {
            longest
        };
        for adui in &mut self.complete {
            adui.resize(symbol_size, 0);
        }
        self.complete_block = self.block;
        self.next = 0;
        self.begin();
    }

    fn begin(&mut self) {
        self.block = self.block.wrapping_add(1) & u32::MAX >> self.m;
        self.used = 0;
    }

    /// Gives up a block that was not full in time.
    fn expire(&mut self, now: Time) {
        let over = |validity| self.opened + validity <= now;
        if self.used > 0 && self.config.validity.is_some_and(over) {
            self.stats.expired += self.used as u64;
            self.begin();
        }
    }
}

/// The code of blocks of k symbols at a rate; none without repair.
fn code(m: u8, k: u16, rate: CodeRate) -> Result<Option<Code>, ConfigError> {
    let field = match m {
        // Other fields have elements that do not divide an octet.
        2 | 4 | 8 => Arithmetic::with_bits(m.into()),
        _ => None,
    };
    let field = field.ok_or(ConfigError::Field { m })?;
    let k = usize::from(k);
    let repairs = usize::try_from(rate.repairs_after(k as u64)).unwrap_or(usize::MAX);
    let most = Construction::Rfc5510.max_shards(field);
    let range = ConfigError::Range {
        what: "the number of symbols of a block",
        got: k.saturating_add(repairs) as u64,
        min: 1,
        max: most as u64,
    };
    if k.saturating_add(repairs) > most {
        return Err(range);
    }
    if repairs == 0 {
        return Ok(None);
    }
    let code = Code::with_field(Construction::Rfc5510, field, k, repairs);
    code.map(Some).map_err(|_| range)
}
