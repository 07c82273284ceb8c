//! Every scheme recovers losses over a lossy path.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::Duration;

use proptest::prelude::*;
use support::{Random, receiver_config, rlc, rs, run, sender_config};
use weftline_fecframe::{
    Elimination, EncodingId, FlowSet, Order, Receiver, Sender, SenderConfig, Time,
};

fn pair(
    config: SenderConfig,
    change: impl FnOnce(&mut weftline_fecframe::ReceiverConfig),
) -> (Sender, Receiver) {
    let mut theirs = receiver_config(&config);
    change(&mut theirs);
    (Sender::new(config).unwrap(), Receiver::new(theirs).unwrap())
}

fn adus(random: &mut Random, count: usize, most: u64) -> Vec<(u8, Vec<u8>)> {
    (0..count)
        .map(|_| {
            let length = random.below(most + 1) as usize;
            (0, random.bytes(length))
        })
        .collect()
}

#[test]
fn moderate_losses_are_all_recovered_in_order() {
    for (id, e, window) in [
        (EncodingId::RlcGf256, 100, 40),
        (EncodingId::RlcGf2, 100, 40),
        (EncodingId::RlcGf256, 33, 60),
    ] {
        let mut config = sender_config(id, rlc(e, 128), "1/2", window);
        config.bandwidth_cap = false;
        config.first = u32::MAX - 500;
        let (mut sender, mut receiver) = pair(config, |_| {});
        let mut random = Random(u64::from(e));
        let all = adus(&mut random, 2000, 97);
        let mut losses = Random(7);
        let mut first = true;
        let run = run(&mut sender, &mut receiver, all, |_| {
            // The first packet arrives, so that no ADU precedes the beginning.
            !std::mem::replace(&mut first, false) && losses.below(100) < 10
        });
        run.check();
        assert!(run.lost_sources > 100, "{}", run.lost_sources);
        // The last ones may lack repair.
        let missing = run.sent.len() - run.got.len();
        assert!(missing <= 3, "{id:?}: {missing} missing");
        let order: Vec<u32> = run
            .got
            .iter()
            .map(|a| a.esi.wrapping_sub(u32::MAX - 500))
            .collect();
        assert!(order.is_sorted());
        let recovered = run.got.iter().filter(|adu| adu.recovered).count();
        assert!(recovered + missing >= run.lost_sources);
        let stats = receiver.stats();
        assert_eq!(
            (stats.inconsistent, stats.implausible, stats.conflicts),
            (0, 0, 0)
        );
        assert_eq!(stats.received + stats.recovered, run.got.len() as u64);
    }
}

#[test]
fn blocks_are_recovered_while_losses_do_not_exceed_their_repair() {
    for (m, strict, k) in [(8, false, 20), (8, true, 100), (4, true, 10), (2, false, 2)] {
        let config = {
            let mut config = sender_config(EncodingId::ReedSolomon, rs(60, strict, m), "2/3", k);
            config.bandwidth_cap = false;
            config
        };
        let (mut sender, mut receiver) = pair(config, |_| {});
        let mut random = Random(u64::from(m));
        let all = adus(&mut random, usize::from(k) * 30, 57);
        // Loses as many packets of each block as it has repair symbols, from its
        // middle.
        let repairs = u64::from(k) / 2;
        let mut count = 0;
        let run = run(&mut sender, &mut receiver, all, |repair| {
            let at = count % u64::from(k);
            count += u64::from(!repair);
            !repair && at > 0 && at <= repairs
        });
        run.check();
        assert_eq!(run.lost_sources as u64, 30 * repairs.min(u64::from(k) - 1));
        assert_eq!(run.got.len(), run.sent.len(), "m {m}");
        assert!(
            run.got
                .iter()
                .zip(&run.sent)
                .all(|(got, sent)| got.data == sent.2)
        );
    }
}

