//! The report of figures: the result of each, the page, and CSV files.

use serde::Serialize;

use super::check::{Check, Rule, Verdict};
use super::picture::CSV_HEAD;
use super::run::Failed;
use super::{Figure, Paper, Program, Programs, Shown, Values};

/// The result of a figure.
#[derive(Clone, Debug)]
pub enum Became {
    /// It is shown.
    Shown(Shown),
    /// It could not be run here: the reason.
    Skipped(String),
    /// Some of its points failed: the reason.
    Failed(String),
}

/// A figure and its result.
pub struct Entry<'a> {
    /// The figure.
    pub figure: &'a Figure,
    /// Its result.
    pub became: Became,
    /// The optional points that have no result, each with the reason.
    pub unmeasured: Vec<String>,
}

/// All selected figures.
pub struct Report<'a> {
    /// The figures, in the report's order.
    pub entries: Vec<Entry<'a>>,
    /// The command that makes the report again.
    pub command: String,
    /// Its options without the figures and the folder, for the command that makes one figure
    /// again.
    pub options: String,
    /// The program's version and build.
    pub program: String,
    /// Number of points in it, and the seconds of one core that they took.
    pub effort: (usize, f64),
}

/// A summary of a figure, for programs.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Its name.
    pub figure: String,
    /// Whether it is shown, skipped or failed.
    pub status: &'static str,
    /// The reason, if it is not shown.
    pub reason: Option<String>,
    /// The agreement in one line.
    pub agreement: String,
    /// Its comparisons.
    pub checks: Vec<Check>,
    /// Their verdicts, in words.
    pub verdicts: Vec<&'static str>,
    /// The optional points that have no result, each with the reason.
    pub not_measured: Vec<String>,
    /// Faults of its pictures.
    pub faults: Vec<String>,
}

impl<'a> Report<'a> {
    /// The result of each figure.
    pub fn new(
        figures: &[&'a Figure],
        values: &Values,
        failed: &[Failed],
        programs: &Programs,
    ) -> Self {
        let entries = figures.iter().map(|figure| Entry {
            figure,
            became: became(figure, values, failed, programs),
            unmeasured: unmeasured(figure, values, failed, programs),
        });
        Self {
            entries: entries.collect(),
            command: String::new(),
            options: String::new(),
            program: String::new(),
            effort: (0, 0.0),
        }
    }

    /// The summaries of the figures.
    pub fn summaries(&self) -> Vec<Summary> {
        let one = |entry: &Entry<'_>| {
            let (status, reason) = match &entry.became {
                Became::Shown(_) => ("shown", None),
                Became::Skipped(why) => ("skipped", Some(why.clone())),
                Became::Failed(why) => ("failed", Some(why.clone())),
            };
            let checks = entry.checks().to_vec();
            Summary {
                figure: entry.figure.id.to_owned(),
                status,
                reason,
                agreement: entry.agreement(),
                verdicts: checks.iter().map(|check| check.verdict().words()).collect(),
                checks,
                not_measured: entry.unmeasured.clone(),
                faults: match &entry.became {
                    Became::Shown(shown) => shown.faults(),
                    _ => Vec::new(),
                },
            }
        };
        self.entries.iter().map(one).collect()
    }

