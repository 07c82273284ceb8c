//! Sessions of two honest ends neither hang nor fail, and send nothing in vain.

use std::collections::VecDeque;
use std::time::Duration;

use crate::support::pair::{Pair, events, transmit, transmit_all};
use crate::support::{Peer, Script};
use weftline_netem::{LinkConfig, Simulation};
use weftline_proto::{
    Config, Event, Feedback, OpenError, Preset, RateControl, Role, SendMessageError, Time, wire,
};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

fn link(text: &str) -> LinkConfig {
    text.parse().expect("well-formed")
}

fn paced(preset: Preset, rate: u64) -> Config {
    let mut config = Config::preset(preset);
    config.rate = RateControl::Fixed {
        rate: Some(rate),
        window: None,
    };
    config
}

/// A client that sends `bytes` on one stream, over `path` in both directions.
fn transfer(client: Config, server: Config, bytes: u64, path: &str) -> Simulation<Peer, Peer> {
    let [writer, reader] = Script::transfer(bytes);
    Simulation::new(
        Peer::new(Role::Client, client, 1, writer),
        Peer::new(Role::Server, server, 2, reader),
        link(path),
        link(path),
        9,
    )
}

/// Runs a transfer to its end. Returns the time of the end.
fn finish(sim: &mut Simulation<Peer, Peer>, limit: Duration) -> Duration {
    sim.run_while(limit, |s| !(s.a.is_done() && s.b.is_done()));
    let stats = sim.a.session.stats();
    assert!(sim.a.is_done() && sim.b.is_done(), "not done: {stats:#?}");
    assert_eq!(sim.b.wrong, 0);
    sim.now()
}

/// Sends two megabytes at 10 Mbit/s, with an outage. Returns how long they took.
fn with_outage(client: Config, server: Config, outage: Duration) -> Duration {
    let mut sim = transfer(client, server, 2_000_000, "delay=20ms");
    sim.run_until(500 * MILLISECOND);
    sim.a_to_b.set_config(link("rate=0bit"));
    sim.run_until(500 * MILLISECOND + outage);
    sim.a_to_b.set_config(link("delay=20ms"));
    finish(&mut sim, 30 * SECOND)
}

#[test]
fn datagrams_in_order_are_reported_as_seldom_as_was_asked() {
    let mut config = paced(Preset::Streaming, 10_000_000);
    let min_interval = 50 * MILLISECOND;
    config.feedback = Feedback::EveryDatagram { min_interval };
    let mut sim = transfer(config.clone(), config, 500_000, "delay=20ms");
    finish(&mut sim, 5 * SECOND);
    let [sent, reported] =
        [&sim.a_to_b, &sim.b_to_a].map(|pipe| pipe.link().counters().offered_packets);
    // Some are for the beginning and the end.
    assert!(sent > 400 && reported < sent / 8, "{reported} of {sent}");
}

#[test]
fn a_receiver_with_room_for_few_unknowns_is_served_after_an_outage() {
    let config = paced(Preset::Streaming, 10_000_000);
    let mut server = config.clone();
    server.limits.unknowns = 128;
    let took = with_outage(config, server, 200 * MILLISECOND);
    // Without the outage it takes 2 s.
    assert!(took < 6 * SECOND, "{took:?}");
}

#[test]
fn a_block_longer_than_the_peers_window_is_repaired() {
    let mut config = paced(Preset::Block, 10_000_000);
    config.scheme = Config::block().k(128).into();
    let mut server = config.clone();
    server.limits.window = 64;
    let took = with_outage(config, server, 100 * MILLISECOND);
    assert!(took < 6 * SECOND, "{took:?}");
}

