//! Paths come and go.

use tracing::debug;

use super::Session;
use super::path::Path;
use crate::event::Event;
use crate::path::{AddPathError, MAX_PATHS, PathId, PathOptions, PathReport};
use crate::rate::Progress;
use crate::sender::Inconsistent;
use crate::time::Time;
use crate::wire::FeedbackView;

/// A path has at least this part of a bottleneck that it shares with others, so that it can grow.
const LEAST_PART: f64 = 0.1;
/// A path is untried if less than this part of what it is to carry arrives on it.
const UNTRIED: f64 = 0.25;

impl Session {
    /// Another path begins: the carrier has joined it to the session. Both ends do this. A datagram of
    /// the path is taken by [`Self::handle_datagram_on`], and written by [`Self::poll_transmit_on`].
    /// Data leaves on it as soon as a probe is answered. Until
    /// [`set_largest_datagram_on`](Self::set_largest_datagram_on) any datagram fits.
    ///
    /// # Errors
    /// The session has [`MAX_PATHS`] paths, its scheme works over one path, or it is over.
    pub fn add_path(&mut self, now: Time, options: PathOptions) -> Result<PathId, AddPathError> {
        self.alive().map_err(|_| AddPathError::Closed)?;
        let scheme = &self.config.scheme;
        if !scheme.takes_several_paths() {
            return Err(AddPathError::Scheme(scheme.name()));
        }
        let next = self.newest_path.next().ok_or(AddPathError::TooMany)?;
        if self.paths.len() >= MAX_PATHS {
            return Err(AddPathError::TooMany);
        }
        self.newest_path = next;
        self.paths.push(Path::new(next, &self.config, now));
        self.receiver.add_path();
        self.sender.add_path(next, options.cost, now);
        self.forget_gone_path(now);
        debug!(path = next.index(), "path added");
        self.fit_symbols();
        Ok(next)
    }

    /// The carrier of this path is gone. What was in flight on it is left to the others. Without a path
    /// the session waits for another, until the idle timeout; the last one stays in [`Self::paths`] so long.
    pub fn remove_path(&mut self, now: Time, path: PathId) {
        let Some(index) = self.index(path) else {
            return;
        };
        debug!(path = path.index(), "path removed");
        self.sender.on_path_gone(index, now);
        if self.paths.len() > 1 {
            self.drop_path(index, now);
        }
        self.fit_symbols();
    }

    /// What this end knows of each path.
    pub fn paths(&self) -> impl Iterator<Item = (PathId, PathReport)> + '_ {
        let all = self.paths.iter().zip(self.sender.paths());
        all.map(|(path, sender)| {
            let report = PathReport {
                cost: sender.cost(),
                silent: sender.is_silent(),
                rtt: sender.rtt().smoothed(),
                min_rtt: sender.rtt().min(),
                loss: sender.loss().rate(),
                mean_burst: sender.loss().mean_burst(),
                rate: path.pacer.rate(sender.in_flight()).map(|rate| rate as u64),
                in_flight: sender.in_flight(),
                sent_datagrams: path.sent[0],
                sent_bytes: path.sent[1],
                arrived_bytes: sender.arrived(),
                received_datagrams: path.received[0],
                received_bytes: path.received[1],
                recovered_symbols: sender.recovered(),
            };
            (path.id, report)
        })
    }

    /// The place of a path, if the session has it.
    pub(super) fn index(&self, path: PathId) -> Option<usize> {
        self.paths.iter().position(|p| p.id == path)
    }

    /// A path without a carrier stays only while there is no other.
    fn forget_gone_path(&mut self, now: Time) {
        if let Some(index) = self.sender.paths().iter().position(|path| path.is_gone()) {
            self.drop_path(index, now);
        }
    }

    fn drop_path(&mut self, index: usize, now: Time) {
        let removed = self.paths.remove(index);
        if let Some(bottlenecks) = &mut self.bottlenecks {
            bottlenecks.forget(removed.id);
        }
        self.paths
            .iter_mut()
            .for_each(|path| path.pacer.set_part(1.0));
        self.receiver.remove_path(index);
        self.sender.remove_path(index, now);
    }

    /// Nothing is heard of this path any more. A flow that had no more to send than it carried goes on at
    /// its rate: a start from nothing would hold it up for many round trips.
    pub(super) fn on_silent(&mut self, now: Time, index: usize) {
        let path = self.paths[index].id;
        debug!(path = path.index(), "path silent");
        self.payload.events.push_back(Event::PathSilent(path));
        let rate = self.paths[index].pace.rate();
        let main = self.sender.main();
        if !self.is_backlogged(now) && self.paths[main].pace.rate() < UNTRIED * rate {
            self.paths[main].pacer.take_over(rate);
        }
    }

    /// Compares the queues of the paths after a report, and tells each which part it has of what they
    /// take from a bottleneck that they share.
    fn share_bottlenecks(&mut self, now: Time) {
        if self.bottlenecks.as_ref().is_some_and(|b| !b.is_due(now)) {
            return;
        }
        let all = self.sender.paths().iter();
        let busy = all.filter(|path| path.is_heard() && path.in_flight() > 0);
        let queues: Vec<_> = busy.map(|path| (path.id(), path.newest_queue())).collect();
        let bottlenecks = self.bottlenecks.get_or_insert_default();
        bottlenecks.on_queues(now, &queues);
        let busy = |path: &&Path| queues.iter().any(|(id, _)| *id == path.id);
        let rates: Vec<_> = (self.paths.iter().filter(busy))
            .map(|path| (path.id, path.pace.rate()))
            .collect();
        for path in &mut self.paths {
            let shared =
                |other: PathId| other == path.id || bottlenecks.are_shared([path.id, other]);
            let own = path.pace.rate();
            let together: f64 = rates
                .iter()
                .filter(|(id, _)| shared(*id))
                .map(|(_, r)| r)
                .sum();
            let part = if together > 0.0 { own / together } else { 1.0 };
            path.pacer.set_part(part.max(LEAST_PART));
        }
    }

    /// A report about this path arrived on it.
    pub(super) fn on_feedback(
        &mut self,
        now: Time,
        index: usize,
        report: &FeedbackView<'_>,
    ) -> Result<Option<Progress>, Inconsistent> {
        let before = &self.sender.paths()[index];
        let (silent, measured) = (before.is_silent(), before.rtt().is_measured());
        let taken = self.sender.on_feedback(now, index, report);
        if self.paths.len() > 1 {
            self.share_bottlenecks(now);
            let rtt = self.sender.paths()[index].rtt();
            if !measured && rtt.is_measured() {
                self.paths[index].pacer.on_first_measurement(rtt.smoothed());
            }
        }
        if silent && !self.sender.paths()[index].is_silent() {
            let path = self.paths[index].id;
            debug!(path = path.index(), "path heard again");
            self.payload.events.push_back(Event::PathHeard(path));
        }
        taken
    }

    pub(super) fn path_timers(&self, index: usize) -> [Option<Time>; 3] {
        let path = &self.paths[index];
        [
            self.keep_alive_time(index),
            path.paced_until,
            path.size_probe_at,
        ]
    }
}
