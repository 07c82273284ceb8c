use super::super::silent;
use super::*;

/// Table III: 2^20 bytes in 450-byte packets, RTT 300 ms, 15 % loss.
fn table_3(share: f64) -> Rest {
    Rest {
        loss: Loss::Slots("0.15".parse().unwrap()),
        redundancy: Redundancy::Fixed(share),
        packets: 2331,
        packet_s: 0.008,
        rtt_s: 0.3,
        ack_s: 0.2,
        window: None,
        code: Code::Genie,
        alpha: 0.8,
        estimate_s: 3.0,
        runs: 300,
        seed: 1,
    }
}

#[test]
fn table_3_matches_the_reference_simulation() {
    // Redundancy, then duration, mean delay and its standard deviation, each with the spread of
    // one of 400 runs.
    for (share, expected) in [
        (0.0, [(22.0865, 0.1629), (2.0467, 0.1149), (4.9684, 0.1691)]),
        (
            0.15,
            [(22.1458, 0.1379), (1.3679, 0.4728), (3.5304, 1.1934)],
        ),
        (0.2, [(22.5513, 0.0413), (0.3754, 0.2048), (0.7973, 0.6173)]),
        (0.3, [(25.0047, 0.0091), (0.1617, 0.0031), (0.0478, 0.0160)]),
    ] {
        let got = table_3(share).run(2, &silent).unwrap();
        let values = [got.duration_s, got.mean_delay_s, got.std_delay_s];
        for (n, (got, (expected, spread))) in values.into_iter().zip(expected).enumerate() {
            let error = got.stderr.hypot(spread / 20.0);
            let off = (got.mean - expected).abs();
            assert!(
                off < 4.0 * error,
                "R {share}, value {n}: {got:?}, reference {expected}"
            );
        }
    }
}

#[test]
fn a_real_code_performs_like_the_ideal_one() {
    let short = Rest {
        packets: 400,
        runs: 20,
        ..table_3(0.3)
    };
    let ideal = short.run(2, &silent).unwrap();
    let real = Rest {
        code: Code::Real,
        ..short
    }
    .run(2, &silent)
    .unwrap();
    let off = (real.mean_delay_s.mean - ideal.mean_delay_s.mean).abs();
    assert!(off < 0.02, "{ideal:?} {real:?}");
    let wide = Rest {
        window: Some(400),
        ..short
    }
    .run(1, &silent)
    .unwrap();
    assert_eq!(wide, real);
}

#[test]
fn a_bounded_window_waits_for_acknowledgements() {
    let short = Rest {
        packets: 600,
        runs: 20,
        ..table_3(0.3)
    };
    let ideal = short.run(2, &silent).unwrap();
    let bounded = Rest {
        window: Some(10),
        ..short
    }
    .run(2, &silent)
    .unwrap();
    // Repairs over a window that moves once in a round trip are mostly useless.
    assert!(
        bounded.duration_s.mean > ideal.duration_s.mean * 1.2,
        "{ideal:?} {bounded:?}"
    );
    assert!(bounded.mean_delay_s.mean > ideal.mean_delay_s.mean);
}

#[test]
fn the_estimate_finds_the_loss_and_the_redundancy_follows() {
    let adaptive = Rest {
        redundancy: Redundancy::Adaptive,
        packets: 8_000,
        runs: 20,
        ..table_3(0.0)
    };
    let got = adaptive.run(2, &silent).unwrap();
    assert!((got.estimated_loss.mean - 0.15).abs() < 0.02, "{got:?}");
    // k = 5 at 15 %, with the variation of the estimate; the first round trips have no repairs.
    assert!((0.15..0.23).contains(&got.inline_overhead.mean), "{got:?}");
    let bursts = Loss::Bursts {
        chance: 0.01,
        longest: 20,
    };
    let got = Rest {
        loss: bursts,
        ..adaptive
    }
    .run(2, &silent)
    .unwrap();
    // Cycles of 100 packets that arrive and 10.5 that are lost.
    assert!(
        (got.estimated_loss.mean - 10.5 / 110.5).abs() < 0.03,
        "{got:?}"
    );
}

#[test]
fn without_loss_packets_take_the_one_way_delay() {
    let clean = Rest {
        loss: Loss::Slots("0".parse().unwrap()),
        runs: 2,
        ..table_3(0.0)
    };
    let got = clean.run(1, &silent).unwrap();
    assert!((got.mean_delay_s.mean - 0.15).abs() < 1e-9 && got.std_delay_s.mean < 1e-6);
    assert!((got.duration_s.mean - (2330.0 * 0.008 + 0.15)).abs() < 1e-9);
    assert_eq!(got.overhead.mean, 0.0);
}
