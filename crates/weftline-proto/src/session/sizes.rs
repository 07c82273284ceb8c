//! How long datagrams and symbols are.

use core::ops::RangeInclusive;

use tracing::debug;

use super::Session;
use crate::check::ConfigError;
use crate::config::SMALLEST_SYMBOL;
use crate::event::Role;
use crate::limits::{MIN_DATAGRAM, USUAL_SYMBOL};
use crate::path::PathId;
use crate::sender::Discovery;
use crate::time::Time;
use crate::wire::REPAIR_OVERHEAD;

/// Bytes sent for each byte received, while the peer has acknowledged nothing.
const MOST_UNPROVED: u64 = 3;

impl Session {
    /// The path takes datagrams of at most `bytes` now. New symbols are made to fit, so that they
    /// grow with path MTU discovery; what is too long after the path has shrunk goes in pieces.
    /// Without this call anything fits.
    ///
    /// # Errors
    /// `bytes` is below [`MIN_DATAGRAM`]: the session could not send all that it must. The size
    /// stays as it was.
    pub fn set_largest_datagram(&mut self, bytes: usize) -> Result<(), ConfigError> {
        self.set_largest_datagram_on(PathId::FIRST, bytes)
    }

    /// As [`Self::set_largest_datagram`], for this path. Symbols fit all paths.
    ///
    /// # Errors
    /// As there.
    pub fn set_largest_datagram_on(
        &mut self,
        path: PathId,
        bytes: usize,
    ) -> Result<(), ConfigError> {
        if bytes < MIN_DATAGRAM {
            return Err(ConfigError::OutOfRange {
                field: "largest datagram",
                value: bytes.to_string(),
                allowed: format!("{MIN_DATAGRAM} or more"),
            });
        }
        if let Some(path) = self.index(path)
            && self.paths[path].largest_datagram != bytes
        {
            self.paths[path].largest_datagram = bytes;
            self.fit_symbols();
        }
        Ok(())
    }

    /// For a carrier that does not find out which datagrams its path takes, but sends none in
    /// fragments: the session finds it, by probes, in `range`. It begins at the lower bound, which every
    /// path must take, and returns to it when the path shrinks. Call it at the beginning, and not
    /// [`Self::set_largest_datagram`] besides.
    ///
    /// # Errors
    /// The lower bound is below [`MIN_DATAGRAM`].
    pub fn discover_largest_datagram(
        &mut self,
        now: Time,
        range: RangeInclusive<usize>,
    ) -> Result<(), ConfigError> {
        self.set_largest_datagram(*range.start())?;
        let overhead = self.config.datagram_overhead.into();
        if let Some(path) = self.index(PathId::FIRST) {
            self.sender.path_mut(path).discovery =
                Some(Box::new(Discovery::new(range, overhead, now)));
        }
        Ok(())
    }

    /// The longest datagram that every path takes, as set or found.
    pub fn largest_datagram(&self) -> usize {
        let all = self.paths.iter().map(|path| path.largest_datagram);
        all.min().unwrap_or(usize::MAX)
    }

    /// The session may have found another size.
    pub(super) fn follow_discovery(&mut self) {
        let mut changed = false;
        for (path, sender) in self.paths.iter_mut().zip(self.sender.paths()) {
            if let Some(discovery) = &sender.discovery
                && discovery.largest() != path.largest_datagram
            {
                path.largest_datagram = discovery.largest();
                debug!(bytes = path.largest_datagram, "longest datagram");
                changed = true;
            }
        }
        if changed {
            self.fit_symbols();
        }
    }

    pub(super) fn fit_symbols(&mut self) {
        self.symbol_size = match self.long {
            true => self.fitted(self.agreed_size.max(self.agreed_long)),
            false => self.fitted(self.agreed_size),
        };
    }

    /// Bytes of a symbol that the path takes, at most `agreed`.
    pub(super) fn fitted(&self, agreed: u16) -> u16 {
        let room = self.config.scheme.symbol_room(self.longest_repair(agreed));
        let room = u16::try_from(room).unwrap_or(u16::MAX);
        agreed.min(room.max(SMALLEST_SYMBOL))
    }

    /// Bytes of a datagram with a repair symbol over the longest usual source symbols, where the path
    /// takes that.
    pub(super) fn longest_datagram(&self) -> usize {
        self.longest_repair(self.agreed_size)
    }

    /// Bytes of a datagram with a repair symbol over source symbols of `agreed` bytes, where the path
    /// takes that.
    fn longest_repair(&self, agreed: u16) -> usize {
        let longest = usize::from(agreed) + REPAIR_OVERHEAD;
        self.largest_datagram().min(longest)
    }

    /// `arrived` bytes have reached the peer: symbols may become longer, if the path is known to take
    /// that, or shorter.
    pub(super) fn on_pace(&mut self, now: Time, path: usize, arrived: u64) {
        let round_trip = self.sender.paths()[path].rtt().min();
        let size = self.fitted(self.agreed_long);
        let pace = &mut self.paths[path].pace;
        pace.on_report(now, arrived, round_trip);
        // Over several paths, symbols fit every one.
        let long = self.paths.len() == 1
            && self.largest_datagram() != usize::MAX
            && size > USUAL_SYMBOL
            && self.paths[path].pace.suits(size, round_trip, self.long);
        if long != self.long {
            self.long = long;
            self.fit_symbols();
        }
    }

    /// Most bytes of the next symbol.
    pub(super) fn next_symbol_size(&self) -> usize {
        // A message that was promised a symbol of its own gets one on a shrunk path too.
        let alone = self.payload.next_alone();
        let size = match self.symbol_size > USUAL_SYMBOL && !self.sender.has_long_room() {
            true => USUAL_SYMBOL.min(self.fitted(self.agreed_size)),
            false => self.symbol_size,
        };
        usize::from(size).max(alone)
    }

    /// Writes a probe of the size that would be used, if the path might take it.
    pub(super) fn write_size_probe(&mut self, now: Time, path: usize, out: &mut Vec<u8>) -> bool {
        self.paths[path].size_probe_at = None;
        let rtt = self.sender.paths()[path].rtt();
        let (round_trip, measured) = (rtt.min(), rtt.is_measured());
        let size = match self.paths[path]
            .pace
            .suits(self.agreed_long, round_trip, self.long)
        {
            true => self.agreed_size.max(self.agreed_long),
            false => self.agreed_size,
        };
        // The peer has said hello.
        let connected = self.agreed_long > 0 && self.acquainted;
        let discovery = self.sender.path_mut(path).discovery.as_mut();
        let Some(discovery) = discovery.filter(|_| connected) else {
            return false;
        };
        let Some(size) = discovery.next(now, usize::from(size) + REPAIR_OVERHEAD) else {
            return false;
        };
        // To an address that may be forged no more goes than RFC 9000, section 8.1, allows.
        let proved = self.role == Role::Client || measured;
        if !proved
            && self.paths[path].carried.sent.bytes + size as u64
                > MOST_UNPROVED * self.paths[path].carried.received_bytes
        {
            return false;
        }
        let state = &mut self.paths[path];
        if let Some(departure) = state.pacer.next_departure()
            && departure > now
        {
            state.size_probe_at = Some(departure);
            return false;
        }
        self.sender.send_size_probe(now, path, size, out);
        state.pacer.sent_size_probe(now, size);
        state.carried.sent.probes += 1;
        true
    }
}
