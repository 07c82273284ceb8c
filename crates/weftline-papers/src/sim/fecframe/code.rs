//! The compared codes.

use std::fmt;

use weftline_fecframe::payload_id::{MAX_DENSITY_THRESHOLD, MAX_NSS};
use weftline_fecframe::{
    CodeRate, Elimination, EncodingId, Fssi, Order, ReceiverConfig, SenderConfig, sizing,
};

use super::StudyError;

/// A code and its sizes, in symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Random linear codes over a sliding window, RFC 8681.
    Window(WindowCode),
    /// Reed-Solomon over GF(2^8) in blocks of this many source symbols (k), RFC 6865.
    Block(u16),
    /// An ideal block code of this many source symbols: any k packets of a block decode it, and only
    /// losses are counted. It is the model with which the real codec is compared.
    Ideal(u16),
}

/// A sliding-window code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowCode {
    /// Coefficients are in GF(2) rather than GF(2^8).
    pub binary: bool,
    /// DT: a position has a coefficient other than 0 with a probability of (DT + 1) / 16.
    pub density_threshold: u8,
    /// ew: symbols that a repair covers.
    pub encoding_window: u16,
    /// ls: the newest symbols, which equations may contain.
    pub linear_system: u32,
    /// Treatment of equations when a symbol leaves the linear system.
    pub elimination: Elimination,
}

impl WindowCode {
    /// Over GF(2^8), dense, ls = max(2 dw, 40), a decoder that keeps equations.
    pub fn new(encoding_window: u16, decoding_window: u32) -> Self {
        Self {
            binary: false,
            density_threshold: MAX_DENSITY_THRESHOLD,
            encoding_window,
            linear_system: sizing::linear_system(decoding_window).max(encoding_window.into()),
            elimination: Elimination::Keeping,
        }
    }

    /// The same over GF(2), half dense.
    pub fn binary(self) -> Self {
        Self {
            binary: true,
            density_threshold: 7,
            ..self
        }
    }
}

impl Code {
    /// The longest run of symbols that one of its repairs covers.
    pub fn covers(&self) -> u16 {
        match self {
            Self::Window(code) => code.encoding_window,
            Self::Block(k) | Self::Ideal(k) => *k,
        }
    }

    /// Source symbols of a block, if it is a block code.
    pub(super) fn block(&self) -> Option<u64> {
        match self {
            Self::Window(_) => None,
            Self::Block(k) | Self::Ideal(k) => Some((*k).into()),
        }
    }

    fn encoding_id(&self) -> EncodingId {
        match self {
            Self::Window(code) if code.binary => EncodingId::RlcGf2,
            Self::Window(_) => EncodingId::RlcGf256,
            Self::Block(_) | Self::Ideal(_) => EncodingId::ReedSolomon,
        }
    }

    fn fssi(&self, symbol_size: u16) -> Fssi {
        match self {
            // Both ends have their sizes configured, so that the ratio does not matter.
            Self::Window(_) => Fssi::Rlc {
                symbol_size,
                window_size_ratio: 0,
            },
            Self::Block(_) | Self::Ideal(_) => Fssi::ReedSolomon {
                symbol_size,
                strict: true,
                m: 8,
            },
        }
    }

    /// The sender's configuration. The bandwidth cap is off: the identifiers of small symbols
    /// would trigger it, and the study is about the code.
    pub(super) fn sender(&self, rate: CodeRate, symbol_size: u16, seed: u64) -> SenderConfig {
        let (id, fssi) = (self.encoding_id(), self.fssi(symbol_size));
        let mut config = SenderConfig::new(id, fssi, rate, self.covers());
        config.one_symbol_adus = true;
        config.bandwidth_cap = false;
        if let Self::Window(code) = self {
            config.density_threshold = code.density_threshold;
            config.first_key = seed as u16;
        }
        config
    }

