//! Our block codes.

use weftline_codec::coefficients::Coefficients;
use weftline_codec::reed_solomon::{Code, Construction, Decoder};
use weftline_codec::{BlockDecoder, BlockEncoder};

use super::{Block, Way};
use crate::contest::{Contest, Error, Kind};
use crate::data::Symbols;

const RLC: &str = "weftline rlc";

/// Random linear code over GF(2^8).
pub(super) fn random_linear<'a>(
    contest: &mut Contest<'a>,
    block: &'a Block,
    way: Way,
) -> Result<(), Error> {
    let (k, m, size) = (block.k(), block.repairs, block.size());
    let keys: Vec<Coefficients<'_>> = (0..m as u32).map(Coefficients::from).collect();
    let encode = move |(encoder, repairs): &mut (BlockEncoder, Vec<Vec<u8>>)| {
        encoder.clear();
        for source in (0..k).map(|index| block.sources.get(index)) {
            encoder.push(source).expect("the block has room");
        }
        repairs.iter_mut().for_each(Vec::clear);
        let made = encoder.repairs_with(&keys, repairs);
        made.expect("the block has symbols");
    };
    let mut encoder = (BlockEncoder::new(k, size), vec![Vec::new(); m]);
    encode(&mut encoder);
    let repairs = encoder.1.clone();
    let mut decoder = BlockDecoder::new(k, size);
    // Random equations may be dependent, for about 1 in 250 loss patterns.
    // Without these patterns every block can be decoded.
    let usable = |decoder: &mut BlockDecoder, pattern: &usize| {
        take(decoder, block, *pattern, &repairs);
        decoder.is_complete()
    };
    let patterns: Vec<usize> = (0..block.patterns.len())
        .filter(|pattern| usable(&mut decoder, pattern))
        .collect();
    let first = block.lost(patterns[0]);
    match way {
        Way::Encode => {
            // This repair symbol has just proved useful.
            let expected = repairs.concat();
            let output = |(_, repairs): &(BlockEncoder, Vec<Vec<u8>>)| repairs.concat();
            contest.enter(RLC, Kind::Ours, encoder, encode, output, &expected)
        }
        Way::Decode => {
            let mut turn = 0;
            let lost = block.patterns[patterns[0]].clone();
            let run = move |decoder: &mut BlockDecoder| {
                take(decoder, block, patterns[turn], &repairs);
                turn = (turn + 1) % patterns.len();
            };
            let output = |decoder: &BlockDecoder| {
                let symbols = lost.iter().filter_map(|index| decoder.symbol(*index));
                symbols.flatten().copied().collect()
            };
            contest.enter(RLC, Kind::Ours, decoder, run, output, &first)
        }
    }
}

/// Gives the decoder the packets of a block that arrive.
fn take(decoder: &mut BlockDecoder, block: &Block, pattern: usize, repairs: &[Vec<u8>]) {
    decoder.clear();
    for (index, source) in block.received(pattern) {
        decoder
            .source(index, source)
            .expect("the symbol is of the block");
    }
    for (key, repair) in (0u32..).zip(repairs) {
        decoder
            .repair(key, repair)
            .expect("the repair symbol is of the block");
    }
}

/// Both constructions of Reed-Solomon.
pub(super) fn reed_solomon<'a>(
    contest: &mut Contest<'a>,
    block: &'a Block,
    way: Way,
) -> Result<(), Error> {
    for (name, construction) in [
        ("weftline rs cauchy", Construction::Cauchy),
        ("weftline rs rfc5510", Construction::Rfc5510),
    ] {
        let code = match Code::new(construction, block.k(), block.repairs) {
            Ok(code) => code,
            Err(error) => {
                contest.skip(name, error.to_string());
                continue;
            }
        };
        enter(contest, name, code, block, way)?;
    }
    Ok(())
}

fn enter<'a>(
    contest: &mut Contest<'a>,
    name: &str,
    code: Code,
    block: &'a Block,
    way: Way,
) -> Result<(), Error> {
    let (k, m, size) = (block.k(), block.repairs, block.size());
    let sources = block.sources.slices();
    let matrix: Vec<u8> = (0..m)
        .filter_map(|repair| code.coefficients(repair))
        .flatten()
        .copied()
        .collect();
    let expected = crate::workloads::ceilings::combinations(&matrix, &sources);
    let mut repairs = Symbols::zeroed(m, size);
    match way {
        Way::Encode => {
            let run = move |repairs: &mut Symbols| {
                let encoded = code.encode(&sources, &mut repairs.slices_mut());
                encoded.expect("the symbols fit the code");
            };
            contest.enter(name, Kind::Ours, repairs, run, Symbols::concat, &expected)
        }
        Way::Decode => {
            let encoded = code.encode(&sources, &mut repairs.slices_mut());
            encoded.expect("the symbols fit the code");
            let mut decoder = Decoder::new(code);
            let mut turn = 0;
            let run = move |out: &mut Symbols| {
                let repairs = (0..m).map(|index| (k + index, repairs.get(index)));
                let received = block.received(turn).chain(repairs);
                let lost = &block.patterns[turn];
                let decoded = decoder.reconstruct(received, lost, &mut out.slices_mut());
                decoded.expect("k symbols have arrived");
                turn = (turn + 1) % block.patterns.len();
            };
            let out = Symbols::zeroed(block.patterns[0].len(), size);
            contest.enter(name, Kind::Ours, out, run, Symbols::concat, &block.lost(0))
        }
    }
}
