//! The promises of suite M.

use super::super::results::{CaseResults, Row};
use super::super::suites::paths::{NOTICED, SILENT};
use super::super::table::short;
use super::{Judged, Promise, row};

/// Ours over both links, and over each alone.
const BOTH: &str = "weftline/paths=lab0+lab1";
const ALONE: [&str; 2] = ["weftline/paths=lab0", "weftline/paths=lab1"];
/// A second run of the same is not the same.
const NOISE: f64 = 1.05;
/// What a failing link may cost a message beyond the delay of the other one, in ms.
const CUT_MS: f64 = 150.0;

pub(super) const PROMISES: [Promise; 7] = [
    (
        "bulk: both links carry no less than the better one alone",
        |case| {
            let (both, alone) = (goodput(case, BOTH)?, alone(case, "goodput")?);
            let better = alone[0].max(alone[1]);
            let told = format!("{} beside {} Mbit/s", short(both), short(better));
            Some(judged(both * NOISE >= better, better / both, told))
        },
    ),
    ("bulk: at least 0.80 of what both carry", |case| {
        let share = row(case, BOTH)?.median("ceiling")?;
        Some(judged(share >= 0.8, -share, short(share)))
    }),
    ("bulk: no less than multipath TCP", |case| {
        let (both, peer, best) = best(case, "goodput", |a, b| a > b)?;
        let told = format!("{} beside {} Mbit/s of {peer}", short(both), short(best));
        Some(judged(both >= best, best / both, told))
    }),
    (
        "stream: 99th percentile no higher than over the better link alone",
        |case| {
            if failure(case).is_some() {
                return None;
            }
            let (both, alone) = (p99(case, BOTH)?, alone(case, "p99")?);
            let better = alone[0].min(alone[1]);
            let told = format!("{} beside {} ms", short(both), short(better));
            Some(judged(both <= better * NOISE, both / better, told))
        },
    ),
    (
        "stream: the lowest 99th percentile of all that take both links",
        |case| {
            if failure(case).is_some() {
                return None;
            }
            let (both, peer, best) = best(case, "p99", |a, b| a < b)?;
            let told = format!("{} beside {} ms of {peer}", short(both), short(best));
            Some(judged(both <= best, both / best, told))
        },
    ),
    (
        "a cut without notice: nothing lost, 150 ms and the other link's delay at most",
        |case| survives(case, SILENT),
    ),
    (
        "an interface goes down: nothing lost, 150 ms and the other link's delay at most",
        |case| survives(case, NOTICED),
    ),
];

fn judged(is_kept: bool, badness: f64, numbers: String) -> Judged {
    Judged {
        is_kept,
        badness,
        numbers,
    }
}

fn goodput(case: &CaseResults, peer: &str) -> Option<f64> {
    // Of a stream it says only that the stream arrived.
    let is_bulk = case.mode == "bulk";
    is_bulk
        .then(|| row(case, peer)?.median("goodput"))
        .flatten()
}

/// Messages that never came are among the delays, with the time for which the receiver waited.
fn p99(case: &CaseResults, peer: &str) -> Option<f64> {
    row(case, peer)?.median("p99")
}

fn alone(case: &CaseResults, key: &str) -> Option<[f64; 2]> {
    let of = |peer: &str| row(case, peer)?.median(key);
    Some([of(ALONE[0])?, of(ALONE[1])?])
}

/// Our value over both links, and the best of the others that take both.
fn best<'a>(
    case: &'a CaseResults,
    key: &str,
    is_better: fn(f64, f64) -> bool,
) -> Option<(f64, &'a str, f64)> {
    if (key == "goodput") != (case.mode == "bulk") {
        return None;
    }
    let ours = row(case, BOTH)?.median(key)?;
    let takes_both = |row: &&Row| {
        let share = row.median("second share");
        let is_other = !row.peer.starts_with("weftline");
        is_other && share.is_some_and(|share| share > 0.0)
    };
    let others = case.rows.iter().filter(takes_both);
    let others = others.filter_map(|row: &Row| Some((row.peer.as_str(), row.median(key)?)));
    let best = others.reduce(|a, b| if is_better(b.1, a.1) { b } else { a })?;
    Some((ours, best.0, best.1))
}

/// How a link fails in this case, if one does.
fn failure(case: &CaseResults) -> Option<&'static str> {
    [SILENT, NOTICED]
        .into_iter()
        .find(|how| case.name.ends_with(&format!(", {how}")))
}

fn survives(case: &CaseResults, how: &str) -> Option<Judged> {
    if failure(case) != Some(how) {
        return None;
    }
    let ours = row(case, BOTH)?;
    let (missing, longest) = (ours.median("missing")?, ours.median("max")?);
    let limit = CUT_MS + ours.median("second delay")?;
    let told = format!(
        "{} ms of {} ms, {} % missing",
        short(longest),
        short(limit),
        short(missing)
    );
    let is_kept = missing == 0.0 && longest <= limit;
    Some(judged(is_kept, longest / limit, told))
}

#[cfg(test)]
mod tests {
    use super::super::super::suite::View;
    use super::super::tests::case;
    use super::super::verdicts;
    use super::*;

    fn told(cases: &[CaseResults]) -> Vec<(usize, usize)> {
        let all = verdicts(View::Paths, cases);
        all.iter().map(|v| (v.kept, v.cases)).collect()
    }

    #[test]
    fn bulk_is_judged_by_what_each_link_carries_and_by_multipath_tcp() {
        let bulk = |both: f64, share: f64, mptcp: f64| CaseResults {
            mode: "bulk".into(),
            ..case(
                "x, bulk",
                "",
                &[],
                &[
                    (BOTH, &[("goodput", both), ("ceiling", share)][..]),
                    (ALONE[0], &[("goodput", 40.0)]),
                    (ALONE[1], &[("goodput", 20.0)]),
                    (
                        "tcp/bbr,paths=all",
                        &[("goodput", mptcp), ("second share", 0.4)],
                    ),
                    ("tcp/bbr", &[("goodput", 99.0), ("second share", 0.0)]),
                ],
            )
        };
        let cases = [bulk(57.0, 0.9, 50.0), bulk(30.0, 0.5, 50.0)];
        assert_eq!(told(&cases), [(1, 2), (1, 2), (1, 2)]);
    }

    #[test]
    fn a_stream_is_judged_by_delay_and_a_cut_by_its_longest() {
        let stream = |name: &str, p99: f64, max: f64, missing: f64| {
            case(
                name,
                "",
                &[],
                &[
                    (
                        BOTH,
                        &[
                            ("p99", p99),
                            ("max", max),
                            ("missing", missing),
                            ("second delay", 45.0),
                            ("goodput", 10.0),
                        ][..],
                    ),
                    (ALONE[0], &[("p99", 40.0)]),
                    (ALONE[1], &[("p99", 60.0)]),
                    ("rist", &[("p99", 90.0), ("second share", 0.5)]),
                    ("tcp/bbr", &[("p99", 20.0), ("second share", 0.0)]),
                ],
            )
        };
        let cases = [
            stream("a, stream", 41.0, 50.0, 0.0),
            stream("b, stream", 95.0, 99.0, 0.0),
            stream("c, cut", 500.0, 195.0, 0.0),
            stream("d, cut", 30.0, 196.0, 0.0),
            stream("e, interface down", 30.0, 40.0, 0.1),
        ];
        assert_eq!(told(&cases), [(1, 2), (1, 2), (1, 2), (0, 1)]);
    }
}
