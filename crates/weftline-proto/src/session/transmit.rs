//! What leaves: at each call the session decides what its next datagram is.

use super::Session;
use crate::path::PathId;
use crate::sender::Action;
use crate::time::Time;
use crate::wire::{REPAIR_OVERHEAD, pad_source};

/// Source datagrams that are shorter than a repair by more than this are not made longer.
const MOST_PADDING: usize = 48;
/// Repairs are further apart than this many source datagrams, or those are made as long as they.
const BATCH: u32 = 32;
/// A source datagram with repair symbols is at most as long as every path takes over QUIC: a carrier
/// that watches for a shrinking path does not suspect its loss.
const LONGEST_WITH_REPAIRS: usize = 1140;
/// Bytes of an acknowledgement in QUIC, usually.
const BESIDE: usize = 16;

impl Session {
    /// Writes the next datagram into `out`, which is cleared first; false: nothing to send now.
    ///
    /// What to send is decided at this moment, so ask only when the carrier can take a datagram.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        self.poll_transmit_on(now, PathId::FIRST, out)
    }

    /// As [`Self::poll_transmit`], for this path. What leaves on one path may make something due on
    /// another: with several, ask all of them until none has anything.
    pub fn poll_transmit_on(&mut self, now: Time, path: PathId, out: &mut Vec<u8>) -> bool {
        out.clear();
        let Some(path) = self.index(path) else {
            return false;
        };
        self.time_log(now);
        let mut sized = false;
        let wrote = self.paths[path].cutter.write(out)
            || match &mut self.closing {
                Some(closing) => closing.write(self.paths[path].id, out),
                None => {
                    self.write_hello(now, path, out) || self.write_report(now, path, out) || {
                        sized = self.write_size_probe(now, path, out);
                        sized || self.write_coded(now, path, out)
                    }
                }
            };
        match wrote {
            true => self.log_sent(now, path, out),
            false => self.log_held(now, path),
        }
        let state = &mut self.paths[path];
        if wrote
            && !sized
            && out.len() > state.largest_datagram
            && !state.cutter.cut(state.largest_datagram, out)
        {
            return false;
        }
        if wrote {
            state.carried.sent.datagrams += 1;
            state.carried.sent.bytes += out.len() as u64;
            state.last_sent = now;
        }
        wrote
    }

    /// HELLO leaves on the main path.
    fn write_hello(&mut self, now: Time, path: usize, out: &mut Vec<u8>) -> bool {
        path == self.sender.main()
            && (self.handshake).write(now, &self.config, &self.limits, self.sender.rtt(), out)
    }

    fn write_report(&mut self, now: Time, path: usize, out: &mut Vec<u8>) -> bool {
        self.receiver.on_timeout(now);
        let due = self.receiver.report_wanted(path);
        let max = usize::from(self.symbol_size) + REPAIR_OVERHEAD;
        let wrote = due && self.receiver.report(now, path, max, out);
        self.paths[path].carried.sent.feedback += u64::from(wrote);
        wrote
    }

    fn write_coded(&mut self, now: Time, path: usize, out: &mut Vec<u8>) -> bool {
        self.paths[path].paced_until = None;
        // What has expired must not be chosen in place of a repair.
        self.payload.on_timeout(now);
        let pending = self.payload.sendable();
        self.waiting_since = pending.then(|| self.waiting_since.unwrap_or(now));
        let kept_alive = self.paths[path].probe_due;
        let action = self.sender.next_action(now, path, pending);
        let action = self.mine(now, path, action, pending);
        // How much of it is for each of several paths is not known.
        if self.paths.len() == 1 {
            let (written, waiting) = (self.payload.written(), self.payload.queued());
            self.paths[path].pacer.written(now, written, waiting);
        }
        if !pending && action.is_none() {
            self.paths[path].pacer.idle();
        }
        let Some(action) = action.or(kept_alive.then_some(Action::Probe)) else {
            return false;
        };
        let state = &self.sender.paths()[path];
        let shut = !self.paths[path].pacer.window_open(state.in_flight());
        // A full window must not keep this end from asking whether the peer is there.
        let asks = state.is_probe_due();
        let action = match shut && kept_alive && !asks {
            true => Action::Probe,
            false => action,
        };
        let asks = asks || action == Action::Probe;
        if !asks && shut {
            self.paths[path].pacer.limited(true);
            self.sender.path_mut(path).on_window_shut();
            return self.ask(now, path, out);
        }
        if let Some(departure) = self.paths[path].pacer.next_departure()
            && departure > now
        {
            self.paths[path].pacer.limited(false);
            let asked = self.ask(now, path, out);
            self.paths[path].paced_until = Some(departure);
            return asked;
        }
        self.write_action(now, path, action, out);
        if out.is_empty() && kept_alive {
            self.write_action(now, path, Action::Probe, out);
        }
        if out.is_empty() {
            return false;
        }
        self.paths[path].left = None;
        let in_flight = self.sender.paths()[path].in_flight();
        self.paths[path].pacer.sent(now, out.len(), in_flight);
        true
    }

    /// The rate control holds the flow back. Asks for a report, if one that comes sooner could help;
    /// false: not now.
    fn ask(&mut self, now: Time, path: usize, out: &mut Vec<u8>) -> bool {
        let state = &mut self.paths[path];
        let Some(time) = state.pacer.next_ask() else {
            return false;
        };
        if time > now {
            state.paced_until = Some(time);
            return false;
        }
        state.pacer.on_ask(now);
        self.send_probe(now, path, out);
        true
    }

    fn write_action(&mut self, now: Time, path: usize, action: Action, out: &mut Vec<u8>) {
        self.log_action(path, &action);
        match action {
            Action::New => {
                self.symbol.clear();
                let esi = self.sender.next_esi();
                let max = self.next_symbol_size();
                let longest = self.longest_datagram().min(LONGEST_WITH_REPAIRS);
                if let Some(filled) = self.payload.fill(now, esi, max, &mut self.symbol)
                    && let Some(riders) =
                        (self.sender).send_new(now, path, &self.symbol, filled, longest, out)
                {
                    let sent = &mut self.paths[path].carried.sent;
                    sent.source_symbols += 1;
                    sent.repair_symbols += u64::from(riders);
                    sent.riding_symbols += u64::from(riders);
                    if riders == 0 {
                        self.pad(path, out);
                    }
                }
            }
            Action::FillBlock => self.write_block(now, path, out),
            Action::Again(esi) => {
                if self.sender.send_again(now, path, esi, out) {
                    self.paths[path].carried.sent.retransmissions += 1;
                }
            }
            Action::Repair { window, top_up } => {
                if (self.sender).send_repair(now, path, window, top_up, out) {
                    let state = &mut self.paths[path];
                    state.last_repair = out.len();
                    state.since_repair = 0;
                    state.carried.sent.repair_symbols += 1;
                    state.carried.sent.top_up_symbols += u64::from(top_up);
                }
            }
            Action::Copy(esi) => {
                if self.sender.send_copy(now, path, esi, out) {
                    self.paths[path].carried.sent.repair_symbols += 1;
                }
            }
            Action::Probe => {
                self.paths[path].probe_due = false;
                self.send_probe(now, path, out);
            }
        }
    }

    fn send_probe(&mut self, now: Time, path: usize, out: &mut Vec<u8>) {
        self.sender.send_probe(now, path, out);
        self.paths[path].carried.sent.probes += 1;
    }

    /// Fills a block of which only repair symbols are sent, as far as the application has data, and
    /// writes the first of them.
    fn write_block(&mut self, now: Time, path: usize, out: &mut Vec<u8>) {
        let first = self.sender.next_esi();
        while self.payload.sendable() && self.sender.has_room_in_block(now) {
            self.symbol.clear();
            let esi = self.sender.next_esi();
            let max = self.next_symbol_size();
            let filled = self.payload.fill(now, esi, max, &mut self.symbol);
            if !filled.is_some_and(|filled| self.sender.add_to_block(now, &self.symbol, filled)) {
                break;
            }
            self.paths[path].carried.sent.source_symbols += 1;
        }
        self.sender.on_block_filled(now);
        self.log_filled(now, first);
        if let Some(repair @ Action::Repair { .. }) = self.sender.next_action(now, path, false) {
            self.write_action(now, path, repair, out);
        }
    }

    /// Makes the first source datagram after a repair longer than that. A carrier that watches for
    /// a shrinking path (RFC 8899) must not see that only the longest of all datagrams, the repairs,
    /// are lost: on a lossy path it would take chance for a black hole before long. What the carrier
    /// puts beside a datagram now and then must not make it the longest either.
    ///
    /// In batches, all source datagrams are made as long as the repairs between them.
    fn pad(&mut self, path: usize, out: &mut Vec<u8>) {
        let state = &mut self.paths[path];
        let equal = self.in_batches && state.since_repair < BATCH;
        state.since_repair = state.since_repair.saturating_add(1);
        let wanted = match equal {
            true => state.last_repair,
            false => core::mem::take(&mut state.last_repair) + BESIDE,
        };
        let shorter = wanted.saturating_sub(out.len());
        // The engine itself knows better.
        let discovers = self.sender.paths()[path].discovery.is_some();
        let watched = state.largest_datagram != usize::MAX && !discovers;
        let fits = (watched || equal) && wanted <= state.largest_datagram;
        if fits && (1..=MOST_PADDING).contains(&shorter) {
            pad_source(shorter as u8, out);
        }
    }
}
