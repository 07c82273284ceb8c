//! Packets are read and changed as their senders would have it.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::packets::{Packet, TCP, UDP, checksum, transport_checksum};
use crate::tun::packet::{Header, clamp_mss, is_private, is_routable, mark_congestion};

fn v6(mut packet: Packet) -> Packet {
    (packet.from, packet.to) = ("fd77::9".parse().unwrap(), "fd77::1".parse().unwrap());
    packet
}

#[test]
fn a_flow_is_its_addresses_protocol_and_ports() {
    let packet = Packet::new(TCP, (1000, 80), 0);
    for packet in [packet, v6(packet)] {
        let header = Header::read(&packet.bytes()).unwrap();
        assert_eq!(
            (header.source, header.destination),
            (packet.from, packet.to)
        );
        assert_eq!(header.flow, (TCP, [3, 232, 0, 80]));
        assert!(header.is_tcp());
    }
    assert!(
        !Header::read(&Packet::new(UDP, (1, 2), 0).bytes())
            .unwrap()
            .is_tcp()
    );
    // Echoes have no ports.
    let echo = Header::read(&Packet::new(1, (8, 0), 0).bytes()).unwrap();
    assert_eq!(echo.flow, (1, [0; 4]));
}

#[test]
fn fragments_are_of_one_flow() {
    let mut packet = Packet::new(UDP, (1000, 80), 0).bytes();
    for fragment in [[0x20, 0], [0, 5]] {
        packet[6..8].copy_from_slice(&fragment);
        assert_eq!(Header::read(&packet).unwrap().flow, (0, [0; 4]));
    }
    let mut packet = v6(Packet::new(TCP, (1000, 80), 0)).bytes();
    packet[6] = 44;
    let header = Header::read(&packet).unwrap();
    assert!(header.flow == (0, [0; 4]) && !header.is_tcp());
}

#[test]
fn extension_headers_are_passed_over_as_far_as_there_are_few() {
    let packet = v6(Packet::new(TCP, (1000, 80), 0)).bytes();
    for count in [1, 7, 8, 20] {
        let mut long = packet[..40].to_vec();
        long[6] = 60;
        for at in 0..count {
            let next = if at + 1 == count { TCP } else { 60 };
            long.extend([next, 0, 1, 4, 0, 0, 0, 0]);
        }
        long.extend(&packet[40..]);
        let length = (long.len() - 40) as u16;
        long[4..6].copy_from_slice(&length.to_be_bytes());
        assert_eq!(Header::read(&long).unwrap().is_tcp(), count < 8, "{count}");
    }
}

#[test]
fn what_is_no_packet_of_its_stated_length_is_refused() {
    for packet in [Packet::new(UDP, (1, 2), 0), v6(Packet::new(TCP, (1, 2), 0))] {
        let bytes = packet.bytes();
        for length in 0..bytes.len() {
            assert_eq!(Header::read(&bytes[..length]), None, "{length}");
        }
        let longer = [bytes.clone(), vec![0]].concat();
        assert_eq!(Header::read(&longer), None);
        let mut other = bytes;
        other[0] = 0x50 | other[0] & 15;
        assert_eq!(Header::read(&other), None);
    }
}

