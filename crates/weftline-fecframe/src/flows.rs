//! The source flows that an instance protects.

/// A set of flow identifiers, each of one octet.
///
/// ```
/// use weftline_fecframe::FlowSet;
/// let flows: FlowSet = [0, 7].into_iter().collect();
/// assert!(flows.contains(7) && !flows.contains(1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSet([u64; 4]);

impl FlowSet {
    /// Whether packets of this flow are expected.
    #[must_use]
    pub fn contains(self, flow: u8) -> bool {
        self.0[usize::from(flow / 64)] >> (flow % 64) & 1 == 1
    }

    /// Adds a flow.
    pub fn insert(&mut self, flow: u8) {
        self.0[usize::from(flow / 64)] |= 1 << (flow % 64);
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// The identifiers, ascending.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(move |flow| self.contains(*flow))
    }
}

impl FromIterator<u8> for FlowSet {
    fn from_iter<I: IntoIterator<Item = u8>>(flows: I) -> Self {
        let mut set = Self::default();
        flows.into_iter().for_each(|flow| set.insert(flow));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_the_inserted_flows() {
        let all = [0, 1, 63, 64, 127, 200, 255];
        let set: FlowSet = all.into_iter().collect();
        assert!(set.iter().eq(all));
        assert!(!set.is_empty() && FlowSet::default().is_empty());
    }
}