#[test]
fn two_hundred_sparse_streams_survive_lost_symbols() {
    let cases = [
        (Preset::Arq, 1, 8192),
        (Preset::Arq, 1, 256),
        (Preset::Streaming, 40, 8192),
        (Preset::Block, 40, 8192),
    ];
    for (preset, lost, symbols) in cases {
        let mut config = Config::preset(preset);
        config.limits.symbols = symbols;
        let mut pair = Pair::connected(config);
        let ids: Vec<_> = (0..200)
            .map(|_| pair.client.open_stream().expect("allowed"))
            .collect();
        let mut air: VecDeque<(u64, bool, Vec<u8>)> = VecDeque::new();
        let (mut written, mut read) = (0, 0);
        let mut buf = [0; 4096];
        // One byte every millisecond on each stream for two seconds; the round trip takes 300 ms.
        for ms in 0..4000 {
            pair.at(ms * 1000);
            for &id in ids.iter().filter(|_| ms < 2000) {
                written += pair.client.write(id, &[1]).unwrap_or(0);
            }
            while air.front().is_some_and(|(at, ..)| *at <= ms) {
                let (_, to_server, datagram) = air.pop_front().unwrap();
                match to_server {
                    true => pair.server.handle_datagram(pair.now, &datagram),
                    false => pair.client.handle_datagram(pair.now, &datagram),
                }
            }
            let from_client = transmit_all(&mut pair.client, pair.now);
            if !(1000..1000 + lost).contains(&ms) {
                air.extend(from_client.into_iter().map(|d| (ms + 150, true, d)));
            }
            let from_server = transmit_all(&mut pair.server, pair.now);
            air.extend(from_server.into_iter().map(|d| (ms + 150, false, d)));
            while pair.server.accept_stream().is_some() {}
            for &id in &ids {
                read += pair.server.read(id, &mut buf).unwrap_or(0);
            }
        }
        let case = format!("{preset}, {lost} ms lost, credit {symbols}");
        assert_eq!(pair.server.close_reason(), None, "{case}");
        assert_eq!(read, written, "{case}");
        assert!(written >= 100_000, "{case}: {written}");
    }
}

#[test]
fn a_hole_older_than_the_window_is_filled_within_round_trips() {
    let us = Duration::from_micros(1);
    for (period, rtt, burst) in [(1000 * us, 600, 60), (100 * us, 100, 6)] {
        let (rtt, burst) = (rtt * MILLISECOND, burst * MILLISECOND);
        let path = format!("delay={}ms", rtt.as_millis() / 2);
        let config = Config::preset(Preset::Streaming);
        let mut sim =
            crate::support::live(config, (period, 1000, 12_000), link(&path), link(&path), 9);
        sim.run_until(2500 * period);
        sim.a_to_b.set_config(link("loss=iid:100% delay=1ms"));
        sim.run_until(2500 * period + burst);
        sim.a_to_b.set_config(link(&path));
        sim.run_until(12_000 * period + 5 * rtt);
        assert_eq!(sim.b.live_delays.len(), 12_000);
        // Half a round trip to arrive, one to learn of the loss and repair it, and one to spare.
        let worst = sim.b.live_delays.iter().max().expect("many");
        let bound = rtt * 5 / 2 + 100 * MILLISECOND;
        assert!(*worst < bound, "{worst:?} with a round trip of {rtt:?}");
    }
}

#[test]
fn a_pause_of_the_feedback_does_not_make_the_sender_send_everything_again() {
    // Except with REST: at its end it repairs everything that is not acknowledged.
    for preset in Preset::ALL.into_iter().filter(|p| *p != Preset::Rest) {
        let config = paced(preset, 50_000_000);
        let mut sim = transfer(config.clone(), config, 10_000_000, "delay=10ms");
        sim.run_until(500 * MILLISECOND);
        sim.b_to_a.set_config(link("loss=iid:100% delay=10ms"));
        sim.run_until(2500 * MILLISECOND);
        sim.b_to_a.set_config(link("delay=10ms"));
        finish(&mut sim, 10 * SECOND);
        let sent = sim.a.session.stats().sent;
        assert!(sent.source_symbols > 7000, "{preset}: {sent:?}");
        let again = sent.retransmissions + sent.top_up_symbols;
        assert!(again < 200, "{preset}: {sent:?}");
    }
}

