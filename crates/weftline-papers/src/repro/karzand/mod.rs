//! Karzand et al.: the streaming code.

mod bound;
mod bursts;
mod closed;
mod distribution;
mod drawings;
mod open;
mod pairs;
mod points;
mod rates;
mod sizes;
mod speed;
mod table;
mod theorem;

use super::{Figure, Scale};

/// All figures of the paper that are run.
pub(super) fn figures(scale: Scale) -> Vec<Figure> {
    vec![
        distribution::distribution(scale),
        sizes::over_block_size(scale),
        drawings::matrix(scale),
        drawings::stalls(scale),
        drawings::triangles(scale),
        bound::delay(scale),
        open::open_loop(scale),
        closed::closed_loop(scale),
        sizes::against_blocks(scale),
        rates::over_packets(scale),
        table::table_1(scale),
        theorem::tail(scale),
        speed::speed(scale),
        bursts::bursts(scale),
    ]
}
