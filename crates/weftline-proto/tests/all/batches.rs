//! Datagrams for carriers that hand several to the system at a time.

use std::collections::BTreeSet;

use weftline_proto::{Config, RateControl, Role, Session, Time};

/// The lengths of the datagrams of a bulk transfer after its first repairs.
fn lengths(in_batches: bool) -> BTreeSet<usize> {
    let mut config: Config = Config::streaming().spacing(7).into();
    config.rate = RateControl::Carrier;
    let new = |role| Session::new(role, config.clone(), 1, Time::ZERO).expect("a possible one");
    let (mut client, mut server) = (new(Role::Client), new(Role::Server));
    let mut out = Vec::new();
    for _ in 0..4 {
        while client.poll_transmit(Time::ZERO, &mut out) {
            server.handle_datagram(Time::ZERO, &out);
        }
        while server.poll_transmit(Time::ZERO, &mut out) {
            client.handle_datagram(Time::ZERO, &out);
        }
    }
    client.set_in_batches(in_batches);
    let stream = client.open_stream().expect("the first");
    let written = client.write(stream, &[7; 200_000]).expect("an open stream");
    assert!(written > 100_000);
    let mut lengths = Vec::new();
    while lengths.len() < 60 && client.poll_transmit(Time::ZERO, &mut out) {
        lengths.push(out.len());
    }
    assert!(client.stats().sent.repair_symbols >= 60 / 8);
    lengths.drain(20..).collect()
}

#[test]
fn in_batches_the_datagrams_among_repairs_are_equally_long() {
    let apart = lengths(false);
    assert_eq!(apart.len(), 2, "{apart:?}");
    let equal = lengths(true);
    assert_eq!(equal.len(), 1, "{equal:?}");
    // By a few bytes.
    assert_eq!(equal.last(), apart.last());
}
