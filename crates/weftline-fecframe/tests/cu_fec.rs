//! Another implementation of RFC 8681 decodes our packets, and we decode its packets.
#![allow(clippy::unwrap_used)]

mod support;

use cu_fec::{
    DensityThreshold, EncodingSymbolId, Field, RepairParameters, RepairPayloadId, RlcConfig,
    RlcDecoder, RlcEncoder,
};
use support::{Random, receiver_config, rlc, sender_config};
use weftline_fecframe::{EncodingId, Order, Receiver, Sender, Time, adui};

const SYMBOL: usize = 32;
const MOST: usize = 64;

/// The parameters of a round.
struct Round {
    id: EncodingId,
    field: Field,
    window: usize,
    threshold: u8,
    first: u32,
    symbol_size: u16,
}

fn rounds() -> impl Iterator<Item = (Round, Random)> {
    let mut random = Random(1);
    (0..40).map(move |i| {
        let gf2 = i % 2 == 0;
        let round = Round {
            id: if gf2 {
                EncodingId::RlcGf2
            } else {
                EncodingId::RlcGf256
            },
            field: if gf2 { Field::Gf2 } else { Field::Gf256 },
            window: 4 + random.below(29) as usize,
            // 15 is a separate procedure, so draw it often.
            threshold: if i % 4 < 2 {
                15
            } else {
                3 + random.below(12) as u8
            },
            first: u32::MAX - random.below(150) as u32,
            symbol_size: 4 + random.below(SYMBOL as u64 - 3) as u16,
        };
        (round, Random(i))
    })
}

fn adu(random: &mut Random, round: &Round) -> Vec<u8> {
    let most = 2 * u64::from(round.symbol_size) - 3;
    let length = random.below(most + 1) as usize;
    random.bytes(length)
}

#[test]
fn it_decodes_our_packets() {
    let mut recovered = 0;
    for (round, mut random) in rounds() {
        let size = usize::from(round.symbol_size);
        let mut config = sender_config(
            round.id,
            rlc(round.symbol_size, 128),
            "1/2",
            round.window as u16,
        );
        config.first = round.first;
        config.density_threshold = round.threshold;
        config.bandwidth_cap = false;
        let mut sender = Sender::new(config).unwrap();
        let theirs = RlcConfig::new(size, MOST, round.field).unwrap();
        let mut decoder = Box::new(RlcDecoder::<SYMBOL, MOST, MOST>::new(theirs, MOST).unwrap());
        let (mut packet, mut symbols) = (Vec::new(), Vec::new());
        let mut lost = Vec::new();
        for i in 0..80 {
            let adu = adu(&mut random, &round);
            let sent = sender.source(0, &adu, Time::ZERO, &mut packet).unwrap();
            adui::write(0, &adu, round.symbol_size, &mut symbols);
            for (i_symbol, symbol) in (0..).zip(symbols.chunks_exact(size)) {
                let esi = EncodingSymbolId::new(sent.esi.wrapping_add(i_symbol));
                if i > 0 && random.below(100) < 15 {
                    lost.push((esi, symbol.to_vec()));
                } else {
                    let _ = decoder.receive_source(esi, symbol).unwrap();
                }
            }
            while sender.poll_repair(Time::ZERO, &mut packet).is_some() {
                let (id, data) = packet.split_first_chunk::<8>().unwrap();
                let id = RepairPayloadId::from_bytes(*id).unwrap();
                let _ = decoder.receive_repair(id, data).unwrap();
            }
            lost.retain(|(esi, symbol)| match decoder.symbol(*esi) {
                Some(found) => {
                    assert_eq!(found[..size], symbol[..], "{:?}", round.id);
                    recovered += 1;
                    false
                }
                None => true,
            });
        }
    }
    assert!(recovered > 300, "{recovered}");
}

#[test]
fn we_decode_its_packets() {
    let mut recovered = 0;
    for (round, mut random) in rounds() {
        let size = usize::from(round.symbol_size);
        let theirs = RlcConfig::new(size, round.window, round.field).unwrap();
        let first = EncodingSymbolId::new(round.first);
        let mut encoder = Box::new(RlcEncoder::<SYMBOL, MOST>::new(theirs, first).unwrap());
        let config = sender_config(
            round.id,
            rlc(round.symbol_size, 128),
            "1/2",
            round.window as u16,
        );
        let mut config = receiver_config(&config);
        config.order = Order::AsDecoded;
        let mut receiver = Receiver::new(config).unwrap();
        let mut sent = Vec::new();
        let (mut symbols, mut repair) = (Vec::new(), [0; SYMBOL]);
        for i in 0..80_u16 {
            let adu = adu(&mut random, &round);
            adui::write(0, &adu, round.symbol_size, &mut symbols);
            let esis: Vec<u32> = symbols
                .chunks_exact(size)
                .map(|symbol| encoder.push_source(symbol).unwrap().get())
                .collect();
            if i == 0 || random.below(100) >= 15 {
                let packet = [&adu[..], &esis[0].to_be_bytes()].concat();
                receiver.source_packet(0, &packet, Time::ZERO).unwrap();
            }
            sent.push((esis[0], adu));
            // Windows sometimes shrink, as when symbols expire.
            if random.below(8) == 0 && encoder.window_len() > 2 {
                encoder.discard_oldest(random.below(encoder.window_len() as u64 - 1) as usize);
            }
            for j in 0..esis.len() as u16 {
                let plain = round.field == Field::Gf2 && round.threshold == 15;
                let key = if plain {
                    0
                } else {
                    i.wrapping_mul(977).wrapping_add(j)
                };
                let threshold = DensityThreshold::new(round.threshold).unwrap();
                let parameters = RepairParameters::new(key, threshold);
                let id = encoder
                    .encode_repair(parameters, &mut repair[..size])
                    .unwrap();
                let packet = [&id.to_bytes()[..], &repair[..size]].concat();
                receiver.repair_packet(&packet, Time::ZERO).unwrap();
            }
        }
        while let Some(adu) = receiver.poll_adu() {
            let (_, data) = sent.iter().find(|(esi, _)| *esi == adu.esi).unwrap();
            assert_eq!(*data, adu.data, "{:?}", round.id);
            recovered += u64::from(adu.recovered);
        }
        assert_eq!(
            receiver.stats().inconsistent + receiver.stats().implausible,
            0
        );
    }
    assert!(recovered > 200, "{recovered}");
}
