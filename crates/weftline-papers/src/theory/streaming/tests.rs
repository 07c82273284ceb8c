use super::*;

/// e, l, then p(0), p(1), p(2), p(3), p(10), E S, E S^2, E S^3, E S+, the delay bound, and a genie
/// simulation's mean delay with its standard error.
const REFERENCE: [(f64, u32, [f64; 10], f64, f64); 7] = [
    (
        0.05,
        10,
        [
            0.6302494097246091,
            0.2836122343760741,
            0.04468661082654959,
            0.017837016394149904,
            0.0006138002267765229,
            0.5672244687521482,
            1.6449509593812297,
            10.805626129728456,
            1.1974738784767573,
            6.868421052631579,
        ],
        5.57568,
        0.02767,
    ),
    (
        0.1,
        5,
        [
            0.6561,
            0.26244,
            0.043046721000000114,
            0.01694577218886001,
            0.0005239309426179905,
            0.52488,
            1.4696640000000003,
            9.027936000000002,
            1.1809800000000001,
            3.111111111111111,
        ],
        2.60600,
        0.00844,
    ),
    (
        0.02,
        25,
        [
            0.6157803365090783,
            0.29557456152435757,
            0.04550225073974801,
            0.018306002297996206,
            0.0006672214542370462,
            0.5911491230487151,
            1.7498014042241967,
            11.945941478568995,
            1.2069294595577933,
            18.122448979591837,
        ],
        14.56304,
        0.11958,
    ),
    (
        0.05,
        15,
        [
            0.48767497911552954,
            0.3413724853808707,
            0.06242955737952456,
            0.02943048865487684,
            0.003251262047653528,
            1.365489941523483,
            16.932075274891186,
            620.9155862095645,
            1.8531649206390122,
            68.52631578947368,
        ],
        65.67099,
        0.51535,
    ),
    (
        0.1,
        8,
        [
            0.4782969000000001,
            0.3348078300000001,
            0.06405501887389076,
            0.03063731695682342,
            0.003733100014360161,
            1.6740391500000007,
            31.80674385000003,
            1809.6363211499327,
            2.152336050000001,
            59.111111111111136,
        ],
        57.47689,
        0.36206,
    ),
    (
        0.01,
        50,
        [
            0.611117239532865,
            0.29944744737110385,
            0.04574937435564836,
            0.01845243270194119,
            0.0006848991500227167,
            0.5988948947422077,
            1.784706786331779,
            12.338432621478248,
            1.2100121342750727,
            36.87373737373738,
        ],
        29.64658,
        0.37255,
    ),
    (
        0.2,
        3,
        [
            0.6400000000000001,
            0.25600000000000006,
            0.049152000000000036,
            0.020971520000000066,
            0.0011066452645537856,
            0.6400000000000003,
            2.5600000000000023,
            24.64000000000005,
            1.2800000000000007,
            3.000000000000001,
        ],
        2.78197,
        0.00843,
    ),
];

fn close(got: f64, expected: f64, what: &str) {
    assert!(
        (got / expected - 1.0).abs() < 1e-6,
        "{what}: {got}, not {expected}"
    );
}

#[test]
fn closed_forms_match_the_reference_values() {
    for (e, l, expected, delay, stderr) in REFERENCE {
        let code = Streaming::new(e, l).unwrap();
        let got = [
            code.busy_time(0),
            code.busy_time(1),
            code.busy_time(2),
            code.busy_time(3),
            code.busy_time(10),
            code.mean_busy(),
            code.second_moment_busy(),
            code.third_moment_busy(),
            code.mean_busy_plus(),
            code.delay_bound(),
        ];
        for (n, (got, expected)) in got.into_iter().zip(expected).enumerate() {
            close(got, expected, &format!("e {e} l {l}, value {n}"));
        }
        let exact = code.mean_delay();
        assert!(
            (exact - delay).abs() < 4.0 * stderr,
            "e {e} l {l}: {exact}, simulated {delay}"
        );
    }
}

#[test]
fn series_give_the_moments_and_the_mean_delay() {
    for (e, l) in [
        (0.05, 10),
        (0.1, 5),
        (0.2, 3),
        (0.3, 2),
        (0.004, 200),
        (0.0007, 1000),
    ] {
        let code = Streaming::new(e, l).unwrap();
        let mut moments = [Sum::default(); 4];
        for s in 0..4_000 {
            let p = code.busy_time(s);
            let mut power = 1.0;
            for moment in &mut moments {
                moment.add(p * power);
                power *= s as f64;
            }
        }
        let expected = [
            1.0,
            code.mean_busy(),
            code.second_moment_busy(),
            code.third_moment_busy(),
        ];
        for (n, (got, expected)) in moments.into_iter().zip(expected).enumerate() {
            close(got.value(), expected, &format!("e {e} l {l}, moment {n}"));
        }
        let (mut total, mut mean) = (Sum::default(), Sum::default());
        code.delays(|delay, p| {
            total.add(p);
            mean.add(p * delay as f64);
            true
        });
        assert!(
            (total.value() - 1.0).abs() < 1e-11,
            "e {e} l {l}: {}",
            total.value()
        );
        close(
            mean.value(),
            code.mean_delay(),
            &format!("e {e} l {l}, mean delay"),
        );
    }
}

