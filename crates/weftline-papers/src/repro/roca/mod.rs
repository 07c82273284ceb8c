//! Roca et al.: block against sliding-window codes.
//!
//! The column *engine* has senders and receivers of `weftline-fecframe` as `weftline cast` uses
//! them. The column *simulation* has the models: for RLC the decoder that discards equations, which
//! is the paper's effect of `ls`; for RS blocks that any k of their packets decode.

mod code;
mod distribution;
mod latency;
mod on_time;
mod sessions;
mod speed;
mod windows;

use super::{Figure, Scale};
use code::{LONG, SHORT};

/// All figures of the paper that are run.
pub(super) fn figures(scale: Scale) -> Vec<Figure> {
    vec![
        windows::edges(scale),
        windows::late(scale),
        on_time::on_time(scale),
        speed::table(scale),
        distribution::short(scale),
        distribution::medium(scale),
        distribution::histograms(scale),
        latency::latency(
            "roca-7",
            "added latency and residual loss over the loss rate, k 167",
            LONG,
            scale,
        ),
        speed::over_loss(scale),
        latency::latency(
            "roca-short-windows",
            "added latency and residual loss over the loss rate, k 38",
            SHORT,
            scale,
        ),
    ]
}
