//! Coding vectors of RFC 8681, section 3.6.
//!
//! A repair symbol carries a 16-bit repair key and a density threshold of 0 to
//! 15; the generator of RFC 8682, seeded with the key, yields the rest. With a
//! threshold of 15 every position has a coefficient that is not 0. Below it, a
//! position is kept with a probability of (threshold + 1) / 16, and the vector
//! may well be all zeros: useless, but legal.
//!
//! Two details that decide whether two implementations understand each other:
//! over GF(2^8) a zero byte is drawn again rather than replaced, so it uses up
//! a number; and with a threshold of 15 no number is drawn to decide whether a
//! position is kept, so that vector is not where those below 15 tend to.

use crate::field::Arithmetic;
use crate::tinymt32::TinyMt32;

/// The highest density threshold (DT), with which every position is kept.
pub const MAX_DENSITY_THRESHOLD: u8 = 15;

/// Calls `term` with the position and the coefficient of each symbol of a window
/// of `length`, coefficients of 0 too. O(`length`) on average.
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
