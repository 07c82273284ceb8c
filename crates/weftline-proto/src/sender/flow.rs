//! What a sender knows of its flow: the symbols, their transmissions, and the peer.

use std::collections::VecDeque;

use core::time::Duration;
use weftline_codec::{Esi, WindowEncoder};

use super::lost::Lost;
use super::path::Path;
use crate::abandoned::Abandoned;
use crate::limits::{Limits, USUAL_SYMBOL};
use crate::time::Time;

/// Another path becomes the main one only if its latency is shorter by this part.
const BETTER: u32 = 8;
/// After a pause of this part of a round trip, the newest source symbol counts as the last.
const PAUSE: u32 = 8;

/// The state of a flow, apart from the scheme and the timers.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) peer: Limits,
    pub(super) encoder: WindowEncoder,
    /// One record for each symbol that the encoder holds.
    pub(super) records: VecDeque<Record>,
    /// At least one.
    pub(super) paths: Vec<Path>,
    /// The path on which urgent data arrives first.
    pub(super) main: usize,
    /// Symbols whose latest transmission was lost and that the peer is not known to have. Symbols
    /// that are sent again are not among them.
    pub(super) lost: Lost,
    /// What became of symbols that were given up.
    pub(super) abandoned: Abandoned,
    /// Equations that the peer holds, by its newest report.
    pub(super) rank: u64,
    /// Repairs over the oldest window that arrived since its edge last moved.
    pub(super) top_ups_arrived: u32,
    /// ESIs below this may be sent.
    pub(super) credit: Esi,
    /// Symbols that may be unacknowledged while some are longer than usual, by this end's memory.
    pub(super) few: u64,
    /// One past the newest symbol longer than usual, until the peer has room for more again.
    pub(super) long_below: Option<Esi>,
    /// When the newest source symbol was first sent, and whether the pause after it was noticed.
    pub(super) last_source: Time,
    pub(super) end_noticed: bool,
    /// When a symbol last left, on any path.
    pub(super) last_symbol: Time,
    /// When a source symbol last ended a time in which everything was acknowledged.
    pub(super) woken: Time,
    /// Unused paths are measured some time after this.
    pub(super) busy_since: Time,
    /// A message or a stream ended in the newest source symbol.
    pub(super) at_boundary: bool,
    /// The next ESI when the retransmission timer fired. Losses below it are repaired even if top-ups
    /// are off.
    pub(super) stalled_below: Esi,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// The [name](crate::PathId::name) of the latest transmission.
    pub(super) transmission: u64,
    pub(super) known: bool,
    /// The symbol is worthless after this time.
    pub(super) expires: Option<Time>,
}

impl Flow {
    /// A new symbol can be sent: the peer's credit and this end's memory allow it, and the peer lacks
    /// no more symbols than its limit allows.
    pub(super) fn has_room(&self) -> bool {
        self.encoder.next() < self.credit
            && !self.encoder.is_full()
            && (self.long_below.is_none() || self.has_long_room())
            && self.lost.len() < usize::from(self.peer.unknowns)
    }

    /// The new symbol may be longer than usual.
    pub(super) fn has_long_room(&self) -> bool {
        let most = self.few.min(self.peer.long_symbols().into());
        self.encoder.next() - self.encoder.first() < most
    }

    /// The next symbol has this many bytes.
    pub(super) fn on_symbol(&mut self, bytes: usize) {
        if bytes > usize::from(USUAL_SYMBOL) {
            if self.long_below.is_none() {
                self.encoder.compact();
            }
            self.long_below = Some(self.encoder.next() + 1);
        }
    }

    /// The peer reported room for `credit` symbols.
    pub(super) fn on_credit(&mut self, credit: u64) {
        if let Some(below) = self.long_below
            && self.encoder.first() >= below
            && credit > self.peer.long_symbols().into()
        {
            self.encoder.compact();
            self.long_below = None;
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.encoder.first() == self.encoder.next()
    }

    /// After a pause of this length, the newest source symbol counts as the last.
    pub(super) fn pause(&self) -> Duration {
        self.main().rtt.smoothed() / PAUSE
    }

    /// The path on which urgent data arrives first.
    pub(super) fn main(&self) -> &Path {
        &self.paths[self.main]
    }

    pub(super) fn main_mut(&mut self) -> &mut Path {
        &mut self.paths[self.main]
    }

    /// Whether several paths are in use, and one of them is heard.
    pub(super) fn has_choice(&self) -> bool {
        self.paths.len() > 1 && self.paths.iter().any(Path::is_heard)
    }

    /// Whether the session's retransmissions leave on this path: it is the main one, or none is heard.
    pub(super) fn leads(&self, path: usize) -> bool {
        path == self.main || !self.has_choice()
    }

    /// Whether a path other than this one is heard.
    pub(super) fn hears_another(&self, path: usize) -> bool {
        let mut others = self.paths.iter().enumerate().filter(|(at, _)| *at != path);
        others.any(|(_, path)| path.is_heard())
    }

    /// The timers of a path depend on which one is the main one, and on which are heard. That has changed.
    pub(super) fn restart_timers(&mut self, now: Time) {
        for path in &mut self.paths {
            path.last_activity = path.last_activity.max(now);
        }
    }

    /// Finds the main path: it is heard, costs least, and has the shortest latency.
    pub(super) fn choose_main(&mut self, now: Time) {
        if self.paths.len() == 1 {
            return;
        }
        let stays = self.main().rtt.variation();
        let rank = |at: usize| {
            let path = &self.paths[at];
            let latency = path.latency();
            // A path whose delay varies is not left for one that seems better for a moment.
            let latency = match at == self.main {
                true => latency.saturating_sub((latency / BETTER).max(stays)),
                false => latency,
            };
            // The first one is used before it is measured.
            let unknown = path.is_silent() || !path.rtt.is_measured() && at != self.main;
            (unknown, path.cost, latency)
        };
        let best = (0..self.paths.len()).min_by_key(|&at| rank(at));
        let best = best.unwrap_or(0);
        if best != self.main {
            self.main = best;
            self.restart_timers(now);
        }
    }

    pub(super) fn record_mut(&mut self, esi: Esi) -> Option<&mut Record> {
        let index = esi.checked_sub(self.encoder.first())?;
        self.records.get_mut(usize::try_from(index).ok()?)
    }

    /// The first lost symbol from `esi` on that is still worth something.
    pub(super) fn lost_from(&self, esi: Esi, now: Time) -> Option<Esi> {
        let worth = |esi: &Esi| {
            let record = self.records.get((esi - self.encoder.first()) as usize);
            record.is_some_and(|r| r.expires.is_none_or(|t| now <= t))
        };
        let mut lost = self.lost.within(esi..self.encoder.next()).iter().copied();
        lost.find(worth)
    }
}
