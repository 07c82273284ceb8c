//! Which peers may open sessions here.

use std::collections::BTreeSet;

use crate::Fingerprint;

/// Which peers an endpoint accepts. Nobody, unless told otherwise.
///
/// A peer proves in the TLS handshake that it holds the key behind its fingerprint, so this is
/// checked before anything that it sends is looked at.
#[derive(Clone, Debug, Default)]
pub struct Allowed(Rule);

#[derive(Clone, Debug)]
enum Rule {
    Only(BTreeSet<Fingerprint>),
    Anyone,
}

impl Default for Rule {
    fn default() -> Self {
        Rule::Only(BTreeSet::new())
    }
}

impl Allowed {
    /// No peer: the endpoint only connects, and does not answer strangers at all.
    pub fn nobody() -> Self {
        Self::default()
    }

    /// These peers only.
    pub fn only(peers: impl IntoIterator<Item = Fingerprint>) -> Self {
        Allowed(Rule::Only(peers.into_iter().collect()))
    }

    /// Whoever can reach the endpoint's port. The application must itself decide what it
    /// trusts them with; [`Connection::peer`](crate::Connection::peer) says who came.
    pub fn anyone() -> Self {
        Allowed(Rule::Anyone)
    }

    /// May this peer open a session?
    pub fn allows(&self, peer: &Fingerprint) -> bool {
        match &self.0 {
            Rule::Only(peers) => peers.contains(peer),
            Rule::Anyone => true,
        }
    }

    /// Is it certain that no peer is accepted?
    pub fn is_nobody(&self) -> bool {
        matches!(&self.0, Rule::Only(peers) if peers.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_peers_are_allowed() {
        let (a, b) = (Fingerprint::from([1; 20]), Fingerprint::from([2; 20]));
        assert!(!Allowed::default().allows(&a));
        assert!(Allowed::nobody().is_nobody());
        let only = Allowed::only([a]);
        assert!(only.allows(&a) && !only.allows(&b) && !only.is_nobody());
        assert!(Allowed::anyone().allows(&b) && !Allowed::anyone().is_nobody());
    }
}
