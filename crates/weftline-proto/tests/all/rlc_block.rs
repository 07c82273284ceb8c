//! Low-overhead RLC (Garrido et al.) as a preset: only combinations of a block until its
//! acknowledgement arrives.

use std::time::Duration;

use crate::support::pair::{Pair, transmit, transmit_all};
use crate::support::rateless::{code, counted, symbols_needed, transfer};
use weftline_proto::wire::{CodingVector, Datagram, is_hello};
use weftline_proto::{Config, Feedback, Preset, RateControl, Session, Time, VectorHeader};

fn rlc_block() -> Config {
    let mut config = Config::preset(Preset::RlcBlock);
    config.rate = RateControl::Fixed {
        rate: Some(20_000_000),
        window: None,
    };
    config
}

/// `WEFTLINE_BLOCKS=20 cargo test -p weftline-proto --test all agrees_with_theory -- --nocapture` counts
/// twenty times as many blocks.
#[test]
fn the_number_of_received_symbols_agrees_with_theory() {
    // Mean receptions, and the standard deviation of one block.
    let times = std::env::var("WEFTLINE_BLOCKS").map_or(1, |v| v.parse().expect("a number"));
    for (bits, k, blocks, mean, deviation) in [
        (1, 8, 1500, 9.565, 1.5),
        (1, 64, 500, 65.607, 1.66),
        (8, 16, 500, 16.004, 0.063),
    ] {
        let blocks = times * blocks;
        let config = counted(rlc_block(), k, bits);
        let received = (0..blocks).map(|seed| {
            let (symbols, needed) = symbols_needed(&config, 14_000, seed);
            assert_eq!(symbols, usize::from(k));
            needed as f64
        });
        let got = received.sum::<f64>() / blocks as f64;
        println!("q {bits}, K {k}: {got:.3} of {blocks} blocks, {mean} in theory");
        let off = 4.0 * deviation / (blocks as f64).sqrt();
        assert!((got - mean).abs() < off, "q {bits}, K {k}: {got}");
    }
}

#[test]
fn every_field_and_both_headers_carry_every_byte() {
    for bits in 1..=8 {
        for header in [VectorHeader::Seed, VectorHeader::Explicit] {
            let mut config = rlc_block();
            code(&mut config).bits = bits;
            code(&mut config).header = header;
            code(&mut config).k = 40;
            let outcome = transfer(
                &config,
                100_000,
                "rate=25mbit delay=5ms loss=iid:10% reorder=5%:9ms duplicate=5%",
                "delay=5ms loss=iid:10%",
                u64::from(bits),
            );
            let (sent, got) = (
                outcome.client.session.stats().sent,
                outcome.server.session.stats(),
            );
            assert_eq!(got.received.source_symbols, 0, "all of them are coded");
            assert_eq!(sent.retransmissions, 0);
            assert_eq!(got.dropped.malformed + got.dropped.inconsistent, 0);
        }
    }
}

/// The datagrams that the client sends for a block of three symbols without an acknowledgement.
fn block(config: &Config) -> (Pair, Vec<Vec<u8>>) {
    let mut pair = Pair::connected(config.clone());
    let stream = pair.client.open_stream().expect("one may be opened");
    let written = pair.client.write(stream, &[7; 3000]);
    assert_eq!(written, Ok(3000));
    let datagrams = transmit_all(&mut pair.client, pair.now);
    (pair, datagrams)
}

fn carrier() -> Config {
    let mut config = rlc_block();
    config.rate = RateControl::Carrier;
    config
}

/// Whether the server sends a report at once. The report is lost.
fn reports(server: &mut Session, now: Time) -> bool {
    server.handle_timeout(now);
    let datagram = transmit(server, now);
    datagram.is_some_and(|d| matches!(Datagram::parse(&d), Ok(Datagram::Feedback(_))))
}

#[test]
fn a_header_has_the_seed_or_the_vector() {
    let (_, datagrams) = block(&carrier());
    for datagram in &datagrams {
        let Ok(Datagram::FieldRepair { nss, code, .. }) = Datagram::parse(datagram) else {
            panic!("not a repair: {datagram:02x?}")
        };
        assert!(nss == 3 && code.bits == 8, "{nss} {code:?}");
        assert!(matches!(code.vector, CodingVector::Seed(_)));
    }
    let mut config = carrier();
    code(&mut config).header = VectorHeader::Explicit;
    code(&mut config).bits = 5;
    let (_, datagrams) = block(&config);
    let Ok(Datagram::FieldRepair { code, .. }) = Datagram::parse(&datagrams[0]) else {
        panic!("not a repair")
    };
    // Three symbols of five bits.
    assert!(matches!(code.vector, CodingVector::Explicit(packed) if packed.len() == 2));
}

