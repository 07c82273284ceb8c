//! The receiver of RFC 8681.

mod delivery;

use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::{Arithmetic, Field, Gf256};
use weftline_codec::{DecodeError, DecoderConfig, Outcome as Coded, expand_esi};

use super::follow::Follow;
use super::layout::{Adui, Layout, Rules};
use super::queue::Queue;
use super::system::System;
use super::{Adu, Order, Outcome, ReceiverConfig, ReceiverStats};
use crate::adui::{self, Header};
use crate::payload_id::{RepairId, SourceId};
use crate::{ConfigError, Fssi, PacketError, Time, serial, sizing};

/// Symbols before the first one heard of that count as missing. They are unknowns, so
/// that a receiver that joins a running flow can use repairs that cover them.
const BEFORE_JOINING: u64 = 255;

/// Consecutive losses that the receiver tolerates without resynchronising.
const LEAST_JUMP: u32 = 512;

/// A receiver of FEC Encoding ID 9 or 10. [`Receiver`](super::Receiver) has the same
/// methods and describes them.
#[derive(Clone, Debug)]
pub struct WindowReceiver {
    config: ReceiverConfig,
    field: Arithmetic,
    symbol_size: u16,
    /// NSS of the longest window seen.
    longest: u16,
    state: Option<State>,
    follow: Follow,
    now: Time,
    queue: Queue,
    adui: Vec<u8>,
    stats: ReceiverStats,
}

/// The state once a packet has arrived.
#[derive(Clone, Debug)]
struct State {
    system: System,
    layout: Layout,
    /// One past the highest ESI heard of.
    end: u64,
    /// All symbols below it are handed over or given up.
    cursor: u64,
    /// The first ESI heard of; earlier symbols do not count as lost.
    joined: u64,
}

impl WindowReceiver {
    /// A receiver that has received nothing.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn new(config: ReceiverConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let field = config.encoding_id.window_field();
        Ok(Self {
            field: field.unwrap_or_else(Gf256::arithmetic),
            symbol_size: config.fssi.symbol_size(),
            longest: 0,
            state: None,
            follow: Follow::default(),
            now: Time::ZERO,
            queue: Queue::new(2 * config.limits.max_linear_system as usize),
            adui: Vec::new(),
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
        let state = self.state.as_ref().filter(|_| waits)?;
        let heard = state.layout.heard(state.cursor)?;
        Some(heard + self.config.max_latency?)
    }

    /// See [`Receiver::handle_timeout`](super::Receiver::handle_timeout).
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.advance(false);
    }

    /// See [`Receiver::flush`](super::Receiver::flush).
    pub fn flush(&mut self) {
        self.advance(true);
    }

    /// dw: the number of newest symbols that are in time.
    #[must_use]
    pub fn decoding_window(&self) -> u32 {
        let Fssi::Rlc {
            window_size_ratio, ..
        } = self.config.fssi
        else {
            return 1;
        };
        let seen = (self.longest > 0)
            .then(|| sizing::decoding_window(self.longest, window_size_ratio))
            .flatten();
        let most = self.config.limits.max_linear_system;
        let window = self.config.decoding_window.or(seen).unwrap_or(most / 2);
        window.clamp(1, most)
    }

    /// ls: the number of newest symbols that equations may contain; at least the decoding window and
    /// the longest encoding window seen.
    #[must_use]
    pub fn linear_system(&self) -> u32 {
        let window = self.decoding_window();
        let most = self.config.limits.max_linear_system;
        let derived = sizing::linear_system(window);
        let system = self.config.linear_system.unwrap_or(derived);
        system.max(self.longest.into()).clamp(window, most)
    }

    /// The number of missing symbols, and of independent equations about them.
    #[must_use]
    pub fn missing(&self) -> (usize, usize) {
        self.state
            .as_ref()
            .map_or((0, 0), |state| state.system.missing())
    }

    /// How many of the newest symbols heard of the linear system holds, known or not. Before a
    /// receiver has moved on from its first packet, symbols before that are among them.
    #[must_use]
    pub fn held(&self) -> u64 {
        let state = self.state.as_ref();
        state.map_or(0, |state| state.end - state.system.first())
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
        let state = self.state.as_ref();
        let state = state.map_or(0, |state| state.system.memory() + state.layout.memory());
        state + self.queue.memory() + self.adui.capacity()
    }

