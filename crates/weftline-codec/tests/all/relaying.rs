//! A relay that recodes replaces the losses of the path before it.

use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;
use weftline_codec::{
    BlockDecoder, BlockEncoder, DecoderConfig, Recoder, WindowDecoder, WindowEncoder,
};

fn field(bits: u32) -> Arithmetic {
    Arithmetic::with_bits(bits).unwrap()
}

fn payload(esi: u64, size: usize) -> Vec<u8> {
    (0..size)
        .map(|j| (esi as usize * 37 + j * 11 + 5) as u8)
        .collect()
}

/// A generator of losses.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 24
    }

    fn lost(&mut self, percent: u64) -> bool {
        self.bits() % 100 < percent
    }
}

/// Two links, each of which carries or loses one packet in a slot.
struct Chain {
    first: Vec<bool>,
    second: Vec<bool>,
}

impl Chain {
    fn new(seed: u64, percent: u64) -> Self {
        let mut random = Random(seed * 7919 + 1);
        let mut link = || (0..2_000).map(|_| !random.lost(percent)).collect();
        Self {
            first: link(),
            second: link(),
        }
    }

    /// The fewest slots in which any relay can deliver as many packets as there
    /// are symbols. This is the minimum cut: the least, over all moments, of
    /// the packets that the first link carried before the moment plus those
    /// that the second carried from it on.
    fn least(&self, symbols: usize) -> usize {
        let mut flow = 0;
        let mut carried = 0;
        for (slot, (first, second)) in self.first.iter().zip(&self.second).enumerate() {
            carried += usize::from(*first);
            // A new slot adds two cuts: before it, and right after its start.
            flow = carried.min(flow + usize::from(*second));
            if flow == symbols {
                return slot + 1;
            }
        }
        panic!("too few slots");
    }

    /// The slots that a forwarding relay needs: those in which both links
    /// carry.
    fn forwarding(&self, symbols: usize) -> usize {
        let both = self.first.iter().zip(&self.second);
        let both = both
            .enumerate()
            .filter(|(_, (first, second))| **first && **second);
        let last = both.map(|(slot, _)| slot + 1).nth(symbols - 1);
        last.unwrap()
    }

    /// The slots that a recoding relay needs: in each, the source sends a
    /// combination of the block, and the relay one of the packets it has.
    fn recoding(&self, symbols: usize, field: Arithmetic) -> usize {
        let payloads: Vec<Vec<u8>> = (0..symbols as u64)
            .map(|esi| payload(esi, 20 + esi as usize % 5))
            .collect();
        let mut source = BlockEncoder::with_field(symbols, 30, field);
        for payload in &payloads {
            source.push(payload).unwrap();
        }
        let mut relay = Recoder::with_field(symbols, symbols, 30, field);
        let mut receiver = BlockDecoder::with_field(symbols, 30, field);
        let (mut vector, mut data) = (Vec::new(), Vec::new());
        for (slot, (first, second)) in self.first.iter().zip(&self.second).enumerate() {
            let key = slot as u32;
            if *first {
                data.clear();
                let coefficients = Coefficients::Uniform { key };
                source.repair(coefficients, &mut data).unwrap();
                let window = 0..symbols as u64;
                relay.repair(window, coefficients, &data).unwrap();
            }
            if *second && relay.rank() > 0 {
                vector.clear();
                data.clear();
                // The links have no delay, so that only slots count.
                let window = relay.recode(key, &mut vector, &mut data).unwrap();
                let mut whole = vec![0; symbols];
                whole[window.start as usize..window.end as usize].copy_from_slice(&vector);
                receiver
                    .repair(Coefficients::Explicit(&whole), &data)
                    .unwrap();
            }
            if receiver.is_complete() {
                let known = receiver.symbols().unwrap();
                assert!(known.eq(payloads.iter().map(Vec::as_slice)));
                return slot + 1;
            }
        }
        panic!("too few slots");
    }
}