#[test]
fn a_lost_block_acknowledgement_is_repeated_for_each_further_packet_and_ends_the_block() {
    let (mut pair, datagrams) = block(&carrier());
    // Twice as many as the block has symbols, and 16: more in flight would suggest a dead path.
    assert_eq!(datagrams.len(), 22);
    let now = Time::from_micros(1000);
    for (n, datagram) in datagrams[..3].iter().enumerate() {
        pair.server.handle_datagram(now, datagram);
        // The server answers the first one, so that the round trip is known, and the block's end.
        assert_eq!(reports(&mut pair.server, now), n != 1, "datagram {n}");
    }
    for datagram in &datagrams[3..6] {
        pair.server.handle_datagram(now, datagram);
        assert!(reports(&mut pair.server, now), "the block is complete");
    }
    pair.server.handle_datagram(now, &datagrams[6]);
    let report = transmit(&mut pair.server, now).expect("there is one again");
    pair.client.handle_datagram(now, &report);
    assert!(pair.client.all_acknowledged());
    assert_eq!(transmit_all(&mut pair.client, now).len(), 0);
}

#[test]
fn endless_blocks_are_sent_one_at_a_time_and_finite_blocks_are_not() {
    let longest = |config: &Config| {
        let mut pair = Pair::connected(config.clone());
        let stream = pair.client.open_stream().expect("one may be opened");
        let written = pair.client.write(stream, &[7; 100_000]);
        assert_eq!(written, Ok(100_000));
        let sent = transmit_all(&mut pair.client, pair.now);
        let ends = sent.iter().filter_map(|d| match Datagram::parse(d) {
            Ok(Datagram::FieldRepair { coded, nss, .. }) => Some(coded.esi + u32::from(nss)),
            _ => None,
        });
        ends.max()
    };
    let mut config = carrier();
    code(&mut config).k = 10;
    assert_eq!(longest(&config), Some(10));
    code(&mut config).extra = 2;
    assert!(longest(&config) > Some(50));
}

#[test]
fn pauses_of_the_writer_divide_its_data_into_smaller_blocks() {
    let mut pair = Pair::connected(carrier());
    let stream = pair.client.open_stream().expect("one may be opened");
    for n in 1..=5u64 {
        pair.at(n * 10_000);
        let written = pair.client.write(stream, &[n as u8; 100]);
        assert_eq!(written, Ok(100));
        pair.exchange();
    }
    let sent = pair.client.stats().sent;
    assert!(pair.client.all_acknowledged());
    assert_eq!(sent.source_symbols, 5);
    assert!(sent.repair_symbols < 20, "{sent:?}");
}

#[test]
fn systematic_blocks_need_fewer_packets_when_little_is_lost() {
    let packets = |systematic: bool| {
        let mut config = rlc_block();
        code(&mut config).bits = 1;
        code(&mut config).systematic = systematic;
        let outcome = transfer(
            &config,
            200_000,
            "rate=25mbit delay=1ms loss=iid:1%",
            "delay=1ms",
            6,
        );
        let sent = outcome.client.session.stats().sent;
        sent.repair_symbols + if systematic { sent.source_symbols } else { 0 }
    };
    let (plain, systematic) = (packets(false), packets(true));
    assert!(systematic < plain, "{systematic} and {plain}");
}

#[test]
fn only_blocks_are_reported_and_a_timer_replaces_lost_reports() {
    let mut config = rlc_block();
    let took = |config: &Config| {
        let outcome = transfer(
            config,
            300_000,
            "rate=25mbit delay=5ms loss=iid:5%",
            "delay=5ms loss=iid:30%",
            8,
        );
        (outcome.server.session.stats().sent.feedback, outcome.took)
    };
    let (often, _) = took(&config);
    config.feedback = Feedback::Block {
        interval: Duration::from_secs(10),
    };
    let (rarely, took) = took(&config);
    assert!(rarely < often, "{rarely} and {often} reports");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn a_full_window_and_an_outage_do_not_stop_a_session() {
    for rate in [RateControl::Adaptive, RateControl::Carrier] {
        let mut config = rlc_block();
        config.rate = rate;
        transfer(
            &config,
            400_000,
            "rate=10mbit delay=20ms queue=60ms loss=ge:30%,6",
            "delay=20ms loss=ge:30%,3",
            9,
        );
    }
}

#[test]
fn a_flow_refuses_repairs_in_another_field() {
    let (mut pair, datagrams) = block(&{
        let mut config = carrier();
        code(&mut config).bits = 4;
        config
    });
    let now = Time::from_micros(1000);
    let mut other = datagrams[1].clone();
    // The same symbol, now in GF(2^2).
    assert_eq!(other[17], 3);
    other[17] = 1;
    pair.server.handle_datagram(now, &datagrams[0]);
    pair.server.handle_datagram(now, &other);
    assert_eq!(pair.server.stats().dropped.malformed, 1);
    assert!(!is_hello(&other));
    for datagram in &datagrams[1..] {
        pair.server.handle_datagram(now, datagram);
    }
    assert_eq!(pair.server.stats().received.recovered_symbols, 3);
}

#[test]
fn a_block_takes_no_more_of_the_data_than_it_has_symbols() {
    let mut config = carrier();
    code(&mut config).k = 10;
    let mut pair = Pair::connected(config);
    let stream = pair.client.open_stream().expect("one may be opened");
    let written = pair.client.write(stream, &[7; 100_000]);
    assert_eq!(written, Ok(100_000));
    assert!(transmit(&mut pair.client, pair.now).is_some());
    assert_eq!(pair.client.stats().sent.source_symbols, 10);
}
