//! Results as tables, for Markdown and for the page.

use std::fmt::Write;

use weftline_plot::escape;

use super::measures::measures;
use super::results::{CaseResults, Results, Row, SuiteResults};
use super::statistics::Spread;
use super::suite::View;
use super::verdict;

/// A table of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// The titles of the columns.
    pub(super) head: Vec<String>,
    /// The rows, each as long as the head; the first cell names its subject.
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// The table in Markdown.
    pub(super) fn markdown(&self) -> String {
        let cell = |text: &String| text.replace('|', "\\|");
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(cell).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = line(&self.head);
        let rest = "---:|".repeat(self.head.len().saturating_sub(1));
        let _ = writeln!(text, "|---|{rest}");
        self.rows.iter().for_each(|row| text += &line(row));
        text
    }

    /// The table in HTML.
    pub(super) fn html(&self) -> String {
        let mut text = "<div class=\"wide\"><table><thead><tr>".to_owned();
        for title in &self.head {
            let _ = write!(text, "<th>{}</th>", escape(title));
        }
        text += "</tr></thead><tbody>\n";
        for row in &self.rows {
            text += "<tr>";
            for cell in row {
                let _ = write!(text, "<td>{}</td>", escape(cell));
            }
            text += "</tr>\n";
        }
        text + "</tbody></table></div>\n"
    }
}

/// All tables as one Markdown text.
pub fn markdown(results: &Results) -> String {
    let mut text = String::new();
    for suite in &results.suites {
        let _ = writeln!(
            text,
            "## Suite {}: {}\n\n{}\n",
            suite.name, suite.title, suite.about
        );
        let _ = writeln!(text, "{}\n", trust(suite));
        if !suite.verdicts.is_empty() {
            let _ = writeln!(text, "{}", verdict::table(&suite.verdicts).markdown());
        }
        let (caption, table) = overview(suite);
        let _ = writeln!(text, "{caption}\n\n{}", table.markdown());
        for case in &suite.cases {
            let _ = writeln!(text, "### {}\n\n`{}`\n", case.name, workload(case));
            let _ = writeln!(text, "{}", details(case, suite.view).markdown());
            for note in notes(case) {
                let _ = writeln!(text, "- {note}");
            }
            if !notes(case).is_empty() {
                text.push('\n');
            }
        }
    }
    text
}

/// The validity of the runs, in a sentence.
pub(super) fn trust(suite: &SuiteResults) -> String {
    let mut text = match suite.good == suite.runs {
        true => format!("{} runs, all valid.", suite.runs),
        false => format!(
            "{} runs, {} of them invalid (*).",
            suite.runs,
            suite.runs - suite.good
        ),
    };
    if let Some(late) = suite.late {
        let _ = write!(
            text,
            " The emulator's lateness (99th percentile of a run): median {} ms, largest {} ms.",
            short(late.median),
            short(late.max)
        );
    }
    if let Some(load) = suite.load_average {
        let _ = write!(
            text,
            " Load average: {} to {}.",
            short(load.min),
            short(load.max)
        );
    }
    if let Some(waiting) = suite.waiting {
        let _ = write!(
            text,
            " Some process waited for a processor for {} % of a run (median), {} % (largest).",
            short(100.0 * waiting.median),
            short(100.0 * waiting.max)
        );
    }
    text
}

/// The link and the workload of a case.
pub(super) fn workload(case: &CaseResults) -> String {
    format!("{}; {} {}", case.link, case.mode, case.settings.join(" "))
}

/// The suite in one table, with the meaning of its cells.
pub(super) fn overview(suite: &SuiteResults) -> (&'static str, Table) {
    let peers = suite.peers();
    let cell = |case: &CaseResults, peer: &str| {
        let row = case.rows.iter().find(|row| row.peer == peer);
        row.map_or(String::new(), |row| summary(row, suite.view))
    };
    let caption = match suite.view {
        View::Goodput => "Goodput in Mbit/s (wire bytes for each byte delivered), medians:",
        View::Delay => {
            "Delay, mean / 99th percentile in ms (wire bytes for each byte delivered), medians:"
        }
        View::Times => "Time of a transfer, mean in ms, medians over seeds:",
        View::Sharing => {
            "Share of the newcomer, 1 is fair (utilisation in %, mean queue in ms), medians:"
        }
        View::Recorded => {
            "Bulk: share of the capacity (95th percentile of the queue, ms). Messages: 99th percentile \
             of delay, ms (wire bytes for each byte delivered). Medians:"
        }
        View::Paths => {
            "Bulk: Mbit/s (share of what all links carry). Messages: 99th percentile of delay, longest, ms \
             (wire bytes for each byte delivered). Medians:"
        }
        View::Window => {
            "Delay, mean / 99th percentile in ms (packets for each information packet), medians:"
        }
    };
    let named = |texts: Vec<&str>, corner: &str| {
        let head = [corner].into_iter().chain(texts);
        head.map(str::to_owned).collect::<Vec<_>>()
    };
    // The longer list is vertical.
    let table = match suite.cases.len() > peers.len() {
        true => Table {
            head: named(peers.clone(), "case"),
            rows: suite
                .cases
                .iter()
                .map(|case| {
                    let cells = peers.iter().map(|peer| cell(case, peer));
                    [case.name.clone()].into_iter().chain(cells).collect()
                })
                .collect(),
        },
        false => Table {
            head: named(
                suite.cases.iter().map(|case| case.name.as_str()).collect(),
                "peer",
            ),
            rows: peers
                .iter()
                .map(|peer| {
                    let cells = suite.cases.iter().map(|case| cell(case, peer));
                    [(*peer).to_owned()].into_iter().chain(cells).collect()
                })
                .collect(),
        },
    };
    (caption, table)
}