    /// The receiver's configuration: deliver as decoded, late symbols too, so that the model sees
    /// when each became known.
    pub(super) fn receiver(&self, symbol_size: u16, decoding_window: u32) -> ReceiverConfig {
        let mut config = ReceiverConfig::new(self.encoding_id(), self.fssi(symbol_size));
        config.order = Order::AsDecoded;
        config.deliver_late = true;
        config.one_symbol_adus = true;
        if let Self::Window(code) = self {
            config.decoding_window = Some(decoding_window.min(code.linear_system));
            config.linear_system = Some(code.linear_system);
            config.elimination = code.elimination;
            config.limits.max_window = MAX_NSS;
            config.limits.max_linear_system = code.linear_system.max(MAX_NSS.into());
        }
        config
    }

    pub(super) fn check(&self, rate: CodeRate) -> Result<(), StudyError> {
        let refuse = |what, got: u64, expected| {
            Err(StudyError::Parameter {
                what,
                got,
                expected,
            })
        };
        match self {
            Self::Window(code) => {
                let (ew, ls) = (code.encoding_window, code.linear_system);
                if ew == 0 || ew > MAX_NSS {
                    return refuse("the encoding window", ew.into(), "1 to 4095 symbols");
                }
                if ls < ew.into() || ls > 1 << 16 {
                    let expected = "no shorter than the encoding window, and 65536 at most";
                    return refuse("the linear system", ls.into(), expected);
                }
                let density = code.density_threshold;
                if density > MAX_DENSITY_THRESHOLD {
                    return refuse("the density threshold", density.into(), "0 to 15");
                }
            }
            Self::Block(k) | Self::Ideal(k) => {
                let all = u64::from(*k) + rate.repairs_after((*k).into());
                if *k == 0 || all > 255 {
                    let expected = "at most 255 with its repair symbols, at this code rate";
                    return refuse("the block", (*k).into(), expected);
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Code {
    /// As in `RLC GF(256) ew 83 ls 334`: defaults are omitted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = match self {
            Self::Block(k) => return write!(f, "RS k {k}"),
            Self::Ideal(k) => return write!(f, "ideal blocks k {k}"),
            Self::Window(code) => code,
        };
        let (ew, ls) = (code.encoding_window, code.linear_system);
        let field = if code.binary { " GF(2)" } else { "" };
        write!(f, "RLC{field} ew {ew} ls {ls}")?;
        let usual = if code.binary {
            7
        } else {
            MAX_DENSITY_THRESHOLD
        };
        if code.density_threshold != usual {
            write!(f, " DT {}", code.density_threshold)?;
        }
        if code.elimination == Elimination::Discarding {
            write!(f, " discarding")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_parameters_that_are_not_defaults() {
        let code = WindowCode::new(83, 167);
        assert_eq!(Code::Window(code).to_string(), "RLC ew 83 ls 334");
        let sparse = WindowCode {
            density_threshold: 3,
            elimination: Elimination::Discarding,
            ..code.binary()
        };
        let name = "RLC GF(2) ew 83 ls 334 DT 3 discarding";
        assert_eq!(Code::Window(sparse).to_string(), name);
        assert_eq!(Code::Block(38).to_string(), "RS k 38");
    }

    #[test]
    fn contradictory_sizes_are_refused() {
        let rate = CodeRate::new(2, 3).unwrap();
        let refused = |code: Code| code.check(rate).is_err();
        let window = WindowCode::new(83, 167);
        assert!(!refused(Code::Window(window)) && !refused(Code::Block(167)));
        assert!(refused(Code::Block(0)) && refused(Code::Block(171)));
        assert!(refused(Code::Window(WindowCode {
            encoding_window: 0,
            ..window
        })));
        assert!(refused(Code::Window(WindowCode {
            linear_system: 82,
            ..window
        })));
        assert!(refused(Code::Window(WindowCode {
            density_threshold: 16,
            ..window
        })));
    }
}
