//! Garrido et al.: low-overhead random linear block codes over UDP. Figs 9 to 11 are in
//! [`garrido_ns3`](super::garrido_ns3).

mod code;
mod drawings;
mod hop;
pub(super) mod stations;
mod worked;

use super::{Figure, Point, Scale};

/// Block sizes of the paper's codes.
fn sizes(scale: Scale) -> &'static [u32] {
    scale.pick(
        &[8, 64, 128, 192, 256],
        &[8, 16, 32, 64, 96, 128, 160, 192, 224, 256],
    )
}

/// Coefficients are in GF(2^q).
const FIELDS: [u32; 4] = [1, 2, 4, 8];

/// All figures of the paper that can be shown without ns-3.
pub(super) fn figures(scale: Scale) -> Vec<Figure> {
    vec![
        drawings::stack(scale),
        worked::example(scale),
        code::headers(scale),
        code::penalties(scale),
        code::decoding(scale),
        hop::over_size(scale),
        hop::over_fer(scale),
        hop::blocks(scale),
        drawings::cross(scale),
    ]
}

/// The paper's model, equations 3 to 6, for one hop of 802.11b: IP and UDP's 28 bytes count as
/// headers, the MAC answers at 11 Mbit/s as ns-3's does, and a block's acknowledgement is an IP
/// packet of 40 bytes.
fn model(k: u32, q: u32, header: &str, fer: f64) -> Point {
    Point::lab(&format!(
        "theory bianchi --transmissions 1 --basic-rate 11 --symbols {k} --q {q} --header {header} \
         --other-headers 28 --ack-bytes 40 --fer {fer}"
    ))
}

/// The same packet by packet.
fn slots(k: u32, q: u32, header: &str, fer: f64, scale: Scale) -> Point {
    let blocks = scale.pick(4_000, 20_000);
    Point::lab(&format!(
        "sim rlc-block --k {k} --q {q} --header {header} --other-headers 28 --fer {fer} --ack-fer 0 \
         --basic-rate 11 --ack-bytes 40 --blocks {blocks} --seed {}",
        scale.seed
    ))
    .about_secs(f64::from(blocks) * f64::from(k) * 4e-8 + 0.02)
}