#[test]
fn a_server_that_hears_its_peer_first_stops_repeating_hello() {
    let mut config = Config::default();
    config.keep_alive = None;
    config.idle_timeout = 1000 * SECOND;
    let mut pair = Pair::new(config.clone(), config, Time::ZERO);
    // The client's HELLO arrives before the server has sent anything.
    let hello = transmit(&mut pair.client, pair.now).expect("HELLO");
    pair.server.handle_datagram(pair.now, &hello);
    let mut hellos = 0;
    for ms in 1..60_000 {
        pair.at(ms * 1000);
        for datagram in transmit_all(&mut pair.client, pair.now) {
            pair.server.handle_datagram(pair.now, &datagram);
        }
        for datagram in transmit_all(&mut pair.server, pair.now) {
            hellos += u32::from(wire::is_hello(&datagram));
            pair.client.handle_datagram(pair.now, &datagram);
        }
    }
    assert!((1..5).contains(&hellos), "{hellos} in a minute");
}

#[test]
fn hello_unblocks_an_open() {
    let config = Config::default();
    let mut pair = Pair::new(config.clone(), config, Time::ZERO);
    while pair.client.open_stream().is_ok() {}
    assert_eq!(pair.client.open_stream(), Err(OpenError::Blocked));
    pair.exchange();
    let events = events(&mut pair.client);
    assert!(events.contains(&Event::StreamsAvailable), "{events:?}");
    assert!(pair.client.open_stream().is_ok());
}

/// A stream may hold more data than the session, so that one stream can use up the credit.
fn little_credit() -> Config {
    let mut config = Config::default();
    config.limits.session_data = 256 << 10;
    config.limits.stream_data = 1 << 20;
    config.send_buffer = 1 << 20;
    config.rate = RateControl::Carrier;
    config
}

#[test]
fn the_end_of_a_stream_needs_no_credit() {
    let mut pair = Pair::connected(little_credit());
    let bulk = pair.client.open_stream().expect("allowed");
    let empty = pair.client.open_stream().expect("allowed");
    let taken = pair.client.write(bulk, &[1; 400_000]).expect("room");
    assert!(taken > 256 << 10, "the credit is spent");
    pair.at(10_000).exchange();
    pair.client.finish(empty).expect("open");
    pair.at(20_000).exchange();
    pair.at(900_000).exchange();
    // The application waits for the small stream before it reads the big one.
    while pair.server.accept_stream().is_some() {}
    assert_eq!(pair.server.read(empty, &mut [0; 10]), Ok(0));
}

#[test]
fn keep_alive_works_while_credit_is_spent() {
    let config = little_credit();
    let mut server = config.clone();
    server.keep_alive = None;
    let mut pair = Pair::new(config, server, Time::ZERO);
    pair.exchange();
    for ms in 1..100_000 {
        pair.at(ms * 1000);
        if ms == 100 {
            for bytes in [400_000, 0, 10] {
                let id = pair.client.open_stream().expect("allowed");
                pair.client.write(id, &vec![1; bytes]).expect("room");
                if bytes == 0 {
                    pair.client.finish(id).expect("open");
                }
            }
        }
        pair.exchange();
    }
    assert_eq!(pair.client.close_reason(), None);
    assert_eq!(pair.server.close_reason(), None);
    assert!(pair.client.stats().path.queued > 50_000, "still no credit");
}

#[test]
fn a_message_crosses_with_the_smallest_symbols() {
    let mut config = Config::default();
    config.symbol_size = 128;
    let mut pair = Pair::connected(config);
    pair.client
        .send_message(pair.now, vec![1; 200], None)
        .expect("room");
    for ms in 1..1000 {
        pair.at(ms * 1000).exchange();
    }
    let message = pair.server.recv_message().expect("arrived");
    assert_eq!(&message.data[..], [1; 200]);
}

