//! How long datagrams and symbols are.

use core::ops::RangeInclusive;

use tracing::debug;

use super::Session;
use crate::check::ConfigError;
use crate::config::SMALLEST_SYMBOL;
use crate::event::Role;
use crate::limits::{MIN_DATAGRAM, USUAL_SYMBOL};
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
        if bytes < MIN_DATAGRAM {
            return Err(ConfigError::OutOfRange {
                field: "largest datagram",
                value: bytes.to_string(),
                allowed: format!("{MIN_DATAGRAM} or more"),
            });
        }
        if self.largest_datagram != bytes {
            self.largest_datagram = bytes;
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
        self.sender.discovery = Some(Box::new(Discovery::new(range, overhead, now)));
        Ok(())
    }

    /// The longest datagram that the path takes, as set or found.
    pub fn largest_datagram(&self) -> usize {
        self.largest_datagram
    }

    /// The session may have found another size.
    pub(super) fn follow_discovery(&mut self) {
        if let Some(discovery) = &self.sender.discovery
            && discovery.largest() != self.largest_datagram
        {
            self.largest_datagram = discovery.largest();
            debug!(bytes = self.largest_datagram, "longest datagram");
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
        self.largest_datagram.min(longest)
    }

    /// `arrived` bytes have reached the peer: symbols may become longer, if the path is known to take
    /// that, or shorter.
    pub(super) fn on_pace(&mut self, now: Time, arrived: u64) {
        let round_trip = self.sender.rtt().min();
        self.pace.on_report(now, arrived, round_trip);
        let size = self.fitted(self.agreed_long);
        let long = self.largest_datagram != usize::MAX
            && size > USUAL_SYMBOL
            && self.pace.suits(size, round_trip, self.long);
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
    pub(super) fn write_size_probe(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        self.size_probe_at = None;
        let round_trip = self.sender.rtt().min();
        let size = match self.pace.suits(self.agreed_long, round_trip, self.long) {
            true => self.agreed_size.max(self.agreed_long),
            false => self.agreed_size,
        };
        // The peer has said hello.
        let connected = self.agreed_long > 0 && self.acquainted;
        let Some(discovery) = self.sender.discovery.as_mut().filter(|_| connected) else {
            return false;
        };
        let Some(size) = discovery.next(now, usize::from(size) + REPAIR_OVERHEAD) else {
            return false;
        };
        // To an address that may be forged no more goes than RFC 9000, section 8.1, allows.
        let proved = self.role == Role::Client || self.sender.rtt().is_measured();
        if !proved && self.sent.bytes + size as u64 > MOST_UNPROVED * self.received.bytes {
            return false;
        }
        if let Some(departure) = self.pacer.next_departure()
            && departure > now
        {
            self.size_probe_at = Some(departure);
            return false;
        }
        self.sender.send_size_probe(now, size, out);
        self.pacer.sent_size_probe(now, size);
        true
    }
}
