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
        let repairs = matches!(
            action,
            Action::Repair { .. } | Action::Copy(_) | Action::Again(_)
        );
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
            Action::Repair { .. } | Action::Copy(_) | Action::Again(_) => self.is_late(now, path),
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

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, Two};
    use super::*;
    use crate::config::RateControl;

    /// A megabyte a second, so that a byte takes a microsecond.
    const RATE: RateControl = RateControl::Fixed {
        rate: Some(8_000_000),
        window: None,
    };
    const UNLIMITED: RateControl = RateControl::Fixed {
        rate: None,
        window: None,
    };

    /// Sessions over paths of these delays, in ms, and costs. All are measured, and the first is the main
    /// one.
    fn measured(rate: RateControl, paths: &[(u32, u8)]) -> Two {
        let mut two = Two::new(rate, paths);
        for _ in 0..200 {
            two.send();
            two.run(20 * MS);
        }
        two.run(1000 * MS);
        assert_eq!(two.client.sender.main(), 0);
        for (path, (delay, _)) in two.client.sender.paths().iter().zip(paths) {
            let beyond = path.latency().saturating_sub(*delay * MS);
            assert!(beyond < *delay * MS / 4, "{beyond:?} of {delay}");
        }
        two
    }

    /// Whether a repair is left to another path.
    fn leaves_repair(two: &Two, path: usize) -> bool {
        two.client
            .is_for_another(two.now, path, &Action::repair(0..1))
    }

    /// Whether a new symbol is left to another path.
    fn leaves_new(two: &Two, path: usize) -> bool {
        two.client.is_for_another(two.now, path, &Action::New)
    }

    /// The path cannot send for a long time.
    fn hold_up(two: &mut Two, path: usize) {
        two.client.paths[path].pacer.sent(two.now, 10_000_000, 0);
    }

    #[test]
    fn a_repair_leaves_on_another_path_if_that_is_about_as_soon() {
        // The main path has a round trip of 40 ms: an eighth of it is 5 ms.
        let mut two = measured(RATE, &[(20, 0), (22, 0), (40, 0)]);
        assert!(leaves_repair(&two, 0), "the second is as soon");
        assert!(!leaves_repair(&two, 1), "the main path is no sooner");
        assert!(leaves_repair(&two, 2), "the others are sooner");
        hold_up(&mut two, 1);
        assert!(!leaves_repair(&two, 0), "no other can send it now");
        let two = measured(RATE, &[(20, 0), (40, 0)]);
        assert!(!leaves_repair(&two, 0), "the other is later");
        assert!(leaves_repair(&two, 1));
    }

    #[test]
    fn a_repair_leaves_on_the_faster_of_two_paths_beside_the_main_one() {
        let mut two = measured(RATE, &[(20, 0), (30, 0), (60, 0)]);
        // Something was left to the main path long ago, and did not leave.
        two.client.paths[0].left = Some(Time::ZERO);
        assert!(!leaves_repair(&two, 1));
        assert!(leaves_repair(&two, 2));
    }

    #[test]
    fn a_repair_waits_100_ms_for_a_cheaper_path_and_does_not_leave_on_a_dearer_one() {
        let mut two = measured(RATE, &[(60, 0), (20, 1)]);
        assert!(!leaves_repair(&two, 0));
        assert!(leaves_repair(&two, 1));
        // A second of data is on the cheaper path.
        two.client.paths[0].pacer.sent(two.now, 1_000_000, 0);
        assert!(!leaves_repair(&two, 1));
    }

    #[test]
    fn a_path_that_leaves_a_repair_to_another_sends_a_new_symbol_if_there_is_one() {
        let mut two = measured(RATE, &[(20, 0), (22, 0)]);
        let (client, now) = (&mut two.client, two.now);
        let repair = || Some(Action::repair(0..1));
        assert_eq!(client.mine(now, 0, repair(), true), Some(Action::New));
        assert_eq!(
            client.paths.iter().map(|p| p.left).collect::<Vec<_>>(),
            [None, Some(now)]
        );
        assert_eq!(client.paths[0].paced_until, Some(now + LEFT));
        assert_eq!(client.mine(now, 0, repair(), false), None);
        assert_eq!(client.mine(now, 1, repair(), true), repair());
        // What the other does not send within 5 ms is this path's again.
        assert!(leaves_repair(&two, 0));
        two.client.paths[1].left = Some(two.now - LEFT);
        assert!(!leaves_repair(&two, 0));
    }

    #[test]
    fn a_slower_path_takes_new_symbols_if_what_waits_would_take_longer_on_the_faster_one() {
        let mut two = measured(RATE, &[(20, 0), (40, 0)]);
        let latency = [0, 1].map(|path| two.client.sender.paths()[path].latency());
        for _ in 0..100 {
            assert!(!leaves_new(&two, 0), "the main path is the first");
            let waits = Duration::from_micros(two.client.payload.queued());
            assert_eq!(leaves_new(&two, 1), latency[1] >= latency[0] + waits);
            two.send();
        }
        assert!(!leaves_new(&two, 1));
        // A path of a higher cost, only if it would take 100 ms longer.
        let mut two = measured(RATE, &[(20, 0), (40, 1)]);
        let latency = [0, 1].map(|path| two.client.sender.paths()[path].latency());
        for _ in 0..200 {
            assert!(!leaves_new(&two, 0));
            let waits = Duration::from_micros(two.client.payload.queued());
            assert_eq!(
                leaves_new(&two, 1),
                latency[1] + NEEDED >= latency[0] + waits
            );
            two.send();
        }
        assert!(!leaves_new(&two, 1));
    }

    #[test]
    fn the_main_path_takes_new_symbols_although_another_is_faster_for_a_moment() {
        let mut two = measured(RATE, &[(20, 0), (21, 0)]);
        assert!(!leaves_new(&two, 0));
        two.delays[0] = 22 * MS;
        for _ in 0..20 {
            two.send();
            two.run(100 * MS);
        }
        let latency = [0, 1].map(|path| two.client.sender.paths()[path].latency());
        assert!(two.client.sender.main() == 0 && latency[0] > latency[1]);
        assert!(!leaves_new(&two, 0));
    }

    #[test]
    fn a_path_waits_for_its_pace_or_a_quarter_of_its_round_trip_while_its_window_is_full() {
        let window = RateControl::Fixed {
            rate: Some(8_000_000),
            window: Some(1),
        };
        let mut two = measured(window, &[(20, 0), (40, 0)]);
        assert_eq!(two.client.wait(two.now, 0), Duration::ZERO);
        two.send();
        two.run(Duration::ZERO);
        let quarter = two.client.sender.paths()[0].rtt().smoothed() / 4;
        assert_eq!(two.client.wait(two.now, 0), quarter);
        two.client.paths[0].pacer.sent(two.now, 100_000, 0);
        let paced = two.client.paths[0].pacer.next_departure();
        let paced = paced.expect("it is paced").since(two.now);
        assert!(paced > 90 * MS);
        assert_eq!(two.client.wait(two.now, 0), paced);
        let latency = two.client.sender.paths()[0].latency();
        assert_eq!(two.client.arrival(two.now, 0), paced + latency);
    }

    #[test]
    fn data_has_waited_for_long_after_two_round_trips_and_100_ms_at_least() {
        for (delay, long) in [(20, 100), (40, 160)] {
            let mut two = measured(UNLIMITED, &[(delay, 0), (50, 0)]);
            let round_trip = two.client.sender.rtt().smoothed();
            assert!(round_trip.abs_diff(2 * delay * MS) < MS, "{round_trip:?}");
            let mut after = |waited| {
                two.client.waiting_since = Some(two.now - waited);
                two.client.is_backlogged(two.now)
            };
            assert!(!after(long * MS - 2 * MS));
            assert!(after(long * MS + 2 * MS));
        }
    }

    #[test]
    fn a_slow_path_holds_back_no_more_than_four_fifths_of_what_may_be_missing_at_the_peer() {
        for lost in [0, 40] {
            let mut two = measured(UNLIMITED, &[(20, 0), (200, 0)]);
            let now = two.now;
            let leave = |two: &mut Two, path: usize, most| {
                let id = two.client.paths[path].id;
                two.client.waiting_since = Some(Time::ZERO);
                let sends = |two: &mut Two| {
                    let is_new = !two.client.is_far_ahead(now, path);
                    is_new && two.client.poll_transmit_on(now, id, &mut Vec::new())
                };
                (0..most).take_while(|_| sends(two)).count()
            };
            two.client.set_message_buffer(10_000_000);
            (0..5000).for_each(|_| two.send());
            assert_eq!(leave(&mut two, 0, lost), lost);
            two.client.carrier_dropped_all(now);
            // Most of them were new symbols.
            let missing = two.client.sender.missing() as f64;
            assert!(missing >= 0.8 * lost as f64, "{missing}");
            let most = 0.8 * two.client.sender.most_missing() as f64 - missing;
            let held = leave(&mut two, 1, usize::MAX);
            assert!(
                held as f64 >= most && held as f64 - 1.0 < most,
                "{held} {most}"
            );
            assert!(two.client.is_far_ahead(now, 1));
            assert!(!two.client.is_far_ahead(now, 0), "nothing overtakes it");
        }
    }

    #[test]
    fn a_path_without_a_measurement_gets_nothing_but_the_probe_that_is_due() {
        let mut two = Two::new(UNLIMITED, &[(20, 0), (22, 0)]);
        let is_for = |two: &Two, path, action| !two.client.is_for_another(two.now, path, &action);
        assert!(
            is_for(&two, 1, Action::New),
            "a probe is due and may carry it"
        );
        two.dead = vec![1];
        two.send();
        two.run(100 * MS);
        assert!(two.client.sender.paths()[0].rtt().is_measured());
        assert!(!two.client.sender.paths()[1].is_probe_due());
        // Any path that is known would help.
        two.client.waiting_since = Some(Time::ZERO);
        assert!(!is_for(&two, 1, Action::New));
        assert!(is_for(&two, 1, Action::Probe));
        assert!(is_for(&two, 0, Action::New));
    }
}
