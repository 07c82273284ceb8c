//! cu-fec's encoder and decoder, with exactly the capacity that a case needs.
//!
//! Its sizes are part of its types, and one value holds everything, so an
//! unnecessarily large capacity would slow it down. So there is a type for each
//! case, behind a trait.

use cu_fec::{
    DensityThreshold, EncodingSymbolId, Error, Field, RepairParameters, RepairPayloadId, RlcConfig,
    RlcDecoder, RlcEncoder, SourceStatus,
};

/// The name in results.
pub(crate) const NAME: &str = "cu-fec";

/// The reason for taking no part where there is no type for a size.
pub(crate) const NO_TYPE: &str = "no type for these sizes is compiled in";

/// A density at which half of the coefficients are not 0.
const HALF: u8 = 7;

/// The kinds of code that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// GF(2^8), every coefficient other than 0.
    Dense,
    /// GF(2^8), half of the coefficients other than 0.
    Sparse,
    /// GF(2), half of the coefficients 1.
    Gf2,
}

impl Code {
    fn field(self) -> Field {
        match self {
            Self::Dense | Self::Sparse => Field::Gf256,
            Self::Gf2 => Field::Gf2,
        }
    }

    fn density(self) -> DensityThreshold {
        match self {
            Self::Dense => DensityThreshold::FULL,
            Self::Sparse | Self::Gf2 => {
                DensityThreshold::new(HALF).expect("7 is a density threshold")
            }
        }
    }
}

/// An encoder of any capacity.
pub(crate) trait Encode {
    /// Takes the next source symbol; the oldest one leaves a full window.
    fn push(&mut self, symbol: &[u8]);

    /// Makes the repair symbol of this key over all symbols held.
    fn repair(&self, key: u16, out: &mut [u8]) -> RepairPayloadId;
}

/// A decoder of any capacity.
pub(crate) trait Decode {
    /// Takes a source symbol and returns how many became known.
    fn source(&mut self, esi: u32, symbol: &[u8]) -> usize;

    /// Takes a repair symbol and returns how many became known.
    fn repair(&mut self, id: RepairPayloadId, symbol: &[u8]) -> usize;

    /// Drops all symbols below this one.
    fn discard_before(&mut self, esi: u32);

    /// The number of symbols it spans.
    fn span(&self) -> usize;

    /// A known symbol.
    fn symbol(&self, esi: u32) -> Option<&[u8]>;
}

struct Encoder<const SIZE: usize, const WINDOW: usize> {
    rlc: RlcEncoder<SIZE, WINDOW>,
    density: DensityThreshold,
}

impl<const SIZE: usize, const WINDOW: usize> Encode for Encoder<SIZE, WINDOW> {
    fn push(&mut self, symbol: &[u8]) {
        self.rlc
            .push_source(symbol)
            .expect("the symbol has the configured size");
    }

    fn repair(&self, key: u16, out: &mut [u8]) -> RepairPayloadId {
        let parameters = RepairParameters::new(key, self.density);
        let id = self.rlc.encode_repair(parameters, out);
        id.expect("the window holds symbols of the configured size")
    }
}

struct Decoder<const SIZE: usize, const WINDOW: usize, const EQUATIONS: usize>(
    RlcDecoder<SIZE, WINDOW, EQUATIONS>,
);

impl<const SIZE: usize, const WINDOW: usize, const EQUATIONS: usize> Decode
    for Decoder<SIZE, WINDOW, EQUATIONS>
{
    fn source(&mut self, esi: u32, symbol: &[u8]) -> usize {
        match self.0.receive_source(EncodingSymbolId::new(esi), symbol) {
            Ok(report) => usize::from(report.status() == SourceStatus::New) + report.recovered(),
            Err(error) => refused(error),
        }
    }

    fn repair(&mut self, id: RepairPayloadId, symbol: &[u8]) -> usize {
        match self.0.receive_repair(id, symbol) {
            Ok(report) => report.recovered(),
            Err(error) => refused(error),
        }
    }

    fn discard_before(&mut self, esi: u32) {
        let discarded = self.0.discard_before(EncodingSymbolId::new(esi));
        discarded.expect("the floor rises by less than half of the numbers");
    }

    fn span(&self) -> usize {
        self.0.window().map_or(0, |(_, span)| span)
    }

    fn symbol(&self, esi: u32) -> Option<&[u8]> {
        self.0.symbol(EncodingSymbolId::new(esi))
    }
}