/// The walk itself, slot by slot, from every channel outcome of a few intervals.
#[test]
fn the_first_delays_match_a_count_of_all_outcomes() {
    let (e, l) = (0.2_f64, 4_usize);
    let code = Streaming::new(e, l as u32).unwrap();
    let intervals = 4;
    // From an interval in which nothing is missing: packets by delay, for busy periods that end
    // within the intervals.
    let mut packets = vec![0.0; intervals * l];
    let mut busy = vec![0.0; intervals + 1];
    for outcome in 0..1_u32 << (intervals * l) {
        let lost = |slot: usize| outcome >> slot & 1 == 1;
        let (mut missing, mut held, mut delays) = (0_usize, Vec::new(), Vec::new());
        let mut end = None;
        for slot in 0..intervals * l {
            if slot % l < l - 1 {
                missing += usize::from(lost(slot));
                if missing > 0 {
                    held.push(slot)
                } else {
                    delays.push(0)
                }
                continue;
            }
            let stalled = missing > 0;
            missing = missing.saturating_sub(usize::from(!lost(slot)));
            if missing == 0 {
                delays.extend(held.drain(..).map(|sent| slot - sent));
                end = Some((slot / l + 1, stalled));
                break;
            }
        }
        let Some((used, stalled)) = end else { continue };
        // Each outcome of the used slots occurs once for each outcome of the unused ones.
        let p: f64 = (0..intervals * l)
            .map(|s| if lost(s) { e } else { 1.0 - e })
            .product();
        busy[if stalled { used } else { 0 }] += p;
        delays.into_iter().for_each(|delay| packets[delay] += p);
    }
    for (s, p) in busy.iter().enumerate() {
        close(code.busy_time(s as u64), *p, &format!("p({s})"));
    }
    // The last interval of a busy period that ends in the r-th: P(S = r, J <= m).
    let mut joint = vec![0.0; l];
    let mut by_parts = vec![0.0; intervals * l];
    for s in 1..=intervals as u64 {
        code.late_starts(s, &mut joint);
        for r in 1..=s {
            for m in 1..l {
                let never = if r == s { joint[m] } else { 0.0 };
                by_parts[r as usize * l - m] += code.busy_time(s) - never;
            }
        }
    }
    for (delay, p) in packets
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(d, _)| d % l != 0)
    {
        close(by_parts[delay], *p, &format!("delay {delay}"));
    }
}

#[test]
// 3.14 is a value of the table.
#[allow(clippy::approx_constant)]
fn table_1_follows_from_the_printed_equations() {
    let printed = [
        (
            0.02,
            [
                (25, 0.68),
                (30, 1.93),
                (35, 7.11),
                (40, 41.74),
                (45, 769.58),
            ],
        ),
        (
            0.1,
            [(5, 3.14), (6, 8.87), (7, 32.56), (8, 190.97), (9, 3525.0)],
        ),
    ];
    for (e, row) in printed {
        for (l, operations) in row {
            let code = Streaming::new(e, l).unwrap();
            let got = code.printed().operations_per_packet;
            assert!(
                (got - operations).abs() <= 0.02_f64.max(1e-5 * operations),
                "{got} {operations}"
            );
            let honest = got / code.operations_per_packet();
            assert!((2.25..2.5).contains(&honest), "{honest}");
        }
    }
    let printed = Streaming::new(0.05, 10).unwrap().printed();
    assert!((printed.third_moment_busy - 11.829).abs() < 0.0005);
    let bound = Streaming::new(0.1, 5).unwrap().printed().delay_bound_slots;
    assert!((bound - 2.489).abs() < 0.0005, "{bound}");
}

#[test]
fn long_spacings_near_the_limit_stay_finite_and_add_up() {
    for (e, l) in [(0.99e-3, 1000), (0.0495, 20), (0.33, 3)] {
        let code = Streaming::new(e, l).unwrap();
        assert!(code.mean_delay() > 0.0 && code.mean_delay() < code.delay_bound());
        // The median of a distribution with so long a tail is small.
        let median = code.delay_quantile(0.5).unwrap();
        assert!(median < code.mean_delay() as u64, "{median}");
    }
    let code = Streaming::new(0.99e-3, 1000).unwrap();
    let sum: f64 = (0..100_000).map(|s| code.busy_time(s)).sum();
    // P(S > s) falls as s^-1/2 up to some 1 / (1-le)^2 intervals.
    assert!(sum > 0.995 && sum < 1.0, "{sum}");
}

#[test]
fn tails_are_below_their_bounds() {
    let code = Streaming::new(0.05, 10).unwrap();
    for s in [1, 5, 20, 100] {
        let tail = 1.0 - (0..=s).map(|s| code.busy_time(s)).sum::<f64>();
        let slots = (s * 10) as f64;
        let (exact, chernoff) = (code.tail_exponent(), code.chernoff_exponent());
        assert!(
            tail <= (-slots * exact).exp() && exact > chernoff && chernoff > 0.0,
            "{s}: {tail}"
        );
    }
}

#[test]
fn without_loss_nothing_is_delayed() {
    let code = Streaming::new(0.0, 10).unwrap();
    assert_eq!(
        (code.busy_time(0), code.busy_time(1), code.busy_time(2)),
        (1.0, 0.0, 0.0)
    );
    assert_eq!(
        (code.mean_delay(), code.delay_quantile(0.999)),
        (0.0, Some(0))
    );
    assert_eq!(code.mean_busy_plus(), 1.0);
}

#[test]
fn invalid_parameters_are_refused_with_a_reason() {
    let error = Streaming::new(0.1, 10).unwrap_err();
    assert!(
        matches!(error, TheoryError::Overloaded { .. }) && error.to_string().contains("unstable")
    );
    for (e, l) in [(-0.1, 5), (1.0, 5), (f64::NAN, 5), (0.1, 1), (0.1, 0)] {
        assert!(
            matches!(Streaming::new(e, l), Err(TheoryError::Range { .. })),
            "{e} {l}"
        );
    }
}
