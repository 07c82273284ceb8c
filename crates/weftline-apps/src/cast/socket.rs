//! UDP sockets for groups and for single hosts.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use socket2::{Domain, InterfaceIndexOrAddress, Protocol, SockAddr, Socket, Type};
use tokio::net::UdpSocket;

use super::interface::Found;

/// Buffer for the packets of some tenths of a second, so that a busy host loses none. The system
/// may give less.
const BUFFER: usize = 4 << 20;

/// The outgoing interface and hop limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub(super) interface: Found,
    /// Hop limit of packets; without one the system's default, and 1 to a group.
    pub(super) ttl: Option<u8>,
}

/// A socket to send to `to`.
pub(super) fn sender(to: SocketAddr, leaving: Leaving) -> io::Result<UdpSocket> {
    let socket = open(to)?;
    let ttl = leaving.ttl.map(u32::from);
    let Found {
        address,
        index,
        source,
    } = leaving.interface;
    match (to.ip(), to.ip().is_multicast()) {
        (IpAddr::V4(_), true) => {
            let address = address.ok_or_else(no_address)?;
            socket.set_multicast_if_v4(&address)?;
            socket.set_multicast_ttl_v4(ttl.unwrap_or(1))?;
        }
        (IpAddr::V6(_), true) => {
            socket.set_multicast_if_v6(index)?;
            socket.set_multicast_hops_v6(ttl.unwrap_or(1))?;
        }
        (IpAddr::V4(_), false) => ttl.map_or(Ok(()), |ttl| socket.set_ttl_v4(ttl))?,
        (IpAddr::V6(_), false) => ttl.map_or(Ok(()), |ttl| socket.set_unicast_hops_v6(ttl))?,
    }
    let from = match to {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => {
            let source = source.unwrap_or(Ipv6Addr::UNSPECIFIED);
            // Link-local addresses need the link.
            let scope = u32::from(source.is_unicast_link_local()) * index;
            SocketAddrV6::new(source, 0, 0, scope).into()
        }
    };
    socket.bind(&SockAddr::from(from))?;
    finish(socket)
}

/// A socket for packets to `at`. A group is joined, for packets of `source` alone if there is one,
/// and other programs of this host may join it too.
///
/// A system filters sources only for IPv4 groups; the reader must check them for others.
pub(super) fn receiver(
    at: SocketAddr,
    source: Option<IpAddr>,
    interface: Found,
) -> io::Result<UdpSocket> {
    let socket = open(at)?;
    // A smaller buffer only loses packets sooner.
    let _ = socket.set_recv_buffer_size(BUFFER);
    if at.ip().is_multicast() {
        socket.set_reuse_address(true)?;
    }
    socket.bind(&SockAddr::from(bound(at, interface)))?;
    match at.ip() {
        IpAddr::V4(group) if group.is_multicast() => match source {
            Some(IpAddr::V4(source)) => {
                let address = interface.address.ok_or_else(no_address)?;
                socket.join_ssm_v4(&source, &group, &address)?;
            }
            _ => {
                let index = match interface.index {
                    0 => InterfaceIndexOrAddress::Address(Ipv4Addr::UNSPECIFIED),
                    index => InterfaceIndexOrAddress::Index(index),
                };
                socket.join_multicast_v4_n(&group, &index)?;
            }
        },
        IpAddr::V6(group) if group.is_multicast() => {
            socket.join_multicast_v6(&group, interface.index)?;
        }
        _ => {}
    }
    finish(socket)
}

/// A socket that delivers datagrams to the program at `to`.
pub(super) fn outward(to: SocketAddr) -> io::Result<UdpSocket> {
    sender(
        to,
        Leaving {
            interface: Found::ANY,
            ttl: None,
        },
    )
}

/// The source address of packets from this host to `to`, if the system reports it.
pub(super) fn source_of(to: SocketAddr, leaving: Leaving) -> Option<IpAddr> {
    if let (IpAddr::V4(_), Some(address)) = (to.ip(), leaving.interface.address)
        && !address.is_unspecified()
    {
        return Some(IpAddr::V4(address));
    }
    if let (IpAddr::V6(_), Some(source)) = (to.ip(), leaving.interface.source) {
        return Some(IpAddr::V6(source));
    }
    // Connecting a UDP socket sends nothing; the system only chooses a source address.
    let socket = open(to).ok()?;
    if to.is_ipv6() && to.ip().is_multicast() {
        socket.set_multicast_if_v6(leaving.interface.index).ok()?;
    }
    socket.connect(&SockAddr::from(to)).ok()?;
    let local = socket.local_addr().ok()?.as_socket()?.ip();
    (!local.is_unspecified()).then_some(local)
}

/// Whether `to` is a group and the system does not know on which interface.
pub(super) fn has_no_interface(to: SocketAddr) -> bool {
    // Connecting a UDP socket sends nothing; the system only looks for a route.
    let found = open(to).and_then(|socket| socket.connect(&SockAddr::from(to)));
    to.ip().is_multicast() && found.is_err()
}

fn open(like: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(like), Type::DGRAM, Some(Protocol::UDP))?;
    if like.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}

/// The address to bind to for packets to `at`.
fn bound(at: SocketAddr, interface: Found) -> SocketAddr {
    match at {
        // Windows cannot bind to a group.
        _ if cfg!(windows) && at.ip().is_multicast() => {
            let any = match at {
                SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            };
            SocketAddr::new(any, at.port())
        }
        SocketAddr::V6(mut at) if at.ip().is_multicast() => {
            at.set_scope_id(interface.index);
            at.into()
        }
        at => at,
    }
}

fn finish(socket: Socket) -> io::Result<UdpSocket> {
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket.into())
}

fn no_address() -> io::Error {
    io::Error::new(
        io::ErrorKind::AddrNotAvailable,
        "the interface has no IPv4 address",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn two_sockets_of_one_host_join_one_group_but_not_one_host_address() {
        let group = SocketAddr::from((Ipv4Addr::new(239, 255, 77, 77), 0));
        let lo = Found {
            address: Some(Ipv4Addr::LOCALHOST),
            index: 0,
            source: None,
        };
        let Ok(first) = receiver(group, Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), lo) else {
            return weftline_testkit::unable("multicast", "no group can be joined on 127.0.0.1");
        };
        let at = first.local_addr().unwrap();
        assert!(receiver(at, Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), lo).is_ok());
        let single = receiver("127.0.0.1:0".parse().unwrap(), None, Found::ANY).unwrap();
        assert!(receiver(single.local_addr().unwrap(), None, Found::ANY).is_err());
    }
}
