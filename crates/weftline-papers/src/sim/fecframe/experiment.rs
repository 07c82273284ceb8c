//! What is run.

use weftline_fecframe::CodeRate;
use weftline_netem::LossModel;

use super::{Code, StudyError};

/// One code at one loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The code.
    pub code: Code,
    /// Source symbols of all symbols.
    pub code_rate: CodeRate,
    /// dw: ticks within which a symbol must be known.
    pub decoding_window: u32,
    /// Which packets are lost, counted over source and repair packets as they are sent.
    pub loss: LossModel,
    /// Source symbols that count, in each run.
    pub symbols: u64,
    /// Octets of a symbol: an ADU and 3 more.
    pub symbol_size: u16,
}

impl Experiment {
    /// Its name: code and loss.
    pub fn name(&self) -> String {
        format!("{} at {}", self.code, self.loss)
    }

    /// Checks that it can be run.
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

    /// Symbols before those that count, so that windows are full: whole blocks.
    pub(super) fn lead(&self) -> u64 {
        match self.code {
            Code::Window(code) => u64::from(code.encoding_window).max(self.decoding_window.into()),
            Code::Block(k) => k.into(),
        }
    }

    /// Symbols sent in all: those behind the ones that count protect the last of these.
    pub(super) fn sent(&self) -> u64 {
        let end = self.lead() + self.symbols;
        let after = match self.code {
            Code::Window(code) => u64::from(code.linear_system.max(self.decoding_window)),
            Code::Block(k) => u64::from(k) - end % u64::from(k),
        };
        end + after
    }
}
