//! Chong, Ohsaki, Ng, Goi, Ewe, Chong: UDP-RC.
//!
//! Each figure has the preset `udp-rc` itself: in virtual time, and in the lab beside TCP and UDT in the
//! same command. `path` says what the paper prints of its paths, and why the rest is as it is.

mod decoding;
mod files;
mod flow;
mod long;
mod microwave;
mod path;
mod peers;
mod sizes;
mod transfers;
mod uplink;

use super::{Figure, Scale};

/// All figures of the paper that are run.
pub(super) fn figures(scale: Scale) -> Vec<Figure> {
    vec![
        flow::figure(scale),
        uplink::figure(scale),
        long::figure(scale),
        microwave::figure(scale),
        decoding::figure(scale),
    ]
}
