//! What a suite promises, and where it is not kept.

mod paths;
mod recorded;

use serde::Serialize;

use super::results::{CaseResults, Row};
use super::suite::View;
use super::table::Table;

/// A promise, over all cases that can tell whether it is kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The promise.
    pub promise: &'static str,
    /// Cases that keep it.
    pub kept: usize,
    /// All cases that have the values.
    pub cases: usize,
    /// The worst cases that do not, the worst first, with their numbers.
    pub worst: Vec<String>,
}

/// Cases that are named.
const NAMED: usize = 3;

/// How a case keeps a promise.
struct Judged {
    is_kept: bool,
    /// Higher is worse.
    badness: f64,
    numbers: String,
}

type Promise = (&'static str, fn(&CaseResults) -> Option<Judged>);

/// The verdicts of a suite with this view over these cases; promises that no case can tell of are
/// left out.
pub(super) fn verdicts(view: View, cases: &[CaseResults]) -> Vec<Verdict> {
    let promises: &[Promise] = match view {
        View::Recorded => &recorded::PROMISES,
        View::Paths => &paths::PROMISES,
        _ => &[],
    };
    let verdict = |(promise, judge): &Promise| {
        let judged = cases.iter().filter_map(|case| Some((case, judge(case)?)));
        let judged: Vec<(&CaseResults, Judged)> = judged.collect();
        let mut bad: Vec<_> = judged
            .iter()
            .filter(|(_, judged)| !judged.is_kept)
            .collect();
        bad.sort_by(|a, b| b.1.badness.total_cmp(&a.1.badness));
        let named = bad.iter().take(NAMED);
        let named = named.map(|(case, judged)| format!("{}: {}", case.name, judged.numbers));
        Verdict {
            promise,
            kept: judged.len() - bad.len(),
            cases: judged.len(),
            worst: named.collect(),
        }
    };
    let all = promises.iter().map(verdict);
    all.filter(|verdict| verdict.cases > 0).collect()
}

/// The verdicts as a table.
pub(super) fn table(verdicts: &[Verdict]) -> Table {
    let rows = verdicts.iter().map(|verdict| {
        vec![
            verdict.promise.to_owned(),
            format!("{} of {}", verdict.kept, verdict.cases),
            verdict.worst.join("; "),
        ]
    });
    Table {
        head: ["promise", "kept in", "worst cases"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    }
}

fn row<'a>(case: &'a CaseResults, peer: &str) -> Option<&'a Row> {
    case.rows.iter().find(|row| row.peer == peer)
}

#[cfg(test)]
mod tests {
    use super::super::statistics::Spread;
    use super::*;

    /// A case with these values of its peers.
    pub(super) fn case(
        name: &str,
        link: &str,
        settings: &[&str],
        rows: &[(&str, &[(&'static str, f64)])],
    ) -> CaseResults {
        let row = |(peer, values): &(&str, &[(&'static str, f64)])| Row {
            peer: (*peer).to_owned(),
            runs: 1,
            used: 1,
            problems: Vec::new(),
            values: values
                .iter()
                .map(|(key, value)| (*key, Spread::of([*value]).unwrap()))
                .collect(),
            cdf: Vec::new(),
            transfers: Vec::new(),
        };
        CaseResults {
            name: name.into(),
            link: link.into(),
            mode: "stream".into(),
            settings: settings.iter().map(|s| (*s).to_owned()).collect(),
            rows: rows.iter().map(row).collect(),
        }
    }
}
