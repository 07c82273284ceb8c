//! What a sender knows of one path: its datagrams in flight, its estimates and its timers.

use core::time::Duration;

use super::discovery::Discovery;
use super::flight::Flight;
use crate::clock::MEMORY;
use crate::histogram::Histogram;
use crate::loss::LossEstimator;
use crate::path::PathId;
use crate::rtt::RttEstimator;
use crate::time::Time;

/// A path is silent when this many datagrams are overdue in reports, or one is and this many probes
/// were not answered either. Chance may lose fewer.
const UNHEARD: usize = 3;
const UNANSWERED: u32 = 2;
/// A path is probed until its round trip was measured this often.
const MEASURED: u8 = 8;
/// A path that does not answer is probed this often, for so many probes: after an outage a session must not
/// stay silent for long. Then it is probed at the last of these times.
const PROBE_EVERY: Duration = Duration::from_millis(100);
const PROBES: u32 = 60;
const PROBE_LATER: Duration = Duration::from_secs(1);
/// By then the peer has forgotten what it measured before the flow moved here.
const ANEW: Duration = MEMORY.saturating_mul(2);
/// Tenths of a millisecond: what a path needs to keep of a hold, in few bytes.
const TENTHS: Duration = Duration::from_micros(100);

#[derive(Debug)]
pub(crate) struct Path {
    pub(super) id: PathId,
    pub(super) cost: u8,
    pub(super) flight: Flight,
    pub(super) rtt: RttEstimator,
    /// How long round trips took; `None` before the first is measured.
    round_trips: Option<Box<Histogram>>,
    pub(super) loss: LossEstimator,
    /// The shortest wait in the path's queue that a report of the last round trip told, and when.
    pub(super) queue: (Time, Duration),
    /// What the newest report told of it, and what of that counts.
    newest_queue: [Duration; 2],
    anew: Option<Box<Anew>>,
    pub(super) newest_report: Option<u64>,
    /// When it arrived.
    pub(super) reported: Time,
    /// Looks for the longest datagram, if the carrier does not.
    pub(crate) discovery: Option<Box<Discovery>>,
    /// Transmissions that the retransmission timer asked for.
    pub(super) probes_due: u8,
    pub(super) backoff: u32,
    /// The window was full, and nothing was acknowledged since then.
    pub(super) window_shut: bool,
    /// The time of the last progress or the last transmission.
    pub(super) last_activity: Time,
    /// Since when nothing is heard of the path, while another is heard.
    pub(super) silent: Option<Time>,
    /// Its carrier is gone.
    pub(super) gone: bool,
    /// Round trips measured.
    measured: u8,
    /// For how many [`TENTHS`] the path usually holds datagrams back, if it moves their delay; otherwise zero.
    hold: u16,
    /// Symbols lost here that the peer has without another transmission.
    pub(super) recovered: u64,
}

/// Delays that are measured anew, since a flow has moved here.
#[derive(Debug)]
struct Anew {
    since: Time,
    /// The shortest wait in the queue that a report has told since.
    queue: Duration,
    /// The shortest round trip since.
    trip: Duration,
}

impl Path {
    pub(super) fn new(id: PathId, cost: u8, initial_rtt: Duration, now: Time) -> Self {
        Path {
            id,
            cost,
            flight: Flight::default(),
            rtt: RttEstimator::new(initial_rtt),
            round_trips: None,
            loss: LossEstimator::default(),
            queue: (now, Duration::ZERO),
            newest_queue: [Duration::ZERO; 2],
            anew: None,
            newest_report: None,
            reported: now,
            discovery: None,
            probes_due: 0,
            backoff: 0,
            window_shut: false,
            last_activity: now,
            silent: None,
            gone: false,
            measured: 0,
            hold: 0,
            recovered: 0,
        }
    }

    pub(crate) fn id(&self) -> PathId {
        self.id
    }

    pub(crate) fn cost(&self) -> u8 {
        self.cost
    }

    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    pub(crate) fn round_trips(&self) -> Histogram {
        self.round_trips.as_deref().copied().unwrap_or_default()
    }

    pub(crate) fn loss(&self) -> &LossEstimator {
        &self.loss
    }

    /// The wait in the path's queue that the newest report told.
    pub(crate) fn newest_queue(&self) -> Duration {
        self.newest_queue[0]
    }

    pub(crate) fn recovered(&self) -> u64 {
        self.recovered
    }

    /// Bytes in flight.
    pub(crate) fn in_flight(&self) -> u64 {
        self.flight.bytes()
    }

