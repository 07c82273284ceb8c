//! Compares with results of others: independent simulations of the same model (values marked
//! "short run" have no standard error), and closed forms for blocks.

use std::num::NonZeroUsize;

use weftline_fecframe::{CodeRate, Elimination};
use weftline_netem::LossModel;

use super::{Code, Experiment, Outcome, WindowCode, run_all};
use crate::theory::fecframe::{block_latency, block_residual};

fn window(ew: u16, linear_system: u32) -> WindowCode {
    WindowCode {
        linear_system,
        ..WindowCode::new(ew, linear_system)
    }
}

fn run(code: Code, decoding_window: u32, loss: f64, symbols: u64) -> Outcome {
    let experiment = Experiment {
        code,
        code_rate: CodeRate::new(2, 3).unwrap(),
        decoding_window,
        loss: LossModel::iid(loss),
        symbols,
        symbol_size: 8,
    };
    let outcomes = run_all(&[experiment], 1, 1, NonZeroUsize::MIN, |_, _| {});
    outcomes.unwrap().remove(0)
}

/// Whether two estimates differ by at most four standard errors.
fn agree(ours: f64, stderr: f64, theirs: f64, their_stderr: f64) -> bool {
    (ours - theirs).abs() <= 4.0 * stderr.hypot(their_stderr)
}

#[test]
fn a_decoder_that_keeps_equations_has_its_share_on_time_with_the_smallest_system() {
    // 60,000 symbols: 0.9726 with a standard error of 0.004, for ls 167 and 400 alike.
    for ls in [167, 400] {
        let got = run(Code::Window(window(83, ls)), 167, 0.3, 100_000);
        let share = got.on_time;
        assert!(
            agree(share.mean, share.stderr, 0.9726, 0.004),
            "ls {ls}: {share:?}"
        );
        assert!(share.stderr < 0.01, "{share:?} says nothing");
    }
}

#[test]
fn a_decoder_that_discards_equations_needs_a_large_system() {
    // Losses that defeat it come in long runs, so the batches of a short run underestimate its
    // error. The spreads are those of 60,000 symbols, from 20 runs of 100,000; the other shares
    // are of runs about as long.
    let mut before = 0.0;
    let points = [
        (167, 0.745, 0.018),
        (200, 0.80, 0.025),
        (400, 0.938, 0.010),
        (800, 0.979, 0.0065),
    ];
    for (ls, theirs, spread) in points {
        let code = WindowCode {
            elimination: Elimination::Discarding,
            ..window(83, ls)
        };
        let share = run(Code::Window(code), 167, 0.3, 60_000).on_time.mean;
        assert!(agree(share, spread, theirs, spread), "ls {ls}: {share}");
        assert!(share > before, "ls {ls}: {share}");
        before = share;
    }
}

#[test]
fn the_latency_of_windows_matches_simulations_of_ideal_codes() {
    // dw, ew, ls, loss, mean latency of 60,000 symbols: with the same uncertainty as Weftline's.
    let points = [
        (167, 83, 400, 0.05, 0.043),
        (167, 83, 400, 0.15, 0.520),
        (38, 19, 200, 0.15, 0.521),
        (38, 19, 200, 0.25, 4.898),
    ];
    for (dw, ew, ls, loss, theirs) in points {
        let got = run(Code::Window(window(ew, ls)), dw, loss, 60_000);
        let latency = got.latency;
        assert!(
            agree(latency.mean, latency.stderr, theirs, latency.stderr),
            "dw {dw} at {loss}: {latency:?} against {theirs}"
        );
        assert!(
            latency.stderr < 0.1 * latency.mean,
            "{latency:?} is too uncertain"
        );
    }
}

/// Share on time and mean latency of blocks of k with r repairs. The mean does not cover blocks
/// that are not decoded.
fn block_theory(k: u32, repairs: u32, loss: f64) -> (f64, f64) {
    let on_time = 1.0 - block_residual(k, repairs.into(), loss).unwrap();
    let latency = block_latency(k, loss).unwrap();
    (on_time, latency)
}

#[test]
fn blocks_match_the_closed_forms() {
    for (k, repairs, loss, symbols) in [
        (167, 83, 0.05, 30_000),
        (167, 83, 0.15, 30_000),
        (38, 19, 0.05, 20_000),
        (38, 19, 0.15, 20_000),
    ] {
        let got = run(Code::Block(k as u16), k, loss, symbols);
        let (on_time, latency) = block_theory(k, repairs, loss);
        let ours = got.latency;
        assert!(
            agree(ours.mean, ours.stderr, latency, 0.0),
            "k {k} at {loss}: {ours:?}, {latency}"
        );
        assert!(
            (got.on_time.mean - on_time).abs() < 5e-4,
            "{:?}, {on_time}",
            got.on_time
        );
        assert!(got.latency_quantiles[5] <= k);
    }
    // Where blocks often fail.
    let share = run(Code::Block(38), 38, 0.30, 40_000).on_time;
    let (theory, _) = block_theory(38, 19, 0.30);
    assert!(
        theory < 0.95 && agree(share.mean, share.stderr, theory, 0.0),
        "{share:?}, {theory}"
    );
}