#[test]
fn configurations_without_a_code_are_refused() {
    use weftline_fecframe::{ConfigError, Fssi, ReceiverConfig, SendError};
    let refused = |config: SenderConfig| Sender::new(config).unwrap_err();
    let reed_solomon = |m, code_rate, k| {
        let mut config = sender_config(EncodingId::ReedSolomon, rs(60, false, m), code_rate, k);
        config.bandwidth_cap = false;
        refused(config)
    };
    for (code_rate, k) in [("2/3", 171), ("1", 256), ("1/1000", 200)] {
        let error = reed_solomon(8, code_rate, k);
        assert!(matches!(error, ConfigError::Range { .. }), "{error}");
    }
    assert_eq!(reed_solomon(16, "2/3", 10), ConfigError::Field { m: 16 });
    assert_eq!(reed_solomon(200, "2/3", 10), ConfigError::Field { m: 200 });
    let theirs = ReceiverConfig::new(EncodingId::ReedSolomon, rs(60, false, 200));
    assert_eq!(
        Receiver::new(theirs).unwrap_err(),
        ConfigError::Field { m: 200 }
    );

    let rlc_config =
        |e, code_rate, window| sender_config(EncodingId::RlcGf2, rlc(e, 191), code_rate, window);
    let below = refused(rlc_config(60, "1/3", 10));
    assert!(matches!(below, ConfigError::CodeRate { .. }));
    assert_eq!(refused(rlc_config(0, "2/3", 10)), ConfigError::NoSymbolSize);
    for window in [0, 4096] {
        let error = refused(rlc_config(60, "2/3", window));
        assert!(matches!(error, ConfigError::Range { .. }), "{error}");
    }
    let mut sums = rlc_config(60, "2/3", 10);
    sums.density_threshold = 15;
    sums.symbols_per_packet = 2;
    assert_eq!(refused(sums), ConfigError::OneSymbolOnly);
    let mut no_flow = rlc_config(60, "2/3", 10);
    no_flow.flows = FlowSet::default();
    assert_eq!(refused(no_flow), ConfigError::NoFlow);
    let wrong: Fssi = rs(60, false, 8);
    let error = refused(sender_config(EncodingId::RlcGf2, wrong, "2/3", 10));
    assert!(matches!(error, ConfigError::Fssi { .. }));

    let mut sender = Sender::new(rlc_config(60, "2/3", 10)).unwrap();
    let mut packet = Vec::new();
    let mut send = |flow, length| sender.source(flow, &vec![0; length], Time::ZERO, &mut packet);
    assert!(send(0, 597).is_ok());
    let error = SendError::AduTooLong {
        got: 598,
        limit: 597,
    };
    assert_eq!(send(0, 598), Err(error));
    assert_eq!(send(1, 5), Err(SendError::UnknownFlow { flow: 1 }));
}

#[test]
fn several_flows_share_an_instance() {
    let mut config = sender_config(EncodingId::RlcGf256, rlc(50, 128), "1/2", 60);
    config.flows = FlowSet::from_iter([0, 7, 255]);
    config.bandwidth_cap = false;
    let (mut sender, mut receiver) = pair(config, |_| {});
    let mut random = Random(3);
    let all: Vec<(u8, Vec<u8>)> = (0..900)
        .map(|i| {
            let length = random.below(140) as usize;
            ([0, 7, 255][i % 3], random.bytes(length))
        })
        .collect();
    let mut count = 0;
    let run = run(&mut sender, &mut receiver, all, |_| {
        count += 1;
        count % 9 == 0
    });
    run.check();
    assert_eq!(run.got.len(), run.sent.len());
    for flow in [0, 7, 255] {
        assert!(run.got.iter().any(|adu| adu.flow == flow && adu.recovered));
    }
}

#[test]
fn several_repair_symbols_share_a_packet_and_keys_wrap() {
    let mut config = sender_config(EncodingId::RlcGf256, rlc(20, 128), "1/2", 50);
    config.symbols_per_packet = 5;
    config.first_key = u16::MAX - 12;
    config.density_threshold = 3;
    config.bandwidth_cap = false;
    let (mut sender, mut receiver) = pair(config, |_| {});
    let mut random = Random(5);
    let all = adus(&mut random, 600, 17);
    let mut count = 0;
    let run = run(&mut sender, &mut receiver, all, |repair| {
        count += u64::from(!repair);
        !repair && count % 5 == 0
    });
    run.check();
    assert_eq!(run.got.len(), run.sent.len());
    assert_eq!(
        sender.stats().repair_symbols,
        5 * sender.stats().repair_packets
    );
}

