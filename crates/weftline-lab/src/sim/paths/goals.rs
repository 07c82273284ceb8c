//! What several paths must reach.

use serde::Serialize;

use super::{Row, Studied, median};

/// A delay is not worse if it differs by no more than this: the precision of percentiles and a little.
const SAME: f64 = 1.01;
/// Both paths use as many bytes as one if they use no more than this.
const EQUAL_BYTES: f64 = 1.02;

/// A goal, and who misses it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Goal {
    /// What must be true.
    pub what: &'static str,
    /// Of how many cases it is asked.
    pub cases: usize,
    /// Those that miss it, with the value.
    pub missed: Vec<String>,
}

/// A goal of cases that give a value; those for which it is not good are told.
fn goal<T>(
    what: &'static str,
    cases: impl IntoIterator<Item = T>,
    judge: impl Fn(&T) -> (bool, String),
) -> Goal {
    let (mut count, mut missed) = (0, Vec::new());
    for case in cases {
        count += 1;
        let (good, told) = judge(&case);
        if !good {
            missed.push(told);
        }
    }
    Goal {
        what,
        cases: count,
        missed,
    }
}

impl Row {
    /// Goodput over both paths as a share of what they can carry.
    pub fn share(&self) -> f64 {
        self.bulk[2].goodput_mbit / self.ceiling_mbit
    }

    /// The same as a share of what both paths carry alone.
    pub fn share_of_alone(&self) -> f64 {
        let [a, b, both] = self.bulk.map(|bulk| bulk.goodput_mbit);
        both / (a + b)
    }

    /// The path alone with the shorter 99th percentile.
    fn better(&self) -> usize {
        usize::from(self.stream[1].p99 < self.stream[0].p99)
    }

    /// The 99th percentile over both paths for that of the better path alone; and the same for what
    /// exceeds the delay of the faster path.
    pub fn p99_ratio(&self) -> (f64, f64) {
        let (alone, both) = (self.stream[self.better()].p99, self.stream[2].p99);
        let added = (both - self.delay_ms) / (alone - self.delay_ms);
        (both / alone, added)
    }
}

/// Judges what was measured.
pub fn goals(studied: &Studied) -> Vec<Goal> {
    let rows = &studied.rows;
    let best = |row: &Row| row.bulk[0].goodput_mbit.max(row.bulk[1].goodput_mbit);
    let shares = median(rows.iter().map(Row::share));
    let mut all = vec![
        goal("bulk: never below the better path alone", rows, |row| {
            let ratio = row.bulk[2].goodput_mbit / best(row);
            (ratio >= 1.0, format!("{} x{ratio:.3}", row.pair))
        }),
        goal("bulk: at least 0.80 of what both carry", rows, |row| {
            (
                row.share() >= 0.8,
                format!("{} {:.2}", row.pair, row.share()),
            )
        }),
        goal(
            "bulk: at least 0.90 of it in the median",
            Some(shares).filter(|share| !share.is_nan()),
            |share| (*share >= 0.9, format!("{share:.2}")),
        ),
        goal(
            "stream: p99 never above that of the better path alone",
            rows,
            |row| {
                let (ratio, _) = row.p99_ratio();
                (ratio <= SAME, format!("{} x{ratio:.2}", row.pair))
            },
        ),
        goal(
            "stream: where both lose, what p99 exceeds the path's delay by is at most half, at equal bytes",
            rows.iter().filter(|row| row.loses_on_both),
            |row| {
                let (_, added) = row.p99_ratio();
                let bytes = row.stream[2].wire / row.stream[row.better()].wire;
                let good = added <= 0.5 && bytes <= EQUAL_BYTES;
                (good, format!("{} x{added:.2}, bytes x{bytes:.2}", row.pair))
            },
        ),
    ];
    let cuts = &studied.cuts;
    all.extend([
        goal(
            "cut: no message is lost, or later than 150 ms and the other path's delay",
            cuts,
            |cut| {
                let good = cut.missing == 0.0 && cut.max_ms <= cut.limit_ms;
                let told = format!("{} {:.0} ms, {:.0} lost", cut.pair, cut.max_ms, cut.missing);
                (good, told)
            },
        ),
        goal("cut: in full use 2 s after its return", cuts, |cut| {
            let good = cut.after >= 0.9 * cut.before;
            (
                good,
                format!("{} {:.2} of {:.2}", cut.pair, cut.after, cut.before),
            )
        }),
        goal("recorded pairs: p99 at most 0.28 of the better link's alone, with less than 10 % redundancy", &studied.recorded, |pair| {
            let (ratio, redundancy) = (pair.p99_ratio(), pair.stream[2].redundancy);
            let told = format!("{} x{ratio:.2}, {:.0} %", pair.pair.join(" + "), redundancy * 1e2);
            (ratio <= 0.28 && redundancy < 0.1, told)
        }),
        goal(
            "one bottleneck: two paths get at most 1.2 times what one gets",
            &studied.shared,
            |shared| {
                let ratio = shared.two_mbit / shared.one_mbit;
                (ratio <= 1.2, format!("beside {} x{ratio:.2}", shared.other))
            },
        ),
    ]);
    all.retain(|goal| goal.cases > 0);
    all
}

