//! Hostile packets change only counters: no panic, bounded memory, bounded work.
//! `examples/hostile.rs` does the same with any number of packets, and times each.
#![allow(clippy::unwrap_used)]

#[path = "../examples/attack/mod.rs"]
mod attack;

use attack::{Attack, Target};
use weftline_fecframe::{EncodingId, Fssi, Receiver, ReceiverConfig, Time};

#[test]
fn hostile_packets_change_only_counters_and_memory_stays_bounded() {
    for (target, seed) in Target::ALL.into_iter().zip([1, 2, 3, 4]) {
        let mut attack = Attack::new(target, seed);
        let mut memory = 0;
        for i in 0..15_000 {
            attack.prepare();
            attack.deliver();
            if i % 500 == 0 {
                memory = memory.max(attack.memory());
            }
        }
        // The codec's bound for 2048 symbols of 1280 octets, plus the queues; 16 blocks
        // of 255 symbols and their waiting ADUs.
        let bound = match target {
            Target::Blocks => 16 * 255 * (1400 + 60),
            _ => 2050 * (1280 + 322) + 2048 * 2560 + 2048 * 60 + (1 << 20),
        };
        assert!(memory < bound, "{target:?}: {memory}");
        let stats = attack.stats();
        for counted in [
            stats.malformed,
            stats.jumps,
            stats.received,
            stats.useful_repair,
        ] {
            assert!(counted > 0, "{target:?}: {stats:?}");
        }
    }
}

#[test]
fn adus_do_not_accumulate_when_nobody_polls_them() {
    let fssi = Fssi::Rlc {
        symbol_size: 16,
        window_size_ratio: 191,
    };
    let mut config = ReceiverConfig::new(EncodingId::RlcGf256, fssi);
    config.limits.max_window = 30;
    config.limits.max_linear_system = 60;
    let mut receiver = Receiver::new(config).unwrap();
    for esi in 0..10_000_u32 {
        let packet = [&[7; 10][..], &esi.to_be_bytes()].concat();
        receiver.source_packet(0, &packet, Time::ZERO).unwrap();
    }
    assert_eq!(receiver.stats().overrun, 10_000 - 120);
    assert_eq!(std::iter::from_fn(|| receiver.poll_adu()).count(), 120);
    assert!(receiver.memory() < 100_000, "{}", receiver.memory());
}

#[test]
fn a_contradicting_packet_is_counted_and_the_first_one_stays() {
    for id in [EncodingId::RlcGf256, EncodingId::ReedSolomon] {
        let fssi = match id {
            EncodingId::ReedSolomon => Fssi::ReedSolomon {
                symbol_size: 16,
                strict: false,
                m: 8,
            },
            _ => Fssi::Rlc {
                symbol_size: 16,
                window_size_ratio: 191,
            },
        };
        let mut receiver = Receiver::new(ReceiverConfig::new(id, fssi)).unwrap();
        let trailer: &[u8] = if id == EncodingId::ReedSolomon {
            &[0, 0, 0, 0, 0, 9]
        } else {
            &[0, 0, 0, 9]
        };
        let packet = |adu: &[u8]| [adu, trailer].concat();
        receiver
            .source_packet(0, &packet(b"first"), Time::ZERO)
            .unwrap();
        assert!(
            receiver
                .source_packet(0, &packet(b"other"), Time::ZERO)
                .is_err()
        );
        assert!(
            receiver
                .source_packet(0, &packet(b"longer"), Time::ZERO)
                .is_err()
        );
        receiver
            .source_packet(0, &packet(b"first"), Time::ZERO)
            .unwrap();
        let stats = receiver.stats();
        assert_eq!((stats.conflicts, stats.duplicates), (2, 1));
        assert_eq!(receiver.poll_adu().unwrap().data, b"first");
        assert_eq!(receiver.poll_adu(), None);
    }
}

#[test]
fn adus_do_not_overlap() {
    let fssi = Fssi::Rlc {
        symbol_size: 8,
        window_size_ratio: 191,
    };
    let mut receiver = Receiver::new(ReceiverConfig::new(EncodingId::RlcGf256, fssi)).unwrap();
    let packet = |esi: u32, length: usize| [&vec![7; length][..], &esi.to_be_bytes()].concat();
    // Symbols 10, 11 and 12.
    receiver
        .source_packet(0, &packet(10, 20), Time::ZERO)
        .unwrap();
    for (esi, length) in [(11, 1), (12, 20), (9, 10), (10, 4)] {
        let taken = receiver.source_packet(0, &packet(esi, length), Time::ZERO);
        assert!(taken.is_err(), "{esi}");
    }
    receiver
        .source_packet(0, &packet(13, 1), Time::ZERO)
        .unwrap();
    receiver
        .source_packet(0, &packet(9, 1), Time::ZERO)
        .unwrap();
    assert_eq!(receiver.stats().conflicts, 4);
}