#[test]
fn a_gap_is_given_up_when_it_leaves_the_window() {
    let mut config = sender_config(EncodingId::RlcGf256, rlc(20, 255), "1", 20);
    config.one_symbol_adus = true;
    let (mut sender, mut receiver) = pair(config, |c| c.decoding_window = Some(20));
    let mut packet = Vec::new();
    let mut delivered = Vec::new();
    for tick in 0..60 {
        let now = Time::from_micros(tick);
        sender.source(0, &[tick as u8], now, &mut packet).unwrap();
        if tick != 10 {
            receiver.source_packet(0, &packet, now).unwrap();
        }
        while let Some(adu) = receiver.poll_adu() {
            delivered.push((tick, adu.data[0]));
        }
    }
    // The gap is in time while it is among the newest 20.
    assert!(delivered.contains(&(9, 9)) && delivered.contains(&(30, 11)));
    assert!(delivered.contains(&(30, 30)) && delivered.contains(&(59, 59)));
    assert_eq!(receiver.stats().symbols_lost, 1);
}

#[test]
fn a_gap_is_given_up_when_its_time_is_over_without_a_packet() {
    let config = sender_config(EncodingId::RlcGf256, rlc(20, 255), "1", 20);
    let (mut sender, mut receiver) =
        pair(config, |c| c.max_latency = Some(Duration::from_millis(80)));
    let mut packet = Vec::new();
    for tick in 0..3 {
        let now = Time::from_micros(tick * 1000);
        sender.source(0, &[tick as u8], now, &mut packet).unwrap();
        if tick != 1 {
            receiver.source_packet(0, &packet, now).unwrap();
        }
    }
    assert_eq!(receiver.poll_adu().unwrap().data, [0]);
    assert_eq!(receiver.poll_adu(), None);
    let at = receiver.poll_timeout().unwrap();
    // Heard of when ADU 2 came.
    assert_eq!(at, Time::from_micros(82_000));
    receiver.handle_timeout(Time::from_micros(81_999));
    assert_eq!(receiver.poll_adu(), None);
    receiver.handle_timeout(at);
    assert_eq!(receiver.poll_adu().unwrap().data, [2]);
    assert_eq!(receiver.poll_timeout(), None);
    assert_eq!(receiver.stats().symbols_lost, 1);
}

/// Sends 40 ADUs. Of the first few all but one are lost, and their repair comes when
/// they are late.
fn late(deliver_late: bool) -> (Receiver, Vec<weftline_fecframe::Adu>) {
    let mut config = sender_config(EncodingId::RlcGf256, rlc(20, 255), "1", 40);
    config.one_symbol_adus = true;
    config.bandwidth_cap = false;
    let (mut sender, mut receiver) = pair(config, |c| {
        c.order = Order::AsDecoded;
        c.deliver_late = deliver_late;
        c.decoding_window = Some(10);
        c.linear_system = Some(60);
    });
    let mut packet = Vec::new();
    for tick in 0..40 {
        sender.source(0, &[tick], Time::ZERO, &mut packet).unwrap();
        if !(1..3).contains(&tick) {
            receiver.source_packet(0, &packet, Time::ZERO).unwrap();
        }
    }
    for _ in 0..2 {
        sender.extra_repair(Time::ZERO, &mut packet).unwrap();
        receiver.repair_packet(&packet, Time::ZERO).unwrap();
    }
    let adus = std::iter::from_fn(|| receiver.poll_adu()).collect();
    (receiver, adus)
}

#[test]
fn late_adus_are_counted_and_handed_over_only_on_request() {
    let (receiver, adus) = late(false);
    assert_eq!(adus.len(), 38);
    assert_eq!(
        (receiver.stats().late, receiver.stats().symbols_lost),
        (2, 2)
    );
    let (receiver, adus) = late(true);
    let found: Vec<(u8, bool, bool)> = adus
        .iter()
        .filter(|adu| adu.late)
        .map(|adu| (adu.data[0], adu.recovered, adu.late))
        .collect();
    assert_eq!(found, [(1, true, true), (2, true, true)]);
    assert_eq!(receiver.stats().late, 2);
    assert_eq!(adus.len(), 40);
}

#[test]
fn a_late_receiver_begins_with_the_first_packet_and_recovers_from_then_on() {
    let mut config = sender_config(EncodingId::RlcGf256, rlc(20, 128), "1/2", 30);
    config.bandwidth_cap = false;
    let (mut sender, mut receiver) = pair(config, |_| {});
    let mut count = 0;
    let all = (0..400_u16).map(|i| (0, i.to_be_bytes().to_vec()));
    let run = run(&mut sender, &mut receiver, all, |_| {
        count += 1;
        count < 200 || count % 7 == 0
    });
    run.check();
    assert!(run.got.len() >= 298, "{}", run.got.len());
    assert_eq!(receiver.stats().symbols_lost, 0);
}

