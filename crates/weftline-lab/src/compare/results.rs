//! The results of runs, by suite, case and peer.

use std::collections::BTreeMap;

use serde::Serialize;

use super::measures::{distribution, measures, transfers, value};
use super::record::{Identity, Record, best};
use super::statistics::Spread;
use super::suite::{Scale, Suite, View};
use super::suites;
use super::verdict::{Verdict, verdicts};

/// All results of a folder of runs. `results.json` is this.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// The version of this program.
    pub version: String,
    /// The kernel of the last run, whose TCP was measured: `Linux 6.1.0`.
    pub kernel: Option<String>,
    /// One for each suite that was run.
    pub suites: Vec<SuiteResults>,
}

/// The results of a suite.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteResults {
    /// The suite's name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its description.
    pub about: String,
    /// Its view.
    #[serde(skip)]
    pub view: View,
    /// Number of runs, each counted once, however often it was tried.
    pub runs: usize,
    /// Number of valid runs.
    pub good: usize,
    /// How late the emulator was (the 99th percentile of each run), in ms.
    pub late: Option<Spread>,
    /// The machine's load average when runs started.
    pub load_average: Option<Spread>,
    /// Share of each run's time in which some process waited for a processor.
    pub waiting: Option<Spread>,
    /// The cases.
    pub cases: Vec<CaseResults>,
    /// What the suite promises, and where it is not kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<Verdict>,
}

/// The results of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseResults {
    /// The case's name.
    pub name: String,
    /// The links from sender to receiver, with ` and ` in between.
    pub link: String,
    /// `bulk`, `stream` or `xfer`.
    pub mode: String,
    /// The workload's settings.
    pub settings: Vec<String>,
    /// One for each peer.
    pub rows: Vec<Row>,
}

/// The results of a peer in a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The peer.
    pub peer: String,
    /// Runs with different seeds.
    pub runs: usize,
    /// Runs in the values: the valid ones, or if there is none, those with a result.
    pub used: usize,
    /// The problems of the invalid runs.
    pub problems: Vec<String>,
    /// The values over the seeds.
    pub values: BTreeMap<&'static str, Spread>,
    /// The distribution of delays: the median over the seeds at each share, in ms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cdf: Vec<(f64, f64)>,
    /// The transfers of each run in the values, in order: ms, or null for one that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<Vec<Option<f64>>>,
}

impl Row {
    /// The median of a value.
    pub fn median(&self, key: &str) -> Option<f64> {
        self.values.get(key).map(|spread| spread.median)
    }
}

impl Results {
    /// Summarises runs, in the order of the suites if they are known.
    pub fn of(records: &[Record]) -> Results {
        let is_used = |name: &&str| records.iter().any(|r| r.what.suite == *name);
        let suites = suites::in_results().filter(is_used);
        let suites = suites.filter_map(|name| suites::by_name(name, Scale::default()));
        Results {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            kernel: records.iter().rev().find_map(|r| r.kernel.clone()),
            suites: suites
                .map(|suite| SuiteResults::of(&suite, records))
                .collect(),
        }
    }
}

impl SuiteResults {
    fn of(suite: &Suite, records: &[Record]) -> SuiteResults {
        let records: Vec<&Record> = records
            .iter()
            .filter(|r| r.what.suite == suite.name)
            .collect();
        // Only one attempt at each run counts.
        let mut groups: Vec<Vec<&Record>> = Vec::new();
        for record in &records {
            match groups.iter_mut().find(|group| group[0].what == record.what) {
                Some(group) => group.push(record),
                None => groups.push(vec![record]),
            }
        }
        let chosen: Vec<&Record> = groups.into_iter().filter_map(best).collect();
        let late = chosen.iter().filter_map(|record| {
            let measure = measures(suite.view).into_iter().find(|m| m.key == "late")?;
            value(record, suite.view, measure)
        });
        let cases = cases(suite, &chosen);
        SuiteResults {
            verdicts: verdicts(suite.view, &cases),
            name: suite.name.to_owned(),
            title: suite.title.to_owned(),
            about: suite.about.to_owned(),
            view: suite.view,
            runs: chosen.len(),
            good: chosen.iter().filter(|r| r.is_good()).count(),
            late: Spread::of(late),
            load_average: Spread::of(chosen.iter().map(|r| r.load_average)),
            waiting: Spread::of(chosen.iter().filter_map(|r| r.waiting)),
            cases,
        }
    }

