//! The sender's timers: losses that time tells, retransmission, silent paths, worthless symbols.

use core::time::Duration;

use super::Sender;
use super::flight::Transmission;
use super::path::Path;
use super::situation::Situation;
use crate::time::Time;

/// The retransmission timer does not exceed the first of these, or twice the round trip, and never the second: an
/// outage may have spoiled the estimates.
const LONG_TIMEOUT: Duration = Duration::from_secs(2);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(5);

/// This many timeouts in a row come at equal intervals; then each interval is twice the last. A run
/// of losses that spans a number of packets, not a time, lasts longer when less is sent.
const EQUAL_TIMEOUTS: u32 = 6;
/// Probes at the first timeout (RFC 9002, section 6.2.4), and at each later one of the equal intervals.
const PROBES: u8 = 2;
const LATER_PROBES: u8 = 4;

/// The peer's timers may delay a report by this much beyond the agreed interval.
const REPORT_SLACK: Duration = Duration::from_millis(5);

/// An unused path is measured this often while another carries data.
pub(super) const MEASURE_EVERY: Duration = Duration::from_millis(500);
/// And after this time at the soonest.
pub(super) const MEASURE_SOON: Duration = Duration::from_millis(10);

/// What the timers of the paths brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fired {
    /// The retransmission timer of this path.
    Retransmission(usize),
    /// Nothing is heard of this path any more.
    Silent(usize),
}