#[test]
fn a_linear_system_shorter_than_the_senders_window_grows_with_it() {
    let config = sender_config(EncodingId::RlcGf256, rlc(100, 191), "2/3", 28);
    let (mut sender, mut receiver) = pair(config, |c| c.linear_system = Some(5));
    let mut random = Random(11);
    let all = adus(&mut random, 1000, 97);
    let mut sent = 0;
    let run = run(&mut sender, &mut receiver, all, |repair| {
        sent += u32::from(!repair);
        // Losses begin when the window is full.
        !repair && sent > 60 && sent.is_multiple_of(7)
    });
    run.check();
    assert!(
        run.lost_sources > 100 && run.got.len() == 1000,
        "{}",
        run.got.len()
    );
    let Receiver::Window(window) = &receiver else {
        panic!("no window")
    };
    // 28 symbols are 191/255 of the decoding window.
    assert_eq!((window.decoding_window(), window.linear_system()), (38, 38));
}

#[test]
fn a_restarted_sender_is_followed_and_a_stray_packet_is_not() {
    let config = sender_config(EncodingId::RlcGf256, rlc(20, 255), "1", 20);
    let (mut sender, mut receiver) = pair(config.clone(), |_| {});
    let mut other = config;
    other.first = 1 << 30;
    let mut stranger = Sender::new(other).unwrap();
    let mut packet = Vec::new();
    for tick in 0..100_u8 {
        sender.source(0, &[tick], Time::ZERO, &mut packet).unwrap();
        receiver.source_packet(0, &packet, Time::ZERO).unwrap();
        stranger
            .source(0, &[0xEE], Time::ZERO, &mut packet)
            .unwrap();
        assert!(receiver.source_packet(0, &packet, Time::ZERO).is_err());
    }
    assert_eq!(std::iter::from_fn(|| receiver.poll_adu()).count(), 100);
    for _ in 0..30 {
        stranger
            .source(0, &[0xEE], Time::ZERO, &mut packet)
            .unwrap();
        let _ = receiver.source_packet(0, &packet, Time::ZERO);
    }
    assert_eq!(receiver.stats().resyncs, 1);
    // Of 31 in a row, one of them before this loop, 8 were refused.
    assert_eq!(std::iter::from_fn(|| receiver.poll_adu()).count(), 23);
}

/// A burst of a sender: its source packets, and its repair packets.
fn burst(sender: &mut Sender, count: u32, now: Time) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (mut sources, mut repairs) = (Vec::new(), Vec::new());
    let mut packet = Vec::new();
    for number in 0..count {
        let adu = number.to_be_bytes();
        sender.source(0, &adu, now, &mut packet).unwrap();
        sources.push(packet.clone());
        while sender.poll_repair(now, &mut packet).is_some() {
            repairs.push(packet.clone());
        }
    }
    (sources, repairs)
}

/// A receiver reads the sockets of a burst one after the other. Nothing is lost then, and no sender
/// has restarted.
#[test]
fn a_burst_read_socket_by_socket_is_no_restart() {
    let blocks = (EncodingId::ReedSolomon, rs(20, false, 8), 4);
    let window = (EncodingId::RlcGf256, rlc(20, 191), 1024);
    for (id, fssi, length) in [window, blocks] {
        for count in [52, 400, 1000] {
            let mut config = sender_config(id, fssi, "1/2", length);
            config.one_symbol_adus = true;
            config.bandwidth_cap = false;
            config.validity = Some(Duration::from_millis(100));
            let (mut sender, mut receiver) = pair(config, |_| {});
            // At the start of the flow, and after a pause, with a window that is short again.
            for round in 1..=2 {
                let now = Time::from_micros(round * 1_000_000);
                let (sources, repairs) = burst(&mut sender, count, now);
                assert_eq!(repairs.len(), sources.len());
                for packet in sources {
                    receiver.source_packet(0, &packet, now).unwrap();
                }
                for packet in repairs {
                    receiver.repair_packet(&packet, now).unwrap();
                }
                let stats = receiver.stats();
                assert_eq!(
                    (stats.resyncs, stats.symbols_lost, stats.received),
                    (0, 0, u64::from(count) * round),
                    "{id:?}, {count}"
                );
            }
        }
    }
}

