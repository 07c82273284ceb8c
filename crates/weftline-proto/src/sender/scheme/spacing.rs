//! Evenly spaced repairs of a sliding-window code.

use crate::settings::{Settings, TextError};

/// Most repairs for each source symbol.
pub(super) const MAX_SHARE: f64 = 4.0;

/// Reads a repair share.
pub(super) fn read_share(settings: &mut Settings) -> Result<Option<f64>, TextError> {
    settings.number("share", "repairs for each source symbol", 0.0..=MAX_SHARE)
}

/// Counts how many repairs the source symbols sent so far have earned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spacing {
    owed: f64,
}

impl Spacing {
    /// A new source symbol was sent, with `share` repairs for each.
    pub(super) fn on_source(&mut self, share: f64) {
        self.owed += share.min(MAX_SHARE);
    }

    pub(super) fn is_due(&self) -> bool {
        self.owed >= 1.0 - 1e-9
    }

    /// A repair was sent.
    pub(super) fn on_repair(&mut self) {
        self.owed -= 1.0;
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
            spacing.on_source(0.25);
            pattern.push('s');
            while spacing.is_due() {
                spacing.on_repair();
                pattern.push('r');
            }
        }
        assert_eq!(pattern, "ssssrssssrssssr");
    }
}
