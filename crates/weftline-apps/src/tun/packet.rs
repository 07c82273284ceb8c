//! IP packets: whose they are, which flow they belong to, and the two fields that the tunnel writes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Protocol numbers (IANA).
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;
/// IPv6 extension headers that may precede the transport header (RFC 8200, section 4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const OPTIONS: u8 = 60;
/// A packet with more extension headers is classified by its addresses alone.
const MOST_EXTENSIONS: usize = 8;
/// Bits of the field ECN (RFC 3168): ECT(0) and ECT(1) are 2 and 1.
const CE: u8 = 3;
/// The option "maximum segment size" of TCP (RFC 9293), and its length.
const MSS: u8 = 2;
const MSS_LENGTH: u8 = 4;
const SYN: u8 = 2;

/// What the headers of an IP packet say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// What distinguishes its flow from others between these addresses: protocol and ports; zeros
    /// where they are not known.
    pub(super) flow: (u8, [u8; 4]),
    /// Where the TCP header begins, if it is whole.
    tcp: Option<usize>,
}

impl Header {
    /// Reads the headers. `None`: it is not an IP packet of its stated length.
    pub(super) fn read(packet: &[u8]) -> Option<Header> {
        match packet.first()? >> 4 {
            4 => read_v4(packet),
            6 => read_v6(packet),
            _ => None,
        }
    }

    fn new(source: IpAddr, destination: IpAddr) -> Self {
        Header {
            source,
            destination,
            flow: (0, [0; 4]),
            tcp: None,
        }
    }

    /// Adds what the transport header at `at` says.
    fn with_transport(mut self, packet: &[u8], protocol: u8, at: usize) -> Self {
        let ports = packet.get(at..at + 4).and_then(|p| p.try_into().ok());
        let has_ports = matches!(protocol, TCP | UDP | DCCP | SCTP | UDP_LITE);
        self.flow = (protocol, ports.filter(|_| has_ports).unwrap_or_default());
        self.tcp = (protocol == TCP && packet.len() >= at + 20).then_some(at);
        self
    }

    /// Whether it is a TCP segment, whose receiver takes disorder for loss.
    pub(super) fn is_tcp(&self) -> bool {
        self.tcp.is_some()
    }
}

fn read_v4(packet: &[u8]) -> Option<Header> {
    let fixed: &[u8; 20] = packet.first_chunk()?;
    let header = usize::from(fixed[0] & 15) * 4;
    let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if header < 20 || total != packet.len() || header > total {
        return None;
    }
    let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
    let read = Header::new(address(12).into(), address(16).into());
    // More fragments, or an offset.
    let is_fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0;
    Some(match is_fragment {
        true => read,
        false => read.with_transport(packet, fixed[9], header),
    })
}

fn read_v6(packet: &[u8]) -> Option<Header> {
    let fixed: &[u8; 40] = packet.first_chunk()?;
    let payload = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    if payload + 40 != packet.len() {
        return None;
    }
    let source: [u8; 16] = packet.get(8..24)?.try_into().ok()?;
    let destination: [u8; 16] = packet.get(24..40)?.try_into().ok()?;
    let read = Header::new(
        Ipv6Addr::from(source).into(),
        Ipv6Addr::from(destination).into(),
    );
    let (mut next, mut at) = (fixed[6], 40);
    for _ in 0..MOST_EXTENSIONS {
        match next {
            HOP_BY_HOP | ROUTING | OPTIONS => {
                let Some(&[following, length]) = packet.get(at..at + 2) else {
                    return Some(read);
                };
                (next, at) = (following, at + 8 + usize::from(length) * 8);
            }
            FRAGMENT => return Some(read),
            protocol => return Some(read.with_transport(packet, protocol, at)),
        }
    }
    Some(read)
}

/// Whether packets from and to this address may pass a tunnel: it is of one host, and not of the link
/// alone.
pub(super) fn is_routable(address: IpAddr) -> bool {
    let is_local = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast() || v4.octets()[0] == 0,
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6.to_ipv4_mapped().is_some(),
    };
    !(is_local || address.is_unspecified() || address.is_loopback() || address.is_multicast())
}

/// Whether an address is one for private networks (RFC 1918, 6598, 2544 and 4193).
pub(super) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            let is_shared = first == 100 && second & 0xc0 == 64;
            v4.is_private() || is_shared || first == 198 && second & 0xfe == 18
        }
        IpAddr::V6(v6) => v6.is_unique_local(),
    }
}

/// Marks a packet as having experienced congestion, if its sender understands that (RFC 3168).
pub(super) fn mark_congestion(packet: &mut [u8]) -> bool {
    let Some(&[first, second]) = packet.first_chunk::<2>() else {
        return false;
    };
    let is_v4 = first >> 4 == 4;
    let shift = if is_v4 { 0 } else { 4 };
    let ecn = second >> shift & CE;
    if ecn != CE && ecn != 0 {
        let marked = second | CE << shift;
        packet[1] = marked;
        if is_v4 {
            update_checksum(packet, 10, [first, second], [first, marked]);
        }
    }
    ecn != 0
}

/// Lowers the maximum segment size that a TCP SYN names to what packets of `mtu` bytes hold.
pub(super) fn clamp_mss(packet: &mut [u8], header: &Header, mtu: u16) {
    let Some(tcp) = header.tcp else { return };
    if packet[tcp + 13] & SYN == 0 {
        return;
    }
    let headers = if header.source.is_ipv4() { 40 } else { 60 };
    let most = mtu.saturating_sub(headers);
    let end = packet
        .len()
        .min(tcp + usize::from(packet[tcp + 12] >> 4) * 4);
    let mut at = tcp + 20;
    while let Some(&[kind, length]) = packet.get(at..end).and_then(<[u8]>::first_chunk::<2>) {
        match (kind, length) {
            (0, _) => return,
            (1, _) => at += 1,
            (MSS, MSS_LENGTH) if at + 4 <= end => {
                let old = [packet[at + 2], packet[at + 3]];
                if u16::from_be_bytes(old) > most {
                    let new = most.to_be_bytes();
                    packet[at + 2..at + 4].copy_from_slice(&new);
                    // The checksum is a sum of pairs of bytes from the header's begin.
                    match (at - tcp) % 2 {
                        0 => update_checksum(packet, tcp + 16, old, new),
                        _ => {
                            let swap = |[a, b]: [u8; 2]| [b, a];
                            update_checksum(packet, tcp + 16, swap(old), swap(new));
                        }
                    }
                }
                return;
            }
            (_, 0 | 1) => return,
            (_, length) => at += usize::from(length),
        }
    }
}

/// Updates the checksum at `at` for one changed pair of bytes (RFC 1624, equation 3).
fn update_checksum(packet: &mut [u8], at: usize, old: [u8; 2], new: [u8; 2]) {
    let Some(sum) = packet.get_mut(at..at + 2) else {
        return;
    };
    let flipped = |pair: [u8; 2]| u32::from(!u16::from_be_bytes(pair));
    let mut total = flipped([sum[0], sum[1]]) + flipped(old) + u32::from(u16::from_be_bytes(new));
    total = (total & 0xffff) + (total >> 16);
    total = (total & 0xffff) + (total >> 16);
    sum.copy_from_slice(&(!(total as u16)).to_be_bytes());
}
