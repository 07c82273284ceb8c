//! The congestion bits of an IP packet (RFC 3168, section 5).

/// Both bits set: Congestion Experienced.
const CE: u8 = 0b11;

/// Whether the packet's sender supports marking instead of dropping.
pub(crate) fn is_ecn_capable(packet: &[u8]) -> bool {
    ecn(packet).is_some_and(|bits| bits != 0)
}

/// Sets Congestion Experienced and updates an IPv4 header's checksum.
pub(crate) fn mark(packet: &mut [u8]) {
    match packet.first().map(|b| b >> 4) {
        Some(4) if packet.len() >= 20 => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= CE;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            let checksum = u16::from_be_bytes([packet[10], packet[11]]);
            let updated = update(checksum, before, after);
            packet[10..12].copy_from_slice(&updated.to_be_bytes());
        }
        // The traffic class begins four bits into the header; there is no checksum.
        Some(6) if packet.len() >= 40 => packet[1] |= CE << 4,
        _ => {}
    }
}

fn ecn(packet: &[u8]) -> Option<u8> {
    match packet.first()? >> 4 {
        4 => Some(packet.get(1)? & CE),
        6 => Some((packet.get(1)? >> 4) & CE),
        _ => None,
    }
}

/// The checksum after one 16-bit word changed (RFC 1624, equation 3).
fn update(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    !(((folded & 0xffff) + (folded >> 16)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(tos: u8, id: u16) -> Vec<u8> {
        let mut header = vec![0x45, tos, 0, 40, 0, 0, 0x40, 0, 64, 17, 0, 0];
        header.extend([10, 77, 0, 1, 10, 77, 0, 2]);
        header[4..6].copy_from_slice(&id.to_be_bytes());
        let checksum = !sum(&header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        header.resize(40, 0xab);
        header
    }

    fn sum(header: &[u8]) -> u16 {
        let words = header
            .chunks(2)
            .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let sum: u32 = words.sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        ((folded & 0xffff) + (folded >> 16)) as u16
    }

    #[test]
    fn marking_keeps_the_checksum_correct_for_every_header() {
        for id in 0..=u16::MAX {
            for tos in [0b01, 0b10, 0b11, 0xb8 | 0b10] {
                let mut packet = ipv4(tos, id);
                assert!(is_ecn_capable(&packet));
                mark(&mut packet);
                assert_eq!(packet[1], tos | CE);
                assert_eq!(sum(&packet[..20]), 0xffff, "id {id}, tos {tos}");
            }
        }
    }

    #[test]
    fn ipv6_keeps_its_other_traffic_bits_and_flow_label() {
        let mut packet = vec![0u8; 48];
        packet[..4].copy_from_slice(&[0x6b, 0xa5, 0x12, 0x34]);
        assert!(is_ecn_capable(&packet));
        mark(&mut packet);
        assert_eq!(packet[..4], [0x6b, 0xb5, 0x12, 0x34]);
        assert!(packet[4..].iter().all(|b| *b == 0));
    }

    #[test]
    fn packets_without_ecn_and_invalid_packets_are_unchanged() {
        assert!(!is_ecn_capable(&ipv4(0xb8, 1)));
        for junk in [&[][..], &[0x45], &[0x60], &[0x6f, 0xff], &[0x00, 0xff]] {
            let mut packet = junk.to_vec();
            is_ecn_capable(&packet);
            mark(&mut packet);
            assert_eq!(packet, junk);
        }
    }
}