    /// All comparisons as Markdown, figure by figure, each with its verdict and reason.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for paper in self.papers() {
            text += &format!(
                "\n## {}\n\n\
                 | figure | compared | stated | theory | simulation | engine | lab | difference | verdict | reason |\n\
                 | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |\n",
                paper.citation()
            );
            for entry in self.of(paper) {
                let id = entry.figure.id;
                if entry.checks().is_empty() {
                    let title = cell(entry.figure.title);
                    let said = cell(&entry.agreement());
                    text += &format!("| {id} | {title} | | | | | | | {said} | |\n");
                }
                for check in entry.checks() {
                    let numbers = check.cells().map(|text| cell(&text)).join(" | ");
                    text += &format!(
                        "| {id} | {} | {numbers} | {} | {} |\n",
                        cell(&check.what),
                        check.verdict().words(),
                        cell(&reasons(check).join(". "))
                    );
                }
                for absent in &entry.unmeasured {
                    text += &format!(
                        "| {id} | not measured: {} | | | | | | | | |\n",
                        cell(absent)
                    );
                }
            }
        }
        text.trim_start().to_owned()
    }

    /// The entries of a paper: its figures by their numbers, its tables, its theorems, and last what it
    /// does not show.
    pub(super) fn of(&self, paper: Paper) -> Vec<&Entry<'a>> {
        let own = self.entries.iter().filter(|e| e.figure.paper == paper);
        let mut own: Vec<&Entry<'a>> = own.collect();
        own.sort_by_key(|entry| entry.figure.place());
        own
    }

    /// Papers that have a figure here.
    pub(super) fn papers(&self) -> Vec<Paper> {
        let has = |paper: &Paper| self.entries.iter().any(|e| e.figure.paper == *paper);
        Paper::ALL.into_iter().filter(has).collect()
    }
}

impl Entry<'_> {
    /// Its comparisons.
    pub fn checks(&self) -> &[Check] {
        match &self.became {
            Became::Shown(shown) => &shown.checks,
            _ => &[],
        }
    }

    /// Number of its comparisons with this verdict.
    pub(super) fn count(&self, verdict: Verdict) -> usize {
        let all = self.checks().iter();
        all.filter(|check| check.verdict() == verdict).count()
    }

    /// What a reader must know besides the number of verdicts.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        match &self.became {
            Became::Skipped(why) => remarks.push(format!("skipped: {why}")),
            Became::Failed(why) => remarks.push(format!("failed: {why}")),
            Became::Shown(_) => {}
        }
        let checks = self.checks();
        let open =
            |check: &&Check| !check.verdict().is_good() && !is_speed(check) && check.why.is_none();
        match checks.iter().filter(open).count() {
            0 => {}
            1 => remarks.push("a difference is not explained".to_owned()),
            open => remarks.push(format!("{open} differences are not explained")),
        }
        if checks.iter().any(Check::is_engine_unexplained) {
            remarks.push("engine and model differ, not explained".to_owned());
        }
        match self.unmeasured.len() {
            0 => {}
            1 => remarks.push("a point is not measured".to_owned()),
            more => remarks.push(format!("{more} points are not measured")),
        }
        remarks
    }

    /// The agreement in one line.
    pub fn agreement(&self) -> String {
        match &self.became {
            Became::Skipped(why) => return format!("Skipped: {why}."),
            Became::Failed(why) => return format!("Failed: {why}."),
            Became::Shown(_) => {}
        }
        let told = |verdicts: &[(Verdict, &str, &str)]| {
            let told =
                verdicts
                    .iter()
                    .filter_map(|(verdict, one, many)| match self.count(*verdict) {
                        0 => None,
                        1 => Some(format!("1 {one}")),
                        count => Some(format!("{count} {many}")),
                    });
            told.collect::<Vec<String>>().join(", ")
        };
        let results = told(&[
            (Verdict::Agrees, "agrees", "agree"),
            (
                Verdict::AgreesWithTheory,
                "agrees with theory",
                "agree with theory",
            ),
            (Verdict::Inconclusive, "is inconclusive", "are inconclusive"),
            (Verdict::Differs, "differs", "differ"),
            (
                Verdict::Contradicts,
                "has theory and simulation that differ",
                "have theory and simulation that differ",
            ),
            (
                Verdict::NoNumber,
                "has nothing stated",
                "have nothing stated",
            ),
        ]);
        let speeds = told(&[
            (Verdict::FastEnough, "is fast enough", "are fast enough"),
            (Verdict::Slower, "is slower", "are slower"),
        ]);
        let mut parts = Vec::new();
        if self.checks().is_empty() {
            parts.push("nothing to compare".to_owned());
        }
        parts.extend((!results.is_empty()).then_some(results));
        parts.extend((!speeds.is_empty()).then(|| format!("speed: {speeds}")));
        parts.extend(self.remarks());
        capital(&parts.join("; ")) + "."
    }

    /// All numbers of its charts and comparisons.
    pub fn csv(&self) -> Option<String> {
        let Became::Shown(shown) = &self.became else {
            return None;
        };
        let mut text = CSV_HEAD.to_owned();
        for (index, picture) in shown.pictures.iter().enumerate() {
            text += &picture.csv(index + 1);
        }
        Some(text)
    }
}

