//! Karzand et al.: the streaming code.

mod against;
mod analysis;
mod table;
mod testbed;

use super::{Figure, Scale};

/// All figures of the paper that are run.
pub(super) fn figures(scale: Scale) -> Vec<Figure> {
    vec![
        testbed::distribution(scale),
        testbed::block_size(scale),
        analysis::delay(scale),
        analysis::bursts(scale),
        analysis::speed(scale),
        against::against_blocks(scale),
        against::over_rate(scale),
        table::table_1(scale),
    ]
}
