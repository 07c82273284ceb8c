//! What the rule knows of each path, and the belief about what all of them carry.

use core::time::Duration;

use super::queue::Queue;
use super::{Price, Report, effect};
use crate::path::PathId;
use crate::sender::flight::Transmission;
use crate::sender::scheme::auto::belief::{Belief, Effect};
use crate::sender::scheme::auto::channel::{Channel, Losses};
use crate::sender::situation::Situation;
use crate::time::Time;

/// The belief is computed from at most this many unresolved datagrams, the newest.
const NEWEST: usize = 1024;
/// With more than this in flight, the belief includes new reports only every 16th of a round trip.
const MANY: usize = 64;

/// What is known of a path.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    path: PathId,
    channel: Channel,
    losses: Losses,
    pub(super) queue: Queue,
}

impl Price {
    /// The next transmission in order arrived or was lost.
    pub(in super::super) fn on_fate(&mut self, path: PathId, lost: bool) {
        // A full queue loses more than the path does, and repairs would only make it longer.
        let seen = self.seen(path);
        if !seen.queue.waits {
            seen.channel.record(lost);
        }
    }

    pub(super) fn seen(&mut self, path: PathId) -> &mut Seen {
        let place = self.place(path);
        &mut self.seen[place]
    }

    /// Where a path is among those that were seen.
    fn place(&mut self, path: PathId) -> usize {
        let is_it = |seen: &Seen| seen.path == path;
        // Nearly always it is the last one, or the only one.
        if self.seen.get(self.last).is_some_and(is_it) {
            return self.last;
        }
        self.seen.iter().position(is_it).unwrap_or_else(|| {
            let channel = Channel::default();
            // Most sessions have one path.
            self.seen.reserve_exact(1);
            self.seen.push(Seen {
                path,
                channel,
                losses: channel.losses(),
                queue: Queue::default(),
            });
            self.seen.len() - 1
        })
    }

    /// A path is gone.
    pub(in super::super) fn on_path_removed(&mut self, path: PathId) {
        self.seen.retain(|seen| seen.path != path);
        // The places have changed: none is the last one.
        self.last = usize::MAX;
    }

    /// Whether the last datagram left on this path.
    pub(super) fn left_on(&self, path: PathId) -> bool {
        let last = self.seen.get(self.last);
        last.is_some_and(|seen| seen.path == path)
    }

    /// The belief was computed within the last 16th of a round trip.
    pub(super) fn is_recent(&self, now: Time, srtt: Duration) -> bool {
        self.updated_at.is_some_and(|at| now < at + srtt / 16)
    }

    /// Computes the belief again: from the report, then from the transmissions after it.
    pub(super) fn update_belief(&mut self, at: &Situation<'_>) {
        if !self.stale {
            return;
        }
        let (now, edge) = (at.now(), at.first());
        let many = at.paths().any(|p| p.flight.unresolved() > MANY);
        if many && self.is_recent(now, at.srtt()) {
            return;
        }
        self.stale = false;
        self.updated_at = Some(now);
        self.update_losses(at);
        let report = match self.options.ingredients.reports {
            true => self.report,
            false => Report {
                missing: 0,
                rank: 0,
                ..self.report
            },
        };
        // Symbols that the receiver lacks and that may still be in flight.
        let late = |kind: Transmission| {
            let open = |esi| esi < report.heard && !at.is_known(esi);
            matches!(kind, Transmission::Source { again: false, esi, .. } if open(esi))
        };
        let all = at.paths().flat_map(|p| p.flight.undecided(usize::MAX));
        let doubtful = all.filter(|(.., kind)| late(*kind)).count() as u64;
        // On a path that fell silent, symbols count as lost before any report tells of them.
        let unheard = match at.has_several_paths() {
            true => at.lost().within(report.heard.max(edge)..at.next()).len() as u64,
            false => 0,
        };
        self.deficit = (report.missing + unheard).saturating_sub(doubtful + report.rank);
        self.belief = Belief::certain(self.deficit);
        self.under_way = 0;
        let mut paths = at.paths();
        if let (Some(path), None) = (paths.next(), paths.next()) {
            self.last = self.place(path.id());
            for (.., kind) in path.flight.undecided(NEWEST) {
                self.believe(at, path.id(), kind);
            }
            return;
        }
        let mut merged = core::mem::take(&mut self.merged);
        for path in at.paths() {
            let undecided = path.flight.undecided(NEWEST);
            merged.extend(undecided.map(|(_, left, kind)| (left, path.id(), kind)));
        }
        // Equal times stay in the order of the paths.
        merged.sort_by_key(|(left, ..)| *left);
        let skipped = merged.len().saturating_sub(NEWEST);
        for (_, path, kind) in merged.drain(..).skip(skipped) {
            self.believe(at, path, kind);
        }
        self.merged = merged;
    }

    /// Takes a transmission of unknown fate into the belief.
    fn believe(&mut self, at: &Situation<'_>, path: PathId, kind: Transmission) {
        let effect = match kind {
            // The symbol was given up, like a message that would be late, or the receiver has it and the
            // report about its path is not here yet.
            Transmission::Source { esi, again, riders }
                if esi < at.first() || !again && at.is_known(esi) =>
            {
                Effect {
                    is_source: false,
                    repairs: riders.into(),
                }
            }
            kind => effect(kind),
        };
        self.under_way += effect.repairs as u64;
        self.step(path, effect);
    }

    /// A datagram with this effect leaves on this path.
    pub(super) fn step(&mut self, path: PathId, effect: Effect) {
        let place = self.place(path);
        let losses = &self.seen[place].losses;
        if place != self.last {
            self.belief.change_path(losses.rate);
            self.last = place;
        }
        self.belief.step(effect, losses);
    }

    /// The losses to plan with on each path, and of all that is in flight.
    pub(super) fn update_losses(&mut self, at: &Situation<'_>) {
        self.known_share = None;
        let mut sum = Losses::independent(0.0);
        let mut weights = 0.0;
        for path in at.paths() {
            let bursts = self.options.ingredients.bursts;
            let seen = self.seen(path.id());
            let losses = seen.channel.losses();
            seen.losses = match bursts {
                true => losses,
                false => Losses::independent(losses.rate),
            };
            let weight = (path.flight.sources() as f64).max(1.0);
            let before = weights / (weights + weight);
            sum = sum.mixed(before, &seen.losses);
            weights += weight;
        }
        self.losses = sum;
    }

    /// The losses that a datagram meets which leaves on this path now.
    pub(super) fn losses_on(&mut self, path: PathId) -> Losses {
        let place = self.place(path);
        let losses = self.seen[place].losses;
        match place == self.last {
            true => losses,
            false => Losses::independent(losses.rate),
        }
    }
}
