//! reed-solomon-erasure. It works on symbols in place. It caches the last 254
//! inverted matrices; there are more loss patterns here than that.

use reed_solomon_erasure::galois_8::ReedSolomon;

use super::{Block, Way, too_large};
use crate::contest::{Contest, Error, Kind};
use crate::data::Symbols;
use crate::peers::{RS_ERASURE, erasure_missing};

pub(super) fn enter<'a>(
    contest: &mut Contest<'a>,
    block: &'a Block,
    way: Way,
) -> Result<(), Error> {
    if let Some(reason) = too_large(block).or_else(erasure_missing) {
        contest.skip(RS_ERASURE, reason);
        return Ok(());
    }
    let (k, m, size) = (block.k(), block.repairs, block.size());
    let code = match ReedSolomon::new(k, m) {
        Ok(code) => code,
        Err(error) => {
            contest.skip(RS_ERASURE, error.to_string());
            return Ok(());
        }
    };
    let sources = block.sources.slices();
    let lost = block.lost(0);
    match way {
        Way::Encode => {
            let checker = code.clone();
            let encode = move |repairs: &mut Symbols| {
                let encoded = code.encode_sep(&sources, &mut repairs.slices_mut());
                encoded.expect("the symbols fit the code");
            };
            let output = |repairs: &Symbols| {
                let mut shards = shards(block, repairs);
                decode(&checker, &mut shards, &block.patterns[0]);
                pick(&shards, &block.patterns[0])
            };
            let repairs = Symbols::zeroed(m, size);
            contest.enter(RS_ERASURE, Kind::Peer, repairs, encode, output, &lost)
        }
        Way::Decode => {
            let mut repairs = Symbols::zeroed(m, size);
            let encoded = code.encode_sep(&sources, &mut repairs.slices_mut());
            encoded.expect("the symbols fit the code");
            let mut turn = 0;
            let decode = move |shards: &mut Vec<Shard>| {
                decode(&code, shards, &block.patterns[turn]);
                turn = (turn + 1) % block.patterns.len();
            };
            let output = |shards: &Vec<Shard>| pick(shards, &block.patterns[0]);
            let mut shards = shards(block, &repairs);
            for index in &block.patterns[0] {
                shards[*index].0.fill(0);
            }
            contest.enter(RS_ERASURE, Kind::Peer, shards, decode, output, &lost)
        }
    }
}

/// A symbol, and whether it is present.
type Shard = (Vec<u8>, bool);

fn shards(block: &Block, repairs: &Symbols) -> Vec<Shard> {
    let all = block.sources.slices().into_iter().chain(repairs.slices());
    all.map(|symbol| (symbol.to_vec(), true)).collect()
}

/// Drops these symbols and reconstructs them.
fn decode(code: &ReedSolomon, shards: &mut [Shard], lost: &[usize]) {
    lost.iter().for_each(|index| shards[*index].1 = false);
    code.reconstruct_data(shards).expect("k symbols are there");
    lost.iter().for_each(|index| shards[*index].1 = true);
}

fn pick(shards: &[Shard], indices: &[usize]) -> Vec<u8> {
    let picked = indices.iter().flat_map(|index| &shards[*index].0);
    picked.copied().collect()
}
