//! Reports of the results, for people and for programs.

mod json;
mod table;

pub use json::object;
pub use table::{heading, legend, text};

use crate::measure::{Measurement, Outcome};

/// The ratio to the fastest peer, if there is one.
fn to_best_peer(outcome: &Outcome, measurement: &Measurement) -> Option<f64> {
    let peer = outcome.best_peer()?;
    Some(Outcome::ratio(measurement, peer))
}

/// The ratio to the contest's ceiling.
fn to_ceiling(outcome: &Outcome, measurement: &Measurement) -> Option<f64> {
    let ceiling = outcome.ceiling()?;
    Some(Outcome::ratio(measurement, ceiling))
}

/// The ratio to the published figure.
fn to_published(outcome: &Outcome, measurement: &Measurement) -> Option<f64> {
    let published = outcome.case.published?;
    Some(measurement.gbps(&outcome.case) / published.gbps)
}
