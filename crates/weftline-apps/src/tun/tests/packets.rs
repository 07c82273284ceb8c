//! Packets to test with, their checksums right.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::tun::packet::Header;
use crate::tun::wire::HEAD;

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

/// What a packet is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) from: IpAddr,
    pub(super) to: IpAddr,
    pub(super) protocol: u8,
    pub(super) ports: (u16, u16),
    /// The number in its data.
    pub(super) number: u32,
    /// Bytes of the whole packet.
    pub(super) length: usize,
    /// The field ECN.
    pub(super) ecn: u8,
}

impl Packet {
    /// A packet of 100 bytes between two addresses of 10.77.0.0/24.
    pub(super) fn new(protocol: u8, ports: (u16, u16), number: u32) -> Self {
        Packet {
            from: Ipv4Addr::new(10, 77, 0, 9).into(),
            to: Ipv4Addr::new(10, 77, 0, 1).into(),
            protocol,
            ports,
            number,
            length: 100,
            ecn: 0,
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let (mut packet, pseudo) = match (self.from, self.to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => self.v4(from, to),
            (IpAddr::V6(from), IpAddr::V6(to)) => self.v6(from, to),
            _ => panic!("of one IP version"),
        };
        let at = packet.len();
        packet.extend(self.ports.0.to_be_bytes());
        packet.extend(self.ports.1.to_be_bytes());
        let sum_at = match self.protocol {
            TCP => {
                packet.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
                at + 16
            }
            _ => {
                packet.extend(((self.length - at) as u16).to_be_bytes());
                packet.extend([0, 0]);
                at + 6
            }
        };
        packet.extend(self.number.to_be_bytes());
        packet.resize(self.length, 7);
        let sum = checksum(&[&pseudo, &packet[at..]].concat());
        packet[sum_at..sum_at + 2].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    /// As the device gives it.
    pub(super) fn frame(&self) -> (Vec<u8>, Header) {
        let frame = [vec![0; HEAD], self.bytes()].concat();
        let header = Header::read(&frame[HEAD..]).unwrap();
        (frame, header)
    }

    fn v4(&self, from: Ipv4Addr, to: Ipv4Addr) -> (Vec<u8>, Vec<u8>) {
        let mut packet = vec![0x45, self.ecn];
        packet.extend((self.length as u16).to_be_bytes());
        packet.extend([0, 1, 0x40, 0, 64, self.protocol, 0, 0]);
        packet.extend(from.octets());
        packet.extend(to.octets());
        let sum = checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        let mut pseudo = [from.octets(), to.octets()].concat();
        pseudo.extend([0, self.protocol]);
        pseudo.extend(((self.length - 20) as u16).to_be_bytes());
        (packet, pseudo)
    }

    fn v6(&self, from: Ipv6Addr, to: Ipv6Addr) -> (Vec<u8>, Vec<u8>) {
        let mut packet = vec![0x60, self.ecn << 4, 0, 0];
        let length = (self.length - 40) as u16;
        packet.extend(length.to_be_bytes());
        packet.extend([self.protocol, 64]);
        packet.extend(from.octets());
        packet.extend(to.octets());
        let mut pseudo = [from.octets(), to.octets()].concat();
        pseudo.extend(u32::from(length).to_be_bytes());
        pseudo.extend([0, 0, 0, self.protocol]);
        (packet, pseudo)
    }
}

/// The number in the data of such a packet of IPv4.
pub(super) fn number(packet: &[u8]) -> u32 {
    let at = if packet[9] == TCP { 40 } else { 28 };
    u32::from_be_bytes(packet[at..at + 4].try_into().unwrap())
}

/// The Internet checksum (RFC 1071) of these bytes; of bytes that include their own it is 0.
pub(super) fn checksum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2);
    let mut sum: u32 = pairs
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)])))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The checksum of a whole packet's transport header with what it covers: 0 if it is right.
pub(super) fn transport_checksum(packet: &[u8]) -> u16 {
    let (addresses, protocol, at) = match packet[0] >> 4 {
        4 => (12..20, packet[9], 20),
        _ => (8..40, packet[6], 40),
    };
    let mut pseudo = packet[addresses].to_vec();
    pseudo.extend(((packet.len() - at) as u32).to_be_bytes());
    pseudo.extend([0, 0, 0, protocol]);
    checksum(&[&pseudo, &packet[at..]].concat())
}
