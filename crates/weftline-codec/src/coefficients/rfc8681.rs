//! Coding vectors of RFC 8681, section 3.6.
//!
//! A repair symbol carries a 16-bit repair key and a density threshold of 0 to
//! 15; the generator of RFC 8682, seeded with the key, yields the rest. With a
//! threshold of 15 every position has a coefficient other than 0. Below 15, a
//! position is kept with a probability of (threshold + 1) / 16, and the vector
//! may be all zeros: useless, but valid.
//!
//! Two details matter for interoperability. Over GF(2^8) a zero byte is drawn
//! again rather than replaced, so it uses up a number. With a threshold of 15
//! no number is drawn to decide whether a position is kept, so this vector is
//! not the limit of those with lower thresholds.

use crate::field::Arithmetic;
use crate::tinymt32::TinyMt32;

/// The highest density threshold (DT), with which every position is kept.
pub const MAX_DENSITY_THRESHOLD: u8 = 15;

/// Calls `term` with the position and the coefficient of each symbol of a
/// window of `length`, including coefficients of 0. O(`length`) on average.
pub(super) fn each_term(
    field: Arithmetic,
    repair_key: u16,
    density_threshold: u8,
    length: usize,
    mut term: impl FnMut(usize, u8),
) {
    let keep_all = density_threshold == MAX_DENSITY_THRESHOLD;
    let mut random = TinyMt32::new(u32::from(repair_key));
    for position in 0..length {
        let kept = keep_all || keeps(&mut random, density_threshold);
        let element = match field.bits() {
            _ if !kept => 0,
            1 => 1,
            _ => nonzero(&mut random),
        };
        term(position, element);
    }
}

/// Whether a position is kept: the low four bits of a number decide.
#[inline]
fn keeps(random: &mut TinyMt32, density_threshold: u8) -> bool {
    random.next() as u8 & 0xF <= density_threshold
}

/// The low byte of the next number where it is not 0.
#[inline]
fn nonzero(random: &mut TinyMt32) -> u8 {
    loop {
        let byte = random.next() as u8;
        if byte != 0 {
            return byte;
        }
    }
}
