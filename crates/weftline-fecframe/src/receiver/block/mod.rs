//! The receiver of RFC 6865.

mod delivery;

use std::collections::VecDeque;

use weftline_codec::expand_esi;
use weftline_codec::field::Arithmetic;
use weftline_codec::reed_solomon::{Code, Construction, Decoder};

use super::follow::Follow;
use super::queue::Queue;
use super::{Adu, Order, Outcome, ReceiverConfig, ReceiverStats};
use crate::payload_id::{BLOCK_ID_BYTES, BlockId};
use crate::{ConfigError, Fssi, PacketError, Time, adui, serial};

/// A receiver of FEC Encoding ID 8. [`Receiver`](super::Receiver) has the same methods
/// and describes them.
///
/// A block that cannot be decoded delays the next ones until its time is over: after
/// [`max_latency`](ReceiverConfig::max_latency) if that is set, otherwise when packets
/// of two newer blocks have arrived.
#[derive(Clone, Debug)]
pub struct BlockReceiver {
    config: ReceiverConfig,
    field: Arithmetic,
    m: u8,
    strict: bool,
    /// The blocks `first..first + blocks.len()`.
    first: u64,
    blocks: VecDeque<Block>,
    joined: bool,
    /// All ADUs before this block and symbol are handed over or given up.
    cursor: (u64, u16),
    /// The decoder for blocks of the k it was made for.
    decoder: Option<Decoder>,
    follow: Follow,
    now: Time,
    queue: Queue,
    stats: ReceiverStats,
}

#[derive(Clone, Debug)]
struct Block {
    heard: Time,
    /// Source symbols; 0 until a packet states it.
    k: u16,
    /// ADUIs, without padding.
    sources: Vec<Source>,
    known: u16,
    /// ESIs and symbols.
    repairs: Vec<(u16, Vec<u8>)>,
}

#[derive(Clone, Debug, Default)]
struct Source {
    adui: Option<Vec<u8>>,
    recovered: bool,
}

