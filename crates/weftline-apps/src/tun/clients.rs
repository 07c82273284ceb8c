//! The tunnels of a server's clients, and their addresses.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use super::counts::{Counts, Dropped};
use super::link::Link;
use super::pool::Pool;
use crate::quota::Who;

/// Most tunnels of all clients, with those that have no session now: some hundred bytes each, and some
/// hundred thousand with a session.
const MOST_TUNNELS: usize = 1 << 16;

/// A client's tunnel. It outlives its sessions.
#[derive(Debug)]
pub(super) struct Tunnel {
    /// Those who read its counters share it. They must not hold the tunnel: it is forgotten when nobody does.
    pub(super) link: Arc<Link>,
    /// The client's addresses, with the prefixes of the pools.
    pub(super) addresses: Vec<IpNet>,
    key: Key,
}

/// The client, and its name for the tunnel.
type Key = (Who, String);

/// There is no room for a further tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Full {
    /// The client has as many as it may have.
    #[error("this client has all that the server allows it: {0} tunnels (--tunnels of the server)")]
    Client(u32),
    /// The server has as many as it can have.
    #[error("the server has all the tunnels that it can have: {MOST_TUNNELS}")]
    Server,
    /// All addresses of the pools are in use.
    #[error("the server has no free address: its pools (--pool of the server) are too small")]
    Pools,
}

/// All tunnels.
pub(super) struct Clients {
    pools: Vec<Pool>,
    most_each: u32,
    mtu: u16,
    by_name: HashMap<Key, Arc<Tunnel>>,
    by_address: HashMap<IpAddr, Arc<Tunnel>>,
    /// Counts of the tunnels that are gone, and of packets for none.
    left: Counts,
}

impl Clients {
    pub(super) fn new(pools: Vec<Pool>, most_each: u32, mtu: u16) -> Self {
        Clients {
            pools,
            most_each,
            mtu,
            by_name: HashMap::new(),
            by_address: HashMap::new(),
            left: Counts::default(),
        }
    }

    /// The client's tunnel of this name. A new one may take the place of one without a session.
    ///
    /// # Errors
    /// There is no room for it.
    pub(super) fn tunnel(&mut self, who: Who, name: &str) -> Result<Arc<Tunnel>, Full> {
        let key = (who, name.to_owned());
        if let Some(tunnel) = self.by_name.get(&key) {
            return Ok(tunnel.clone());
        }
        let own = self.by_name.keys().filter(|(other, _)| *other == who);
        if own.count() >= self.most_each as usize && !self.forget_idle(Some(who)) {
            return Err(Full::Client(self.most_each));
        }
        if self.by_name.len() >= MOST_TUNNELS && !self.forget_idle(None) {
            return Err(Full::Server);
        }
        let addresses = match self.addresses(&key) {
            Some(addresses) => addresses,
            None if self.forget_idle(None) => self.addresses(&key).ok_or(Full::Pools)?,
            None => return Err(Full::Pools),
        };
        let tunnel = Arc::new(Tunnel {
            link: Arc::new(Link::new(self.mtu)),
            addresses,
            key: key.clone(),
        });
        for address in &tunnel.addresses {
            self.by_address.insert(address.addr(), tunnel.clone());
        }
        self.by_name.insert(key, tunnel.clone());
        Ok(tunnel)
    }

    /// A free address of each pool.
    fn addresses(&self, (who, name): &Key) -> Option<Vec<IpNet>> {
        let bytes = match who {
            Who::Key(fingerprint) => fingerprint.as_bytes().to_vec(),
            Who::Address(address) => address.to_string().into_bytes(),
        };
        let is_taken = |address| self.by_address.contains_key(&address);
        let find = |pool: &Pool| pool.find(&[&bytes, name.as_bytes()], is_taken);
        self.pools.iter().map(find).collect()
    }

    /// Forgets the tunnel, of this client or of all, that has had no session for longest.
    fn forget_idle(&mut self, who: Option<Who>) -> bool {
        let all = self.by_name.values();
        let concerned = all.filter(|tunnel| who.is_none_or(|who| tunnel.key.0 == who));
        // A session that is about to attach holds it too.
        let free = concerned
            .filter(|tunnel| Arc::strong_count(tunnel) <= 1 + tunnel.addresses.len())
            .filter_map(|tunnel| Some((tunnel.link.idle()?, tunnel.clone())));
        let Some((_, oldest)) = free.max_by_key(|(idle, _)| *idle) else {
            return false;
        };
        self.by_name.remove(&oldest.key);
        for address in &oldest.addresses {
            self.by_address.remove(&address.addr());
        }
        self.left.merge(&oldest.link.snapshot().counts);
        true
    }

    /// The tunnel of the client that has this address.
    pub(super) fn of_address(&self, address: IpAddr) -> Option<Arc<Tunnel>> {
        self.by_address.get(&address).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<Tunnel>> {
        self.by_name.values().cloned().collect()
    }

    /// Counts packets of this host that go to no tunnel.
    pub(super) fn dropped(&mut self) -> &mut Dropped {
        &mut self.left.dropped
    }

    /// What is counted: in each tunnel, and what no tunnel counts.
    pub(super) fn counted(&self) -> (Vec<Arc<Link>>, Counts) {
        let links = self.by_name.values().map(|tunnel| tunnel.link.clone());
        (links.collect(), self.left)
    }
}