#[test]
fn the_longest_message_fits_the_session_credit() {
    let mut config = Config::default();
    config.limits.session_data = 256 << 10;
    assert!(u64::from(config.limits.message_size) > config.limits.session_data);
    let mut pair = Pair::connected(config);
    assert!(events(&mut pair.client).contains(&Event::Connected));
    // In its shortest fragments, of 64 bytes, a message costs five times its length. A quarter of the
    // credit may not have been given back yet.
    let limit = (256 << 10) * 3 / 4 / 320 * 64;
    let long = vec![7; 500_000];
    let refused = pair.client.send_message(pair.now, long.clone(), None);
    let got = long.len();
    assert_eq!(refused, Err(SendMessageError::TooLong { got, limit }));
    pair.client
        .send_message(pair.now, long[..limit].to_vec(), None)
        .expect("within the limit");
    for ms in 1..1000 {
        pair.at(ms * 1000).exchange();
    }
    let message = pair.server.recv_message().expect("arrived");
    assert_eq!(&message.data[..], &long[..limit]);
}

#[test]
fn a_served_timer_is_not_due_any_more() {
    let mut pair = Pair::connected(Config::default());
    let id = pair.client.open_stream().expect("allowed");
    pair.client.write(id, b"x").expect("room");
    let now = Time::from_micros(1000);
    for datagram in transmit_all(&mut pair.client, now) {
        pair.server.handle_datagram(now, &datagram);
    }
    // The server's carrier is blocked: its report cannot be sent for a while.
    let later = Time::from_micros(5000);
    pair.server.handle_timeout(later);
    let next = pair.server.poll_timeout().expect("the session lives");
    assert!(next > later, "{next:?}");
    assert!(transmit(&mut pair.server, later).is_some(), "the report");
}

#[test]
fn expired_messages_do_not_use_up_the_credit_for_ever() {
    for keep_alive in [Some(10 * SECOND), None] {
        let mut config = Config::preset(Preset::Streaming);
        config.keep_alive = keep_alive;
        config.limits.symbols = 256;
        let mut pair = Pair::connected(config);
        for _ in 0..100 {
            pair.client
                .send_message(pair.now, vec![1; 1000], Some(50 * MILLISECOND))
                .expect("room");
        }
        // The first thirty datagrams are lost. Reports come back when all messages have expired,
        // before the retransmission timer, whose probe would help.
        pair.at(1000);
        for datagram in transmit_all(&mut pair.client, pair.now).iter().skip(30) {
            pair.server.handle_datagram(pair.now, datagram);
        }
        pair.now = Time::from_micros(101_000);
        pair.exchange();
        pair.client
            .send_message(pair.now, &b"after"[..], None)
            .expect("room");
        let mut arrived = false;
        for ms in 102..1000 {
            pair.at(ms * 1000).exchange();
            while let Some(message) = pair.server.recv_message() {
                arrived |= &message.data[..] == b"after";
            }
        }
        let stats = pair.client.stats();
        assert!(arrived, "keep-alive {keep_alive:?}: {stats:#?}");
    }
}

#[test]
fn a_clock_beyond_71_minutes_changes_nothing() {
    let arrived = [0, 1 << 33].map(|zero| {
        let mut config = Config::default();
        config.limits.message_data = 128 << 10;
        config.rate = RateControl::Carrier;
        let mut pair = Pair::new(config.clone(), config, Time::from_micros(zero));
        pair.exchange();
        let mut arrived = 0;
        for i in 1..400 {
            // Every second message loses one of three symbols, which is too late to be repaired.
            pair.at(zero + i * 100_000);
            pair.client
                .send_message(pair.now, vec![1; 3000], Some(5 * MILLISECOND))
                .expect("room");
            let mut sources = 0;
            for datagram in transmit_all(&mut pair.client, pair.now) {
                sources += u32::from(is_source(&datagram));
                let lost = is_repair(&datagram) || is_source(&datagram) && sources == 2;
                if !(lost && i % 2 == 0) {
                    pair.server.handle_datagram(pair.now, &datagram);
                }
            }
            // Reports come after the deadline.
            pair.now = Time::from_micros(zero + i * 100_000 + 50_000);
            for datagram in transmit_all(&mut pair.server, pair.now) {
                pair.client.handle_datagram(pair.now, &datagram);
            }
            pair.exchange_unless(is_repair);
            while pair.server.recv_message().is_some() {
                arrived += 1;
            }
        }
        assert_eq!(pair.server.close_reason(), None);
        arrived
    });
    // Incomplete messages would take the room of whole ones if they were not forgotten in time.
    assert_eq!(arrived, [200, 200]);
}