impl BlockReceiver {
    /// A receiver that has received nothing.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn new(config: ReceiverConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let Fssi::ReedSolomon { strict, m, .. } = config.fssi else {
            return Err(ConfigError::Fssi {
                id: config.encoding_id,
                fssi: config.fssi,
            });
        };
        let field = match m {
            2 | 4 | 8 => Arithmetic::with_bits(m.into()),
            _ => None,
        };
        let field = field.ok_or(ConfigError::Field { m })?;
        let blocks = usize::from(config.limits.max_blocks);
        let symbols = usize::from(config.limits.max_window).min(1 << m);
        Ok(Self {
            field,
            m,
            strict,
            first: 0,
            blocks: VecDeque::new(),
            joined: false,
            cursor: (0, 0),
            decoder: None,
            follow: Follow::default(),
            now: Time::ZERO,
            queue: Queue::new(2 * blocks * symbols),
            stats: ReceiverStats::default(),
            config,
        })
    }

    /// See [`Receiver::source_packet`](super::Receiver::source_packet).
    ///
    /// # Errors
    ///
    /// See [`PacketError`].
    pub fn source_packet(
        &mut self,
        flow: u8,
        packet: &[u8],
        now: Time,
    ) -> Result<Outcome, PacketError> {
        self.stats.source_packets += 1;
        self.now = self.now.max(now);
        let taken = self.take_source(flow, packet);
        taken.map_err(|error| self.stats.refuse(error))
    }

    /// See [`Receiver::repair_packet`](super::Receiver::repair_packet).
    ///
    /// # Errors
    ///
    /// See [`PacketError`].
    pub fn repair_packet(&mut self, packet: &[u8], now: Time) -> Result<Outcome, PacketError> {
        self.stats.repair_packets += 1;
        self.now = self.now.max(now);
        let taken = self.take_repair(packet);
        taken.map_err(|error| self.stats.refuse(error))
    }

    /// See [`Receiver::poll_adu`](super::Receiver::poll_adu).
    pub fn poll_adu(&mut self) -> Option<Adu> {
        self.queue.pop()
    }

    /// See [`Receiver::poll_timeout`](super::Receiver::poll_timeout).
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let waits = self.config.order == Order::InOrder;
        let index = self.cursor.0.checked_sub(self.first).filter(|_| waits)?;
        let block = self.blocks.get(usize::try_from(index).ok()?)?;
        Some(block.heard + self.config.max_latency?)
    }

    /// See [`Receiver::handle_timeout`](super::Receiver::handle_timeout).
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.advance(0);
    }

    /// See [`Receiver::flush`](super::Receiver::flush).
    pub fn flush(&mut self) {
        self.advance(u64::MAX);
    }

    /// Counts of what happened so far.
    #[must_use]
    pub fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &ReceiverConfig {
        &self.config
    }

    /// See [`Receiver::memory`](super::Receiver::memory).
    #[must_use]
    pub fn memory(&self) -> usize {
        self.queue.memory() + self.blocks.iter().map(Block::memory).sum::<usize>()
    }

    fn take_source(&mut self, flow: u8, packet: &[u8]) -> Result<Outcome, PacketError> {
        if !self.config.flows.contains(flow) {
            return Err(PacketError::UnknownFlow { flow });
        }
        let got = packet.len();
        let (adu, octets) = packet
            .split_last_chunk::<BLOCK_ID_BYTES>()
            .ok_or(PacketError::Length { got })?;
        let limit = usize::from(self.config.fssi.symbol_size()).saturating_sub(adui::HEADER_BYTES);
        let limit = limit.min(self.config.limits.max_adu);
        if adu.len() > limit {
            let got = adu.len();
            return Err(PacketError::AduTooLong { got, limit });
        }
        let id = self.parse(*octets, true)?;
        let Some(number) = self.locate(id, id.esi)? else {
            return Ok(Outcome::TooOld);
        };
        // At most the symbol size.
        let exact = (adui::HEADER_BYTES + adu.len()) as u16;
        let mut adui = Vec::with_capacity(exact.into());
        adui::write(flow, adu, exact, &mut adui);
        let block = &mut self.blocks[(number - self.first) as usize];
        block.take_k(id)?;
        let source = &mut block.sources[usize::from(id.esi)];
        if let Some(known) = &source.adui {
            if *known != adui {
                return Err(PacketError::Conflict { number: id.block });
            }
            self.follow.in_range();
            self.stats.duplicates += 1;
            return Ok(Outcome::Redundant);
        }
        source.adui = Some(adui);
        block.known += 1;
        self.follow.in_range();
        self.hand_over(number, id.esi);
        self.decode(number);
        self.advance(0);
        Ok(Outcome::Useful)
    }

    fn take_repair(&mut self, packet: &[u8]) -> Result<Outcome, PacketError> {
        let got = packet.len();
        let (octets, symbol) = packet
            .split_first_chunk::<BLOCK_ID_BYTES>()
            .ok_or(PacketError::Length { got })?;
        let most = usize::from(self.config.fssi.symbol_size());
        let right = if self.strict {
            symbol.len() == most
        } else {
            (adui::HEADER_BYTES..=most).contains(&symbol.len())
        };
        if !right {
            return Err(PacketError::Length { got });
        }
        let id = self.parse(*octets, false)?;
        let Some(number) = self.locate(id, 0)? else {
            return Ok(Outcome::TooOld);
        };
        let block = &mut self.blocks[(number - self.first) as usize];
        block.take_k(id)?;
        let conflict = PacketError::Conflict { number: id.block };
        let held = block.repairs.iter().find(|(esi, _)| *esi == id.esi);
        let other_length = |(_, other): &(u16, Vec<u8>)| other.len() != symbol.len();
        if held.is_some_and(|(_, held)| held != symbol) || block.repairs.iter().any(other_length) {
            return Err(conflict);
        }
        self.follow.in_range();
        if held.is_some() || block.known >= block.k {
            self.stats.redundant_repair += 1;
            return Ok(Outcome::Redundant);
        }
        block.repairs.push((id.esi, symbol.to_vec()));
        self.stats.useful_repair += 1;
        self.decode(number);
        self.advance(0);
        Ok(Outcome::Useful)
    }

    /// Reads an identifier and checks that the symbol is possible.
    fn parse(&self, octets: [u8; BLOCK_ID_BYTES], source: bool) -> Result<BlockId, PacketError> {
        let id = BlockId::from_bytes(octets, self.m);
        let most = Construction::Rfc5510.max_shards(self.field) as u16;
        let limit = self.config.limits.max_window.min(most);
        if id.k == 0 || id.k > limit {
            return Err(PacketError::Window { got: id.k, limit });
        }
        if (id.esi < id.k) != source || id.esi >= most {
            let BlockId { esi, k, .. } = id;
            return Err(PacketError::Esi { esi, k });
        }
        Ok(id)
    }

    /// The number of a block in range, which is then held; `None` if it has left. In
    /// the first block, delivery begins with symbol `from`.
    fn locate(&mut self, id: BlockId, from: u16) -> Result<Option<u64>, PacketError> {
        let bits = 32 - u32::from(self.m);
        let limits = &self.config.limits;
        let near = limits.max_jump.unwrap_or(limits.max_blocks.into());
        let near = near.min(1 << (bits - 2));
        if self.joined {
            let newest = self.first + self.blocks.len() as u64 - 1;
            // Block numbers wrap as ESIs do.
            let number = expand_esi(id.block, bits, newest);
            let number = number.filter(|number| *number <= newest + u64::from(near));
            if let Some(number) = number.filter(|number| *number >= self.first) {
                self.hold(number);
                return Ok(Some(number));
            }
            let (after, late_repair) = (limits.resync_after, number.is_some() && id.esi >= id.k);
            if !(self.follow).out_of_range(id.block, bits, near, after, late_repair) {
                if number.is_some() {
                    self.stats.too_old += 1;
                    return Ok(None);
                }
                return Err(PacketError::Jump { number: id.block });
            }
            self.stats.resyncs += 1;
            self.flush();
            self.blocks.clear();
        }
        let number = serial::first(id.block);
        self.joined = true;
        self.first = number;
        self.cursor = (number, from);
        self.hold(number);
        Ok(Some(number))
    }

    /// Makes room for blocks up to this one.
    fn hold(&mut self, number: u64) {
        let most = u64::from(self.config.limits.max_blocks);
        let first = (number + 1).saturating_sub(most);
        if first > self.first {
            self.advance(first);
            let gone = (first - self.first).min(self.blocks.len() as u64);
            self.blocks.drain(..gone as usize);
            self.first = first;
            self.cursor = self.cursor.max((first, 0));
        }
        while self.first + self.blocks.len() as u64 <= number {
            self.blocks.push_back(Block {
                heard: self.now,
                k: 0,
                sources: Vec::new(),
                known: 0,
                repairs: Vec::new(),
            });
        }
    }

    /// Makes the missing source symbols of a block, if enough symbols have arrived.
    fn decode(&mut self, number: u64) {
        let block = &mut self.blocks[(number - self.first) as usize];
        let k = usize::from(block.k);
        if block.known >= block.k || usize::from(block.known) + block.repairs.len() < k {
            return;
        }
        let repairs = core::mem::take(&mut block.repairs);
        let symbol_size = repairs[0].1.len();
        let wanted: Vec<usize> = (0..k)
            .filter(|i| block.sources[*i].adui.is_none())
            .collect();
        let known = block.sources.iter().flat_map(|source| &source.adui);
        if known.clone().any(|adui| adui.len() > symbol_size) {
            // Some packet gave a wrong length of the longest ADU.
            self.stats.inconsistent += wanted.len() as u64;
            return;
        }
        let padded: Vec<(usize, Vec<u8>)> = (0..k)
            .filter_map(|i| {
                let mut adui = block.sources[i].adui.clone()?;
                adui.resize(symbol_size, 0);
                Some((i, adui))
            })
            .collect();
        if self
            .decoder
            .as_ref()
            .is_none_or(|d| d.code().sources() != k)
        {
            let most = Construction::Rfc5510.max_shards(self.field);
            // Fewer than k sources are known, so there is a repair symbol, beyond k.
            let code = Code::with_field(Construction::Rfc5510, self.field, k, most - k);
            self.decoder = code.ok().map(Decoder::new);
        }
        let Some(decoder) = &mut self.decoder else {
            return;
        };
        let mut made = vec![vec![0; symbol_size]; wanted.len()];
        let mut out: Vec<&mut [u8]> = made.iter_mut().map(Vec::as_mut_slice).collect();
        let repairs = repairs.iter().map(|(esi, s)| (usize::from(*esi), &s[..]));
        let given = padded.iter().map(|(i, s)| (*i, &s[..])).chain(repairs);
        let decoded = decoder.reconstruct(given, &wanted, &mut out);
        debug_assert!(decoded.is_ok(), "k symbols of one length were given");
        for (index, symbol) in wanted.into_iter().zip(made) {
            let (flows, most) = (self.config.flows, self.config.limits.max_adu);
            let is_plausible =
                |(flow, adu): &(u8, &[u8])| flows.contains(*flow) && adu.len() <= most;
            let adu = adui::read(&symbol).filter(is_plausible);
            let Some(length) = adu.map(|(_, adu)| adu.len()) else {
                self.stats.implausible += 1;
                continue;
            };
            let mut adui = symbol;
            adui.truncate(adui::HEADER_BYTES + length);
            let block = &mut self.blocks[(number - self.first) as usize];
            block.sources[index] = Source {
                adui: Some(adui),
                recovered: true,
            };
            self.hand_over(number, index as u16);
        }
        let block = &mut self.blocks[(number - self.first) as usize];
        block.known = block.k;
    }
}

impl Block {
    /// Notes k, which must be the same in all packets of a block.
    fn take_k(&mut self, id: BlockId) -> Result<(), PacketError> {
        if self.k == 0 {
            self.k = id.k;
            self.sources = vec![Source::default(); id.k.into()];
        }
        if self.k == id.k {
            return Ok(());
        }
        Err(PacketError::Conflict { number: id.block })
    }

    fn memory(&self) -> usize {
        let sources = self.sources.iter().flat_map(|source| &source.adui);
        let octets: usize = sources.map(Vec::capacity).sum();
        let repairs: usize = self.repairs.iter().map(|(_, s)| s.capacity()).sum();
        octets + repairs + self.sources.capacity() * size_of::<Source>() + size_of::<Self>()
    }
}