#[test]
fn the_real_block_codec_decodes_what_an_ideal_one_does() {
    let told = |code, loss| {
        let outcome = run(code, 38, loss, 20_000);
        (
            outcome.on_time,
            outcome.lost,
            outcome.histogram,
            outcome.recovered_after,
        )
    };
    for loss in [0.05, 0.30] {
        assert_eq!(
            told(Code::Block(38), loss),
            told(Code::Ideal(38), loss),
            "{loss}"
        );
    }
}

#[test]
fn sessions_add_up_to_the_outcome() {
    let experiment = Experiment {
        code: Code::Window(window(19, 200)),
        code_rate: CodeRate::new(2, 3).unwrap(),
        decoding_window: 38,
        loss: LossModel::iid(0.25),
        symbols: 3000,
        symbol_size: 8,
    };
    let outcome = &run_all(&[experiment], 4, 3, NonZeroUsize::MIN, |_, _| {}).unwrap()[0];
    let sessions = &outcome.sessions;
    assert_eq!(
        sessions.iter().map(|s| s.seed).collect::<Vec<_>>(),
        [4, 5, 6]
    );
    let mean = sessions.iter().map(|s| s.on_time).sum::<f64>() / 3.0;
    assert!((mean - outcome.on_time.mean).abs() < 1e-12);
    let lost: u64 = sessions.iter().map(|s| s.recovered_after.total()).sum();
    assert_eq!(lost, outcome.recovered_after.total());
    // Recovered in time or late, but never more than were lost.
    let recovered = lost as f64 / 9000.0;
    let (in_time, late) = (outcome.on_time.mean - (1.0 - outcome.lost), outcome.late);
    assert!((recovered - in_time - late).abs() < 1e-9 && late > 0.0);
}

#[test]
fn the_closed_forms_are_near_simulations_of_ideal_blocks() {
    // Values of the papers' notes; as 60,000 symbols are 359 blocks, within a tick.
    for (k, loss, theirs) in [
        (167, 0.05, 67.412),
        (167, 0.15, 78.509),
        (38, 0.05, 8.616),
        (38, 0.15, 14.659),
    ] {
        let (_, latency) = block_theory(k, k / 2, loss);
        assert!((latency - theirs).abs() < 1.0, "{latency}, {theirs}");
    }
}

#[test]
fn a_run_is_the_same_each_time_and_on_any_number_of_threads() {
    let experiment = |code| Experiment {
        code,
        code_rate: CodeRate::new(2, 3).unwrap(),
        decoding_window: 40,
        loss: "ge:10%,4".parse().unwrap(),
        symbols: 2000,
        symbol_size: 32,
    };
    let codes = [
        Code::Window(WindowCode::new(20, 40)),
        Code::Window(WindowCode::new(20, 40).binary()),
        Code::Block(30),
    ];
    let all = codes.map(experiment);
    let run = |jobs| {
        let jobs = NonZeroUsize::new(jobs).unwrap();
        let outcomes = run_all(&all, 5, 2, jobs, |_, _| {}).unwrap();
        let told = |o: &Outcome| (o.on_time, o.late, o.lost, o.histogram.clone());
        outcomes.iter().map(told).collect::<Vec<_>>()
    };
    let once = run(1);
    assert_eq!(once, run(4));
    // All have the same losses; GF(2) is no better than GF(2^8).
    assert!(once[0].0.mean >= once[1].0.mean && once[0].2 > 0.05);
}

#[test]
fn a_report_has_the_charts_of_its_outcomes_and_is_well_formed() {
    let mut all = super::paper(400, 16).unwrap();
    all.extend(super::beyond(400, 16).unwrap());
    let jobs = NonZeroUsize::new(2).unwrap();
    let outcomes = run_all(&all, 1, 1, jobs, |_, _| {}).unwrap();
    let pictures = super::pictures(&outcomes);
    assert_eq!(pictures.len(), 10);
    for picture in &pictures {
        assert!(picture.svg.contains("<polyline"), "{}", picture.name);
        let file = picture.file();
        assert!(file.starts_with("<svg xmlns=") && file.ends_with("</style></svg>"));
    }
    let page = super::page(&outcomes, "weftline <x>");
    assert!(page.contains("weftline &lt;x&gt;") && !page.contains("NaN"));
    for tag in ["svg", "table", "figure", "main", "details"] {
        let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
        assert_eq!(
            page.matches(&open).count(),
            page.matches(&close).count(),
            "{tag}"
        );
    }
    let csv = super::results_csv(&outcomes);
    assert_eq!(csv.lines().count(), all.len() + 1);
    assert!(super::latencies_csv(&outcomes).lines().count() > all.len());
    // A set without some codes has fewer charts, but complete ones.
    assert!(super::pictures(&outcomes[..11]).len() < 10);
    assert!(super::pictures(&[]).is_empty());
}