#[test]
fn repairs_read_before_their_sources_are_no_restart() {
    let mut config = sender_config(EncodingId::RlcGf256, rlc(20, 191), "2/3", 1024);
    config.one_symbol_adus = true;
    config.bandwidth_cap = false;
    let (mut sender, mut receiver) = pair(config, |_| {});
    let (sources, repairs) = burst(&mut sender, 50, Time::ZERO);
    for packet in repairs {
        receiver.repair_packet(&packet, Time::ZERO).unwrap();
    }
    for packet in sources {
        receiver.source_packet(0, &packet, Time::ZERO).unwrap();
    }
    let stats = receiver.stats();
    assert_eq!((stats.resyncs, stats.jumps, stats.too_old), (0, 0, 0));
    // The first packet covers two ADUs. Delivery begins behind them.
    assert_eq!(stats.symbols_lost, 0);
    assert_eq!(std::iter::from_fn(|| receiver.poll_adu()).count(), 48);
}

/// The numbers of the restarted sender lie before those of its first run.
#[test]
fn a_sender_that_restarted_in_the_past_is_followed_with_its_repairs() {
    let blocks = (EncodingId::ReedSolomon, rs(20, false, 8), 2, 2000);
    let window = (EncodingId::RlcGf256, rlc(20, 255), 20, 2000);
    // Near the first run too.
    let near = (EncodingId::RlcGf256, rlc(20, 255), 20, 60);
    for (id, fssi, length, back) in [window, blocks, near] {
        let mut config = sender_config(id, fssi, "1/2", length);
        config.bandwidth_cap = false;
        config.first = back;
        let (mut sender, mut receiver) = pair(config.clone(), |_| {});
        let all = (0..100_u8).map(|number| (0, vec![number]));
        run(&mut sender, &mut receiver, all.clone(), |_| false).check();
        config.first = 0;
        let mut again = Sender::new(config).unwrap();
        let followed = run(&mut again, &mut receiver, all, |_| false);
        assert_eq!(receiver.stats().resyncs, 1, "{id:?}, {back}");
        // Of source and repair packets in turn 8 were refused or too old.
        assert_eq!(followed.got.len(), 96, "{id:?}, {back}");
    }
}

#[test]
fn an_expiring_window_covers_only_young_symbols() {
    let mut config = sender_config(EncodingId::RlcGf256, rlc(20, 255), "2/3", 40);
    config.validity = Some(Duration::from_millis(5));
    config.bandwidth_cap = false;
    let mut sender = Sender::new(config).unwrap();
    let mut packet = Vec::new();
    for ms in 0..20 {
        let now = Time::from_micros(ms * 1000);
        sender.source(0, b"x", now, &mut packet).unwrap();
        if let Some(repair) = sender.poll_repair(now, &mut packet) {
            assert_eq!(u64::from(repair.window), (ms + 1).min(5));
            assert_eq!(u64::from(repair.first_esi), (ms + 1).saturating_sub(5));
        }
    }
    assert_eq!(
        sender.extra_repair(Time::from_micros(100_000), &mut packet),
        None
    );
    assert_eq!(sender.stats().useless, 1);
    assert_eq!(sender.stats().expired, 20);
}

#[test]
fn repair_never_takes_more_octets_than_the_data_it_protects() {
    for (adu, expect_capped) in [(10, true), (95, true), (97, true)] {
        let config = sender_config(EncodingId::RlcGf256, rlc(100, 128), "1/2", 30);
        let mut sender = Sender::new(config).unwrap();
        let mut packet = Vec::new();
        for _ in 0..500 {
            sender
                .source(0, &vec![1; adu], Time::ZERO, &mut packet)
                .unwrap();
            while sender.poll_repair(Time::ZERO, &mut packet).is_some() {}
            let stats = sender.stats();
            assert!(stats.repair_octets <= stats.source_octets);
        }
        let stats = sender.stats();
        assert_eq!(stats.capped > 0, expect_capped);
        assert!(
            stats.repair_octets * 10 > stats.source_octets * 8,
            "{stats:?}"
        );
    }
}

