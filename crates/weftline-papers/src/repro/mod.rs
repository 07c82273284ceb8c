//! The papers' figures and tables, run again: `weftline-lab repro`.
//!
//! A [`Figure`] names the [`Point`]s it needs, each a command that prints one JSON object, and
//! computes charts and comparisons from their results. The numbers of the report are those that
//! the commands print, so a reader who runs one gets the report's number. [`run()`] runs points
//! and keeps their results in a folder; [`Report`] and [`page()`] show them.
//!
//! To add a figure, write a function that makes it from a [`Scale`], in the file of its paper, and
//! add a line to that paper's `figures`.

mod check;
mod figure;
mod garrido;
mod garrido_ns3;
mod karzand;
mod kept;
mod log;
mod page;
mod picture;
mod point;
mod report;
mod rest;
mod roca;
mod run;
mod udp_rc;
mod values;

pub use check::{Check, Ours, Rule, Says, Verdict};
pub use figure::{Figure, Paper, Scale, Show, Shown};
pub use kept::Kept;
pub use page::page;
pub use picture::{Dot, Drawing, Line, Picture, Plot, Source, Surface};
pub use point::{Point, Program};
pub use report::{Became, Entry, Report, Summary};
pub use run::{Failed, Programs, Progress, run};
pub use values::{Missing, Values};

/// All figures, in the report's order.
pub fn figures(scale: Scale) -> Vec<Figure> {
    [
        karzand::figures(scale),
        roca::figures(scale),
        rest::figures(scale),
        udp_rc::figures(scale),
        garrido::figures(scale),
        garrido_ns3::figures(scale),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The figures selected by `names`: a figure's own name, or that of a paper for all its figures.
/// No name selects all figures.
///
/// # Errors
/// A name is unknown; the error lists the known ones.
pub fn select<'a>(figures: &'a [Figure], names: &[String]) -> Result<Vec<&'a Figure>, Unknown> {
    for name in names {
        let known = figures
            .iter()
            .any(|figure| figure.id == name || figure.paper.id() == name);
        if !known {
            return Err(Unknown {
                name: name.clone(),
                known: figures.iter().map(|figure| figure.id).collect(),
            });
        }
    }
    let wanted = |figure: &&Figure| {
        names.is_empty()
            || names
                .iter()
                .any(|n| n == figure.id || n == figure.paper.id())
    };
    Ok(figures.iter().filter(wanted).collect())
}

/// No figure has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no figure is called `{name}`; figures: {}; karzand, roca, rest, udp-rc and garrido select all figures of a paper",
    .known.join(", ")
)]
pub struct Unknown {
    /// The given name.
    pub name: String,
    /// The known names.
    pub known: Vec<&'static str>,
}

/// Mean and standard error of values from independent runs.
fn over_runs(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
}