#[test]
fn recoding_reaches_the_minimum_cut_of_two_lossy_links_and_forwarding_does_not() {
    const LOSS: u64 = 20;
    const RUNS: u64 = 40;
    // The average excess of a random code over the minimum cut: 1 / 255 at each
    // hop in GF(2^8), a few symbols in GF(2).
    for (bits, symbols, excess) in [(8, 64, 0.1), (4, 64, 0.6), (1, 64, 8.0), (8, 256, 0.1)] {
        let (mut least, mut forwarding, mut recoding) = (0, 0, 0);
        for seed in 0..RUNS {
            let chain = Chain::new(seed, LOSS);
            least += chain.least(symbols);
            forwarding += chain.forwarding(symbols);
            let slots = chain.recoding(symbols, field(bits));
            assert!(slots >= chain.least(symbols), "faster than possible");
            recoding += slots;
        }
        let mean = |slots: usize| slots as f64 / RUNS as f64;
        let name = format!("q {bits}, {symbols} symbols");
        // 1 / 0.64 packets a symbol where the relay forwards.
        let expected = symbols as f64 / 0.64;
        assert!((mean(forwarding) / expected - 1.0).abs() < 0.04, "{name}");
        let over = mean(recoding) - mean(least);
        assert!(over <= excess, "{name}: {over} slots above the minimum cut");
        // The cut is 1 / 0.8 packets a symbol, plus the excess from random
        // differences between the two links.
        let share = mean(recoding) / (symbols as f64 / 0.8);
        assert!(
            share
                < if symbols > 64 {
                    1.08
                } else {
                    1.16 + excess / 80.0
                },
            "{name}: {share}"
        );
        println!(
            "{name}: forwarding {:.1}, recoding {:.1}, minimum cut {:.1} slots",
            mean(forwarding),
            mean(recoding),
            mean(least)
        );
    }
}

#[test]
fn a_stream_survives_two_lossy_links_with_a_relay_that_recodes() {
    for bits in [1, 4, 8] {
        let field = field(bits);
        let mut encoder = WindowEncoder::with_field(96, 60, field);
        let mut relay = Recoder::with_field(96, 96, 60, field);
        let config = DecoderConfig::new(96, 60, 96, 96);
        let mut receiver = WindowDecoder::with_field(config, field);
        let mut random = Random(u64::from(bits));
        let mut next = 0;
        let (mut slots, mut sources) = (0_u32, 0);
        let (mut vector, mut data) = (Vec::new(), Vec::new());
        while next < 3_000 {
            slots += 1;
            // Six of ten packets are source symbols, and each link loses three
            // of ten.
            data.clear();
            if slots % 10 < 6 && !encoder.is_full() {
                let payload = payload(sources, 20 + sources as usize * 7 % 40);
                let esi = encoder.push(&payload).unwrap();
                sources += 1;
                if !random.lost(30) {
                    relay.source(esi, &payload).unwrap();
                }
            } else if !encoder.is_empty() {
                let window = encoder.first()..encoder.next();
                let coefficients = Coefficients::Uniform { key: slots };
                encoder
                    .repair(window.clone(), coefficients, &mut data)
                    .unwrap();
                if !random.lost(30) {
                    relay.repair(window, coefficients, &data).unwrap();
                }
            }
            vector.clear();
            data.clear();
            if !random.lost(30)
                && let Ok(window) = relay.recode(slots, &mut vector, &mut data)
            {
                receiver
                    .repair(window, Coefficients::Explicit(&vector), &data)
                    .unwrap();
            }
            while let Some(esi) = receiver.next_known() {
                let expected = payload(esi, 20 + esi as usize * 7 % 40);
                assert_eq!(receiver.symbol(esi), Some(expected.as_slice()));
            }
            // Reports are not lost here.
            next = receiver.contiguous();
            encoder.discard_before(next);
            relay.forget_before(next);
            receiver.forget_before(next);
        }
        // 0.6 symbols a slot are sent; the links could carry 0.7, and
        // forwarding only 0.49.
        let rate = next as f64 / f64::from(slots);
        assert!(rate > 0.55, "q {bits}: {rate} symbols a slot");
        assert_eq!(receiver.stats().inconsistent, 0);
    }
}
