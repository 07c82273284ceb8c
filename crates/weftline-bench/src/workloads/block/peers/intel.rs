//! ISA-L, used as in its own example: it inverts the whole matrix of the
//! symbols that arrived. The code is our Cauchy code, so results are equal.

use weftline_codec::reed_solomon::{Code, Construction};

use super::{Block, Way, too_large};
use crate::contest::{Contest, Error, Kind};
use crate::data::Symbols;
use crate::peers::isal::{self, Isal, Sources, Tables};
use crate::workloads::ceilings::combinations;

pub(super) fn enter<'a>(
    contest: &mut Contest<'a>,
    block: &'a Block,
    way: Way,
) -> Result<(), Error> {
    let (k, m, size) = (block.k(), block.repairs, block.size());
    let loaded = match too_large(block) {
        None => isal::for_size(size),
        Some(reason) => Err(reason),
    };
    let isal = match loaded {
        Ok(isal) => isal,
        Err(reason) => {
            contest.skip(isal::NAME, reason);
            return Ok(());
        }
    };
    let code = Code::new(Construction::Cauchy, k, m).expect("the block fits GF(2^8)");
    let rows = (0..m).filter_map(|repair| code.coefficients(repair));
    let matrix: Vec<u8> = rows.flatten().copied().collect();
    let sources = block.sources.slices();
    let mut tables = Tables::default();
    isal.tables(&matrix, k, &mut tables);
    let places = Sources::new(sources.iter().copied());
    let mut repairs = Symbols::zeroed(m, size);
    match way {
        Way::Encode => {
            let run = move |repairs: &mut Symbols| isal.encode(&mut tables, &places, repairs);
            let expected = combinations(&matrix, &sources);
            contest.enter(
                isal::NAME,
                Kind::Peer,
                repairs,
                run,
                Symbols::concat,
                &expected,
            )
        }
        Way::Decode => {
            isal.encode(&mut tables, &places, &mut repairs);
            let mut turn = 0;
            let run = move |out: &mut Symbols| {
                decode(isal, block, turn, &matrix, &repairs, &mut tables, out);
                turn = (turn + 1) % block.patterns.len();
            };
            let out = Symbols::zeroed(block.patterns[0].len(), size);
            contest.enter(
                isal::NAME,
                Kind::Peer,
                out,
                run,
                Symbols::concat,
                &block.lost(0),
            )
        }
    }
}

fn decode(
    isal: &Isal,
    block: &Block,
    pattern: usize,
    matrix: &[u8],
    repairs: &Symbols,
    tables: &mut Tables,
    out: &mut Symbols,
) {
    let (k, lost) = (block.k(), &block.patterns[pattern]);
    let mut received = vec![0; k * k];
    let (mut present, mut rows) = (Vec::with_capacity(k), received.chunks_exact_mut(k));
    for ((index, source), row) in block.received(pattern).zip(&mut rows) {
        row[index] = 1;
        present.push(source);
    }
    for (repair, row) in rows.enumerate() {
        row.copy_from_slice(&matrix[repair * k..][..k]);
        present.push(repairs.get(repair));
    }
    let inverse = isal.inverse(&mut received, k).expect("the code is MDS");
    let wanted: Vec<u8> = lost
        .iter()
        .flat_map(|index| &inverse[index * k..][..k])
        .copied()
        .collect();
    isal.tables(&wanted, k, tables);
    isal.encode(tables, &Sources::new(present), out);
}
