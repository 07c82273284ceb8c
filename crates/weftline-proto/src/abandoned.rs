//! Source symbols that the sender gave up before the peer was known to have them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use weftline_codec::Esi;

/// What became of the symbols that the lower edge has passed although the peer was not known to
/// have them. Most did arrive: their acknowledgement takes a round trip, a deadline is often
/// shorter.
#[derive(Debug, Default)]
pub(crate) struct Abandoned {
    symbols: BTreeMap<Esi, Symbol>,
    /// How often an outcome was added or changed.
    changes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Symbol {
    /// The latest one that carried it.
    transmission: u64,
    outcome: Outcome,
}

/// What became of one or more symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// The peer has all of them.
    Arrived,
    /// Reports have not told yet.
    Pending,
    /// At least one of them was lost, and nothing more is done for it.
    Lost,
}

impl Abandoned {
    /// The edge passes a symbol, of which reports say what `outcome` says.
    pub(crate) fn add(&mut self, esi: Esi, transmission: u64, outcome: Outcome) {
        let symbol = Symbol {
            transmission,
            outcome,
        };
        self.symbols.insert(esi, symbol);
        self.changes += 1;
    }

    /// Reports tell what became of a transmission of a symbol.
    pub(crate) fn on_fate(&mut self, esi: Esi, transmission: u64, lost: bool) {
        if let Some(symbol) = self.symbols.get_mut(&esi) {
            self.changes += 1;
            if !lost {
                symbol.outcome = Outcome::Arrived;
            } else if symbol.transmission == transmission && symbol.outcome == Outcome::Pending {
                symbol.outcome = Outcome::Lost;
            }
        }
    }

    /// How often an outcome was added or changed: equal counts, equal outcomes.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// What became of these symbols, all below the edge: those that were not given up arrived.
    pub(crate) fn outcome(&self, symbols: RangeInclusive<Esi>) -> Outcome {
        let outcomes = self.symbols.range(symbols).map(|(_, s)| s.outcome);
        outcomes.max().unwrap_or(Outcome::Arrived)
    }

    /// Nobody asks for earlier symbols any more.
    pub(crate) fn discard_before(&mut self, esi: Esi) {
        while let Some(entry) = self.symbols.first_entry()
            && *entry.key() < esi
        {
            entry.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lost_symbol_outweighs_all_others() {
        let mut abandoned = Abandoned::default();
        for esi in 5..8 {
            abandoned.add(esi, 100 + esi, Outcome::Pending);
        }
        assert_eq!(abandoned.outcome(0..=4), Outcome::Arrived);
        assert_eq!(abandoned.outcome(4..=5), Outcome::Pending);
        // An earlier transmission that was lost says nothing; any that arrived says all.
        abandoned.on_fate(5, 1, true);
        abandoned.on_fate(6, 2, false);
        abandoned.on_fate(6, 106, true);
        assert_eq!(abandoned.outcome(5..=5), Outcome::Pending);
        assert_eq!(abandoned.outcome(6..=6), Outcome::Arrived);
        abandoned.on_fate(7, 107, true);
        assert_eq!(abandoned.outcome(5..=7), Outcome::Lost);
        abandoned.discard_before(7);
        assert_eq!(abandoned.outcome(5..=6), Outcome::Arrived);
        assert_eq!(abandoned.outcome(7..=7), Outcome::Lost);
    }
}
