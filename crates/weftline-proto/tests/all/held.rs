//! What a session holds for its peer, from moment to moment.

use std::ops::RangeInclusive;
use std::time::Duration;

use weftline_proto::{Config, RateControl, ReadError, Session, StreamId};

use crate::support::pair::Pair;

/// Bytes of data.
const DATA: u64 = 1_000_000;
/// What a pause leaves.
const LITTLE: u64 = 5_000;

fn pair() -> Pair {
    let mut config = Config::from(Config::arq());
    config.rate = RateControl::Carrier;
    config.send_buffer = DATA as usize;
    Pair::connected(config)
}

fn is_within(session: &Session, range: RangeInclusive<u64>) {
    let held = session.held();
    assert!(range.contains(&held), "{held} bytes, not {range:?}");
    assert!(held <= session.memory() + session.stats().path.queued);
}

fn read(session: &mut Session, id: StreamId, bytes: u64) {
    let mut buf = vec![0; bytes as usize];
    assert_eq!(session.read(id, &mut buf), Ok(buf.len()));
}

/// Lets the keep-alive timers of both ends fire, and loses nothing.
fn pause(pair: &mut Pair) {
    pair.at(pair.now.as_micros() + 10_000_000).exchange();
    is_within(&pair.client, 0..=LITTLE);
    is_within(&pair.server, 0..=LITTLE);
}

#[test]
fn a_session_holds_what_was_written_until_it_is_acknowledged_and_what_arrived_until_it_is_read() {
    let mut pair = pair();
    let id = pair.client.open_stream().unwrap();
    let before = pair.client.held();
    assert!(before <= LITTLE, "{before}");
    // Twice: what is kept for reuse is not counted twice.
    for _ in 0..2 {
        let before = pair.client.held();
        assert_eq!(
            pair.client.write(id, &vec![7; DATA as usize]),
            Ok(DATA as usize)
        );
        assert_eq!(pair.client.held(), before + DATA);
        // In symbols, each with a part of a hundred bytes of its own.
        pair.exchange_unless(|_| true);
        is_within(&pair.client, DATA..=DATA * 6 / 5);
        for ms in 1..20 {
            pair.at(pair.now.as_micros() + ms * 100_000).exchange();
        }
        assert!(pair.client.all_acknowledged());
        // Unread, and symbols whose end the sender has not told yet.
        is_within(&pair.server, DATA..=DATA * 11 / 5);
        let before = pair.server.held();
        read(&mut pair.server, id, DATA / 4);
        assert_eq!(pair.server.held(), before - DATA / 4);
        read(&mut pair.server, id, DATA * 3 / 4);
        assert_eq!(pair.server.held(), before - DATA);
        assert_eq!(pair.server.read(id, &mut [0; 1]), Err(ReadError::Blocked));
        pair.exchange();
        pause(&mut pair);
    }
}

#[test]
fn messages_count_until_they_are_taken_whether_they_perish_or_not() {
    let mut pair = pair();
    for deadline in [None, Some(Duration::from_secs(1))] {
        let before = pair.client.held();
        for _ in 0..20 {
            let sent = pair
                .client
                .send_message(pair.now, vec![7; 40_000], deadline);
            assert!(sent.is_ok(), "{sent:?}");
        }
        assert_eq!(pair.client.held(), before + 20 * (40_000 + 256));
        pair.exchange();
        for _ in 0..20 {
            let before = pair.server.held();
            assert_eq!(pair.server.recv_message().unwrap().data.len(), 40_000);
            let taken = before - pair.server.held();
            assert!((40_256..=50_000).contains(&taken), "{taken}");
        }
        pause(&mut pair);
    }
}

#[test]
fn what_is_missing_counts_with_the_equations_about_it() {
    let mut config = Config::from(Config::streaming().spacing(2));
    config.rate = RateControl::Carrier;
    let mut pair = Pair::connected(config);
    let id = pair.client.open_stream().unwrap();
    let taken = pair.client.write(id, &[7; 200_000]).unwrap() as u64;
    let (mut number, before) = (0, pair.server.held());
    // Every second one of the client's datagrams is lost, and nothing of the server's arrives.
    while let Some(datagram) = crate::support::pair::transmit(&mut pair.client, pair.now) {
        number += 1;
        if number % 2 == 0 {
            pair.server.handle_datagram(pair.now, &datagram);
        }
    }
    let stats = pair.server.stats();
    assert!(stats.received.useful_repairs > 10, "{stats:?}");
    let arrived = stats.received.bytes;
    assert!(arrived > taken / 2, "{arrived} of {taken}");
    // What is known is in the decoder and, unread, in the stream.
    let held = pair.server.held() - before;
    assert!(
        (arrived..arrived * 5 / 2).contains(&held),
        "{held} of {arrived}"
    );
}

#[test]
fn a_session_whose_limits_are_all_reached_holds_no_more_than_it_says() {
    let mut config = Config::from(Config::arq());
    config.rate = RateControl::Carrier;
    config.send_buffer = DATA as usize;
    config.limits.symbols = 256;
    config.limits.unknowns = 128;
    config.limits.session_data = 256 << 10;
    config.limits.stream_data = 256 << 10;
    config.limits.message_data = 128 << 10;
    let mut pair = Pair::connected(config);
    for session in [&mut pair.client, &mut pair.server] {
        let id = session.open_stream().unwrap();
        session.write(id, &vec![7; DATA as usize]).unwrap();
        let second = Some(Duration::from_secs(1));
        for _ in 0..6 {
            let sent = session.send_message(pair.now, vec![7; 15_000], second);
            assert!(sent.is_ok(), "{sent:?}");
        }
    }
    // What the client sends is lost, reports too, and it reads nothing.
    pair.exchange_unless(|_| true);
    let (held, most) = (pair.client.held(), pair.client.memory());
    let queued = pair.client.stats().path.queued;
    assert!(pair.client.stats().path.unacknowledged > 240);
    let held = held - queued;
    assert!((most / 2..=most).contains(&held), "{held} of {most}");
}
