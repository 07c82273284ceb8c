//! Once every buffer has been used, no packet allocates memory, in the encoder
//! or the decoder, with or without losses, copied or owned.

use std::ops::Range;

use allocation_counter::measure;
use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;
use weftline_codec::{DecoderConfig, EncodingWindow, WindowDecoder, WindowEncoder};

const HEADER: usize = 12;
const LONGEST: usize = 300;

/// A stream and its path; both are reproducible.
struct Stream {
    encoder: WindowEncoder,
    decoder: WindowDecoder,
    window: EncodingWindow,
    /// Source symbols between two pairs of repairs.
    spacing: u64,
    /// The loss of source symbols and of repairs, in per cent.
    losses: [u64; 2],
    owned: bool,
    random: u64,
    /// Empty packets.
    packets: Vec<Vec<u8>>,
    repairs: [Vec<u8>; 3],
    recovered: u64,
}

impl Stream {
    fn new(bits: u32, window: EncodingWindow, owned: bool) -> Self {
        let field = Arithmetic::with_bits(bits).expect("1 to 8");
        let config = DecoderConfig::new(128, LONGEST, 100, 128);
        Self {
            encoder: WindowEncoder::with_field(64, LONGEST, field),
            decoder: WindowDecoder::with_field(config, field),
            window,
            spacing: 4,
            losses: [0; 2],
            owned,
            random: 7,
            packets: (0..4).map(|_| Vec::with_capacity(400)).collect(),
            repairs: [(); 3].map(|()| Vec::with_capacity(400)),
            recovered: 0,
        }
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn is_lost(&mut self, repair: bool) -> bool {
        self.random() % 100 < self.losses[usize::from(repair)]
    }

    /// Sends one source symbol, and sometimes two repairs after it.
    fn step(&mut self) {
        if self.encoder.is_full() {
            let oldest = self.encoder.first();
            self.encoder.discard_before(oldest + 1);
        }
        let length = LONGEST - (self.random() % 3) as usize * 100;
        let byte = self.random() as u8;
        let mut packet = self.packet(length, byte);
        let place = HEADER..HEADER + length;
        let esi = self.encoder.next();
        if !self.is_lost(false) {
            let taken = if self.owned {
                let arrived = self.packet(length, byte);
                self.decoder.source_owned(esi, arrived, place.clone())
            } else {
                self.decoder.source(esi, &packet[place.clone()])
            };
            assert!(taken.is_ok());
        }
        if self.owned {
            packet = self.push_owned(packet, place);
        } else {
            assert_eq!(self.encoder.push(&packet[place]), Ok(esi));
        }
        self.packets.push(packet);
        if esi.is_multiple_of(self.spacing) {
            self.repair(esi as u32);
        }
        while let Some(known) = self.decoder.next_known() {
            let payload = self.decoder.symbol(known).expect("known and not forgotten");
            assert!(payload.len() >= 100);
        }
        let lowest = self.encoder.first().saturating_sub(3);
        self.decoder.forget_before(lowest);
        while let Some(packet) = self.decoder.reclaim() {
            self.packets.push(packet);
        }
        self.recovered = self.decoder.stats().recovered;
    }

    fn packet(&mut self, length: usize, byte: u8) -> Vec<u8> {
        let mut packet = match self.packets.pop() {
            Some(packet) => packet,
            None => Vec::with_capacity(400),
        };
        packet.clear();
        packet.resize(HEADER + length, byte);
        packet
    }

    fn push_owned(&mut self, packet: Vec<u8>, place: Range<usize>) -> Vec<u8> {
        assert!(self.encoder.push_owned(packet, place).is_ok());
        match self.encoder.reclaim() {
            Some(packet) => packet,
            None => Vec::with_capacity(400),
        }
    }

    fn repair(&mut self, key: u32) {
        // The receiver reports its lowest missing symbol.
        let unacknowledged = self.decoder.contiguous();
        let window = self.window.range(unacknowledged, self.encoder.held());
        if window.is_empty() {
            return;
        }
        let kinds = [
            Coefficients::Uniform { key },
            Coefficients::Sparse {
                key,
                density_threshold: 11,
            },
            Coefficients::Fading { key, dense: 12 },
        ];
        self.repairs.iter_mut().for_each(Vec::clear);
        let ([together @ .., alone], [outs @ .., out]) = (&kinds, &mut self.repairs);
        let made = self.encoder.repairs(window.clone(), together, outs);
        assert_eq!(made, Ok(()));
        let made = self.encoder.repair(window.clone(), *alone, out);
        assert_eq!(made, Ok(()));
        for (i, kind) in kinds.into_iter().enumerate() {
            if !self.is_lost(true) {
                // The window may begin below the floor by now; such a repair is
                // refused.
                let _ = self.decoder.repair(window.clone(), kind, &self.repairs[i]);
            }
        }
    }
}

#[test]
fn no_packet_allocates_in_the_steady_state() {
    for (bits, window) in [
        (8, EncodingWindow::Fixed(40)),
        (8, EncodingWindow::Elastic),
        (8, EncodingWindow::Mobile(20)),
        (1, EncodingWindow::Fixed(40)),
        (5, EncodingWindow::Fixed(20)),
    ] {
        for loss in [0, 5, 30] {
            for owned in [false, true] {
                let mut stream = Stream::new(bits, window, owned);
                // The most equations possible, and all kinds of symbols, must
                // have occurred once.
                for (spacing, losses) in [(4, [0, 0]), (1, [100, 0]), (4, [60, 10]), (4, [loss; 2])]
                {
                    stream.spacing = spacing;
                    stream.losses = losses;
                    (0..1_000).for_each(|_| stream.step());
                }
                let warm = stream.recovered;
                let count = measure(|| (0..10_000).for_each(|_| stream.step()));
                let what = format!("q = {bits}, {window:?}, {loss} % loss, owned: {owned}");
                assert_eq!(count.count_total, 0, "{what}");
                assert_eq!(loss > 0, stream.recovered > warm + 100, "{what}");
            }
        }
    }
}