    fn take_source(&mut self, flow: u8, packet: &[u8]) -> Result<Outcome, PacketError> {
        if !self.config.flows.contains(flow) {
            return Err(PacketError::UnknownFlow { flow });
        }
        let got = packet.len();
        let (adu, id) = SourceId::split(packet).ok_or(PacketError::Length { got })?;
        let limit = self.longest_adu();
        if adu.len() > limit {
            let got = adu.len();
            return Err(PacketError::AduTooLong { got, limit });
        }
        adui::write(flow, adu, self.symbol_size, &mut self.adui);
        let symbols = adui::symbols(adu.len(), self.symbol_size) as u64;
        // If a header takes several symbols, even an empty ADU may not fit.
        if symbols > self.most_symbols() {
            let got = adu.len();
            return Err(PacketError::AduTooLong { got, limit });
        }
        // ADUs are never longer.
        let length = adu.len() as u16;
        let header = Header { flow, length };
        let Some(start) = self.locate(id.esi, symbols, symbols)? else {
            return Ok(Outcome::TooOld);
        };
        let Some(state) = &mut self.state else {
            return Ok(Outcome::TooOld);
        };
        let conflict = PacketError::Conflict { number: id.esi };
        if !state.layout.fits(start, header, symbols) {
            return Err(conflict);
        }
        let size = usize::from(self.symbol_size);
        let mut all_known = true;
        for (esi, symbol) in (start..).zip(self.adui.chunks_exact(size)) {
            match state.system.symbol(esi) {
                Some(known) if known != symbol => return Err(conflict),
                Some(_) => {}
                None => all_known = false,
            }
        }
        self.follow.in_range();
        let told = |adui: Adui| !adui.rejected;
        if all_known && state.layout.adui(start).is_some_and(told) {
            self.stats.duplicates += 1;
            self.advance(false);
            return Ok(Outcome::Redundant);
        }
        self.slide(start + symbols, start);
        let Some(state) = &mut self.state else {
            return Ok(Outcome::TooOld);
        };
        let system = &state.system;
        let octet = |esi, at: usize| system.symbol(esi)?.get(at).copied();
        state.layout.received(start, header, symbols as u32, &octet);
        for (esi, symbol) in (start..).zip(self.adui.chunks_exact(size)) {
            note(&mut self.stats, state.system.source(esi, symbol));
        }
        self.settle();
        Ok(Outcome::Useful)
    }

    fn take_repair(&mut self, packet: &[u8]) -> Result<Outcome, PacketError> {
        let got = packet.len();
        let (id, data) = RepairId::split(packet).ok_or(PacketError::Length { got })?;
        let size = usize::from(self.symbol_size);
        if data.is_empty() || !data.len().is_multiple_of(size) {
            return Err(PacketError::Length { got });
        }
        let limit = self.config.limits.max_symbols_per_packet;
        if data.len() / size > limit {
            let got = data.len() / size;
            return Err(PacketError::Symbols { got, limit });
        }
        let limit = self.config.limits.max_window;
        if id.nss == 0 || id.nss > limit {
            return Err(PacketError::Window { got: id.nss, limit });
        }
        let nss = u64::from(id.nss);
        let located = self.locate(id.first_esi, nss, 0)?;
        // Also if it is too old: else a linear system that is shorter than the window would refuse
        // every repair, and never learn why.
        self.longest = self.longest.max(id.nss);
        let Some(start) = located else {
            return Ok(Outcome::TooOld);
        };
        self.follow.in_range();
        self.slide(start + nss, u64::MAX);
        let held = |state: &&mut State| start >= state.system.first();
        let Some(state) = self.state.as_mut().filter(held) else {
            // The linear system is shorter than the window.
            self.stats.too_old += 1;
            return Ok(Outcome::TooOld);
        };
        let mut useful = false;
        for (i, symbol) in (0..).zip(data.chunks_exact(size)) {
            let coefficients = Coefficients::Rfc8681 {
                repair_key: id.key.wrapping_add(i),
                density_threshold: id.density_threshold,
            };
            let made = state
                .system
                .repair(start..start + nss, coefficients, symbol);
            match note(&mut self.stats, made) {
                Some(Coded::Innovative) => {
                    self.stats.useful_repair += 1;
                    useful = true;
                }
                Some(Coded::Redundant) => self.stats.redundant_repair += 1,
                None => {}
            }
        }
        self.settle();
        Ok(if useful {
            Outcome::Useful
        } else {
            Outcome::Redundant
        })
    }