#[test]
fn a_decoder_that_discards_equations_recovers_less() {
    let recovered = |elimination| {
        let mut config = sender_config(EncodingId::RlcGf256, rlc(8, 128), "2/3", 20);
        config.bandwidth_cap = false;
        config.one_symbol_adus = true;
        let (mut sender, mut receiver) = pair(config, |c| {
            c.decoding_window = Some(40);
            c.linear_system = Some(40);
            c.elimination = elimination;
            c.order = Order::AsDecoded;
        });
        let mut random = Random(11);
        let all = (0..6000_u16).map(|i| (0, i.to_be_bytes().to_vec()));
        let run = run(&mut sender, &mut receiver, all, |_| random.below(100) < 28);
        run.check();
        receiver.stats().recovered
    };
    let (kept, discarded) = (
        recovered(Elimination::Keeping),
        recovered(Elimination::Discarding),
    );
    assert!(kept * 10 > discarded * 11, "{kept} against {discarded}");
    assert!(discarded > 300, "{discarded}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn only_sent_adus_are_handed_over(
        seed: u64, e in 1_u16..40, window in 30_u16..80, loss in 0_u64..50, gf2: bool,
        threshold in 0_u8..15, first: u32, in_order: bool, discarding: bool, per_packet in 1_u8..4,
    ) {
        let id = if gf2 { EncodingId::RlcGf2 } else { EncodingId::RlcGf256 };
        let mut config = sender_config(id, rlc(e, 100), "1/2", window);
        config.density_threshold = threshold;
        config.first = first;
        config.symbols_per_packet = per_packet;
        config.bandwidth_cap = false;
        let (mut sender, mut receiver) = pair(config, |c| {
            c.order = if in_order { Order::InOrder } else { Order::AsDecoded };
            c.deliver_late = seed % 2 == 0;
            if discarding {
                c.elimination = Elimination::Discarding;
            }
        });
        let mut random = Random(seed);
        let most = u64::from(e) * 3;
        let all = adus(&mut random, 150, most.min(25));
        let run = run(&mut sender, &mut receiver, all, |_| random.below(100) < loss);
        run.check();
        if loss == 0 {
            prop_assert_eq!(run.got.len(), 150);
        }
        prop_assert_eq!(receiver.stats().inconsistent, 0);
        prop_assert_eq!(receiver.stats().conflicts, 0);
        prop_assert_eq!(receiver.stats().implausible, 0);
    }
}

#[test]
fn adus_after_an_unrecoverable_one_are_found_if_all_have_one_symbol() {
    let recovered = |one_symbol_adus| {
        let mut config = sender_config(EncodingId::RlcGf256, rlc(20, 255), "1", 4);
        config.one_symbol_adus = one_symbol_adus;
        config.bandwidth_cap = false;
        let (mut sender, mut receiver) = pair(config, |c| c.order = Order::AsDecoded);
        let mut packet = Vec::new();
        for tick in 0..6 {
            sender
                .source(0, &[tick; 9], Time::ZERO, &mut packet)
                .unwrap();
            // The last repair covers 2 to 5, so ADU 1 is not recovered, but 2 is.
            if tick != 1 && tick != 2 {
                receiver.source_packet(0, &packet, Time::ZERO).unwrap();
            }
        }
        sender.extra_repair(Time::ZERO, &mut packet).unwrap();
        receiver.repair_packet(&packet, Time::ZERO).unwrap();
        let adus = std::iter::from_fn(|| receiver.poll_adu());
        adus.filter(|adu| adu.recovered)
            .map(|adu| adu.data[0])
            .collect::<Vec<_>>()
    };
    assert_eq!(recovered(true), [2]);
    assert_eq!(recovered(false), []);
}

#[test]
fn no_repair_symbol_is_all_zeros_or_a_repetition() {
    let mut config = sender_config(EncodingId::RlcGf256, rlc(20, 255), "1/2", 4);
    config.density_threshold = 0;
    config.bandwidth_cap = false;
    let mut sender = Sender::new(config.clone()).unwrap();
    let mut packet = Vec::new();
    for tick in 1..200 {
        sender
            .source(0, &[tick; 9], Time::ZERO, &mut packet)
            .unwrap();
        while sender.poll_repair(Time::ZERO, &mut packet).is_some() {
            assert!(packet[8..].iter().any(|octet| *octet != 0));
        }
    }
    assert_eq!(sender.stats().repair_symbols, 199);

    config.encoding_id = EncodingId::RlcGf2;
    config.density_threshold = 15;
    config.first_key = 77;
    let mut sender = Sender::new(config).unwrap();
    sender.source(0, &[1; 9], Time::ZERO, &mut packet).unwrap();
    let repair = sender.poll_repair(Time::ZERO, &mut packet).unwrap();
    // The sum of all symbols has no key, and there is only one.
    assert_eq!((repair.key, packet[0], packet[1]), (0, 0, 0));
    assert_eq!(sender.extra_repair(Time::ZERO, &mut packet), None);
    assert_eq!(sender.stats().useless, 1);
}