/// The quotient of two independent values with standard errors, and its standard error.
fn quotient(above: (f64, f64), below: (f64, f64)) -> (f64, f64) {
    let value = above.0 / below.0;
    (value, (above.1.hypot(value * below.1) / below.0).abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn both() -> [Vec<Figure>; 2] {
        [true, false].map(|quick| figures(Scale { quick, seed: 1 }))
    }

    #[test]
    fn every_promised_figure_and_table_exists() {
        let promised: [(&str, &[&str]); 5] = [
            (
                "karzand",
                &[
                    "1",
                    "2",
                    "3",
                    "4",
                    "5",
                    "6",
                    "7",
                    "8",
                    "9",
                    "10",
                    "table-1",
                    "theorem-3",
                    "speed",
                ],
            ),
            ("roca", &["1", "2", "3", "4", "5", "6", "7", "8", "table-2"]),
            ("rest", &["2", "3", "4", "5", "6", "7", "8", "table-3"]),
            ("udp-rc", &["1", "2", "3", "4"]),
            (
                "garrido",
                &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"],
            ),
        ];
        let promised: Vec<String> = promised
            .iter()
            .flat_map(|(paper, all)| all.iter().map(move |one| format!("{paper}-{one}")))
            .collect();
        for figures in both() {
            let ids: Vec<&str> = figures.iter().map(|figure| figure.id).collect();
            for id in &promised {
                assert!(ids.contains(&id.as_str()), "{id} is missing");
            }
            let distinct: HashSet<&str> = ids.iter().copied().collect();
            assert_eq!(distinct.len(), ids.len());
            for figure in &figures {
                assert!(figure.id.starts_with(figure.paper.id()));
                assert!(!figure.points.is_empty() && !figure.shows.is_empty());
            }
        }
    }

    #[test]
    fn a_seed_is_in_every_simulation_and_changes_only_it() {
        let [quick, full] = both();
        let other = figures(Scale {
            quick: false,
            seed: 2,
        });
        let simulations = |figures: &[Figure]| {
            let points = figures.iter().flat_map(|figure| figure.points.iter());
            let commands = points.map(ToString::to_string);
            let simulations = commands.filter(|command| command.contains(" sim "));
            simulations.collect::<HashSet<String>>()
        };
        let (few, many) = (simulations(&quick), simulations(&full));
        assert!(
            few.len() < many.len() && many.len() < 2000,
            "{}",
            many.len()
        );
        assert!(many.iter().all(|command| command.contains("--seed ")));
        // Means over several runs also have the following seeds.
        assert!(simulations(&other).intersection(&many).count() < 20);
    }

    #[test]
    fn numbers_are_as_the_papers_call_them() {
        let [quick, _] = both();
        let number = |id: &str| {
            quick
                .iter()
                .find(|figure| figure.id == id)
                .unwrap()
                .number()
        };
        assert_eq!(number("karzand-10"), "Fig. 10");
        assert_eq!(number("udp-rc-2"), "Fig. 2");
        assert_eq!(number("roca-table-2"), "Table II");
    }

    #[test]
    fn figures_are_chosen_by_their_names_or_their_papers() {
        let [quick, _] = both();
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            select(&quick, &names).map(|chosen| chosen.len())
        };
        assert_eq!(names(&[]), Ok(quick.len()));
        assert_eq!(names(&["karzand-6", "udp-rc"]), Ok(6));
        let error = names(&["karzand-11"]).unwrap_err().to_string();
        assert!(
            error.contains("karzand-11") && error.contains("rest-table-3"),
            "{error}"
        );
    }

    #[test]
    fn figures_that_need_a_missing_program_are_skipped_with_the_reason() {
        let [quick, _] = both();
        let programs = Programs {
            lab: "weftline-lab".into(),
            ns3: Err("not built".into()),
        };
        let chosen: Vec<&Figure> = quick.iter().filter(|f| f.id == "garrido-9").collect();
        let report = Report::new(&chosen, &Values::default(), &[], &programs);
        assert!(matches!(&report.entries[0].became, Became::Skipped(why) if why == "not built"));
        let page = page(&report);
        assert!(page.contains("Skipped: not built.") && page.contains("id=\"garrido-9\""));
        assert!(!page.contains("<script") && !page.contains("http"));
        let [one] = &report.summaries()[..] else {
            panic!("one figure was chosen")
        };
        assert_eq!(
            (one.status, one.reason.as_deref()),
            ("skipped", Some("not built"))
        );
    }

    #[test]
    fn relative_errors_of_a_quotient_add_up_in_squares() {
        let (value, stderr) = quotient((6.0, 0.6), (-2.0, 0.1));
        assert_eq!(value, -3.0);
        assert!((stderr - 3.0 * f64::hypot(0.1, 0.05)).abs() < 1e-12);
        assert_eq!(quotient((0.0, 0.5), (2.0, 1.0)), (0.0, 0.25));
    }

    #[test]
    fn a_mean_over_runs_has_an_error() {
        let (mean, stderr) = over_runs(&[1.0, 2.0, 3.0, 4.0]);
        assert!((mean - 2.5).abs() < 1e-12 && (stderr - (5.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
    }
}
