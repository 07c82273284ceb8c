//! Evenly spaced repairs of a sliding-window code.

use crate::policy::Redundancy;

/// Most repairs per source symbol that are honoured.
pub(super) const MAX_SHARE: f64 = 4.0;

/// Counts how many repairs the source symbols sent so far have earned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spacing {
    owed: f64,
}

impl Spacing {
    /// A new source symbol was sent, with so many repairs for each.
    pub(super) fn pushed(&mut self, share: f64) {
        self.owed += share.min(MAX_SHARE);
    }

    pub(super) fn is_due(&self) -> bool {
        self.owed >= 1.0 - 1e-9
    }

    /// A repair was sent for it.
    pub(super) fn sent(&mut self) {
        self.owed -= 1.0;
    }
}

/// Repairs per source symbol.
pub(super) fn share(redundancy: Redundancy) -> f64 {
    match redundancy {
        Redundancy::None
        | Redundancy::Measured(_)
        | Redundancy::Auto(_)
        | Redundancy::Rateless(_)
        | Redundancy::Compared(_) => 0.0,
        // A nonsensical share (NaN) protects nothing rather than everything.
        Redundancy::Share(share) => share.clamp(0.0, MAX_SHARE).max(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_one_in_four_is_a_repair_after_each_fourth_symbol() {
        let mut spacing = Spacing::default();
        let mut pattern = String::new();
        for _ in 0..12 {
            spacing.pushed(share(Redundancy::Share(0.25)));
            pattern.push('s');
            while spacing.is_due() {
                spacing.sent();
                pattern.push('r');
            }
        }
        assert_eq!(pattern, "ssssrssssrssssr");
    }

    #[test]
    fn nonsense_shares_protect_nothing_and_large_ones_are_capped() {
        assert_eq!(share(Redundancy::Share(-3.0)), 0.0);
        assert_eq!(share(Redundancy::Share(f64::INFINITY)), MAX_SHARE);
        assert!(share(Redundancy::Share(f64::NAN)) == 0.0);
    }
}
