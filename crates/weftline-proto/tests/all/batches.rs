//! Datagrams for carriers that hand several to the system at a time.

use std::collections::BTreeSet;

use weftline_proto::wire::Datagram;
use weftline_proto::{Config, RateControl, Role, Session, Time};

/// The first datagrams of a bulk transfer with a repair after each `spacing` source symbols, over a path
/// that takes `largest` bytes: how long each is, and whether it is a repair.
fn datagrams(spacing: u16, in_batches: bool, largest: Option<usize>) -> Vec<(usize, bool)> {
    let mut config: Config = Config::streaming().spacing(spacing).into();
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
    if let Some(bytes) = largest {
        client.set_largest_datagram(bytes).expect("long enough");
    }
    let stream = client.open_stream().expect("the first");
    let written = client.write(stream, &[7; 200_000]).expect("an open stream");
    assert!(written > 100_000);
    let mut datagrams = Vec::new();
    while datagrams.len() < 100 && client.poll_transmit(Time::ZERO, &mut out) {
        let is_repair = matches!(Datagram::parse(&out), Ok(Datagram::Repair { .. }));
        datagrams.push((out.len(), is_repair));
    }
    datagrams
}

/// The lengths after the first repairs.
fn lengths(in_batches: bool, largest: Option<usize>) -> BTreeSet<usize> {
    let datagrams = datagrams(7, in_batches, largest);
    assert!(datagrams.iter().filter(|(_, repair)| *repair).count() >= 100 / 8);
    datagrams[20..].iter().map(|(len, _)| *len).collect()
}

#[test]
fn in_batches_the_datagrams_among_repairs_are_equally_long() {
    let apart = lengths(false, None);
    assert_eq!(apart.len(), 2, "{apart:?}");
    let equal = lengths(true, None);
    assert_eq!(equal.len(), 1, "{equal:?}");
    // By a few bytes.
    assert_eq!(equal.last(), apart.last());
}

#[test]
fn in_batches_the_datagrams_are_equally_long_on_a_path_that_takes_no_longer_ones() {
    let equal = lengths(true, Some(1000));
    assert_eq!(equal.len(), 1, "{equal:?}");
    assert!(
        (990..=1000).contains(equal.last().expect("one")),
        "{equal:?}"
    );
}

#[test]
fn datagrams_are_as_long_as_the_repair_before_them_up_to_the_32nd() {
    let datagrams = datagrams(40, true, None);
    let repair = datagrams.iter().position(|(_, repair)| *repair);
    let (before, after) = datagrams.split_at(repair.expect("one"));
    let (longest, _) = after[0];
    assert!(before.iter().all(|(len, _)| *len < longest));
    let equal = after.iter().take_while(|(len, _)| *len == longest);
    // With the repair itself.
    assert_eq!(equal.count(), 1 + 32);
}
