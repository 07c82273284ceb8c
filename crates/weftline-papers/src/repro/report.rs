//! The report of figures: the result of each, the page, and CSV files.

use serde::Serialize;

use super::check::{Check, Verdict};
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
            }
        };
        self.entries.iter().map(one).collect()
    }

    /// The first table as Markdown, and below it every difference with its reason.
    pub fn markdown(&self) -> String {
        let mut text = "| figure | first comparison | paper | theory | simulation | engine | lab | difference | whole figure |\n\
                        | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n"
            .to_owned();
        for entry in &self.entries {
            let cells = match entry.checks().first() {
                Some(check) => format!("{} | {}", check.what, check.cells().join(" | ")),
                None => format!("{} | | | | | |", entry.figure.title),
            };
            text += &format!(
                "| {} | {cells} | {} |\n",
                entry.figure.id,
                entry.verdict().1
            );
        }
        for entry in &self.entries {
            for check in entry
                .checks()
                .iter()
                .filter(|check| !check.verdict().is_good())
            {
                text += &format!(
                    "\n- **{}**, {}: {}. {}.\n",
                    entry.figure.id,
                    check.what,
                    check.comparison(),
                    capital(check.why.as_deref().unwrap_or("not explained"))
                );
            }
        }
        text
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

    /// The verdict on the whole figure, in short, and its class in the page's style sheet.
    pub(super) fn verdict(&self) -> (&'static str, String) {
        match &self.became {
            Became::Skipped(_) => return ("", "skipped".to_owned()),
            Became::Failed(_) => return ("bad", "failed".to_owned()),
            Became::Shown(_) => {}
        }
        let checks = self.checks();
        let bad = checks.iter().filter(|c| !c.verdict().is_good()).count();
        let explained = checks
            .iter()
            .all(|check| check.verdict().is_good() || check.why.is_some());
        match (checks.len(), bad) {
            (0, _) => ("", "nothing to compare".to_owned()),
            (1, 0) => ("good", checks[0].verdict().words().to_owned()),
            (all, 0) if checks.iter().any(|c| c.paper.is_none()) => {
                ("good", format!("all {all} with a number agree"))
            }
            (all, 0) => ("good", format!("all {all} agree")),
            (all, bad) if explained => ("bad", format!("{bad} of {all} differ, explained")),
            (all, bad) => ("bad", format!("{bad} of {all} differ")),
        }
    }

    /// The agreement in one line.
    pub fn agreement(&self) -> String {
        match &self.became {
            Became::Skipped(why) => return format!("Skipped: {why}."),
            Became::Failed(why) => return format!("Failed: {why}."),
            Became::Shown(_) => {}
        }
        let checks = self.checks();
        let count = |verdict: Verdict| checks.iter().filter(|c| c.verdict() == verdict).count();
        let differ: Vec<&str> = checks
            .iter()
            .filter(|check| !check.verdict().is_good())
            .map(|check| check.what.as_str())
            .collect();
        let (agree, theory) = (count(Verdict::Agrees), count(Verdict::AgreesWithTheory));
        let mut parts = Vec::new();
        if agree + differ.len() > 0 {
            parts.push(format!(
                "{agree} of {} comparisons with the paper agree",
                agree + differ.len()
            ));
        } else {
            parts.push("the paper's curve is not given as numbers".to_owned());
        }
        if theory > 0 {
            parts.push("theory and simulation agree".to_owned());
        }
        if !differ.is_empty() {
            parts.push(format!("different: {}", differ.join(" / ")));
        }
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
    let absent = |failed: &&Failed| {
        let mut points = figure.points.iter().filter(|point| point.is_optional());
        points.any(|point| point.to_string() == failed.command)
    };
    match (figure.show)(values) {
        Ok(mut shown) => {
            if let Some(failed) = failed.iter().find(absent) {
                shown
                    .notes
                    .push(format!("Not measured: {}.", failed.reason));
            }
            Became::Shown(shown)
        }
        Err(missing) => Became::Failed(missing.to_string()),
    }
}

/// The text with a capital first letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
