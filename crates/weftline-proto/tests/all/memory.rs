//! What a session holds on the heap, counted by the allocator: more than [`Session::held`], which tells
//! what a peer causes.

use weftline_proto::{Config, RateControl, ReadError, Session};

use crate::support::pair::Pair;

/// What `act` returns, and the bytes that it allocated and did not free.
fn counted<T>(act: impl FnOnce() -> T) -> (T, i64) {
    let mut result = None;
    let counts = allocation_counter::measure(|| result = Some(act()));
    (result.expect("it was called"), counts.bytes_current)
}

/// Sends what is to be sent now, then serves the timers of this many seconds, one after the other.
fn let_pass(pair: &mut Pair, seconds: u64) {
    pair.exchange();
    let end = pair.now.as_micros() + seconds * 1_000_000;
    loop {
        let timers = [&pair.client, &pair.server].map(Session::poll_timeout);
        let next = timers.into_iter().flatten().min().map(|t| t.as_micros());
        let next = next.filter(|next| *next <= end);
        pair.at(next.unwrap_or(end)).exchange();
        for session in [&mut pair.client, &mut pair.server] {
            while session.poll_event().is_some() {}
        }
        if next.is_none() {
            return;
        }
    }
}

/// Messages and a stream, from the client to the server.
fn talk(pair: &mut Pair) {
    let id = pair.client.open_stream().expect("it is the first");
    assert_eq!(pair.client.write(id, &[7; 100_000]), Ok(100_000));
    for _ in 0..200 {
        let sent = pair.client.send_message(pair.now, vec![7; 1000], None);
        sent.expect("there is room");
    }
    let_pass(pair, 1);
    assert!(pair.client.all_acknowledged());
    let id = pair.server.accept_stream().expect("it was opened");
    while pair.server.read(id, &mut [0; 10_000]) != Err(ReadError::Blocked) {}
    while pair.server.recv_message().is_some() {}
    assert_eq!(pair.server.stats().received.data, 300_000);
}

#[test]
fn after_a_pause_a_session_holds_little_more_than_before_it_was_busy() {
    let mut config = Config::default();
    config.rate = RateControl::Carrier;
    let mut pair = Pair::connected(config);
    let_pass(&mut pair, 1);
    let ((), busy) = counted(|| talk(&mut pair));
    assert!(busy > 100_000, "{busy}");
    // One end asks the other whether it is there, and always the same one.
    let ((), later) = counted(|| let_pass(&mut pair, 25));
    let quiet = busy + later;
    assert!((0..8_000).contains(&quiet), "{quiet} of {busy}");
}

#[test]
fn a_session_that_does_nothing_is_small() {
    let (_pair, ends) = counted(|| {
        let mut pair = Pair::connected(Config::default());
        let_pass(&mut pair, 1);
        pair
    });
    let inline = 2 * size_of::<Session>() as i64;
    assert!(ends + inline < 2 * 7_400, "{ends} + {inline}");
}

#[test]
fn what_a_sender_says_that_it_holds_is_more_than_half_of_what_the_allocator_counts() {
    let mut config: Config = Config::arq().into();
    config.rate = RateControl::Carrier;
    config.symbol_size = 200;
    let mut pair = Pair::connected(config);
    let_pass(&mut pair, 1);
    let id = pair.client.open_stream().expect("it is the first");
    let before = pair.client.held();
    let ((), counted) = counted(|| {
        assert_eq!(pair.client.write(id, &[7; 200_000]), Ok(200_000));
        pair.exchange_unless(|_| true);
    });
    let held = (pair.client.held() - before) as i64;
    assert!(pair.client.stats().path.unacknowledged > 1000);
    // What is in flight is remembered besides.
    assert!(
        (counted / 2..=counted).contains(&held),
        "{held} of {counted}"
    );
}
