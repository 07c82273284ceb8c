//! What is remembered of peers from connection to connection.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;

use crate::Fingerprint;
use crate::carrier::tls::{Refused, TicketStore};
use crate::lock::lock;

/// Peers remembered. When there are more, the least recently used are forgotten.
const PEERS: usize = 256;

/// What an endpoint remembers of the peers that it connected to, so that the next connection begins
/// sooner: the round-trip time and, with
/// [`EndpointConfig::early_data`](crate::EndpointConfig::early_data), tickets.
///
/// It lives in memory, and is bounded. Clones share it, and so do clones of an
/// [`EndpointConfig`](crate::EndpointConfig): a program that makes an endpoint for each connection
/// gives all of them the same configuration. Tickets are secrets of the pair of identities that
/// they were given to; they are never used for another.
#[derive(Clone, Default)]
pub struct KnownPeers(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    peers: HashMap<Pair, Known>,
    uses: u64,
}

/// Two identities and the application protocols that this end speaks.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pair {
    pub(crate) ours: Fingerprint,
    pub(crate) peer: Fingerprint,
    /// A ticket is good only for the protocol that it was made with.
    pub(crate) protocols: Arc<[Vec<u8>]>,
}

#[derive(Default)]
struct Known {
    tls: Option<Resumable>,
    path: Option<(SocketAddr, Duration)>,
    used: u64,
}

/// A TLS configuration that keeps its own tickets; rustls resumes with that very configuration only.
#[derive(Clone)]
pub(crate) struct Resumable {
    pub(crate) config: Arc<QuicClientConfig>,
    pub(crate) tickets: TicketStore,
    pub(crate) refused: Refused,
}

impl KnownPeers {
    /// Nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the next connection to this peer can begin with early data: the peer has given a
    /// ticket, which comes with the end of a handshake, and it was not used yet. The peer may have
    /// forgotten it since.
    pub fn has_ticket(&self, peer: &Fingerprint) -> bool {
        let table = lock(&self.0);
        let mut of_peer = table.peers.iter().filter(|(pair, _)| pair.peer == *peer);
        of_peer.any(|(_, known)| {
            known
                .tls
                .as_ref()
                .is_some_and(|tls| !tls.tickets.is_empty())
        })
    }

    /// Forgets what is known of this peer.
    pub fn forget(&self, peer: &Fingerprint) {
        lock(&self.0).peers.retain(|pair, _| pair.peer != *peer);
    }

    /// The configuration that keeps this pair's tickets, made if need be.
    pub(crate) fn tls<E>(
        &self,
        pair: Pair,
        make: impl FnOnce() -> Result<Resumable, E>,
    ) -> Result<Resumable, E> {
        let mut table = lock(&self.0);
        let known = table.entry(pair);
        if let Some(tls) = &known.tls {
            return Ok(tls.clone());
        }
        let made = make()?;
        known.tls = Some(made.clone());
        Ok(made)
    }

    /// The round-trip time when this peer was last connected to at this address.
    pub(crate) fn rtt(&self, pair: &Pair, addr: SocketAddr) -> Option<Duration> {
        let table = lock(&self.0);
        let (at, rtt) = table.peers.get(pair)?.path?;
        (at == addr).then_some(rtt)
    }

    pub(crate) fn measured(&self, pair: Pair, addr: SocketAddr, rtt: Duration) {
        lock(&self.0).entry(pair).path = Some((addr, rtt));
    }
}

impl Table {
    fn entry(&mut self, pair: Pair) -> &mut Known {
        if self.peers.len() >= PEERS && !self.peers.contains_key(&pair) {
            let oldest = self.peers.iter().min_by_key(|(_, known)| known.used);
            if let Some(oldest) = oldest.map(|(pair, _)| pair.clone()) {
                self.peers.remove(&oldest);
            }
        }
        self.uses += 1;
        let known = self.peers.entry(pair).or_default();
        known.used = self.uses;
        known
    }
}

/// Shows how many they are: tickets are secrets.
impl fmt::Debug for KnownPeers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KnownPeers({})", lock(&self.0).peers.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn pair(number: u16) -> Pair {
        let mut peer = [0; 20];
        peer[..2].copy_from_slice(&number.to_be_bytes());
        Pair {
            ours: Fingerprint::from([7; 20]),
            peer: Fingerprint::from(peer),
            protocols: Arc::new([]),
        }
    }

    #[test]
    fn a_round_trip_time_is_that_of_an_address() {
        let (known, shared) = {
            let known = KnownPeers::new();
            (known.clone(), known)
        };
        let (here, there) = (
            "192.0.2.1:1".parse().unwrap(),
            "192.0.2.2:1".parse().unwrap(),
        );
        known.measured(pair(1), here, 60 * MS);
        assert_eq!(shared.rtt(&pair(1), here), Some(60 * MS));
        assert_eq!(shared.rtt(&pair(1), there), None);
        assert_eq!(shared.rtt(&pair(2), here), None);
        shared.forget(&pair(1).peer);
        assert_eq!(known.rtt(&pair(1), here), None);
    }

    #[test]
    fn of_too_many_the_one_not_needed_for_longest_goes() {
        let known = KnownPeers::new();
        let here = "192.0.2.1:1".parse().unwrap();
        for number in 0..PEERS as u16 {
            known.measured(pair(number), here, MS);
        }
        known.measured(pair(0), here, MS);
        known.measured(pair(999), here, MS);
        assert_eq!(lock(&known.0).peers.len(), PEERS);
        assert!(known.rtt(&pair(0), here).is_some() && known.rtt(&pair(1), here).is_none());
    }
}