    /// The ESI of symbols from the wire, if they are in range; `None` if they have
    /// left. The flow begins with the first symbols, and again with those of a
    /// restarted sender; of these, `own` arrive with the packet: none with a repair packet.
    fn locate(&mut self, wire: u32, symbols: u64, own: u64) -> Result<Option<u64>, PacketError> {
        let Some(state) = &self.state else {
            let start = serial::first(wire);
            self.join(start, start + symbols - own);
            return Ok(Some(start));
        };
        let limits = &self.config.limits;
        let near = limits
            .max_jump
            .unwrap_or(self.linear_system().max(LEAST_JUMP));
        let furthest = state.end + u64::from(near);
        let start = expand_esi(wire, 32, state.end);
        let start = start.filter(|start| start + symbols <= furthest);
        if let Some(start) = start.filter(|start| *start >= state.system.first()) {
            return Ok(Some(start));
        }
        let (after, late_repair) = (limits.resync_after, start.is_some() && own == 0);
        if (self.follow).out_of_range(wire, 32, near, after, late_repair) {
            self.stats.resyncs += 1;
            self.flush();
            let start = serial::first(wire);
            self.join(start, start + symbols - own);
            return Ok(Some(start));
        }
        if start.is_some() {
            self.stats.too_old += 1;
            return Ok(None);
        }
        Err(PacketError::Jump { number: wire })
    }

    /// Begins with a packet whose symbols begin at `start`; in-order delivery begins
    /// at `from`.
    fn join(&mut self, start: u64, from: u64) {
        let limits = &self.config.limits;
        let most = limits.max_linear_system as usize;
        let size = usize::from(self.symbol_size);
        let config = DecoderConfig::new(most, size, most, limits.max_window.into());
        let first = start - BEFORE_JOINING.min(u64::from(self.linear_system()) / 2);
        let rules = Rules {
            symbol_size: self.symbol_size,
            flows: self.config.flows,
            one_symbol_adus: self.config.one_symbol_adus,
            max_adu: self.longest_adu(),
            max_symbols: (most as u64 / 2).max(1),
        };
        let mut layout = Layout::new(rules, first);
        layout.extend(start, self.now);
        let mut system = System::new(self.field, config, self.config.elimination, first);
        note(
            &mut self.stats,
            system.expect(start).map(|()| Coded::Redundant),
        );
        self.state = Some(State {
            system,
            layout,
            end: start,
            cursor: match self.config.order {
                Order::InOrder => from,
                Order::AsDecoded => first,
            },
            joined: from,
        });
    }

    /// The most symbols that an ADU may take: half of the linear system.
    fn most_symbols(&self) -> u64 {
        match self.config.one_symbol_adus {
            true => 1,
            false => u64::from(self.config.limits.max_linear_system / 2).max(1),
        }
    }

    /// The longest ADU whose symbols fit in half of the linear system.
    fn longest_adu(&self) -> usize {
        let octets = self.most_symbols() as usize * usize::from(self.symbol_size);
        let most = octets.saturating_sub(adui::HEADER_BYTES);
        most.min(self.config.limits.max_adu).min(adui::MAX_ADU)
    }

    /// Moves the windows so that they end at `end` or later and hold the symbols from
    /// `keep` on.
    fn slide(&mut self, end: u64, keep: u64) {
        let linear_system = u64::from(self.linear_system());
        let Some(state) = &mut self.state else {
            return;
        };
        state.end = state.end.max(end);
        // Waiting symbols must be read before they leave the system.
        self.advance(false);
        let Some(state) = &mut self.state else {
            return;
        };
        let floor = state.end.saturating_sub(linear_system).min(keep);
        if floor > state.system.first() {
            if state.cursor < floor {
                let heard_of = state.cursor.max(state.joined);
                self.stats.symbols_lost += floor.saturating_sub(heard_of);
                state.cursor = floor;
            }
            state.system.forget_before(floor);
            state.layout.drop_before(floor);
        }
        state.layout.extend(state.end, self.now);
    }
}

/// Counts symbols that the codec refuses: only inconsistent ones can reach it, because
/// everything else is checked before.
fn note(stats: &mut ReceiverStats, made: Result<Coded, DecodeError>) -> Option<Coded> {
    match made {
        Ok(outcome) => Some(outcome),
        Err(error) => {
            debug_assert!(
                matches!(error, DecodeError::Inconsistent { .. }),
                "{error}: everything else is checked before"
            );
            stats.inconsistent += 1;
            None
        }
    }
}
