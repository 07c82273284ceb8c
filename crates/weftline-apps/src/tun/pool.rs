//! Addresses for clients.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use sha2::{Digest, Sha256};

use super::options::{BadOptions, LEAST_MTU, MOST_MTU, MOST_SUGGESTED, ServerOptions};
use super::packet::is_routable;

/// Addresses that are looked at before a pool counts as full.
const MOST_TRIES: u128 = 1 << 16;
/// Addresses at the begin of a pool that no client gets: the network's and the server's.
const RESERVED: u128 = 2;

/// A network whose addresses clients get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pool {
    net: IpNet,
    first: u128,
    /// Number of addresses for clients.
    size: u128,
}

impl Pool {
    /// A pool of a network's addresses.
    ///
    /// # Errors
    /// The network has too few addresses, or too many, or they are not of hosts.
    pub(super) fn new(net: IpNet) -> Result<Self, BadOptions> {
        if !is_sized(&net) || !is_routable(net.network()) {
            return Err(BadOptions::Pool(net));
        }
        let bits = net.max_prefix_len() - net.prefix_len();
        // The last address of an IPv4 network is its broadcast address.
        let last = u128::from(net.addr().is_ipv4());
        Ok(Pool {
            net: net.trunc(),
            first: number(net.network()),
            size: (1 << bits) - RESERVED - last,
        })
    }

    /// The server's own address, with the prefix.
    pub(super) fn own(&self) -> IpNet {
        self.with_prefix(self.first + 1)
    }

    /// A free address for the client of this name, with the prefix: the same one whenever it is free.
    pub(super) fn find(
        &self,
        name: &[&[u8]],
        mut is_taken: impl FnMut(IpAddr) -> bool,
    ) -> Option<IpNet> {
        let mut hash = Sha256::new();
        for part in name {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest: [u8; 32] = hash.finalize().into();
        let (start, _) = digest.split_first_chunk::<16>()?;
        let start = u128::from_be_bytes(*start) % self.size;
        let tries = (0..self.size.min(MOST_TRIES)).map(|i| (start + i) % self.size);
        tries
            .map(|at| self.with_prefix(self.first + RESERVED + at))
            .find(|address| !is_taken(address.addr()))
    }

    fn with_prefix(&self, at: u128) -> IpNet {
        let address = match self.net {
            IpNet::V4(_) => IpAddr::V4(Ipv4Addr::from(at as u32)),
            IpNet::V6(_) => IpAddr::V6(Ipv6Addr::from(at)),
        };
        IpNet::new(address, self.net.prefix_len()).unwrap_or(self.net)
    }
}

/// Whether a pool may have so many addresses.
pub(super) fn is_sized(net: &IpNet) -> bool {
    match net {
        IpNet::V4(net) => (8..=30).contains(&net.prefix_len()),
        IpNet::V6(net) => (32..=126).contains(&net.prefix_len()),
    }
}

/// Whether there is one of IPv4, one of IPv6, or one of each.
pub(super) fn is_one_of_each(nets: &[IpNet]) -> bool {
    let of_v4 = nets.iter().filter(|net| net.addr().is_ipv4()).count();
    let of_v6 = nets.len() - of_v4;
    !nets.is_empty() && of_v4 <= 1 && of_v6 <= 1
}

/// Whether this is one of a client's `own` addresses.
pub(super) fn has(own: &[IpNet], address: IpAddr) -> bool {
    own.iter().any(|own| own.addr() == address)
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => u128::from(v6),
    }
}

/// The pools of a server with these options.
///
/// # Errors
/// The options cannot be used.
pub(super) fn pools(options: &ServerOptions) -> Result<Vec<Pool>, BadOptions> {
    if !is_one_of_each(&options.pools) {
        return Err(BadOptions::Pools);
    }
    if !(LEAST_MTU..=MOST_MTU).contains(&options.mtu) {
        return Err(BadOptions::Mtu(options.mtu));
    }
    if options.routes.len().max(options.dns.len()) > MOST_SUGGESTED {
        return Err(BadOptions::Suggested(MOST_SUGGESTED));
    }
    options.pools.iter().map(|net| Pool::new(*net)).collect()
}
