//! After a few blocks, decoding and recoding allocate no memory.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;
use weftline_codec::{BlockDecoder, BlockEncoder, Recoder};

const SYMBOLS: usize = 40;
const SIZE: usize = 200;
/// A packet's bytes before its payload.
const HEADER: usize = 12;

/// A block and its repair symbols.
struct Sender {
    payloads: Vec<Vec<u8>>,
    block: BlockEncoder,
    coefficients: Vec<Coefficients<'static>>,
    repairs: Vec<Vec<u8>>,
}

impl Sender {
    fn new(field: Arithmetic) -> Self {
        let payloads: Vec<Vec<u8>> = (0..SYMBOLS)
            .map(|index| vec![index as u8; SIZE - index % 9])
            .collect();
        let mut block = BlockEncoder::with_field(SYMBOLS, SIZE, field);
        for payload in &payloads {
            block.push(payload).unwrap();
        }
        let coefficients: Vec<_> = (0..60).map(|key| Coefficients::Uniform { key }).collect();
        let mut repairs = vec![Vec::new(); coefficients.len()];
        block.repairs_with(&coefficients, &mut repairs).unwrap();
        Self {
            payloads,
            block,
            coefficients,
            repairs,
        }
    }

    /// A block from the first to the last packet: some source symbols are
    /// borrowed, some owned, some late, some lost.
    fn decode(&self, round: usize, decoder: &mut BlockDecoder, packets: &mut Vec<Vec<u8>>) {
        decoder.clear();
        packets.extend(std::iter::from_fn(|| decoder.reclaim()));
        let is_lost = |index: usize| (index * 7 + round) % 11 < 3;
        for (index, payload) in self.payloads.iter().enumerate() {
            if is_lost(index) {
                continue;
            }
            if index % 2 == 0 {
                decoder.source(index, payload).unwrap();
            } else {
                let mut packet = packets.pop().unwrap();
                packet.clear();
                packet.resize(HEADER, 0);
                packet.extend_from_slice(payload);
                let place = HEADER..packet.len();
                decoder.source_owned(index, packet, place).unwrap();
            }
        }
        let late = decoder.missing().next().unwrap();
        for (key, repair) in self.repairs.iter().enumerate() {
            if key == 3 {
                decoder.source(late, &self.payloads[late]).unwrap();
            }
            decoder.repair(self.coefficients[key], repair).unwrap();
        }
        assert!(decoder.symbols().unwrap().eq(&self.payloads));
        assert_eq!(std::iter::from_fn(|| decoder.next_known()).count(), SYMBOLS);
    }

    /// The work of a relay for one packet.
    fn relay(&self, step: u64, relay: &mut Recoder, vector: &mut Vec<u8>, data: &mut Vec<u8>) {
        let key = step as usize % self.repairs.len();
        let block = step / 100 * SYMBOLS as u64;
        let index = step as usize % SYMBOLS;
        if step.is_multiple_of(3) {
            let window = block..block + SYMBOLS as u64;
            // Below the floor in later rounds.
            let _ = relay.repair(window, self.coefficients[key], &self.repairs[key]);
        } else {
            let esi = block + index as u64;
            relay.source(esi, &self.payloads[index]).unwrap();
        }
        if step.is_multiple_of(10) {
            relay.forget_before(block + step % 100 / 5);
        }
        vector.clear();
        data.clear();
        let _ = relay.recode(step as u32, vector, data);
    }
}

#[test]
fn a_block_is_decoded_without_an_allocation() {
    for bits in [1, 3, 8] {
        let field = Arithmetic::with_bits(bits).unwrap();
        let sender = Sender::new(field);
        assert_eq!(sender.block.len(), SYMBOLS);
        let mut decoder = BlockDecoder::with_field(SYMBOLS, SIZE, field);
        let packet = || Vec::with_capacity(HEADER + SIZE);
        let mut packets: Vec<Vec<u8>> = std::iter::repeat_with(packet).take(SYMBOLS).collect();
        for round in 0..30 {
            sender.decode(round, &mut decoder, &mut packets);
        }
        let counted = allocation_counter::measure(|| {
            for round in 0..200 {
                sender.decode(round, &mut decoder, &mut packets);
            }
        });
        assert_eq!(counted.count_total, 0, "q {bits}");
    }
}

#[test]
fn a_relay_recodes_without_an_allocation() {
    for bits in [1, 3, 8] {
        let field = Arithmetic::with_bits(bits).unwrap();
        let sender = Sender::new(field);
        let mut relay = Recoder::with_field(24, SYMBOLS, SIZE, field);
        let (mut vector, mut data) = (Vec::new(), Vec::new());
        for step in 0..3_000 {
            sender.relay(step, &mut relay, &mut vector, &mut data);
        }
        let counted = allocation_counter::measure(|| {
            for step in 3_000..20_000 {
                sender.relay(step, &mut relay, &mut vector, &mut data);
            }
        });
        assert_eq!(counted.count_total, 0, "q {bits}");
        assert!(relay.rank() > 1);
    }
}
