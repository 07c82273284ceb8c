//! The window after marks, silences and reports.

use super::pace::START_GAIN;
use super::*;

/// A report on the datagram `number` of `next`, sent at `sent`.
fn report(number: u64, next: u64, sent: Time, arrived: u64, lost: u64) -> Progress {
    Progress {
        newest: Some((number, sent)),
        count: 1,
        waited: Duration::ZERO,
        rtt: Duration::from_millis(60),
        queue: Duration::ZERO,
        arrived,
        lost,
        burst: 1.0,
        next,
    }
}

#[test]
fn marks_take_a_fifth_of_the_window_once_a_round_trip() {
    let mut adaptive = Adaptive::new(
        Duration::from_millis(60),
        Duration::ZERO,
        Duration::ZERO,
        Time::ZERO,
    );
    let before = adaptive.window();
    adaptive.doubtful = 3;
    adaptive.on_marks(0);
    assert_eq!((adaptive.window(), adaptive.doubtful), (before, 3));
    for count in 1..5 {
        adaptive.on_marks(count);
    }
    // A start that they ended does not begin again.
    assert_eq!((adaptive.window(), adaptive.doubtful), (MARKED * before, 0));
    // A report on a datagram sent since then begins the next round.
    adaptive.on_report(
        Time::from_micros(60_000),
        &report(0, 1, Time::ZERO, 1200, 0),
    );
    adaptive.on_marks(4);
    let before = adaptive.window();
    adaptive.on_marks(5);
    assert_eq!(adaptive.window(), MARKED * before);
}

#[test]
fn a_flow_that_moves_has_room_for_what_was_lost_and_for_late_round_trips() {
    let trip = Duration::from_millis(60);
    let moved = |lost, later| {
        let mut adaptive = Adaptive::new(trip, Duration::ZERO, Duration::ZERO, Time::ZERO);
        adaptive.take_over(1e7, lost, later);
        adaptive.window()
    };
    assert_eq!(moved(0.0, Duration::ZERO), 600e3);
    assert_eq!(moved(5e4, Duration::from_millis(20)), 850e3);
    // One or two samples tell little about how late they may be.
    assert_eq!(moved(0.0, 2 * trip), 1.2e6);
}

/// The peer answers at `at`, after a silence.
fn answered(mut adaptive: Adaptive, at: u64) -> Adaptive {
    (0..5).for_each(|_| adaptive.on_timeouts());
    let progress = report(7, 8, Time::from_micros(at - 60_000), 1200, 0);
    adaptive.on_report(Time::from_micros(at), &progress);
    adaptive
}

#[test]
fn after_a_silence_half_of_the_window_is_back_at_the_pace_of_the_path() {
    let rtt = Duration::from_millis(60);
    for late in [Duration::ZERO, Duration::from_secs(1)] {
        let mut adaptive = Adaptive::new(rtt, late, late, Time::ZERO);
        adaptive.phase = Phase::Steady;
        adaptive.measured = true;
        adaptive.window = 400_000.0;
        let span = adaptive.span().as_secs_f64();
        let after = answered(adaptive.clone(), 5_000_000);
        assert!(
            after.pace(0) <= START_GAIN * 200_000.0 / span + 1.0,
            "{late:?}"
        );
        assert!(after.window() >= 200_000.0 - 1.0, "{late:?}");
        // In a drain the window is smaller than what the path has shown.
        adaptive.drain(1e6, rtt);
        let after = answered(adaptive, 5_000_000);
        assert!(after.window() >= 200_000.0 - 1.0, "{late:?}");
    }
}

#[test]
fn a_longer_path_starts_with_a_larger_window_and_silence_shrinks_it() {
    let window = |ms| {
        Adaptive::new(
            Duration::from_millis(ms),
            Duration::ZERO,
            Duration::ZERO,
            Time::ZERO,
        )
        .window()
    };
    assert_eq!(window(1), 10.0 * USUAL_PACKET);
    assert_eq!(window(60), 37_500.0);
    assert_eq!(window(2000), 128.0 * USUAL_PACKET);
    let mut adaptive = Adaptive::new(
        Duration::from_millis(60),
        Duration::ZERO,
        Duration::ZERO,
        Time::ZERO,
    );
    adaptive.on_timeouts();
    assert_eq!(adaptive.window(), 2.0 * USUAL_PACKET);
}

#[test]
fn a_train_that_was_to_leave_before_a_pause_does_not_hold_the_flow_back_after_it() {
    let rtt = Duration::from_millis(60);
    let mut adaptive = Adaptive::new(rtt, Duration::ZERO, Duration::ZERO, Time::ZERO);
    adaptive.on_sent(Time::ZERO, 1200);
    adaptive.train = Train::Leaving;
    adaptive.on_sent(Time::from_micros(11_000_000), 1200);
    // A window in a round trip at least.
    assert!(adaptive.pace(0) >= adaptive.window() / 0.06);
}

#[test]
fn a_first_window_on_a_long_path_leaves_in_an_eighth_of_a_round_trip_also_after_a_probe() {
    let rtt = Duration::from_millis(600);
    let mut adaptive = Adaptive::new(rtt, Duration::ZERO, Duration::ZERO, Time::ZERO);
    let (first, eighth) = (adaptive.initial(), rtt.as_secs_f64() / 8.0);
    assert!(adaptive.pace(0) >= first / eighth - 1.0);
    adaptive.on_sent(Time::ZERO, 100);
    let at = Time::from_micros(600_000);
    let told = Progress {
        rtt,
        ..report(0, 1, Time::ZERO, 100, 0)
    };
    adaptive.on_report(at, &told);
    let pace = adaptive.pace(0);
    assert!(pace >= first / eighth - 1.0, "{pace} bytes a second");
    // The rest waits for what reports show.
    (0..256).for_each(|_| adaptive.on_sent(at, 1200));
    let pace = adaptive.pace(0);
    let most = START_GAIN * adaptive.window() / rtt.as_secs_f64();
    assert!(pace <= most + 1.0, "{pace} bytes a second");
}

#[test]
fn where_the_path_moves_the_delay_a_start_does_not_end_by_packets_that_are_late() {
    /// The phases when half of a train is missing, and `later` microseconds after, when `missing` packets are.
    fn phases(moves: bool, later: u64, missing: u64) -> [Phase; 2] {
        let rtt = Duration::from_millis(60);
        let mut adaptive = Adaptive::new(rtt, Duration::ZERO, Duration::ZERO, Time::ZERO);
        let mut tell = |at: u64, number: u64, lost: u64| {
            // The path holds eight at a time, and then lets them go.
            let sent = Time::from_micros(1000 * number.min(200));
            let told = Progress {
                count: if moves { 8 } else { 1 },
                ..report(number, 1000, sent, 1200 * (number + 1 - lost), 1200 * lost)
            };
            adaptive.on_sent(Time::from_micros(at - 60_000), 1200);
            adaptive.on_report(Time::from_micros(at), &told);
            adaptive.phase
        };
        for number in (0..200).step_by(if moves { 8 } else { 1 }) {
            assert_eq!(tell(60_000 + 1000 * number, number, 0), Phase::Start);
        }
        [tell(261_000, 500, 250), tell(261_000 + later, 501, missing)]
    }
    use Phase::{Start, Steady};
    assert_eq!(phases(false, 10_000, 20), [Steady; 2]);
    // They arrive; they do not, but may still; they are lost.
    assert_eq!(phases(true, 10_000, 20), [Start; 2]);
    assert_eq!(phases(true, 19_000, 250), [Start; 2]);
    assert_eq!(phases(true, 21_000, 250), [Start, Steady]);
}
