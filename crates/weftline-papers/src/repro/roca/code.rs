//! The paper's codes, and the points that run them.

use crate::repro::{Point, Scale};

/// Windows and blocks of one size.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) ew: u32,
    /// Also k of the blocks.
    pub(super) dw: u32,
    pub(super) ls: u32,
}

/// Medium windows and blocks.
pub(super) const LONG: Sizes = Sizes {
    ew: 83,
    dw: 167,
    ls: 400,
};
/// Short ones.
pub(super) const SHORT: Sizes = Sizes {
    ew: 19,
    dw: 38,
    ls: 200,
};

/// A code and its decoder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoder {
    /// RLC, with the decoder of `weftline-fecframe`.
    Keeping,
    /// RLC, with the decoder that discards received equations.
    Discarding,
    /// RS of `weftline-fecframe`.
    Blocks,
    /// Blocks that any k packets decode.
    Ideal,
}

impl Sizes {
    pub(super) fn options(self, decoder: Decoder) -> String {
        let Sizes { ew, dw, ls } = self;
        let rlc = |name| format!("--ew {ew} --dw {dw} --ls {ls} --decoder {name}");
        match decoder {
            Decoder::Keeping => rlc("keeping"),
            Decoder::Discarding => rlc("discarding"),
            Decoder::Blocks => format!("--code rs --k {dw}"),
            Decoder::Ideal => format!("--code ideal --k {dw}"),
        }
    }

    /// The sessions of this decoder at this independent loss in percent.
    pub(super) fn at(self, decoder: Decoder, loss: u32, scale: Scale) -> Point {
        let (symbols, sessions) = scale.pick((40_000, 8), (100_000, 20));
        let (options, seed) = (self.options(decoder), scale.seed);
        // Measured; a decoder that discards makes its equations again whenever it drops one.
        let microseconds = match (decoder, loss) {
            (Decoder::Ideal, _) => 0.05,
            (Decoder::Discarding, 30..) => 4.0,
            _ => 1.5,
        };
        Point::lab(&format!(
            "sim fecframe {options} --loss iid:{loss}% --symbols {symbols} --seeds {sessions} --symbol-size 16 \
             --seed {seed}"
        ))
        .about_secs(f64::from(symbols * sessions) * microseconds * 1e-6)
    }

    /// The formulas for its blocks.
    pub(super) fn theory(self, loss: u32) -> Point {
        let (k, loss) = (self.dw, f64::from(loss) / 100.0);
        Point::lab(&format!(
            "theory fecframe --max-latency-ms {k} --bitrate 8mbit --symbol-size 1000 --code-rate 2/3 --loss {loss}"
        ))
    }
}
