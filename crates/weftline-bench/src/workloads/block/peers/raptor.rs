//! raptorq. It takes ownership of packets and returns the whole block. The plan
//! for encoding k symbols is made beforehand, because programs can keep it.

use std::hint::black_box;

use raptorq::{
    EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder,
    SourceBlockEncoder, SourceBlockEncodingPlan,
};

use super::{Block, Way};
use crate::contest::{Contest, Error, Kind};
use crate::peers::RAPTORQ;

/// The number of loss patterns; it keeps nothing from one to the next.
const PATTERNS: usize = 8;

pub(super) fn enter<'a>(
    contest: &mut Contest<'a>,
    block: &'a Block,
    way: Way,
) -> Result<(), Error> {
    let (k, m, size) = (block.k(), block.repairs, block.size());
    let data = block.sources.concat();
    let config = ObjectTransmissionInformation::new(data.len() as u64, size as u16, 1, 1, 8);
    let plan = SourceBlockEncodingPlan::generate(k as u16);
    let encode = move |packets: &mut Vec<EncodingPacket>| {
        let encoder = SourceBlockEncoder::with_encoding_plan(0, &config, &data, &plan);
        *packets = encoder.repair_packets(0, m as u32);
    };
    let mut repairs = Vec::new();
    encode(&mut repairs);

    let decode = move |received: Vec<EncodingPacket>| {
        let bytes = (k * size) as u64;
        SourceBlockDecoder::new(0, &config, bytes).decode(received)
    };
    // About one block in a hundred cannot be decoded from k symbols.
    let mut usable = Vec::new();
    for pattern in 0..4 * PATTERNS {
        let received = packets(block, pattern, &repairs);
        if usable.len() < PATTERNS && decode(received.clone()).is_some() {
            usable.push((pattern, received));
        }
    }
    let Some((pattern, received)) = usable.first().cloned() else {
        contest.skip(RAPTORQ, "k symbols did not suffice for any of the blocks");
        return Ok(());
    };
    let lost = block.lost(pattern);
    let pick = move |symbols: &[u8]| {
        let lost = block.patterns[pattern].iter();
        lost.flat_map(|index| &symbols[index * size..][..size])
            .copied()
            .collect()
    };
    match way {
        Way::Encode => {
            let output = move |repairs: &Vec<EncodingPacket>| {
                let received = packets(block, pattern, repairs);
                pick(&decode(received).unwrap_or_else(|| vec![0; k * size]))
            };
            contest.enter(RAPTORQ, Kind::Peer, Vec::new(), encode, output, &lost)
        }
        Way::Decode => {
            drop(received);
            let mut turn = 0;
            let run = move |symbols: &mut Option<Vec<u8>>| {
                *symbols = black_box(decode(usable[turn].1.clone()));
                turn = (turn + 1) % usable.len();
            };
            let output =
                |symbols: &Option<Vec<u8>>| symbols.as_deref().map(pick).unwrap_or_default();
            contest.enter(RAPTORQ, Kind::Peer, None, run, output, &lost)
        }
    }
}

/// The packets of a block that arrive.
fn packets(block: &Block, pattern: usize, repairs: &[EncodingPacket]) -> Vec<EncodingPacket> {
    let sources = block.received(pattern).map(|(index, symbol)| {
        EncodingPacket::new(PayloadId::new(0, index as u32), symbol.to_vec())
    });
    sources.chain(repairs.iter().cloned()).collect()
}
