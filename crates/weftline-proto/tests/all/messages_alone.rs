//! A message that is alone in a source symbol is never cut, and shares its fate with nothing.

use std::time::Duration;

use crate::support::pair::{Pair, transmit_all};
use weftline_proto::wire::{Datagram, Frame, Frames};
use weftline_proto::{Config, Preset, SendMessageError, Session, Time};

const DEADLINES: [Option<Duration>; 2] = [None, Some(Duration::from_millis(100))];

fn pair() -> Pair {
    let mut pair = Pair::connected(Config::preset(Preset::Arq));
    pair.at(1_000_000).exchange();
    pair
}

/// The frames of each source symbol that `session` sends now: the length of a message and the length
/// of its fragment, or `None` for any other frame.
fn symbols(session: &mut Session, now: Time) -> Vec<Vec<Option<(u64, usize)>>> {
    let datagrams = transmit_all(session, now);
    let sources = datagrams.iter().filter_map(|d| match Datagram::parse(d) {
        Ok(Datagram::Source { payload, .. }) => Some(payload),
        _ => None,
    });
    sources
        .map(|symbol| {
            Frames::new(symbol)
                .map(|frame| match frame.expect("well-formed") {
                    Frame::Message { total, data, .. } => Some((total, data.len())),
                    _ => None,
                })
                .collect()
        })
        .collect()
}

#[test]
fn each_message_alone_has_its_own_symbol_at_any_length() {
    for deadline in DEADLINES {
        let mut pair = pair();
        let most = pair.client.message_alone_max();
        for len in [0, 1, 200, most, 3] {
            let sent = pair
                .client
                .send_message_alone(pair.now, vec![7; len], deadline);
            sent.expect("it fits");
        }
        let one = |len: usize| vec![Some((len as u64, len))];
        assert_eq!(
            symbols(&mut pair.client, pair.now),
            [one(0), one(1), one(200), one(most), one(3)]
        );
    }
}

#[test]
fn streams_and_other_messages_do_not_share_its_symbol() {
    for deadline in DEADLINES {
        let mut pair = pair();
        let stream = pair.client.open_stream().expect("allowed");
        pair.client.write(stream, &[1; 100]).expect("room");
        let client = &mut pair.client;
        client
            .send_message(pair.now, vec![2; 10], deadline)
            .expect("room");
        client
            .send_message_alone(pair.now, vec![3; 20], deadline)
            .expect("room");
        client
            .send_message(pair.now, vec![4; 30], deadline)
            .expect("room");
        assert_eq!(
            symbols(client, pair.now),
            [
                vec![Some((10, 10)), None],
                vec![Some((20, 20))],
                vec![Some((30, 30))],
            ]
        );
    }
}

#[test]
fn the_longest_message_alone_is_known_in_advance() {
    for symbol_size in [200, 1120, 1400, 9000] {
        let mut config = Config::preset(Preset::Arq);
        config.symbol_size = symbol_size;
        config.limits.symbol_size = 9000;
        let mut pair = Pair::connected(config);
        let limit = pair.client.message_alone_max();
        assert_eq!(limit, usize::from(symbol_size) - 22);
        let got = limit + 1;
        let refused = pair
            .client
            .send_message_alone(pair.now, vec![0; got], DEADLINES[1]);
        assert_eq!(refused, Err(SendMessageError::TooLong { got, limit }));
    }
}

#[test]
fn the_longest_header_leaves_room_for_the_longest_message_alone() {
    let mut config = Config::preset(Preset::Arq);
    config.idle_timeout = Duration::from_secs(7200);
    // After an hour the deadline has its longest form.
    let now = 3_600_000_000;
    let mut pair = Pair::connected(config);
    pair.at(now).exchange();
    let most = pair.client.message_alone_max();
    let sent = pair
        .client
        .send_message_alone(pair.now, vec![0; most], DEADLINES[1]);
    sent.expect("it fits");
    let all = symbols(&mut pair.client, pair.now);
    assert_eq!(all, [vec![Some((most as u64, most))]]);
}

#[test]
fn a_message_alone_waits_whole_until_it_has_credit() {
    let mut config = Config::preset(Preset::Arq);
    config.limits.session_data = 256 << 10;
    config.send_buffer = 1 << 20;
    let mut pair = Pair::connected(config);
    let most = pair.client.message_alone_max();
    let count = 200;
    for _ in 0..count {
        let sent = pair
            .client
            .send_message_alone(pair.now, vec![7; most], None);
        sent.expect("room");
    }
    let mut got = 0;
    let mut at = 0;
    while got < count {
        at += 100_000;
        pair.at(at).exchange();
        let before = got;
        while let Some(message) = pair.server.recv_message() {
            assert_eq!(message.data.len(), most);
            got += 1;
        }
        assert!(got > before && at < 60_000_000, "{got} after {at} us");
    }
}

#[test]
fn a_message_alone_is_not_cut_when_the_path_shrinks_before_it_leaves() {
    for deadline in DEADLINES {
        let mut pair = pair();
        let most = pair.client.message_alone_max();
        let message = vec![7; most];
        let sent = (pair.client).send_message_alone(pair.now, message.clone(), deadline);
        sent.expect("it fits");
        assert!(!pair.client.all_acknowledged(), "it has not left");
        let shrunk = pair.client.set_largest_datagram(most / 2);
        shrunk.expect("long enough");
        pair.exchange();
        let got = pair.server.recv_message().expect("it arrives");
        assert_eq!(got.data, message);
        // Its datagram left in pieces.
        assert_eq!(pair.client.stats().sent.source_symbols, 1);
        assert_eq!(pair.server.stats().received.source_symbols, 1);
    }
}
