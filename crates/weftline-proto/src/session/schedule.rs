//! Which path takes what: a datagram leaves where it arrives first, or where it delays nothing.

use core::cmp::Ordering;
use core::time::Duration;

use super::Session;
use crate::sender::{Action, Path};
use crate::time::Time;

/// A repair leaves on another path than the newest source symbols, if it arrives there no later than
/// this part of the round trip.
const APART: u32 = 8;
/// A path whose window is full can send again after about this part of its round trip.
const SHUT: u32 = 4;
/// A path of a higher cost is needed where cheaper ones need this much longer for what waits.
const NEEDED: Duration = Duration::from_millis(100);
/// What is left to another path leaves after this time and that path's wait, or this path takes it: the
/// other one's carrier may be held up, or its rule may decide otherwise.
const LEFT: Duration = Duration::from_millis(5);
/// A flow that has had data waiting for this time, and this many round trips, has more than fast paths
/// take: every path helps.
const LONG: Duration = Duration::from_millis(100);
const ROUNDS: u32 = 2;
/// The part of the symbols that may be missing at the peer, which slow paths may hold back.
const AHEAD: f64 = 0.8;

impl Session {
    /// What this path sends: the action, unless it is better left to another path. A path that leaves a
    /// repair may have a new symbol to send.
    pub(super) fn mine(
        &mut self,
        now: Time,
        path: usize,
        action: Option<Action>,
        pending: bool,
    ) -> Option<Action> {
        let action = action?;
        if !self.is_for_another(now, path, &action) {
            return Some(action);
        }
        for other in (0..self.paths.len()).filter(|&other| other != path) {
            self.paths[other].left.get_or_insert(now);
        }
        // Another path may not send it after all.
        self.paths[path].paced_until = Some(now + LEFT);
        let new = Action::New;
        let repairs = matches!(action, Action::Repair { .. } | Action::Again(_));
        let fits = repairs && pending && self.sender.has_room();
        (fits && !self.is_for_another(now, path, &new)).then_some(new)
    }

    /// Whether the action is better left to another path.
    fn is_for_another(&self, now: Time, path: usize, action: &Action) -> bool {
        if self.paths.len() == 1 || self.sender.paths()[path].is_probe_due() {
            return false;
        }
        match action {
            Action::Probe => false,
            _ if path != self.sender.main() && !self.is_usable(path) => true,
            Action::New | Action::FillBlock => !self.helps(now, path),
            Action::Repair { .. } | Action::Again(_) => self.is_late(now, path),
        }
    }

    /// Whether data may leave on this path: it is heard, and either measured or the first to be used.
    fn is_usable(&self, path: usize) -> bool {
        let state = &self.sender.paths()[path];
        state.is_heard() && (state.rtt().is_measured() || path == self.sender.main())
    }

    /// The paths to which something may be left, other than this one: data may leave on them, and what was
    /// left to them does leave.
    fn others(&self, now: Time, path: usize) -> impl Iterator<Item = usize> + '_ {
        let takes = move |at: usize| {
            let since = self.paths[at]
                .left
                .map_or(Duration::ZERO, |left| now.since(left));
            self.is_usable(at) && since < LEFT + self.wait(now, at)
        };
        (0..self.paths.len()).filter(move |&at| at != path && takes(at))
    }

    /// The time until the path can send.
    fn wait(&self, now: Time, path: usize) -> Duration {
        let (pacer, state) = (&self.paths[path].pacer, &self.sender.paths()[path]);
        let paced = pacer
            .next_departure()
            .map_or(Duration::ZERO, |t| t.since(now));
        match pacer.window_open(state.in_flight()) {
            true => paced,
            false => paced.max(state.rtt().smoothed() / SHUT),
        }
    }

    /// A datagram that is left to this path arrives after this time.
    fn arrival(&self, now: Time, path: usize) -> Duration {
        self.wait(now, path) + self.sender.paths()[path].latency()
    }

    /// Whether a new symbol leaves on this path: no other one would deliver sooner all that waits.
    fn helps(&self, now: Time, path: usize) -> bool {
        let paths = self.sender.paths();
        let (cost, latency) = (paths[path].cost(), paths[path].latency());
        // The main path is the first, although another may look faster for a moment.
        let rank = |at: usize| (at != self.sender.main(), paths[at].latency(), at);
        let mut rate = 0.0;
        let mut first = Duration::MAX;
        let mut cheaper = false;
        for other in self.others(now, path) {
            let other_cost = paths[other].cost();
            if other_cost < cost || other_cost == cost && rank(other) < rank(path) {
                let in_flight = paths[other].in_flight();
                let pace = self.paths[other].pacer.rate(in_flight);
                rate += pace.unwrap_or(f64::INFINITY);
                first = first.min(self.arrival(now, other));
                cheaper |= other_cost < cost;
            }
        }
        if first == Duration::MAX {
            return true;
        }
        if self.is_far_ahead(now, path) {
            return false;
        }
        if self.is_backlogged(now) {
            return true;
        }
        let waits = self.payload.queued() as f64;
        let takes = Duration::try_from_secs_f64(waits / rate).unwrap_or(Duration::MAX);
        let drained = first.saturating_add(takes);
        let needed = if cheaper { NEEDED } else { Duration::ZERO };
        latency + needed < drained
    }

    /// Whether there is more to send than the fast paths take.
    pub(super) fn is_backlogged(&self, now: Time) -> bool {
        let long = (self.sender.rtt().smoothed() * ROUNDS).max(LONG);
        self.waiting_since
            .is_some_and(|since| now.since(since) >= long)
    }

    /// Whether symbols of slow paths that faster ones overtake are as many as may be missing at the peer.
    fn is_far_ahead(&self, now: Time, path: usize) -> bool {
        let paths = self.sender.paths();
        let main = paths[self.sender.main()].latency();
        let overtaken = |path: &Path| {
            let later = path.latency().saturating_sub(main);
            match later.is_zero() {
                true => 0,
                false => path.sent_within(now, later),
            }
        };
        let most = AHEAD * self.sender.most_missing() as f64 - self.sender.missing() as f64;
        let all: usize = paths.iter().map(overtaken).sum();
        overtaken(&paths[path]) > 0 && all as f64 >= most
    }

    /// Whether a repair or a lost symbol would arrive sooner if another path sent it, or as soon and
    /// on a path that did not lose what it repairs.
    fn is_late(&self, now: Time, path: usize) -> bool {
        let main = self.sender.main();
        let mine = self.arrival(now, path);
        let apart = self.sender.paths()[main].rtt().smoothed() / APART;
        let paths = self.sender.paths();
        self.others(now, path).any(|other| {
            let its = self.arrival(now, other);
            match paths[other].cost().cmp(&paths[path].cost()) {
                Ordering::Greater => return false,
                Ordering::Less => return its < mine + NEEDED,
                Ordering::Equal => {}
            }
            match (path == main, other == main) {
                (true, _) => its <= mine + apart && self.wait(now, other).is_zero(),
                (_, true) => its + apart < mine,
                _ => (its, other) < (mine, path),
            }
        })
    }
}
