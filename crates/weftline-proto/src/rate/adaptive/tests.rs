//! The window after marks, silences and reports.

use super::pace::START_GAIN;
use super::*;

#[test]
fn marks_take_a_fifth_of_the_window_once_a_round_trip() {
    let mut adaptive = Adaptive::new(
        Duration::from_millis(60),
        Duration::ZERO,
        Duration::ZERO,
        Time::ZERO,
    );
    let before = adaptive.window();
    adaptive.on_marks(0);
    assert_eq!(adaptive.window(), before);
    for count in 1..5 {
        adaptive.on_marks(count);
    }
    assert_eq!(adaptive.window(), MARKED * before);
    // A report on a datagram sent since then begins the next round.
    adaptive.on_report(
        Time::from_micros(60_000),
        &Progress {
            newest: Some((0, Time::ZERO)),
            count: 1,
            waited: Duration::ZERO,
            rtt: Duration::from_millis(60),
            queue: Duration::ZERO,
            arrived: 1200,
            lost: 0,
            burst: 1.0,
            next: 1,
        },
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
    let progress = Progress {
        newest: Some((7, Time::from_micros(at - 60_000))),
        count: 1,
        waited: Duration::ZERO,
        rtt: Duration::from_millis(60),
        queue: Duration::ZERO,
        arrived: 1200,
        lost: 0,
        burst: 1.0,
        next: 8,
    };
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