impl Sender {
    /// When [`Self::on_timeout`] is due.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let at = Situation::new(self.flow.main().last_activity, false, &self.flow);
        // A worthless symbol at the edge is given up at once, not at the next arrival.
        let expiry = self.flow.records.front().and_then(|r| r.expires);
        let expiry = expiry.map(|t| t + Duration::from_micros(1));
        let mut next = earliest(expiry, self.rule.next_timeout(&at));
        for path in 0..self.flow.paths.len() {
            next = earliest(next, self.path_timeout(path));
        }
        next
    }

    fn path_timeout(&self, path: usize) -> Option<Time> {
        let state = &self.flow.paths[path];
        let mut next = earliest(state.flight.loss_time(), self.probe_time(path));
        if let Some(discovery) = &state.discovery {
            next = earliest(next, discovery.next_timeout(self.timeout(path)));
        }
        if self.flow.paths.len() > 1 {
            next = earliest(next, self.silent_time(path));
            next = earliest(next, self.measure_time(path));
        }
        next
    }

    /// An answer on this path takes no longer than this.
    fn timeout(&self, path: usize) -> Duration {
        let rtt = &self.flow.paths[path].rtt;
        rtt.probe_timeout(self.report_interval + REPORT_SLACK)
    }

    /// When this path counts as silent.
    fn silent_time(&self, path: usize) -> Option<Time> {
        if !self.flow.hears_another(path) {
            return None;
        }
        self.flow.paths[path].silent_time(self.timeout(path))
    }

    /// When the retransmission timer of this path fires.
    fn probe_time(&self, path: usize) -> Option<Time> {
        let state = &self.flow.paths[path];
        if state.probes_due > 0 || state.gone {
            return None;
        }
        let timeout = self.timeout(path);
        if self.flow.has_choice() && state.silent.is_some() {
            return Some(state.silent_probe_time(timeout));
        }
        // If everything is acknowledged, a lost probe does no harm, with two exceptions: the peer
        // must learn from it where its credit starts, or this end must learn the fate of what fills
        // the window.
        let stuck = state.window_shut || !self.flow.has_room();
        let leads = self.flow.leads(path);
        let waiting = leads && !self.is_idle() || (stuck || !leads) && !state.flight.is_empty();
        if !waiting {
            return None;
        }
        let equal = match self.rule.has_own_pace() {
            true => 0,
            false => EQUAL_TIMEOUTS,
        };
        let doublings = state.backoff.saturating_sub(equal);
        let backed_off = timeout.saturating_mul(1 << doublings.min(16));
        let spacing = state.probe_spacing().max(timeout.min(LONG_TIMEOUT));
        let longest = (state.rtt.smoothed() * 2).max(spacing);
        // What is unacknowledged may be under way on any path.
        let mut last = state.last_activity;
        if leads && state.flight.is_empty() {
            last = last.max(self.flow.last_symbol);
        } else if leads && !stuck {
            // A probe may be under way since before this timer had anything to wait for.
            last = last.max(self.flow.woken);
        }
        Some(last + backed_off.min(longest).min(LONGEST_TIMEOUT))
    }

    /// When an unused path is to be measured, so that its delay is known when it is needed.
    fn measure_time(&self, path: usize) -> Option<Time> {
        let state = &self.flow.paths[path];
        let unused = path != self.flow.main && state.is_heard() && state.flight.is_empty();
        let due = state.last_activity.max(self.flow.busy_since) + MEASURE_EVERY;
        (unused && !self.is_idle() && state.probes_due == 0).then_some(due)
    }

    /// Serves the timers that are due. Returns what fired.
    pub(crate) fn on_timeout(&mut self, now: Time) -> Vec<Fired> {
        let mut fired = Vec::new();
        for path in 0..self.flow.paths.len() {
            let timeout = self.timeout(path);
            let Path {
                flight,
                rtt,
                discovery,
                ..
            } = &mut self.flow.paths[path];
            let lost = flight.loss_time().is_some_and(|t| t <= now);
            if lost {
                flight.detect_losses(now, rtt);
            }
            if let Some(discovery) = discovery {
                discovery.on_timeout(now, timeout);
            }
            if lost {
                self.settle();
            }
        }
        self.advance(now);
        let flow = &mut self.flow;
        flow.end_noticed |= now >= flow.last_source + flow.pause();
        self.rule
            .on_timeout(&Situation::new(now, false, &self.flow));
        for path in 0..self.flow.paths.len() {
            if self.probe_time(path).is_some_and(|t| t <= now) {
                self.on_probe_time(path, now);
                fired.push(Fired::Retransmission(path));
            } else if self.measure_time(path).is_some_and(|t| t <= now) {
                let state = &mut self.flow.paths[path];
                state.probes_due = 1;
                state.last_activity = now;
            }
        }
        // A probe that is not answered either may be the last sign.
        for path in 0..self.flow.paths.len() {
            if self.silent_time(path).is_some_and(|t| t <= now) {
                self.on_path_silent(path, now);
                fired.push(Fired::Silent(path));
            }
        }
        fired
    }

    /// The retransmission timer of this path fires.
    fn on_probe_time(&mut self, path: usize, now: Time) {
        let leads = self.flow.leads(path);
        let state = &mut self.flow.paths[path];
        state.probes_due = match state.backoff {
            _ if !leads => 1,
            0 => PROBES,
            _ if self.rule.has_own_pace() => PROBES,
            1..EQUAL_TIMEOUTS => LATER_PROBES,
            _ => 1,
        };
        state.backoff += 1;
        state.last_activity = now;
        if let Some(discovery) = &mut state.discovery {
            discovery.on_silence(state.backoff);
        }
        if leads {
            self.flow.stalled_below = self.flow.encoder.next();
            self.rule
                .on_silence(&Situation::new(now, false, &self.flow));
        }
    }

    /// Nothing is heard of this path, but of another: its symbols count as lost until it is heard. If it
    /// was only slow, what arrives on it is acknowledged as ever.
    fn on_path_silent(&mut self, path: usize, now: Time) {
        let state = &mut self.flow.paths[path];
        state.silent = Some(now);
        state.probes_due = 1;
        state.backoff = 0;
        state.last_activity = now;
        let id = state.id;
        let undecided = state.flight.undecided(usize::MAX);
        let sources = undecided.filter_map(|(number, _, kind)| match kind {
            Transmission::Source { esi, .. } => Some((esi, id.name(number))),
            _ => None,
        });
        for (esi, name) in sources.collect::<Vec<_>>() {
            let record = self.flow.record_mut(esi);
            if record.is_some_and(|r| !r.known && r.transmission == name) {
                self.flow.lost.insert(esi);
            }
        }
        self.rule.on_news();
        self.flow.restart_timers(now);
        self.flow.choose_main(now);
        self.tell_edge();
    }

    /// Nothing that is in flight on this path will arrive, for a reason that is not the path's loss.
    pub(super) fn give_up_flight(&mut self, path: usize, now: Time) {
        let state = &mut self.flow.paths[path];
        state.flight.on_dropped(now + Duration::from_micros(1));
        state.on_progress(now);
        self.settle_fates();
    }
}

/// The earlier of two timers.
fn earliest(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
