//! The promises of suite R.

use super::super::results::{CaseResults, Row};
use super::super::table::short;
use super::{Judged, Promise, row};
use crate::recordings::{Numbers, never_worse};

/// What is judged, by what, and the peer whose queue is compared.
const OURS: &str = "weftline";
const NONE: &str = "weftline/arq";
const BBR: &str = "tcp/bbr";

pub(super) const PROMISES: [Promise; 9] = [
    ("bulk: goodput at least 0.9 of the capacity", capacity),
    (
        "bulk: 95th percentile of the queue at most half of TCP BBR's",
        queue,
    ),
    ("stream: the best 99th percentile (90 % of cases)", |case| {
        best(case, false, false)
    }),
    (
        "stream: the same at no more bytes than the best peer (90 % of cases)",
        |case| best(case, false, true),
    ),
    ("video: the best 99th percentile (90 % of cases)", |case| {
        best(case, true, false)
    }),
    (
        "video: the same at no more bytes than the best peer (90 % of cases)",
        |case| best(case, true, true),
    ),
    (
        "never worse than none: goodput within 5 % of arq's",
        |case| none(case, "goodput"),
    ),
    (
        "never worse than none: 99th percentile within 5 % of arq's",
        |case| none(case, "p99"),
    ),
    (
        "never worse than none: at most 2 % more bytes where nothing is lost",
        |case| none(case, "bytes"),
    ),
];

fn capacity(case: &CaseResults) -> Option<Judged> {
    let share = row(case, OURS)?.median("share")?;
    Some(Judged {
        is_kept: share >= 0.9,
        badness: -share,
        numbers: short(share),
    })
}

fn queue(case: &CaseResults) -> Option<Judged> {
    row(case, OURS)?.median("share")?;
    let of = |peer| row(case, peer)?.median("queue95");
    let (ours, theirs) = (of(OURS)?, of(BBR)?);
    Some(Judged {
        is_kept: ours <= theirs / 2.0,
        badness: ours / theirs,
        numbers: format!("{} ms beside {}", short(ours), short(theirs)),
    })
}

/// Whether no other transport has a lower 99th percentile.
fn best(case: &CaseResults, video: bool, with_bytes: bool) -> Option<Judged> {
    if case.settings.iter().any(|setting| setting == "video=1") != video {
        return None;
    }
    let of = |row: &Row| Some((row.median("p99")?, row.median("wire")?));
    let ours = of(row(case, OURS)?)?;
    let others = case.rows.iter().filter(|row| !row.peer.starts_with(OURS));
    let others = others.filter_map(|row| Some((row, of(row)?)));
    let (peer, theirs) = others.min_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    Some(Judged {
        is_kept: ours.0 <= theirs.0 && (!with_bytes || ours.1 <= theirs.1),
        badness: ours.0 / theirs.0,
        numbers: format!(
            "{} ms ({}), {} {} ms ({})",
            short(ours.0),
            short(ours.1),
            peer.peer,
            short(theirs.0),
            short(theirs.1)
        ),
    })
}

fn none(case: &CaseResults, what: &str) -> Option<Judged> {
    let of = |peer| {
        let row = row(case, peer)?;
        Some(Numbers {
            goodput: row.median("goodput")?,
            p99: row.median("p99"),
            wire: row.median("wire")?,
        })
    };
    let (ours, none) = (of(OURS)?, of(NONE)?);
    let is_lossless = !case.link.contains(" loss=");
    let can_tell = match what {
        "p99" => ours.p99.is_some() && none.p99.is_some(),
        "bytes" => is_lossless,
        _ => true,
    };
    if !can_tell {
        return None;
    }
    let worse = never_worse(&ours, &none, is_lossless);
    let worse = worse.into_iter().find(|worse| worse.what == what);
    Some(Judged {
        is_kept: worse.is_none(),
        badness: worse.map_or(0.0, |worse| {
            if what == "goodput" {
                -worse.ratio
            } else {
                worse.ratio
            }
        }),
        numbers: worse.map_or(String::new(), |worse| format!("x{:.3}", worse.ratio)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::suite::View;
    use super::super::Verdict;
    use super::super::tests::case;
    use super::*;

    fn verdicts(cases: &[CaseResults]) -> Vec<Verdict> {
        super::super::verdicts(View::Recorded, cases)
    }

    #[test]
    fn promises_are_counted_and_the_worst_case_is_first() {
        let bulk = |name, share, ours, bbr| {
            case(
                name,
                "rate=trace:x",
                &[],
                &[
                    (
                        "weftline",
                        &[
                            ("share", share),
                            ("goodput", share),
                            ("queue95", ours),
                            ("wire", 1.10),
                        ][..],
                    ),
                    ("weftline/arq", &[("goodput", 0.93), ("wire", 1.06)]),
                    ("tcp/bbr", &[("share", 0.9), ("queue95", bbr)]),
                ],
            )
        };
        let cases = [
            bulk("a", 0.92, 10.0, 30.0),
            bulk("b", 0.85, 20.0, 30.0),
            bulk("c", 0.5, 10.0, 30.0),
        ];
        let verdicts = verdicts(&cases);
        let of = |part: &str| verdicts.iter().find(|v| v.promise.contains(part)).unwrap();
        let capacity = of("0.9 of the capacity");
        assert_eq!((capacity.kept, capacity.cases), (1, 3));
        assert_eq!(capacity.worst, ["c: 0.500", "b: 0.850"]);
        assert_eq!(of("queue").worst, ["b: 20.0 ms beside 30.0"]);
        assert_eq!(
            (of("goodput within").kept, of("more bytes where").kept),
            (1, 0)
        );
        assert!(
            verdicts.iter().all(|v| !v.promise.contains("99th")),
            "{verdicts:?}"
        );
    }

    #[test]
    fn the_best_delay_counts_only_at_no_more_bytes() {
        let stream = |settings: &[&str], ours, wire| {
            case(
                "s",
                "rate=trace:x loss=iid:1%",
                settings,
                &[
                    (
                        "weftline",
                        &[("p99", ours), ("wire", wire), ("goodput", 1.0)][..],
                    ),
                    (
                        "weftline/arq",
                        &[("p99", 50.0), ("wire", 1.0), ("goodput", 1.0)],
                    ),
                    ("tcp/bbr", &[("p99", 100.0), ("wire", 1.1)]),
                    ("kcp", &[("p99", 90.0), ("wire", 1.3)]),
                ],
            )
        };
        let cases = [
            stream(&[], 80.0, 1.2),
            stream(&[], 80.0, 1.4),
            stream(&[], 95.0, 1.2),
            stream(&["video=1"], 52.0, 1.2),
        ];
        let verdicts = verdicts(&cases);
        let kept: Vec<_> = verdicts.iter().map(|v| (v.kept, v.cases)).collect();
        // Streams: the best, at no more bytes; videos; goodput, and p99 beside arq.
        assert_eq!(kept, [(2, 3), (1, 3), (1, 1), (1, 1), (4, 4), (1, 4)]);
        assert_eq!(verdicts[0].worst, ["s: 95.0 ms (1.20), kcp 90.0 ms (1.30)"]);
    }
}