    /// Bytes that arrived.
    pub(crate) fn arrived(&self) -> u64 {
        self.flight.fates_of_bytes().0
    }

    /// Datagrams that were taken for lost, and those of them that arrived after all.
    pub(crate) fn losses(&self) -> [u64; 2] {
        self.flight.losses()
    }

    /// Datagrams that left in the last `time`.
    pub(crate) fn sent_within(&self, now: Time, time: Duration) -> usize {
        self.flight.sent_since(now - time)
    }

    /// Whether it is heard, as far as reports tell.
    pub(crate) fn is_heard(&self) -> bool {
        self.silent.is_none() && !self.gone
    }

    /// Nothing is heard of it, or its carrier is gone.
    pub(crate) fn is_silent(&self) -> bool {
        !self.is_heard()
    }

    /// Nothing is heard of it, or the peer answers neither what was sent nor the probes after it.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.is_silent() || self.backoff >= UNANSWERED
    }

    /// It is heard, and datagrams are on their way.
    pub(crate) fn carries_data(&self) -> bool {
        self.is_heard() && self.in_flight() > 0
    }

    /// Its carrier is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether the retransmission timer asked for a transmission, which may exceed the window.
    pub(crate) fn is_probe_due(&self) -> bool {
        self.probes_due > 0
    }

    /// The rate control holds a transmission back, because its window is full.
    pub(crate) fn on_window_shut(&mut self) {
        self.window_shut = true;
    }

    /// How many times in a row the retransmission timer has fired.
    pub(crate) fn timeouts_in_a_row(&self) -> u32 {
        self.backoff
    }

    /// A datagram that leaves now arrives after this time, with what queues and jitter may add: data
    /// in order waits for the latest of many datagrams, not for the mean.
    pub(crate) fn latency(&self) -> Duration {
        self.rtt.smoothed() / 2 + self.rtt.variation()
    }

    /// For how long the path usually holds datagrams back, if it moves their delay; otherwise zero. Of a path to
    /// which a flow has just moved it is the variation of the round trip: the rate control has not seen enough.
    pub(super) fn hold(&self) -> Duration {
        let hold = u32::from(self.hold) * TENTHS;
        match self.anew {
            Some(_) => hold.max(self.rtt.variation()),
            None => hold,
        }
    }

    /// The shortest round trip, of which a queue is a part.
    pub(super) fn shortest_rtt(&self) -> Duration {
        match &self.anew {
            Some(anew) => anew.trip.max(self.rtt.min()),
            None => self.rtt.min(),
        }
    }

    pub(crate) fn set_hold(&mut self, hold: Duration) {
        let tenths = hold.as_micros() / TENTHS.as_micros();
        self.hold = u16::try_from(tenths).unwrap_or(u16::MAX);
    }

    /// The flow moves here. What the path's few packets took until now does not show what many take: where delay
    /// jitters and order is kept, each waits for the slowest before it. The price: a queue of others that stands
    /// there counts as the path's own delay for a while.
    pub(crate) fn measure_anew(&mut self, now: Time) {
        self.anew = Some(Box::new(Anew {
            since: now,
            queue: Duration::MAX,
            trip: self.rtt.smoothed(),
        }));
    }

    /// What counts of the wait in the path's queue that a report told.
    fn queue_of(&mut self, now: Time, told: Duration) -> Duration {
        self.anew.take_if(|anew| now.since(anew.since) >= ANEW);
        let Some(anew) = &mut self.anew else {
            return told;
        };
        anew.queue = anew.queue.min(told);
        anew.trip = anew.trip.min(self.rtt.latest());
        told - anew.queue
    }

    /// A report told how long datagrams waited in the path's queue. Where the delay jitters, only
    /// what persists over a round trip is a queue. One report does not show that: the other end may have
    /// had no time, and told nothing meanwhile. Returns what of it counts.
    pub(super) fn on_queue(&mut self, now: Time, told: Duration) -> Duration {
        let queue = self.queue_of(now, told);
        let [_, before] = core::mem::replace(&mut self.newest_queue, [told, queue]);
        let (at, shortest) = self.queue;
        if queue <= shortest {
            self.queue = (now, queue);
        } else if now >= at + self.rtt.smoothed() {
            self.queue = (now, queue.min(before));
        }
        queue
    }

    /// When the path counts as silent; a report is late after `timeout`, and hardly ever later than this
    /// by a quarter. Where reports on earlier datagrams still come, the path is heard.
    pub(super) fn silent_time(&self, timeout: Duration) -> Option<Time> {
        let enough = match self.backoff < UNANSWERED {
            true => UNHEARD - 1,
            false => 0,
        };
        // Without a measurement nobody knows when a report is late, but probes should be answered.
        let watched = self.rtt.is_measured() || self.backoff >= UNANSWERED;
        let watched = watched && self.is_heard();
        let since = self.flight.unheard().nth(enough).filter(|_| watched)?;
        // The peer may refuse what arrives, and says so.
        Some((since + timeout * 5 / 4).max(self.reported + timeout / 2))
    }

    /// A report measured the round trip. Returns whether to do so again at once, on one of several paths.
    pub(super) fn on_measured(&mut self) -> bool {
        let round_trips = self.round_trips.get_or_insert_default();
        round_trips.record(self.rtt.latest());
        self.measured = self.measured.saturating_add(1);
        self.measured < MEASURED
    }

    /// When a silent path is probed again.
    pub(super) fn silent_probe_time(&self, timeout: Duration) -> Time {
        let backed_off = timeout.saturating_mul(1 << self.backoff.min(8));
        self.last_activity + backed_off.min(self.probe_spacing())
    }

    /// The time between two probes of a path that does not answer.
    pub(super) fn probe_spacing(&self) -> Duration {
        match self.backoff < PROBES {
            true => PROBE_EVERY,
            false => PROBE_LATER,
        }
    }

    /// Something arrived on it, or nothing is in flight on it any more.
    pub(super) fn on_progress(&mut self, now: Time) {
        self.window_shut = false;
        self.backoff = 0;
        self.probes_due = 0;
        self.last_activity = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::flight::Transmission;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::from_micros(1000 * ms)
    }

    /// A path on which a datagram left every 10 ms.
    fn with_datagrams(count: u64) -> Path {
        let mut path = Path::new(PathId::FIRST, 0, 100 * MS, Time::ZERO);
        for number in 1..=count {
            path.flight
                .on_sent(at(10 * number), Transmission::Probe, 100);
        }
        path
    }

    #[test]
    fn a_path_is_silent_after_three_overdue_datagrams_or_one_and_two_unanswered_probes() {
        // A report is late after 80 ms, and hardly ever later than 100 ms.
        let silent = |path: &Path| path.silent_time(80 * MS);
        let mut path = with_datagrams(4);
        path.backoff = 1;
        assert_eq!(silent(&path), None, "its round trip is unknown");
        path.backoff = 2;
        assert_eq!(silent(&path), Some(at(10 + 100)));
        path.rtt.sample(50 * MS, Duration::ZERO);
        assert_eq!(silent(&path), Some(at(10 + 100)));
        for backoff in [0, 1] {
            path.backoff = backoff;
            assert_eq!(silent(&path), Some(at(30 + 100)));
        }
        // Reports on earlier datagrams still come.
        path.reported = at(200);
        assert_eq!(silent(&path), Some(at(200 + 40)));
        path.silent = Some(at(240));
        assert_eq!(silent(&path), None, "it is silent");

        let mut few = with_datagrams(2);
        few.rtt.sample(50 * MS, Duration::ZERO);
        assert_eq!(silent(&few), None);
    }

    #[test]
    fn a_path_that_takes_over_has_no_queue_but_what_is_longer_than_since_then() {
        let mut path = with_datagrams(0);
        path.rtt.sample(40 * MS, Duration::ZERO);
        path.rtt.sample(120 * MS, Duration::ZERO);
        let (shortest, usual) = (40 * MS, 50 * MS);
        assert_eq!(
            (path.shortest_rtt(), path.rtt.smoothed()),
            (shortest, usual)
        );
        assert_eq!(path.on_queue(at(0), 30 * MS), 30 * MS);
        assert_eq!(path.hold(), Duration::ZERO);
        path.measure_anew(at(100));
        assert_eq!(path.shortest_rtt(), usual);
        for (told, queue) in [(40, 0), (70, 30), (35, 0), (70, 35)] {
            assert_eq!(path.on_queue(at(110), told * MS), queue * MS);
            assert_eq!(path.newest_queue(), told * MS);
        }
        path.rtt.sample(45 * MS, Duration::ZERO);
        path.on_queue(at(120), 70 * MS);
        assert_eq!((path.shortest_rtt(), path.rtt.min()), (45 * MS, shortest));
        // What the rate control knows counts if it is more.
        assert_eq!(path.hold(), path.rtt.variation());
        path.set_hold(200 * MS);
        assert_eq!(path.hold(), 200 * MS);
        assert_eq!(path.on_queue(at(20_099), 70 * MS), 35 * MS);
        assert_eq!(path.on_queue(at(20_100), 70 * MS), 70 * MS);
        assert_eq!((path.shortest_rtt(), path.hold()), (shortest, 200 * MS));
    }

    #[test]
    fn a_path_that_is_silent_or_gone_is_not_heard() {
        let mut path = with_datagrams(0);
        assert!(path.is_heard() && !path.is_silent() && !path.is_gone());
        path.silent = Some(at(1));
        assert!(!path.is_heard() && path.is_silent() && !path.is_gone());
        path.silent = None;
        path.gone = true;
        assert!(!path.is_heard() && path.is_silent() && path.is_gone());
    }

    #[test]
    fn a_path_carries_data_while_it_is_heard_and_something_is_in_flight() {
        assert!(!with_datagrams(0).carries_data());
        let mut path = with_datagrams(1);
        assert!(path.carries_data());
        path.silent = Some(at(20));
        assert!(!path.carries_data());
    }

    #[test]
    fn a_silent_path_is_probed_ten_times_a_second_for_sixty_probes_and_then_once_a_second() {
        let mut path = with_datagrams(0);
        path.last_activity = at(1000);
        let probed = |path: &mut Path, backoff| {
            path.backoff = backoff;
            path.silent_probe_time(20 * MS)
        };
        // The first ones sooner, where answers come sooner.
        for (backoff, then) in [(0, 1020), (1, 1040), (3, 1100), (59, 1100), (60, 2000)] {
            assert_eq!(probed(&mut path, backoff), at(then), "{backoff}");
        }
    }

    #[test]
    fn progress_ends_what_silence_began() {
        let mut path = with_datagrams(0);
        path.on_window_shut();
        path.backoff = 2;
        path.probes_due = 1;
        assert!(path.window_shut && path.is_probe_due());
        assert_eq!(path.timeouts_in_a_row(), 2);
        path.on_progress(at(70));
        assert!(!path.window_shut && !path.is_probe_due());
        assert_eq!(path.timeouts_in_a_row(), 0);
        assert_eq!(path.last_activity, at(70));
    }

    #[test]
    fn only_what_persists_over_a_round_trip_is_a_queue() {
        let mut path = with_datagrams(0);
        // The round trip is 100 ms.
        for (now, told, queue) in [
            (99, 5, (0, 0)),
            (100, 5, (100, 5)),
            (110, 7, (100, 5)),
            (120, 5, (120, 5)),
            (130, 3, (130, 3)),
            (229, 9, (130, 3)),
            (230, 9, (230, 9)),
            (240, 2, (240, 2)),
            // A report after a silence stands for nothing but itself.
            (390, 9, (390, 2)),
            (400, 8, (390, 2)),
            (490, 7, (490, 7)),
        ] {
            path.on_queue(at(now), told * MS);
            assert_eq!(path.queue, (at(queue.0), queue.1 * MS), "{now}");
            assert_eq!(path.newest_queue(), told * MS);
        }
    }

    #[test]
    fn a_datagram_takes_half_the_round_trip_and_what_this_varies_by() {
        let mut path = with_datagrams(0);
        for _ in 0..4 {
            path.rtt.sample(64 * MS, Duration::ZERO);
        }
        // Three equal samples have left 27/64 of the first variation, half the round trip.
        assert_eq!(path.rtt.variation(), Duration::from_micros(13_500));
        assert_eq!(path.latency(), Duration::from_micros(32_000 + 13_500));
    }

    #[test]
    fn a_hold_is_kept_in_tenths_of_a_millisecond() {
        let mut path = with_datagrams(0);
        assert_eq!(path.hold(), Duration::ZERO);
        path.set_hold(Duration::from_micros(12_349));
        assert_eq!(path.hold(), Duration::from_micros(12_300));
        path.set_hold(Duration::from_secs(60));
        assert_eq!(path.hold(), Duration::from_micros(6_553_500));
    }

    #[test]
    fn a_path_is_measured_eight_times_in_a_row() {
        let mut path = with_datagrams(0);
        let again: Vec<_> = (0..9).map(|_| path.on_measured()).collect();
        assert_eq!(again.iter().filter(|again| **again).count(), 7);
        assert_eq!(again[7..], [false; 2]);
    }

    #[test]
    fn what_left_lately_is_counted() {
        let path = with_datagrams(4);
        assert_eq!(path.in_flight(), 400);
        assert_eq!(path.sent_within(at(45), 16 * MS), 2);
        assert_eq!(path.sent_within(at(45), 14 * MS), 1);
        assert_eq!(path.sent_within(at(45), 4 * MS), 0);
    }
}
