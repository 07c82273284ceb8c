//! The cap on repair bandwidth.

/// The octets of repair packets that the source data allows: RFC 6363, section 8.2, and
/// RFC 8680, section 8, forbid repair to take more bandwidth than the data it protects.
/// Source data is counted without FECFRAME's trailer.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    enforced: bool,
    octets: u64,
    /// An allowance that is not spent within about a window is lost, so that a pause
    /// does not allow a burst.
    most: u64,
}

impl Allowance {
    pub(super) fn new(enforced: bool, most: u64) -> Self {
        Self {
            enforced,
            octets: 0,
            most,
        }
    }

    pub(super) fn earn(&mut self, octets: usize) {
        self.octets = self.octets.saturating_add(octets as u64).min(self.most);
    }

    /// Whether a repair packet of this many octets may leave; if so, spends them.
    pub(super) fn spend(&mut self, octets: usize) -> bool {
        if !self.enforced {
            return true;
        }
        let left = self.octets.checked_sub(octets as u64);
        self.octets = left.unwrap_or(self.octets);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_spent_than_earned_and_little_is_saved() {
        let mut allowance = Allowance::new(true, 1000);
        assert!(!allowance.spend(1));
        allowance.earn(300);
        assert!(allowance.spend(200) && !allowance.spend(101) && allowance.spend(100));
        allowance.earn(5000);
        assert!(allowance.spend(1000) && !allowance.spend(1));
        assert!(Allowance::new(false, 0).spend(9999));
    }
}