/// A row in a short text.
fn summary(row: &Row, view: View) -> String {
    let get = |key: &str| row.median(key).map_or("-".to_owned(), short);
    if row.used == 0 {
        return "failed".to_owned();
    }
    let text = match view {
        View::Goodput => format!("{} ({})", get("goodput"), get("wire")),
        View::Delay => format!("{} / {} ({})", get("mean"), get("p99"), get("wire")),
        View::Times => get("mean"),
        View::Sharing => format!(
            "{} ({} %, {} ms)",
            get("share"),
            get("utilisation"),
            get("queue")
        ),
        View::Recorded if row.median("p99").is_some() => {
            format!("{} ms ({})", get("p99"), get("wire"))
        }
        View::Recorded => format!("{} ({} ms)", get("share"), get("queue95")),
        View::Paths if row.median("p99").is_some() => {
            format!("{}, {} ms ({})", get("p99"), get("max"), get("wire"))
        }
        View::Paths => format!("{} ({})", get("goodput"), get("ceiling")),
        View::Window => format!("{} / {} ({})", get("mean"), get("p99"), get("packets")),
    };
    let lost = ["missing", "failed"]
        .iter()
        .find_map(|key| row.median(key).filter(|v| *v > 0.0));
    let mark = if row.problems.is_empty() { "" } else { " *" };
    match lost {
        Some(lost) => format!("{text}, {} % lost{mark}", short(lost)),
        None => text + mark,
    }
}

/// All measures of a case.
pub(super) fn details(case: &CaseResults, view: View) -> Table {
    // A measure that no run has needs no column.
    let told = |key: &str| case.rows.iter().any(|row| row.values.contains_key(key));
    let shown: Vec<_> = measures(view).into_iter().filter(|m| told(m.key)).collect();
    let head = ["peer"].into_iter().chain(shown.iter().map(|m| m.title));
    let rows = case.rows.iter().map(|row| {
        let cells = shown
            .iter()
            .map(|m| row.values.get(m.key).map_or("-".to_owned(), spread));
        let mark = if row.problems.is_empty() { "" } else { " *" };
        [format!("{}{mark}", row.peer)]
            .into_iter()
            .chain(cells)
            .collect()
    });
    Table {
        head: head.map(str::to_owned).collect(),
        rows: rows.collect(),
    }
}

/// Notes about rows with a star.
pub(super) fn notes(case: &CaseResults) -> Vec<String> {
    let starred = case.rows.iter().filter(|row| !row.problems.is_empty());
    let note = |row: &Row| {
        let bad = row.problems.len();
        let values = match row.used {
            0 => "no values".to_owned(),
            used if used + bad == row.runs => "values of the valid runs".to_owned(),
            _ => "values of the invalid runs".to_owned(),
        };
        format!(
            "{}: {bad} of {} runs invalid, {values} ({})",
            row.peer,
            row.runs,
            row.problems.join("; ")
        )
    };
    starred.map(note).collect()
}

/// The median, and the range if the values differ.
fn spread(spread: &Spread) -> String {
    let (median, min, max) = (short(spread.median), short(spread.min), short(spread.max));
    match min == max {
        true => median,
        false => format!("{median} ({min}-{max})"),
    }
}

/// Three digits, at most three decimals.
pub(super) fn short(value: f64) -> String {
    let decimals = match value.abs() {
        99.95.. => 0,
        9.995.. => 1,
        0.9995.. => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let texts = [0.0, 0.1234, 1.0, 9.999, 56.04, 99.96, 123.4].map(short);
        assert_eq!(
            texts,
            ["0.000", "0.123", "1.00", "10.0", "56.0", "100", "123"]
        );
    }

    #[test]
    fn a_range_is_shown_if_the_values_differ() {
        let of = |values: &[f64]| spread(&Spread::of(values.iter().copied()).unwrap());
        assert_eq!(of(&[5.0]), "5.00");
        assert_eq!(of(&[5.0, 7.0, 6.0]), "6.00 (5.00-7.00)");
    }

    #[test]
    fn texts_cannot_break_a_table() {
        let table = Table {
            head: vec!["a|b".into(), "c".into()],
            rows: vec![vec!["<x>".into(), "1|2".into()]],
        };
        assert_eq!(
            table.markdown(),
            "| a\\|b | c |\n|---|---:|\n| <x> | 1\\|2 |\n"
        );
        assert!(table.html().contains("<td>&lt;x&gt;</td><td>1|2</td>"));
    }
}