fn became(figure: &Figure, values: &Values, failed: &[Failed], programs: &Programs) -> Became {
    let absent = |point: &super::Point| {
        let reason = programs.path(point.program()).err()?;
        (!values.has(point)).then_some(reason)
    };
    let all_absent = figure.needs(Program::Ns3)
        && figure
            .points
            .iter()
            .all(|point| point.program() == Program::Ns3);
    if all_absent && let Some(reason) = figure.points.iter().find_map(absent) {
        return Became::Skipped(reason);
    }
    let own = |failed: &&Failed| {
        let mut points = figure.points.iter().filter(|point| !point.is_optional());
        points.any(|point| point.to_string() == failed.command)
    };
    if let Some(failed) = failed.iter().find(own) {
        return Became::Failed(failed.reason.clone());
    }
    match (figure.show)(values) {
        Ok(shown) => Became::Shown(shown),
        Err(missing) => Became::Failed(missing.to_string()),
    }
}

/// The optional points without a result, each with the reason.
fn unmeasured(
    figure: &Figure,
    values: &Values,
    failed: &[Failed],
    programs: &Programs,
) -> Vec<String> {
    let absent = |point: &super::Point| {
        let command = point.to_string();
        let failed = failed.iter().find(|failed| failed.command == command);
        let reason = failed.map(|failed| failed.reason.clone());
        let reason = reason.or_else(|| programs.path(point.program()).err());
        let reason = reason.unwrap_or_else(|| "not run".to_owned());
        match reason.contains(&command) {
            true => reason,
            false => format!("`{command}`: {reason}"),
        }
    };
    let optional = figure.points.iter().filter(|point| point.is_optional());
    optional
        .filter(|point| !values.has(point))
        .map(absent)
        .collect()
}

/// Whether the comparison is of speeds, which is apart from agreement.
pub(super) fn is_speed(check: &Check) -> bool {
    matches!(&check.paper, Some(says) if matches!(says.rule, Rule::Speed(_)))
}

/// What explains a comparison: its reason, and that of a difference of engine and model, or that there
/// is none.
pub(super) fn reasons(check: &Check) -> Vec<String> {
    let mut told: Vec<String> = check.why.iter().cloned().collect();
    let differs = !check.verdict().is_good() && !is_speed(check);
    if differs && told.is_empty() {
        told.push("not explained".to_owned());
    }
    if let Some(why) = &check.engine_why {
        told.push(format!("engine and model: {why}"));
    } else if check.is_engine_unexplained() {
        let apart = check.engine_errors().unwrap_or_default();
        told.push(format!(
            "engine and model differ by {apart:+.1} σ, not explained"
        ));
    }
    told
}

/// A text as a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
        .replace(['\n', '\r'], " ")
        .trim()
        .to_owned()
}

