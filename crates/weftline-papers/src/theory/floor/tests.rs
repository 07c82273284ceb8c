use super::*;
use crate::theory::{markov::MarkovStreaming, streaming::Streaming};

fn stream(loss: &str, share: f64) -> Stream {
    Stream {
        loss: loss.parse().unwrap(),
        share,
        period_ms: 0.96,
        packet_ms: 0.41,
    }
}

/// The mean delay in slots of the streaming code, from delays in periods: a packet at place m of
/// the r-th interval from the end waits r l - m slots, or r (l-1) - m periods.
fn in_slots(loss: &str, l: u32) -> f64 {
    let packet = 1e-9;
    let stream = Stream {
        loss: loss.parse().unwrap(),
        share: 1.0 / f64::from(l - 1),
        period_ms: 1.0,
        packet_ms: packet,
    };
    let delays = stream.without_feedback().unwrap();
    let held = delays
        .points
        .iter()
        .filter(|(delay, _)| *delay > 1.5 * packet);
    held.map(|(delay, p)| {
        let periods = delay.round();
        p * (periods + (periods / f64::from(l - 1)).floor() + 1.0)
    })
    .sum()
}

#[test]
fn the_walk_matches_the_closed_forms() {
    for (e, l) in [(0.1, 5), (0.05, 10), (0.2, 3), (0.3, 2)] {
        let expected = Streaming::new(e, l).unwrap().mean_delay();
        let got = in_slots(&format!("{e}"), l);
        assert!(
            (got / expected - 1.0).abs() < 1e-6,
            "{e} {l}: {got} {expected}"
        );
    }
    for (loss, l) in [("markov:0.05,2", 10), ("markov:0.1,4", 5)] {
        let expected = MarkovStreaming::new(loss.parse().unwrap(), l)
            .unwrap()
            .mean_delay();
        let got = in_slots(loss, l);
        assert!(
            (got / expected - 1.0).abs() < 1e-6,
            "{loss} {l}: {got} {expected}"
        );
    }
}

/// A slot simulation of the same model, 200,000 packets: mean, 95th and 99th percentile, ms.
#[test]
fn the_floors_match_the_simulation() {
    for (loss, share, mean, p95, p99) in [
        ("0.01", 0.3, 0.44, 0.4, 1.8),
        ("0.05", 0.3, 0.63, 1.8, 4.7),
        ("0.1", 0.3, 1.41, 6.6, 16.2),
        ("0.2", 0.5, 2.03, 9.5, 20.0),
        ("markov:0.1,4", 0.3, 10.89, 57.5, 129.5),
    ] {
        let floor = stream(loss, share).without_feedback().unwrap();
        for (got, expected) in [
            (floor.mean(), mean),
            (floor.quantile(0.95), p95),
            (floor.quantile(0.99), p99),
        ] {
            // Delays come in steps of a period.
            let near = (got - expected).abs()
                < 0.08 * expected + if expected == mean { 0.02 } else { 0.96 };
            assert!(near, "{loss}: {got}, simulated {expected}");
        }
    }
}

#[test]
fn limits_with_feedback_match_the_table() {
    for (loss, expected) in [
        ("0.01", 16.0),
        ("0.05", 47.0),
        ("0.1", 69.0),
        ("0.2", 111.0),
    ] {
        let got = stream(loss, 0.1).retransmission(60.0).unwrap().unwrap();
        assert!((got - expected).abs() < 1.0, "{loss}: {got}");
    }
    let (mean, tail) = stream("0.1", 0.3).immediate_feedback().unwrap().unwrap();
    // theta = 2.26 at 2.34 slots a packet.
    assert!((0.41 / tail - 2.26).abs() < 0.01, "{}", 0.41 / tail);
    assert!(mean > 0.41 / 0.9 && mean < 0.5, "{mean}");
    for (loss, share, expected) in [("0.01", 0.1, 7.0), ("0.1", 0.3, 10.0), ("0.2", 0.5, 13.0)] {
        let got = stream(loss, share).tail_ms().unwrap();
        assert!((got / expected - 1.0).abs() < 0.08, "{loss}: {got}");
    }
}

#[test]
fn a_queue_with_immediate_feedback_has_the_computed_wait() {
    // Two slots a packet and a loss of 0.2: x = 0.2 + 0.8 x^2 has the root 0.25.
    let stream = Stream {
        period_ms: 2.0,
        packet_ms: 1.0,
        ..stream("0.2", 0.5)
    };
    let (mean, tail) = stream.immediate_feedback().unwrap().unwrap();
    assert!((mean - 1.0 / 0.75).abs() < 1e-9 && (tail - 1.0 / 4.0_f64.ln()).abs() < 1e-9);
}

#[test]
fn impossible_streams_are_refused() {
    let overloaded = stream("0.3", 0.3).without_feedback().unwrap_err();
    assert!(matches!(overloaded, TheoryError::Overloaded { .. }));
    let slow = Stream {
        packet_ms: 0.95,
        ..stream("0.1", 0.3)
    };
    assert!(slow.immediate_feedback().is_err());
    assert!(stream("0.1", f64::NAN).without_feedback().is_err());
    assert!(stream("0.1", 0.3).retransmission(f64::NAN).is_err());
}
