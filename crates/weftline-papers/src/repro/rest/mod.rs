//! Brulatout et al.: REST.

mod exchange;
mod over_time;
mod runs;
mod surfaces;
mod table;

use super::{Check, Figure, Missing, Paper, Point, Scale, Shown, Values, over_runs};

/// All figures of the paper.
pub(super) fn figures(scale: Scale) -> Vec<Figure> {
    vec![
        exchange::figure(scale),
        over_time::fixed(scale),
        over_time::adaptive(scale),
        over_time::mobile(scale),
        surfaces::round_trips(scale),
        surfaces::acknowledgements(scale),
        surfaces::bursts(scale),
        table::figure(scale),
    ]
}