    /// All peers, in the order in which they first appear.
    pub fn peers(&self) -> Vec<&str> {
        let mut peers: Vec<&str> = Vec::new();
        for row in self.cases.iter().flat_map(|case| &case.rows) {
            if !peers.contains(&row.peer.as_str()) {
                peers.push(&row.peer);
            }
        }
        peers
    }
}

/// Groups the chosen runs by case: runs on another link or with other settings belong to another
/// case, even if its name is the same.
fn cases(suite: &Suite, chosen: &[&Record]) -> Vec<CaseResults> {
    let same = |a: &Record, b: &Record| {
        let (a, b) = (&a.what, &b.what);
        let workload = |w: &Identity| (w.mode.clone(), w.settings.clone(), w.events.clone());
        (&a.case, &a.link, &a.back, &a.more) == (&b.case, &b.link, &b.back, &b.more)
            && workload(a) == workload(b)
    };
    let mut groups: Vec<Vec<&Record>> = Vec::new();
    for record in chosen {
        match groups.iter_mut().find(|group| same(group[0], record)) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    let place = |group: &Vec<&Record>| {
        let name = &group[0].what.case;
        suite
            .cases
            .iter()
            .position(|case| case.name == *name)
            .unwrap_or(usize::MAX)
    };
    groups.sort_by_key(place);
    let names: Vec<String> = groups
        .iter()
        .map(|group| group[0].what.case.clone())
        .collect();
    let results = groups.iter().map(|group| {
        let what = &group[0].what;
        let is_single = names.iter().filter(|name| **name == what.case).count() == 1;
        CaseResults {
            name: match is_single {
                true => what.case.clone(),
                false => format!("{} ({})", what.case, what.settings.join(" ")),
            },
            link: links(what),
            mode: what.mode.clone(),
            settings: what.settings.clone(),
            rows: rows(suite, group),
        }
    });
    results.collect()
}

fn links(what: &Identity) -> String {
    let more = what.more.iter().map(|more| more.link.as_str());
    let all: Vec<&str> = [what.link.as_str()].into_iter().chain(more).collect();
    all.join(" and ")
}

fn rows(suite: &Suite, records: &[&Record]) -> Vec<Row> {
    let mut peers: Vec<&str> = Vec::new();
    for record in records {
        if !peers.contains(&record.what.peer.as_str()) {
            peers.push(&record.what.peer);
        }
    }
    let order: Vec<String> = suite.peers().iter().map(|peer| peer.to_string()).collect();
    peers.sort_by_key(|peer| {
        let place = order.iter().position(|o| o == peer);
        (place.unwrap_or(usize::MAX), !peer.starts_with("weftline"))
    });
    let row = |peer: &str| {
        let all: Vec<&Record> = records
            .iter()
            .copied()
            .filter(|r| r.what.peer == peer)
            .collect();
        let mut used: Vec<&Record> = all.iter().copied().filter(|r| r.is_good()).collect();
        if used.is_empty() {
            used = all.iter().copied().filter(|r| r.error.is_none()).collect();
        }
        let values = measures(suite.view).into_iter().filter_map(|measure| {
            let values = used.iter().filter_map(|r| value(r, suite.view, measure));
            Some((measure.key, Spread::of(values)?))
        });
        let problems = all.iter().filter(|r| !r.is_good());
        Row {
            peer: peer.to_owned(),
            runs: all.len(),
            used: used.len(),
            problems: problems
                .map(|r| format!("seed {}: {}", r.what.seed, r.problem().unwrap_or_default()))
                .collect(),
            values: values.collect(),
            cdf: match suite.view {
                View::Delay | View::Window => median_curve(&used),
                _ => Vec::new(),
            },
            transfers: match suite.view {
                View::Times => used.iter().filter_map(|r| transfers(r)).collect(),
                _ => Vec::new(),
            },
        }
    };
    peers.into_iter().map(row).collect()
}

/// The median over runs at each share that all of them have.
fn median_curve(records: &[&Record]) -> Vec<(f64, f64)> {
    let curves: Vec<Vec<(f64, f64)>> = records.iter().filter_map(|r| distribution(r)).collect();
    let Some(first) = curves.first() else {
        return Vec::new();
    };
    let at = |share: f64| {
        let values = curves.iter().map(|curve| {
            let point = curve.iter().find(|(s, _)| *s == share);
            point.map(|(_, ms)| *ms)
        });
        let values: Option<Vec<f64>> = values.collect();
        Some((share, Spread::of(values?)?.median))
    };
    first.iter().filter_map(|(share, _)| at(*share)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    fn ran(peer: &str, seed: u64, mean: f64) -> Record {
        let mut record = record(peer, seed, true, None);
        record.flows = vec![super::super::Flow {
            peer: peer.into(),
            offset: 0.0,
            commands: Default::default(),
            received: Some(serde_json::json!({"mean": mean, "cdf": [[0.5, mean], [1.0, 100.0]]})),
            sent: Some(serde_json::json!({})),
        }];
        record
    }

    #[test]
    fn a_repeated_run_counts_once_with_its_valid_attempt() {
        let mut late = ran("tcp/bbr", 1, 999.0);
        late.valid = false;
        let records = [late, ran("tcp/bbr", 1, 40.0), ran("tcp/bbr", 2, 60.0)];
        let results = Results::of(&records);
        let suite = &results.suites[0];
        assert_eq!((suite.runs, suite.good, suite.cases.len()), (2, 2, 1));
        let row = &suite.cases[0].rows[0];
        // Minus the path's 30 ms.
        assert_eq!(row.median("mean"), Some(20.0));
        assert_eq!((row.runs, row.used, row.problems.len()), (2, 2, 0));
        assert_eq!(row.cdf, [(0.5, 20.0), (1.0, 70.0)]);
    }

    #[test]
    fn a_peer_without_a_valid_run_keeps_the_reason() {
        let crash = record("udt", 1, false, Some("udt: sender: lost"));
        let mut late = ran("kcp", 1, 50.0);
        (late.valid, late.problems) = (false, vec!["late".into()]);
        let results = Results::of(&[crash, late]);
        let rows = &results.suites[0].cases[0].rows;
        let of = |peer: &str| rows.iter().find(|row| row.peer == peer).unwrap();
        assert_eq!((of("udt").used, of("udt").values.len()), (0, 0));
        assert_eq!(of("udt").problems, ["seed 1: udt: sender: lost"]);
        assert_eq!(
            of("kcp").median("mean"),
            Some(20.0),
            "better than nothing, and marked"
        );
        assert_eq!(of("kcp").problems, ["seed 1: late"]);
    }

    #[test]
    fn peers_are_in_the_suites_order_and_other_settings_make_another_case() {
        let mut longer = ran("tcp/bbr", 1, 40.0);
        longer.what.settings = vec!["secs=60".into()];
        let records = [
            ran("zzz", 1, 1.0),
            ran("kcp", 1, 1.0),
            ran("weftline", 1, 1.0),
            longer,
        ];
        let suite = &Results::of(&records).suites[0];
        assert_eq!(suite.peers(), ["weftline", "kcp", "zzz", "tcp/bbr"]);
        assert_eq!(suite.cases[1].name, "5 % (secs=60)");
    }
}