/// Accepts the errors that a lossy path may cause, and no others.
fn refused(error: Error) -> usize {
    match error {
        Error::WindowExpired | Error::EquationStoreFull => 0,
        error => panic!("cu-fec: {error}"),
    }
}

fn config(size: usize, window: usize, code: Code) -> RlcConfig {
    RlcConfig::new(size, window, code.field()).expect("sizes and windows are those of RFC 8681")
}

/// Makes a large value on the stack of another thread.
fn boxed<T: Send + 'static>(make: impl FnOnce() -> T + Send + 'static) -> Box<T> {
    const STACK: usize = 256 << 20;
    let thread = std::thread::Builder::new().stack_size(STACK);
    let thread = thread
        .spawn(move || Box::new(make()))
        .expect("a thread can be started");
    thread.join().expect("making an empty codec does not fail")
}

macro_rules! by_size {
    ($size:expr, $case:ident, $($rest:tt)*) => {
        match $size {
            64 => $case!(64, $($rest)*),
            256 => $case!(256, $($rest)*),
            1280 => $case!(1280, $($rest)*),
            8192 => $case!(8192, $($rest)*),
            _ => None,
        }
    };
}

/// An encoder for symbols and a window of these sizes, if there is a type for it.
pub(crate) fn encoder(size: usize, window: usize, code: Code) -> Option<Box<dyn Encode>> {
    macro_rules! by_window {
        ($bytes:literal, $($symbols:literal)*) => {
            match window {
                $($symbols => {
                    let rlc = boxed(move || Encoder::<$bytes, $symbols> {
                        rlc: RlcEncoder::new(config(size, window, code), EncodingSymbolId::new(0))
                            .expect("the capacity is that of the configuration"),
                        density: code.density(),
                    });
                    let rlc: Box<dyn Encode> = rlc;
                    Some(rlc)
                })*
                _ => None,
            }
        };
    }
    by_size!(size, by_window, 32 64 83 128 256 1024)
}

/// A decoder that spans `window` symbols, if there is a type for it. It holds
/// half as many equations.
pub(crate) fn decoder(size: usize, window: usize, code: Code) -> Option<Box<dyn Decode>> {
    macro_rules! by_window {
        ($bytes:literal, $($symbols:literal)*) => {
            match window {
                $($symbols => {
                    const EQUATIONS: usize = $symbols / 2;
                    let rlc = boxed(move || {
                        let config = config(size, window, code);
                        let rlc = RlcDecoder::<$bytes, $symbols, EQUATIONS>::new(config, EQUATIONS);
                        Decoder(rlc.expect("the capacity is that of the configuration"))
                    });
                    let rlc: Box<dyn Decode> = rlc;
                    Some(rlc)
                })*
                _ => None,
            }
        };
    }
    by_size!(size, by_window, 32 64 83 128 166 256 332 512)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_loses_it_recovers() {
        let symbols = crate::data::Symbols::random(32, 64, 1);
        let mut encoder = encoder(64, 32, Code::Dense).unwrap();
        let mut decoder = decoder(64, 64, Code::Dense).unwrap();
        let mut known = 0;
        for (esi, symbol) in symbols.slices().into_iter().enumerate() {
            encoder.push(symbol);
            if esi != 7 {
                known += decoder.source(esi as u32, symbol);
            }
        }
        assert_eq!((known, decoder.symbol(7)), (31, None));
        let mut repair = [0; 64];
        let id = encoder.repair(5, &mut repair);
        assert_eq!(decoder.repair(id, &repair), 1);
        assert_eq!(decoder.symbol(7), Some(symbols.get(7)));
        decoder.discard_before(20);
        assert_eq!(decoder.span(), 12);
    }

    #[test]
    fn there_is_a_type_for_every_size_of_the_workloads() {
        for size in crate::Scope::Full.sizes() {
            assert!(encoder(size, 1024, Code::Gf2).is_some());
            assert!(decoder(size, 512, Code::Gf2).is_some());
            assert!(encoder(size, 33, Code::Gf2).is_none());
        }
    }
}
