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
        series: false,
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
    // k = 5 at 15 %, with the variation of the estimate.
    assert!((0.16..0.24).contains(&got.inline_repairs.mean), "{got:?}");
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
        (got.estimated_loss.mean - bursts.mean()).abs() < 0.03,
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
    // Nothing is lost: no repair before the end, and all at the end are useless. The last packet
    // arrives at 18.79 s, the acknowledgement of 18.8 s reaches the sender at 18.95 s, and a repair
    // is sent each 8 ms from 18.648 s.
    assert_eq!(got.inline_repairs.mean, 0.0);
    assert!((got.repairs.mean * 2331.0 - 38.0).abs() < 1e-9, "{got:?}");
    assert_eq!(got.useless_share.mean, 38.0 / 2369.0);
    // From 0.2 to 18.8 s, each 0.2 s.
    assert_eq!(got.acknowledgements.mean, 94.0);
    assert!((got.overhead.mean - (38.0 + 94.0) / (2369.0 + 94.0)).abs() < 1e-12);
}

#[test]
fn a_series_tells_the_first_stream_over_time() {
    let told = Rest {
        series: true,
        runs: 3,
        ..table_3(0.2)
    };
    let got = told.run(2, &silent).unwrap();
    let series = got.series.clone().unwrap();
    assert_eq!(series.ack_s.len(), series.acknowledged.len());
    assert!(series.ack_s.is_sorted() && series.acknowledged.is_sorted());
    assert_eq!(series.acknowledged.last(), Some(&2331));
    // Round trip 0.3 s: the first acknowledgement leaves at 0.2 s.
    assert!((series.ack_s[0] - 0.35).abs() < 1e-9);
    assert_eq!(series.spacing[0], 5);
    let decoded: u32 = series.matrix.iter().sum();
    // All lost packets are decoded: 15 % of 2331, with a standard deviation of 17.
    assert!((decoded as f64 - 350.0).abs() < 70.0, "{decoded}");
    let alone = Rest { runs: 1, ..told }.run(1, &silent).unwrap();
    assert_eq!(alone.series, got.series);
    assert_eq!(
        f64::from(*series.matrix.iter().max().unwrap()),
        alone.largest_matrix.mean
    );
    assert!(table_3(0.2).run(2, &silent).unwrap().series.is_none());
}

#[test]
fn redundancy_below_the_losses_leaves_one_large_decoding() {
    let got = table_3(0.0).run(2, &silent).unwrap();
    assert!(
        got.decodings.mean < 3.0 && got.largest_matrix.mean > 300.0,
        "{got:?}"
    );
    let got = table_3(0.3).run(2, &silent).unwrap();
    assert!(got.largest_matrix.mean < 60.0, "{got:?}");
}