#[cfg(test)]
mod tests {
    use super::super::{Bulk, Cut, Recorded, Shared, Stream};
    use super::*;

    fn bulk(goodput_mbit: f64) -> Bulk {
        Bulk {
            goodput_mbit,
            late_mbit: goodput_mbit,
            wire: 1.1,
            second_share: None,
        }
    }

    fn stream(p99: f64) -> Stream {
        Stream {
            p50: 20.0,
            p99,
            max: p99,
            missing: 0.0,
            wire: 1.2,
            redundancy: 0.05,
            second_share: None,
        }
    }

    /// What reaches every goal, barely.
    fn good() -> Studied {
        let row = Row {
            pair: "pair".to_owned(),
            ceiling_mbit: 100.0,
            delay_ms: 20.0,
            loses_on_both: true,
            bulk: [50.0, 90.0, 90.0].map(bulk),
            stream: [40.0, 80.0, 30.0].map(stream),
        };
        let cut = Cut {
            pair: "pair",
            missing: 0.0,
            max_ms: 170.0,
            limit_ms: 170.0,
            p99_ms: 30.0,
            before: 1.0,
            after: 0.9,
            other: 1.0,
            bulk: bulk(80.0),
        };
        let shared = Shared {
            other: "other",
            one_mbit: 20.0,
            two_mbit: 24.0,
            other_mbit: [20.0, 16.0],
        };
        let recorded = Recorded {
            pair: ["a", "b"].map(str::to_owned),
            offered_mbit: 10.0,
            stream: [100.0, 200.0, 28.0].map(stream),
        };
        Studied {
            payload_share: 0.94,
            rows: vec![row],
            cuts: vec![cut],
            shared: vec![shared],
            recorded: vec![recorded],
        }
    }

    /// The goals that are missed.
    fn missed(change: impl FnOnce(&mut Studied)) -> Vec<&'static str> {
        let mut studied = good();
        change(&mut studied);
        let goals = goals(&studied);
        assert_eq!(goals.len(), 9);
        let missed = goals.iter().filter(|goal| !goal.missed.is_empty());
        missed.map(|goal| goal.what).collect()
    }

    #[test]
    fn each_goal_has_its_own_bound() {
        assert!(missed(|_| ()).is_empty());
        let one = |what: &str, change: fn(&mut Studied)| {
            let missed = missed(change);
            assert!(
                missed.len() == 1 && missed[0].contains(what),
                "{what}: {missed:?}"
            );
        };
        one("never below", |s| s.rows[0].bulk[1] = bulk(90.1));
        one("0.90 of it in the median", |s| {
            s.rows[0].ceiling_mbit = 101.0
        });
        one("where both lose", |s| s.rows[0].stream[2] = stream(30.1));
        one("where both lose", |s| s.rows[0].stream[2].wire = 1.3);
        one("no message is lost", |s| s.cuts[0].missing = 1.0);
        one("no message is lost", |s| s.cuts[0].max_ms = 171.0);
        one("full use", |s| s.cuts[0].after = 0.89);
        one("one bottleneck", |s| s.shared[0].two_mbit = 24.1);
        one("recorded", |s| s.recorded[0].stream[2] = stream(29.0));
        one("recorded", |s| s.recorded[0].stream[2].redundancy = 0.1);
        let low = missed(|s| s.rows[0].ceiling_mbit = 113.0);
        assert!(
            low.len() == 2 && low[0].contains("at least 0.80"),
            "{low:?}"
        );
        let slow = missed(|s| s.rows[0].stream[2] = stream(40.3));
        assert_eq!(slow.len(), 1, "a percentile has an error: {slow:?}");
        let slow = missed(|s| s.rows[0].stream[2] = stream(41.0));
        assert!(
            slow.len() == 2 && slow[0].contains("p99 never above"),
            "{slow:?}"
        );
    }

    #[test]
    fn what_was_not_run_is_not_judged() {
        let mut studied = good();
        studied.shared.clear();
        studied.recorded.clear();
        assert_eq!(goals(&studied).len(), 7);
        studied.rows.clear();
        studied.cuts.clear();
        assert!(goals(&studied).is_empty());
    }
}
