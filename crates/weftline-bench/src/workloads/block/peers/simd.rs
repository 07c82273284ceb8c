//! reed-solomon-simd. It copies symbols in, and results are read in place.

use std::hint::black_box;

use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};

use super::{Block, Way};
use crate::contest::{Contest, Error, Kind};
use crate::peers::RS_SIMD;

/// An encoder, and its result if that is checked.
struct Encoder(ReedSolomonEncoder, Option<Vec<u8>>);

/// A decoder, and its result if that is checked.
struct Decoder(ReedSolomonDecoder, Option<Vec<u8>>);

pub(super) fn enter<'a>(
    contest: &mut Contest<'a>,
    block: &'a Block,
    way: Way,
) -> Result<(), Error> {
    let (k, m, size) = (block.k(), block.repairs, block.size());
    let (encoder, decoder) = match (
        ReedSolomonEncoder::new(k, m, size),
        ReedSolomonDecoder::new(k, m, size),
    ) {
        (Ok(encoder), Ok(decoder)) => (encoder, decoder),
        (Err(error), _) | (_, Err(error)) => {
            contest.skip(RS_SIMD, error.to_string());
            return Ok(());
        }
    };
    let (encoder, decoder) = (
        Encoder(encoder, Some(Vec::new())),
        Decoder(decoder, Some(Vec::new())),
    );
    let lost = block.lost(0);
    match way {
        Way::Encode => {
            let encode = move |encoder: &mut Encoder| encode(encoder, block);
            let output = move |Encoder(_, made): &Encoder| {
                let mut decoder = decoder;
                decode(&mut decoder, block, 0, made.as_deref().unwrap_or_default());
                decoder.1.unwrap_or_default()
            };
            contest.enter(RS_SIMD, Kind::Peer, encoder, encode, output, &lost)
        }
        Way::Decode => {
            let mut encoder = encoder;
            encode(&mut encoder, block);
            let repairs = encoder.1.unwrap_or_default();
            let mut turn = 0;
            let decode = move |decoder: &mut Decoder| {
                decode(decoder, block, turn, &repairs);
                turn = (turn + 1) % block.patterns.len();
            };
            let output = |Decoder(_, restored): &Decoder| restored.clone().unwrap_or_default();
            contest.enter(RS_SIMD, Kind::Peer, decoder, decode, output, &lost)
        }
    }
}

fn encode(Encoder(encoder, made): &mut Encoder, block: &Block) {
    for index in 0..block.k() {
        let added = encoder.add_original_shard(block.sources.get(index));
        added.expect("the block has room");
    }
    let result = encoder.encode().expect("all sources are there");
    result
        .recovery_iter()
        .for_each(|repair| _ = black_box(repair));
    // Only in the first run, which is not measured.
    if let Some(made) = made.as_mut().filter(|made| made.is_empty()) {
        made.extend(result.recovery_iter().flatten());
    }
}

fn decode(Decoder(decoder, restored): &mut Decoder, block: &Block, pattern: usize, repairs: &[u8]) {
    for (index, source) in block.received(pattern) {
        let added = decoder.add_original_shard(index, source);
        added.expect("the symbol is of the block");
    }
    for (index, repair) in repairs.chunks_exact(block.size()).enumerate() {
        let added = decoder.add_recovery_shard(index, repair);
        added.expect("the repair symbol is of the block");
    }
    let result = decoder.decode().expect("k symbols have arrived");
    result
        .restored_original_iter()
        .for_each(|symbol| _ = black_box(symbol));
    if let Some(restored) = restored.as_mut().filter(|restored| restored.is_empty()) {
        restored.extend(
            result
                .restored_original_iter()
                .flat_map(|(_, symbol)| symbol),
        );
    }
}
