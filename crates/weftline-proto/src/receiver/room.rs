//! How many symbols a receiver holds: fewer while some of them are long, so that they take no more
//! memory.

use weftline_codec::{Esi, WindowDecoder};

use crate::limits::{Limits, USUAL_SYMBOL};

#[derive(Debug)]
pub(super) struct Room {
    /// Symbols of credit, and while some are long.
    usual: u64,
    few: u64,
    /// One past the highest long symbol, until the memory is that of usual ones again.
    long_below: Option<Esi>,
}

impl Room {
    pub(super) fn new(limits: &Limits) -> Self {
        Room {
            usual: limits.symbols.into(),
            few: limits.long_symbols().into(),
            long_below: None,
        }
    }

    /// The credit that the sender has now.
    pub(super) fn credit(&self) -> u64 {
        match self.long_below {
            Some(_) => self.few,
            None => self.usual,
        }
    }

    /// The credit once a datagram with a symbol of `bytes` is taken.
    pub(super) fn credit_with(&self, bytes: usize) -> u64 {
        match is_long(bytes) {
            true => self.few,
            false => self.credit(),
        }
    }

    /// Makes room for a symbol of `bytes` below `end`. False: too many others are held.
    pub(super) fn make(&mut self, decoder: &mut WindowDecoder, end: Esi, bytes: usize) -> bool {
        if is_long(bytes) {
            if self.long_below.is_none() && !decoder.set_max_span(2 * self.few as usize) {
                return false;
            }
            self.long_below = Some(self.long_below.unwrap_or(0).max(end));
        } else if let Some(below) = self.long_below
            // Not at once: it moves all that is held.
            && decoder.end() >= below + self.few
        {
            self.forget_long(decoder);
        }
        true
    }

    /// Only short symbols are held: there is room for more of them.
    pub(super) fn forget_long(&mut self, decoder: &mut WindowDecoder) {
        if let Some(below) = self.long_below
            && decoder.first() >= below
            // Equations may have the length of longer symbols.
            && decoder.rank() == 0
            && decoder.set_max_span(2 * self.usual as usize)
        {
            self.long_below = None;
        }
    }
}

fn is_long(bytes: usize) -> bool {
    bytes > usize::from(USUAL_SYMBOL)
}
