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

/// A path is untried if less than this part of what it is to carry arrives on it.
const UNTRIED: f64 = 0.25;
/// Hardly a round trip takes longer than usual by more mean deviations (RFC 9002, section 6.2.1).
const DEVIATIONS: u32 = 4;

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
            let (sent, [lost, spurious]) = (&path.carried.sent, sender.losses());
            let report = PathReport {
                cost: sender.cost(),
                // One probe or its answer may be lost.
                silent: sender.is_unanswered() || path.asked > 1,
                rtt: sender.rtt().smoothed(),
                min_rtt: sender.rtt().min(),
                round_trips: sender.round_trips(),
                loss: sender.loss().rate(),
                mean_burst: sender.loss().mean_burst(),
                rate: path.pacer.rate(sender.in_flight()).map(|rate| rate as u64),
                queue: sender.newest_queue(),
                in_flight: sender.in_flight(),
                sent_datagrams: sent.datagrams,
                sent_bytes: sent.bytes,
                arrived_bytes: sender.arrived(),
                received_datagrams: path.carried.received,
                received_bytes: path.carried.received_bytes,
                source_symbols: sent.source_symbols,
                retransmissions: sent.retransmissions,
                repair_symbols: sent.repair_symbols,
                lost_datagrams: lost,
                spurious_losses: spurious,
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
        let lost = self.sender.paths()[index].losses();
        let gone = self.gone.get_or_insert_default();
        gone.add(&removed.carried, lost);
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
            let lost = self.sender.paths()[index].in_flight();
            let later = DEVIATIONS * self.sender.paths()[main].rtt().variation();
            self.paths[main].pacer.take_over(rate, lost, later);
            self.sender.path_mut(main).measure_anew(now);
        }
    }

    /// Compares the queues of the paths after a report, and tells each which part it has of what they
    /// take from a bottleneck that they share.
    fn share_bottlenecks(&mut self, now: Time) {
        if self.bottlenecks.as_ref().is_some_and(|b| !b.is_due(now)) {
            return;
        }
        let all = self.paths.iter().zip(self.sender.paths());
        let (queues, rates): (Vec<_>, Vec<_>) = all
            .filter(|(_, sender)| sender.carries_data())
            .map(|(path, sender)| {
                let (id, rate) = (path.id, path.pace.rate());
                ((id, sender.newest_queue()), (id, rate))
            })
            .unzip();
        let bottlenecks = self.bottlenecks.get_or_insert_default();
        bottlenecks.on_queues(now, &queues);
        for path in &mut self.paths {
            let part = bottlenecks.part(path.id, path.pace.rate(), &rates);
            path.pacer.set_part(part);
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

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::super::long::Pace;
    use super::super::testing::{MS, Two};
    use super::*;
    use crate::config::RateControl;

    #[test]
    fn a_flow_keeps_its_rate_on_a_path_that_has_carried_less_than_a_quarter_of_it() {
        // Bytes a second on the path that is left, and for how long data has waited, in ms.
        let silent = 1_000_000_000;
        for (left, waited, taken) in [
            (0, 0, true),
            (249_999_999, 0, true),
            (250_000_000, 0, false),
            (silent, 0, false),
            // It sends more than its paths take: a start finds out how much this one takes.
            (0, 1000, false),
            (250_000_000, 1000, false),
        ] {
            let mut two = Two::new(RateControl::Adaptive, &[(20, 0), (40, 0)]);
            for _ in 0..10 {
                two.send();
                two.run(100 * MS);
            }
            let (client, now) = (&mut two.client, two.now);
            assert_eq!(client.sender.main(), 0);
            for (path, rate) in client.paths.iter_mut().zip([left, silent]) {
                path.pace = Pace::default();
                let second = Time::from_micros(1_000_000);
                path.pace.on_report(second, rate, Duration::ZERO);
            }
            client.waiting_since = Some(now - waited * MS);
            client.on_silent(now, 1);
            let rate = client.paths[0].pacer.rate(0).expect("it is limited");
            assert_eq!(rate >= silent as f64, taken, "{left} {waited}: {rate}");
        }
    }

    #[test]
    fn queues_of_several_paths_are_compared_although_reports_are_rare() {
        let mut two = Two::new(RateControl::Adaptive, &[(20, 0), (20, 0)]);
        for round in 0..200 {
            let queue = round % 50 * MS / 2;
            two.delays = vec![20 * MS + queue; 2];
            // While the first of them are reported, others are on their way.
            for pause in [10 * MS, 90 * MS] {
                (0..4).for_each(|_| two.send());
                // Data has waited for long, so that each path takes some.
                two.client.waiting_since = Some(Time::ZERO);
                two.run(pause);
            }
        }
        let paths = [0, 1].map(|path| two.client.paths[path].id);
        let bottlenecks = two.client.bottlenecks.as_ref();
        assert!(bottlenecks.expect("two paths").are_shared(paths));
    }

    #[test]
    fn one_path_is_compared_with_none() {
        let mut two = Two::new(RateControl::Adaptive, &[(20, 0)]);
        two.send();
        two.run(100 * MS);
        assert!(two.client.bottlenecks.is_none());
    }

    #[test]
    fn the_first_window_of_a_path_is_that_of_its_true_round_trip() {
        let window = |delay, time| {
            let mut two = Two::new(RateControl::Adaptive, &[(20, 0), (delay, 0)]);
            two.send();
            two.run(time);
            let pacer = &two.client.paths[1].pacer;
            (0..1000).filter(|n| pacer.window_open(100 * n)).count()
        };
        // Before the answer to the first probe, and after it.
        let (unknown, known) = (window(200, 399 * MS), window(200, 401 * MS));
        assert!(known > unknown, "{known} {unknown}");
    }
}
