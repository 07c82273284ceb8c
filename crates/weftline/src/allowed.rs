//! Which peers may connect here.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::Fingerprint;

/// Which peers an endpoint accepts. Nobody, unless the application says otherwise.
///
/// A peer proves in the TLS handshake that it holds the key behind its fingerprint, so this is
/// checked before anything else that it sends is read. [`Endpoint::set_allowed`] replaces the rule
/// while the endpoint runs.
///
/// [`Endpoint::set_allowed`]: crate::Endpoint::set_allowed
#[derive(Clone, Default)]
pub struct Allowed {
    rule: Rule,
    /// The application protocol that all others may ask for.
    strangers: Option<Arc<str>>,
}

#[derive(Clone)]
enum Rule {
    Only(BTreeSet<Fingerprint>),
    If(Arc<Check>),
    Anyone,
}

type Check = dyn Fn(&Fingerprint) -> bool + Send + Sync;

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
        Rule::Only(peers.into_iter().collect()).into()
    }

    /// The peers for which `check` returns true. It is asked in each handshake, on a task of the
    /// runtime: a look into a table, not a query over the network.
    pub fn from_fn(check: impl Fn(&Fingerprint) -> bool + Send + Sync + 'static) -> Self {
        Rule::If(Arc::new(check)).into()
    }

    /// Every peer that reaches the endpoint's port. The application itself must decide what each
    /// may do; [`Connection::peer`](crate::Connection::peer) tells which peer it is.
    pub fn anyone() -> Self {
        Rule::Anyone.into()
    }

    /// Besides, any peer that asks for this application protocol and for no other: for two ends that
    /// have yet to learn who the other is. Its connection comes from
    /// [`Endpoint::accept_stranger`](crate::Endpoint::accept_stranger), and never from
    /// [`Port::accept`](crate::Port::accept). The name takes 1 to 244 bytes, and is none of
    /// [`EndpointConfig::application_protocols`](crate::EndpointConfig::application_protocols).
    pub fn and_strangers_for(mut self, protocol: impl Into<Arc<str>>) -> Self {
        self.strangers = Some(protocol.into());
        self
    }

    /// May this peer connect, with any protocol?
    pub fn allows(&self, peer: &Fingerprint) -> bool {
        match &self.rule {
            Rule::Only(peers) => peers.contains(peer),
            Rule::If(check) => check(peer),
            Rule::Anyone => true,
        }
    }

    /// Is it certain that no peer is accepted?
    pub fn is_nobody(&self) -> bool {
        let nobody = matches!(&self.rule, Rule::Only(peers) if peers.is_empty());
        nobody && self.strangers.is_none()
    }

    /// What peers may ask for that are not allowed otherwise.
    #[cfg(feature = "quic")]
    pub(crate) fn strangers(&self) -> Option<&str> {
        self.strangers.as_deref()
    }
}

impl From<Rule> for Allowed {
    fn from(rule: Rule) -> Self {
        Allowed {
            rule,
            strangers: None,
        }
    }
}

impl fmt::Debug for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Rule::Only(peers) => f.debug_tuple("Only").field(peers).finish()?,
            Rule::If(_) => f.write_str("If(..)")?,
            Rule::Anyone => f.write_str("Anyone")?,
        }
        match &self.strangers {
            Some(protocol) => write!(f, " and strangers for {protocol:?}"),
            None => Ok(()),
        }
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
        let check = Allowed::from_fn(move |peer| *peer == b);
        assert!(!check.allows(&a) && check.allows(&b) && !check.is_nobody());
        assert!(Allowed::anyone().allows(&b) && !Allowed::anyone().is_nobody());
        let open = Allowed::nobody().and_strangers_for("meet");
        assert!(!open.allows(&a) && !open.is_nobody());
    }
}
