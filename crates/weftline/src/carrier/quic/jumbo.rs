//! Peers to which the network may carry packets longer than Ethernet's 1500 bytes.
//!
//! QUIC looks for the path's MTU between two bounds, by halves: with an upper bound of 9000 it would
//! take four times as long on a usual path. So that bound is for paths only whose first hop takes so
//! much, to peers of the same site: few others have it all the way.

use std::net::{IpAddr, SocketAddr};

/// Bytes of an IP packet in a jumbo frame, and of its UDP datagram over IPv6.
const FRAME: u32 = 9000;
pub(super) const LONGEST: u16 = 9000 - 48;

/// The path to `addr` may take packets of [`LONGEST`] bytes.
pub(super) fn is_likely(addr: SocketAddr) -> bool {
    let ip = addr.ip().to_canonical();
    is_near(ip) && first_hop(SocketAddr::new(ip, addr.port())).is_some_and(|mtu| mtu >= FRAME)
}

/// An address that has no meaning on the Internet.
fn is_near(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

/// The MTU of the first hop to this address, where the system tells.
#[cfg(target_os = "linux")]
fn first_hop(addr: SocketAddr) -> Option<u32> {
    use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};

    use rustix::net::sockopt;

    // To connect such a socket sends nothing.
    let any = match addr {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(addr).ok()?;
    match addr {
        SocketAddr::V4(_) => sockopt::ip_mtu(&socket).ok(),
        SocketAddr::V6(_) => sockopt::ipv6_mtu(&socket).ok(),
    }
}

#[cfg(not(target_os = "linux"))]
fn first_hop(_: SocketAddr) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_on_the_internet_are_not_near() {
        for (text, near) in [
            ("127.0.0.1", true),
            ("10.1.2.3", true),
            ("169.254.7.7", true),
            ("::1", true),
            ("fd00::1", true),
            ("fe80::1", true),
            ("192.0.2.1", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_near(text.parse().unwrap()), near, "{text}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn loopback_takes_long_packets() {
        for addr in ["127.0.0.1:9", "[::ffff:127.0.0.1]:9"] {
            assert!(is_likely(addr.parse().unwrap()), "{addr}");
        }
    }
}
