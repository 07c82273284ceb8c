//! The ceilings: limits that no code can beat.

use weftline_codec::field::{Field, Gf256};
use weftline_codec::kernel::{Kernel, Ops};

use crate::contest::{Contest, Error, Kind};
use crate::data::Symbols;

/// XOR in results.
pub(super) const XOR: &str = "xor";
/// memcpy in results.
pub(super) const MEMCPY: &str = "memcpy";

/// The operations of the fastest kernel here.
pub(super) fn fastest() -> Ops {
    let fastest = Kernel::available().next_back().and_then(Kernel::ops);
    fastest.expect("the scalar kernel runs everywhere")
}

/// The XOR of all sources into one destination, `times` times.
pub(super) fn xor<'a>(
    contest: &mut Contest<'a>,
    sources: &[&'a [u8]],
    times: usize,
) -> Result<(), Error> {
    let size = sources[0].len();
    let mut expected = vec![0; size];
    for source in sources {
        expected
            .iter_mut()
            .zip(*source)
            .for_each(|(sum, byte)| *sum ^= byte);
    }
    let ops = fastest();
    let sources = sources.to_vec();
    let run = move |out: &mut Symbols| {
        for _ in 0..times {
            ops.sum(out.get_mut(0), &sources);
        }
    };
    let out = Symbols::zeroed(1, size);
    contest.enter(XOR, Kind::Ceiling, out, run, |out| out.concat(), &expected)
}

/// Copies of all sources to one place, `times` times.
pub(super) fn memcpy<'a>(
    contest: &mut Contest<'a>,
    sources: &[&'a [u8]],
    times: usize,
) -> Result<(), Error> {
    let out = Symbols::zeroed(1, sources[0].len());
    let expected = sources[sources.len() - 1];
    let sources = sources.to_vec();
    let run = move |out: &mut Symbols| {
        for source in (0..times).flat_map(|_| &sources) {
            // Otherwise the compiler could leave out all copies but the last.
            std::hint::black_box(out.get_mut(0)).copy_from_slice(source);
        }
    };
    contest.enter(
        MEMCPY,
        Kind::Ceiling,
        out,
        run,
        |out| out.concat(),
        expected,
    )
}

/// The combinations of the sources by the rows of a matrix, one after the
/// other, computed byte by byte.
pub(super) fn combinations(matrix: &[u8], sources: &[&[u8]]) -> Vec<u8> {
    let rows = matrix.chunks_exact(sources.len());
    let rows = rows.flat_map(|row| {
        let mut sum = vec![0; sources[0].len()];
        for (c, source) in row.iter().zip(sources) {
            for (sum, byte) in sum.iter_mut().zip(*source) {
                *sum ^= Gf256::mul(*c, *byte);
            }
        }
        sum
    });
    rows.collect()
}
