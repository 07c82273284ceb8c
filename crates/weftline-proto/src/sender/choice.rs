//! What to send next.

use std::ops::Range;

use core::time::Duration;
use weftline_codec::Esi;

use super::compared::Situation;
use super::rateless::Rateless;
use super::{Action, Sender};
use crate::policy::{Code, EncodingWindow, TopUp};
use crate::time::Time;

/// A pause of this part of a round trip is the end, for now.
const PAUSE: u32 = 8;

impl Sender {
    /// What is worth sending now, if anything; `pending`: the application has data.
    pub(crate) fn next_action(&mut self, now: Time, pending: bool) -> Option<Action> {
        if self.probes_due > 0 {
            return Some(self.probe());
        }
        if let Some(esi) = self.lost_from(0, now).filter(|&e| e < self.dropped_below) {
            return Some(Action::Again(esi));
        }
        if self.rule.is_some() {
            return self.by_worth(now, pending);
        }
        if self.rateless.is_some() {
            return self.by_block(now, pending);
        }
        if !self.sated {
            let action = self.top_up(now);
            if action.is_some() {
                return action;
            }
            self.sated = true;
        }
        if let Some(window) = self.a_priori() {
            return Some(Action::Repair {
                window,
                top_up: false,
            });
        }
        if self.compared(now, pending) {
            let old = self
                .lost
                .first()
                .is_some_and(|&esi| esi < self.newest_window().start);
            return Some(Action::Repair {
                window: if old {
                    self.oldest_window()
                } else {
                    self.newest_window()
                },
                top_up: false,
            });
        }
        if pending && self.has_room() {
            return Some(Action::New);
        }
        (!pending && self.at_end(now)).then(|| Action::Repair {
            window: self.oldest_window(),
            top_up: true,
        })
    }

    /// [`TopUp::AtEnd`]: nothing new has come for a while, and more repairs could be of use than are
    /// on their way.
    fn at_end(&self, now: Time) -> bool {
        self.policies.top_up == TopUp::AtEnd
            && !self.is_idle()
            && now >= self.last_source + self.pause()
            && short(
                self.unacknowledged().min(self.largest_window()) as f64,
                self.flight.repairs(),
                self.loss.expected(),
            )
    }

    /// So long after a source symbol it was the last one.
    pub(super) fn pause(&self) -> Duration {
        self.rtt.smoothed() / PAUSE
    }

    /// The choice of [`Code::Random`].
    fn by_block(&mut self, now: Time, pending: bool) -> Option<Action> {
        let new = pending && self.takes();
        let paused = self.end_noticed || now >= self.last_source + self.pause();
        let srtt = self.rtt.smoothed();
        let first = self.encoder.first();
        let rateless = self.rateless.as_mut()?;
        // Its last symbols must not wait for symbols that may not come.
        if rateless.is_open() && !new && (pending || self.at_boundary || paused) {
            rateless.close(now, srtt);
        }
        let repair = |window: Range<Esi>| Action::Repair {
            window: window.start.max(first)..window.end,
            top_up: false,
        };
        let urgent = rateless.at_speed(new);
        if let Some(window) = urgent.or_else(|| rateless.paced(now, srtt, true)) {
            return Some(repair(window));
        }
        if new && rateless.may_begin() {
            return Some(match rateless.is_systematic() {
                true => Action::New,
                false => Action::Take,
            });
        }
        rateless.paced(now, srtt, false).map(repair)
    }

    /// A block has room for a symbol. What is not sent itself is missing at the peer until its block
    /// is decoded.
    fn takes(&self) -> bool {
        let unknowns = u64::from(self.peer.unknowns);
        let fits = |r: &Rateless| r.is_systematic() || r.outstanding() < unknowns;
        self.has_room() && self.rateless.as_ref().is_some_and(|r| fits(r))
    }

    /// [`Action::Take`] can take one more.
    pub(crate) fn takes_more(&self) -> bool {
        self.takes() && self.rateless.as_ref().is_some_and(|r| r.may_begin())
    }

    /// Whether the rule of [`Redundancy::Compared`] asks for a repair symbol.
    fn compared(&mut self, now: Time, pending: bool) -> bool {
        let at = self.situation(now, pending && self.has_room());
        let idle = self.is_idle();
        let comparison = self.comparison.as_mut().filter(|_| !idle);
        comparison.is_some_and(|comparison| comparison.wants_repair(&at))
    }

    pub(super) fn situation(&self, now: Time, pending: bool) -> Situation {
        Situation {
            now,
            srtt: self.rtt.smoothed(),
            pending,
            missing: self.lost.len() as u64,
            rank: self.rank,
            sources: self.flight.sources(),
            repairs: self.flight.repairs(),
            unacknowledged: self.unacknowledged(),
            loss: self.loss.rate(),
            run: self.loss.mean_burst(),
        }
    }

    /// The choice of [`Redundancy::Auto`].
    fn by_worth(&mut self, now: Time, pending: bool) -> Option<Action> {
        let source = pending && self.has_room();
        let srtt = self.rtt.smoothed();
        let window = self.newest_window();
        let rule = self.rule.as_mut()?;
        if rule.backlog(now, srtt, source) {
            return self.top_up(now).or(Some(Action::New));
        }
        let wants = rule.wants_repair(now, srtt, source, &self.flight, self.encoder.first());
        // Repairs do not reach symbols this old.
        let old = self.lost.first().is_some_and(|&esi| esi < window.start);
        let again = !self.lost.is_empty() && (old && rule.retransmits() || rule.resends(srtt));
        if again && let Some(esi) = self.lost_from(0, now) {
            return Some(Action::Again(esi));
        }
        if wants && !self.is_idle() {
            let window = if old { self.oldest_window() } else { window };
            return Some(Action::Repair {
                window,
                top_up: false,
            });
        }
        source.then_some(Action::New)
    }