#[test]
fn random_bytes_never_panic() {
    let seed = 11;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for _ in 0..20_000 {
        let mut bytes = vec![0; random.next_u32() as usize % 120];
        random.fill_bytes(&mut bytes);
        let length = bytes.len();
        // Most of them look like packets at the begin.
        match random.next_u32() % 3 {
            0 if length >= 4 => {
                bytes[0] = 0x40 | bytes[0] & 15;
                bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            }
            1 if length >= 40 => {
                bytes[0] = 0x60;
                bytes[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
                bytes[6] = [0, 6, 43, 44, 60][random.next_u32() as usize % 5];
            }
            _ => {}
        }
        if let Some(header) = Header::read(&bytes) {
            clamp_mss(&mut bytes, &header, 1320);
        }
        mark_congestion(&mut bytes);
        assert_eq!(bytes.len(), length, "seed {seed}");
    }
}

#[test]
fn a_mark_keeps_the_checksum_right() {
    for (ecn, is_marked) in [(0, false), (1, true), (2, true), (3, true)] {
        let mut packet = Packet::new(TCP, (1, 2), 0);
        packet.ecn = ecn;
        for packet in [packet, v6(packet)] {
            let mut bytes = packet.bytes();
            assert_eq!(mark_congestion(&mut bytes), is_marked);
            packet
                .from
                .is_ipv4()
                .then(|| assert_eq!(checksum(&bytes[..20]), 0));
            let mut expected = packet;
            expected.ecn = if is_marked { 3 } else { 0 };
            assert_eq!(bytes, expected.bytes());
        }
    }
}

/// A SYN with these options, its checksum right.
fn syn(packet: Packet, options: &[u8]) -> Vec<u8> {
    let mut bytes = packet.bytes();
    let at = if packet.from.is_ipv4() { 20 } else { 40 };
    bytes[at + 12] = ((20 + options.len()) / 4 * 16) as u8;
    bytes[at + 13] = 2;
    bytes[at + 20..at + 20 + options.len()].copy_from_slice(options);
    bytes[at + 16..at + 18].fill(0);
    let sum = transport_checksum(&bytes);
    bytes[at + 16..at + 18].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(transport_checksum(&bytes), 0);
    bytes
}

#[test]
fn the_segment_size_of_a_syn_is_lowered_and_never_raised() {
    let packet = Packet::new(TCP, (1, 2), 0);
    for (packet, headers) in [(packet, 40), (v6(packet), 60)] {
        let at = headers - 20;
        // Alone, behind padding to an even place, and at an odd one.
        for before in [&[][..], &[1, 1], &[4, 2], &[1]] {
            for (size, expected) in [(1460_u16, 1320 - headers as u16), (1200, 1200)] {
                let option = [2, 4, (size >> 8) as u8, size as u8];
                let mut options = [before, &option[..]].concat();
                options.resize(8, 0);
                let mut bytes = syn(packet, &options);
                let header = Header::read(&bytes).unwrap();
                clamp_mss(&mut bytes, &header, 1320);
                let from = at + 20 + before.len() + 2;
                assert_eq!(bytes[from..from + 2], expected.to_be_bytes());
                assert_eq!(transport_checksum(&bytes), 0, "{before:?}");
            }
        }
    }
}

#[test]
fn only_a_syn_with_sound_options_is_changed() {
    let packet = Packet::new(TCP, (1, 2), 0);
    for options in [
        [0, 0, 0, 0, 2, 4, 5, 180],
        [8, 0, 0, 0, 2, 4, 5, 180],
        [8, 200, 0, 0, 2, 4, 5, 180],
        [8, 6, 0, 0, 0, 0, 2, 4],
        [2, 3, 5, 180, 1, 1, 1, 1],
    ] {
        let before = syn(packet, &options);
        let mut after = before.clone();
        let header = Header::read(&after).unwrap();
        clamp_mss(&mut after, &header, 1320);
        assert_eq!(after, before, "{options:?}");
    }
    let mut data = syn(packet, &[2, 4, 5, 180]);
    data[20 + 13] = 0x10;
    let before = data.clone();
    let header = Header::read(&data).unwrap();
    clamp_mss(&mut data, &header, 1320);
    assert_eq!(data, before);
}

#[test]
fn addresses_of_a_link_or_of_many_hosts_do_not_pass() {
    for (address, passes) in [
        ("10.77.0.1", true),
        ("192.0.2.1", true),
        ("fd77::1", true),
        ("2001:db8::1", true),
        ("0.0.0.0", false),
        ("0.1.2.3", false),
        ("127.0.0.1", false),
        ("169.254.1.1", false),
        ("224.0.0.251", false),
        ("255.255.255.255", false),
        ("::", false),
        ("::1", false),
        ("fe80::1", false),
        ("ff02::fb", false),
        ("::ffff:127.0.0.1", false),
    ] {
        assert_eq!(is_routable(address.parse().unwrap()), passes, "{address}");
    }
}

#[test]
fn addresses_for_private_networks_are_known_to_the_last_one() {
    for (address, private) in [
        ("10.77.0.1", true),
        ("11.0.0.1", false),
        ("172.31.255.255", true),
        ("172.32.0.0", false),
        ("192.168.1.1", true),
        ("100.63.255.255", false),
        ("100.64.0.0", true),
        ("100.127.255.255", true),
        ("100.128.0.0", false),
        ("198.17.255.255", false),
        ("198.18.0.0", true),
        ("198.19.255.255", true),
        ("198.20.0.0", false),
        ("fd77::1", true),
        ("fe80::1", false),
        ("2001:db8::1", false),
    ] {
        assert_eq!(is_private(address.parse().unwrap()), private, "{address}");
    }
}
