//! An experiment.

use weftline_fecframe::CodeRate;
use weftline_netem::LossModel;

use super::{Code, StudyError};

/// One code at one loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The code.
    pub code: Code,
    /// Source symbols as a share of all symbols.
    pub code_rate: CodeRate,
    /// dw: ticks within which a symbol must be known.
    pub decoding_window: u32,
    /// The loss model, applied to source and repair packets in the order of sending.
    pub loss: LossModel,
    /// Source symbols in each run that are counted.
    pub symbols: u64,
    /// Octets of a symbol: an ADU plus 3.
    pub symbol_size: u16,
}

impl Experiment {
    /// Its name: code and loss.
    pub fn name(&self) -> String {
        format!("{} at {}", self.code, self.loss)
    }

    /// Checks its parameters.
    ///
    /// # Errors
    /// [`StudyError::Parameter`].
    pub fn check(&self) -> Result<(), StudyError> {
        let refuse = |what, got: u64, expected| {
            Err(StudyError::Parameter {
                what,
                got,
                expected,
            })
        };
        if !(100..=100_000_000).contains(&self.symbols) {
            let expected = "100 to 100,000,000";
            return refuse("the number of symbols", self.symbols, expected);
        }
        if !(8..=9000).contains(&self.symbol_size) {
            let expected = "8 to 9000 octets";
            return refuse("the symbol size", self.symbol_size.into(), expected);
        }
        if !(1..=1 << 16).contains(&self.decoding_window) {
            let expected = "1 to 65536 symbols";
            return refuse("the decoding window", self.decoding_window.into(), expected);
        }
        self.code.check(self.code_rate)
    }

    /// Symbols before the counted ones, so that windows are full: whole blocks.
    pub(super) fn lead(&self) -> u64 {
        match self.code {
            Code::Window(code) => u64::from(code.encoding_window).max(self.decoding_window.into()),
            Code::Block(k) | Code::Ideal(k) => k.into(),
        }
    }

    /// Symbols sent in all: those after the counted ones protect the last of these.
    pub(super) fn sent(&self) -> u64 {
        let end = self.lead() + self.symbols;
        let after = match self.code {
            Code::Window(code) => u64::from(code.linear_system.max(self.decoding_window)),
            Code::Block(k) | Code::Ideal(k) => u64::from(k) - end % u64::from(k),
        };
        end + after
    }
}