    /// The retransmission timer's choice: whatever helps the oldest unacknowledged symbol.
    fn probe(&self) -> Action {
        let edge = self.encoder.first();
        if self.is_idle() {
            return Action::Probe;
        }
        match self.policies.code {
            Code::None => Action::Again(edge),
            Code::Block { k } => Action::Repair {
                window: self
                    .blocks
                    .window_of(edge, self.block_size(k), self.encoder.next()),
                top_up: true,
            },
            Code::SlidingWindow => Action::Repair {
                window: self.oldest_window(),
                top_up: true,
            },
            Code::Random(_) => {
                let window = self.rateless.as_ref().and_then(|r| r.window_of(edge));
                let window = window.unwrap_or(edge..edge + 1);
                Action::Repair {
                    window: edge..window.end,
                    top_up: true,
                }
            }
        }
    }

    fn top_up(&self, now: Time) -> Option<Action> {
        let policy = match self.policies.top_up {
            // The redundancy did not suffice: the timer alone would bring one symbol each time.
            TopUp::None | TopUp::AtEnd if self.encoder.first() < self.stalled_below => {
                match self.policies.code {
                    Code::None => TopUp::Retransmit,
                    _ => TopUp::Deficit,
                }
            }
            policy => policy,
        };
        match policy {
            TopUp::None | TopUp::AtEnd => None,
            TopUp::Retransmit => self.lost_from(0, now).map(Action::Again),
            TopUp::Deficit => {
                let loss = self.loss.expected();
                if let Code::Block { .. } = self.policies.code {
                    let window = self.blocks.short(&self.lost, loss)?;
                    let window = window.start.max(self.encoder.first())..window.end;
                    return Some(Action::Repair {
                        window,
                        top_up: true,
                    });
                }
                let window = self.oldest_window();
                let lost = self.lost.range(window.clone()).count() as u64;
                let reached = self
                    .lost
                    .first()
                    .is_some_and(|&e| e >= self.newest_window().start);
                let (deficit, expected, in_flight) = if reached {
                    let deficit = lost.saturating_sub(self.rank);
                    // Of what is under way some will be lost too, and take repairs that are under
                    // way with them.
                    let to_come = loss * self.flight.sources() as f64;
                    (deficit, deficit as f64 + to_come, self.flight.repairs())
                } else {
                    // Repairs of newer windows do not reach back to this hole, and the rank may be
                    // theirs: only what was sent for it counts, and while it is open that was short.
                    let held = self.rank.min(self.top_ups_arrived);
                    let deficit = lost.saturating_sub(held).max(lost.min(1));
                    (deficit, deficit as f64, self.flight.top_ups())
                };
                if deficit > 0 && short(expected, in_flight, loss) {
                    return Some(Action::Repair {
                        window,
                        top_up: true,
                    });
                }
                // After an outage more is lost than one window covers: beyond it nothing is
                // gained by coding, and waiting for the window to move costs a round trip each.
                self.lost_from(window.end, now).map(Action::Again)
            }
        }
    }

    /// The first lost symbol from `esi` on that is still worth something.
    fn lost_from(&self, esi: Esi, now: Time) -> Option<Esi> {
        let worth = |esi: &Esi| {
            let record = self.records.get((esi - self.encoder.first()) as usize);
            record.is_some_and(|r| r.expires.is_none_or(|t| now <= t))
        };
        self.lost.range(esi..).copied().find(worth)
    }

    fn a_priori(&self) -> Option<Range<Esi>> {
        match self.policies.code {
            Code::None | Code::Random(_) => None,
            Code::Block { .. } => {
                let window = self.blocks.owing(self.encoder.first())?;
                Some(window.start.max(self.encoder.first())..window.end)
            }
            Code::SlidingWindow => {
                (self.spacing.is_due() && !self.is_idle()).then(|| self.newest_window())
            }
        }
    }

    /// Symbols that the peer lets one repair cover, all of them unknown to it.
    fn most_covered(&self) -> u64 {
        u64::from(self.peer.window.min(self.peer.unknowns))
    }

    pub(super) fn block_size(&self, k: u16) -> u16 {
        k.min(self.peer.window).min(self.peer.unknowns)
    }

    fn largest_window(&self) -> u64 {
        let own = match self.policies.window {
            EncodingWindow::Elastic { max } => max,
            EncodingWindow::Fixed { size } | EncodingWindow::Mobile { size } => size,
        };
        u64::from(own).min(self.most_covered()).max(1)
    }

    /// For repairs sent without being asked for: they protect what was sent last.
    fn newest_window(&self) -> Range<Esi> {
        let (first, next) = (self.encoder.first(), self.encoder.next());
        match self.policies.window {
            EncodingWindow::Mobile { .. } => self.oldest_window(),
            _ => next.saturating_sub(self.largest_window()).max(first)..next,
        }
    }

    /// For repairs that fill a known hole: they must reach back to it.
    fn oldest_window(&self) -> Range<Esi> {
        let (first, next) = (self.encoder.first(), self.encoder.next());
        first..next.min(first + self.largest_window())
    }
}

/// Whether `in_flight` repairs, of which the share `loss` will not arrive, leave the receiver
/// short of the `needed` ones; half a repair either way is left to later reports.
pub(super) fn short(needed: f64, in_flight: u64, loss: f64) -> bool {
    // On a path that looks dead, sending ever more at once would not help.
    needed >= in_flight as f64 * (1.0 - loss.min(0.75)) + 0.5
}
