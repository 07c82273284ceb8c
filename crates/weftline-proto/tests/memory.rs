//! What a session holds on the heap, counted by the allocator: more than [`Session::held`], which tells
//! what a peer causes.
#![allow(missing_docs, clippy::unwrap_used)]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "all/support/pair.rs"]
mod pair;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use weftline_proto::{Config, RateControl, ReadError, Session};

use pair::Pair;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

/// Counts the bytes that a thread has allocated and not freed.
struct Counting;

// SAFETY: all is done by the system's allocator, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get() + layout.size() as isize);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size() as isize);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
    let id = pair.client.open_stream().unwrap();
    pair.client.write(id, &[7; 100_000]).unwrap();
    for _ in 0..200 {
        pair.client
            .send_message(pair.now, vec![7; 1000], None)
            .unwrap();
    }
    let_pass(pair, 1);
    assert!(pair.client.all_acknowledged());
    let id = pair.server.accept_stream().unwrap();
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
    let idle = LIVE.get();
    talk(&mut pair);
    let busy = LIVE.get() - idle;
    assert!(busy > 100_000, "{busy}");
    // One end asks the other whether it is there, and always the same one.
    let_pass(&mut pair, 25);
    let quiet = LIVE.get() - idle;
    assert!((0..8_000).contains(&quiet), "{quiet} of {busy}");
}

#[test]
fn a_session_that_does_nothing_is_small() {
    let before = LIVE.get();
    let mut pair = Pair::connected(Config::default());
    let_pass(&mut pair, 1);
    let ends = LIVE.get() - before;
    let inline = 2 * size_of::<Session>() as isize;
    assert!(ends + inline < 2 * 7_000, "{ends} + {inline}");
}