fn is_source(datagram: &[u8]) -> bool {
    matches!(
        wire::Datagram::parse(datagram),
        Ok(wire::Datagram::Source { .. })
    )
}

fn is_repair(datagram: &[u8]) -> bool {
    matches!(
        wire::Datagram::parse(datagram),
        Ok(wire::Datagram::Repair { .. })
    )
}

#[test]
fn a_perishable_message_overtakes_reliable_ones_that_wait_for_credit() {
    let mut config = Config::default();
    config.limits.session_data = 256 << 10;
    config.send_buffer = 1 << 20;
    let mut pair = Pair::connected(config);
    for _ in 0..20 {
        pair.client
            .send_message(pair.now, vec![1; 16_000], None)
            .expect("room");
    }
    pair.at(1000).exchange();
    assert!(pair.client.stats().path.queued > 0, "the credit is spent");
    pair.at(2000);
    pair.client
        .send_message(pair.now, &b"urgent"[..], Some(50 * MILLISECOND))
        .expect("room");
    for ms in 3..100 {
        pair.at(ms * 1000).exchange();
    }
    // The application has not read a message yet, so no credit came back.
    let mut all = core::iter::from_fn(|| pair.server.recv_message());
    let urgent = all.find(|m| &m.data[..] == b"urgent").expect("arrived");
    assert!(!urgent.late);
}

#[test]
fn nothing_is_sent_for_an_expired_symbol_behind_a_lost_durable_one() {
    let mut config = Config::preset(Preset::Arq);
    config.rate = RateControl::Carrier;
    let mut pair = Pair::connected(config);
    let id = pair.client.open_stream().expect("allowed");
    pair.now = Time::from_micros(1000);
    pair.client.write(id, b"durable").expect("room");
    assert_eq!(transmit_all(&mut pair.client, pair.now).len(), 1);
    for _ in 0..10 {
        pair.client
            .send_message(pair.now, vec![1; 1000], Some(5 * MILLISECOND))
            .expect("room");
    }
    // All of these are lost; then a datagram arrives and a report says so.
    assert!(transmit_all(&mut pair.client, pair.now).len() >= 8);
    pair.now = Time::from_micros(50_000);
    for i in 0..5 {
        pair.client.write(id, &[i; 1000]).expect("room");
        for datagram in transmit_all(&mut pair.client, pair.now) {
            pair.server.handle_datagram(pair.now, &datagram);
        }
    }
    pair.now = Time::from_micros(51_000);
    pair.exchange();
    assert_eq!(pair.client.stats().sent.retransmissions, 1);
    while pair.server.accept_stream().is_some() {}
    let mut buf = [0; 8192];
    let durable = b"durable".len() + 5 * 1000;
    assert_eq!(pair.server.read(id, &mut buf), Ok(durable));
}

#[test]
fn the_largest_limits_do_not_panic() {
    let mut config = Config::default();
    config.limits.session_data = 1 << 60;
    config.limits.stream_data = 1 << 60;
    config.limits.message_data = 1 << 60;
    config.limits.message_size = u32::MAX;
    config.limits.streams = u32::MAX;
    let mut pair = Pair::connected(config);
    let id = pair.client.open_stream().expect("allowed");
    pair.client.write(id, b"hello").expect("room");
    pair.exchange();
    assert_eq!(pair.server.accept_stream(), Some(id));
    assert_eq!(pair.server.read(id, &mut [0; 10]), Ok(5));
    pair.exchange();
    assert_eq!(pair.client.close_reason(), None);
}