/// The text with a capital first letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::{Dot, Line, Plot, Point, Source};

    fn figure(id: &'static str, points: Vec<Point>) -> Figure {
        Figure {
            id,
            paper: Paper::Rest,
            title: "t",
            shows: "s",
            points,
            show: Box::new(|values| {
                let needed = Point::lab("theory needed");
                let value = values.number(&needed, "x")?;
                let line = Line::new("a", Source::Theory, 0, vec![Dot::new(1.0, value)]);
                let plot = || Plot::new("c", "x", "y").with([line.clone()]).into();
                let engine = Check::of("e | f").simulated(1.0, 0.01).engine(2.0, 0.01);
                Ok(Shown {
                    pictures: vec![plot(), plot()],
                    checks: vec![
                        Check::of("a").equals(1.0, 0.1).theory(value),
                        engine,
                        Check::of("Mbit/s").speed(10.0).lab(5.0, 0.0),
                    ],
                    notes: Vec::new(),
                })
            }),
        }
    }

    fn programs() -> Programs {
        Programs {
            lab: "weftline-lab".into(),
            ns3: Err("not built".into()),
        }
    }

    #[test]
    fn an_optional_point_without_a_result_is_named_and_its_figure_shown() {
        let (needed, extra) = (Point::lab("theory needed"), Point::lab("lab x").optional());
        let model = Point::ns3("hop").optional();
        let figure = figure("rest-3", vec![needed.clone(), extra.clone(), model]);
        let mut values = Values::default();
        values.insert(needed.to_string(), serde_json::json!({ "x": 2.0 }));
        let failed = [Failed {
            command: extra.to_string(),
            reason: format!("`{extra}` failed: needs root"),
        }];
        let report = Report::new(&[&figure], &values, &failed, &programs());
        let [one] = &report.summaries()[..] else {
            panic!("one figure")
        };
        assert_eq!((one.status, one.not_measured.len()), ("shown", 2));
        assert!(one.not_measured[0].ends_with("failed: needs root"));
        assert_eq!(one.not_measured[1], "`weftline-ns3 hop`: not built");
        assert_eq!(one.faults, ["pictures 1 and 2 show the same"]);
        assert_eq!(
            one.agreement,
            "1 differs, 1 has nothing stated; speed: 1 is slower; a difference is not explained; engine and \
             model differ, not explained; 2 points are not measured."
        );
        let table = report.markdown();
        for row in [
            "| rest-3 | a | 1.0 | 2 |  |  |  | +100.0 % | differs | not explained |",
            "| rest-3 | e \\| f |  |  | 1 ± 0.01 | 2 ± 0.01 |",
            "engine and model differ by +70.7 σ, not explained |",
            "| rest-3 | not measured: `weftline-lab lab x --json` failed: needs root |",
        ] {
            assert!(table.contains(row), "{row}\n{table}");
        }
        let page = super::super::page(&report);
        for part in [
            "Speed, apart from agreement",
            "engine and model differ, not explained",
            "Not measured",
        ] {
            assert!(page.contains(part), "{part}");
        }
        // A needed point that failed takes its own figure only.
        let failed = [Failed {
            command: needed.to_string(),
            reason: "no".to_owned(),
        }];
        let report = Report::new(&[&figure], &values, &failed, &programs());
        assert_eq!(report.summaries()[0].status, "failed");
    }

    #[test]
    fn figures_come_by_number_then_tables_then_what_the_paper_does_not_show() {
        let ids = [
            "rest-speed",
            "rest-10",
            "rest-table-3",
            "rest-2",
            "rest-theorem-3",
        ];
        let figures = ids.map(|id| figure(id, Vec::new()));
        let all: Vec<&Figure> = figures.iter().collect();
        let report = Report::new(&all, &Values::default(), &[], &programs());
        let order: Vec<&str> = report.of(Paper::Rest).iter().map(|e| e.figure.id).collect();
        assert_eq!(
            order,
            [
                "rest-2",
                "rest-10",
                "rest-table-3",
                "rest-theorem-3",
                "rest-speed"
            ]
        );
        let page = super::super::page(&report);
        let more = page.find("More than the papers show").unwrap();
        let at = |id: &str| page.find(&format!("<section id=\"{id}\"")).unwrap();
        assert!(at("rest-table-3") < more && more < at("rest-speed"));
    }
}
