//! The papers' figures and tables, run again: `weftline repro`.
//!
//! A [`Figure`] names the [`Point`]s it needs, each a command that prints one JSON object, and makes
//! charts and comparisons of what they gave. Nothing is computed here that those commands do not
//! print, so whoever types one gets the report's number. [`run()`] runs points and keeps their results
//! in a folder, [`Report`] and [`page()`] show them.
//!
//! A figure is added by a function that makes it from a [`Scale`], in the file of its paper, and a
//! line in that paper's `figures`.

mod check;
mod figure;
mod garrido;
mod garrido_ns3;
mod karzand;
mod kept;
mod page;
mod picture;
mod point;
mod report;
mod rest;
mod roca;
mod run;
mod udp_rc;
mod values;

pub use check::{Check, Says, Verdict};
pub use figure::{Figure, Paper, Scale, Show, Shown};
pub use kept::Kept;
pub use page::page;
pub use picture::{Dot, Line, Plot, Source};
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

/// The figures that `names` stand for: a figure's own name, or that of a paper for all of its. No
/// name is all figures.
///
/// # Errors
/// A name that stands for nothing, with those that do.
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

/// No figure has such a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no figure is called `{name}`; there are {}; karzand, roca, rest, udp-rc and garrido stand for all of a paper's",
    .known.join(", ")
)]
pub struct Unknown {
    /// What was asked for.
    pub name: String,
    /// What there is.
    pub known: Vec<&'static str>,
}

/// Mean and standard error of values from independent runs.
fn over_runs(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
}
