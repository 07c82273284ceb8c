//! Repair symbols that name their field, and the field of a flow.

use core::ops::Range;

use weftline_codec::coefficients::Coefficients;
use weftline_codec::{DecodeError, Esi, Outcome, WindowDecoder};

use super::{Drop, News, Receiver};
use crate::time::Time;
use crate::wire::{Coded, FieldCode, complete, field};

/// The field of repair symbols that name none.
pub(super) const USUAL: u8 = 8;

impl Receiver {
    pub(crate) fn on_field_repair(
        &mut self,
        now: Time,
        path: usize,
        coded: &Coded,
        nss: u16,
        code: &FieldCode<'_>,
        data: &[u8],
    ) -> Result<(), Drop> {
        if !self.accepts(nss, data.len()) {
            return Err(Drop::Malformed);
        }
        let transmission = self.paths[path].transmission(coded)?;
        let first = complete(coded.esi, self.decoder.contiguous());
        let window = first..first + u64::from(nss);
        if !self.decodes_in(code.bits) {
            return Err(Drop::Malformed);
        }
        self.afford(now, path, data.len())?;
        self.enter(path, coded, first, window.end, data.len() - 2)?;
        let mut vector = core::mem::take(&mut self.vector);
        code.fill(nss, &mut vector);
        let coefficients = Coefficients::Explicit(&vector);
        let decoded = self.decoder.repair(window.clone(), coefficients, data);
        self.vector = vector;
        self.budget.on_datagram(self.decoder.work(), data.len());
        let decoded = self.count_repair(decoded);
        let news = match decoded.is_ok() && self.is_complete(&window) {
            true => News::Complete,
            false => News::None,
        };
        self.on_numbered(now, path, coded, transmission, decoded, news)
    }

    pub(super) fn count_repair(
        &mut self,
        decoded: Result<Outcome, DecodeError>,
    ) -> Result<(), DecodeError> {
        self.stats.repair_symbols += 1;
        match decoded {
            // The window covers symbols that both ends have forgotten: the repair cannot help.
            Err(DecodeError::NotHeld { .. }) => Ok(()),
            Ok(outcome) => {
                self.stats.useful_repairs += u64::from(outcome == Outcome::Innovative);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn is_complete(&self, window: &Range<Esi>) -> bool {
        let mut missing = self.decoder.missing();
        let next = missing.find(|run| run.end > window.start);
        next.is_none_or(|run| run.start >= window.end)
    }

    /// Whether this flow decodes repair symbols whose field elements have `bits` bits. All repair
    /// symbols of a flow use one field, which the first one names. Repair symbols in GF(2) fit every
    /// field in which a byte is an element.
    pub(super) fn decodes_in(&mut self, bits: u8) -> bool {
        let bits = if bits == 1 { USUAL } else { bits };
        match self.bits {
            Some(held) => held == bits,
            None => {
                self.bits = Some(bits);
                if bits != USUAL {
                    self.change_field(bits);
                }
                true
            }
        }
    }

    /// Replaces the decoder by one in another field. Before the first repair symbol the old decoder
    /// holds only source symbols, which the new one can use.
    fn change_field(&mut self, bits: u8) {
        let old = &self.decoder;
        let mut new = WindowDecoder::with_field(old.config().clone(), field(bits));
        new.forget_before(old.first());
        for esi in old.first()..old.end() {
            if let Some(symbol) = old.symbol(esi) {
                let decoded = new.source(esi, symbol);
                debug_assert!(decoded.is_ok(), "the old decoder had room for it");
            }
        }
        let expected = new.expect(old.end());
        debug_assert!(expected.is_ok(), "the old decoder had room for it");
        // The old decoder has already reported them.
        while new.next_known().is_some() {}
        self.earlier = *old.stats();
        self.inherited = *new.stats();
        self.decoder = new;
        self.budget.on_new_decoder();
    }

    /// Source symbols received, recovered and given up since the session began.
    pub(crate) fn decoded(&self) -> [u64; 3] {
        let (now, before, again) = (self.decoder.stats(), &self.earlier, &self.inherited);
        [
            before.sources + (now.sources - again.sources),
            before.recovered + (now.recovered - again.recovered),
            before.abandoned + (now.abandoned - again.abandoned),
        ]
    }
}
