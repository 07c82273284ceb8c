//! Scheme `arq`: it sends lost symbols again, without a code (Karzand et al., baseline).

use super::rule::Rule;
use crate::sender::action::Action;
use crate::sender::situation::Situation;

/// Selective-repeat ARQ without a code: lost source symbols are sent again. It has no options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Arq {}

impl Arq {
    /// The scheme.
    pub fn new() -> Self {
        Arq {}
    }
}

#[derive(Debug)]
pub(super) struct ArqRule;

impl Rule for ArqRule {
    fn choose(&mut self, at: &Situation<'_>) -> Option<Action> {
        let again = at.lost_from(0).map(Action::Again);
        again.or_else(|| at.can_send_new().then_some(Action::New))
    }

    fn probe(&mut self, at: &Situation<'_>) -> Action {
        Action::Again(at.first())
    }
}
