//! Packets that come in disorder, in virtual time.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::tun::reorder::Reorder;
use crate::tun::wire::{FLOWS, HEAD, Place, message, take};

const PATIENCE: Duration = Duration::from_millis(500);

struct World {
    order: Reorder,
    begun: Instant,
    out: Vec<(u16, u32)>,
}

fn packet(flow: u16, number: u32) -> Bytes {
    [&flow.to_be_bytes()[..], &number.to_be_bytes()]
        .concat()
        .into()
}

fn read(packet: &[u8]) -> (u16, u32) {
    let (flow, number) = packet.split_at(2);
    let flow = u16::from_be_bytes(flow.try_into().unwrap());
    (flow, u32::from_be_bytes(number.try_into().unwrap()))
}

impl World {
    fn new() -> Self {
        World {
            order: Reorder::default(),
            begun: Instant::now(),
            out: Vec::new(),
        }
    }

    fn at(&self, ms: u64) -> Instant {
        self.begun + Duration::from_millis(ms)
    }

    /// A packet comes; returns what is delivered.
    fn insert(&mut self, flow: u16, number: u32, ms: u64) -> Vec<u32> {
        let (now, place) = (self.at(ms), Place { flow, number });
        let out = &mut self.out;
        let mut deliver = |packet: Bytes| out.push(read(&packet));
        self.order
            .insert(place, packet(flow, number), now, &mut deliver);
        self.delivered()
    }

    fn expire(&mut self, ms: u64) -> Vec<u32> {
        let now = self.at(ms);
        let out = &mut self.out;
        let mut deliver = |packet: Bytes| out.push(read(&packet));
        self.order.expire(now, PATIENCE, &mut deliver);
        self.delivered()
    }

    fn delivered(&mut self) -> Vec<u32> {
        self.out.drain(..).map(|(_, number)| number).collect()
    }
}

#[test]
fn a_packet_waits_for_those_before_it_and_other_flows_do_not() {
    let mut world = World::new();
    assert_eq!(world.insert(1, 0, 0), [0]);
    assert_eq!(world.insert(1, 2, 1), [0; 0]);
    assert_eq!(world.insert(2, 0, 2), [0]);
    assert_eq!(world.insert(1, 3, 3), [0; 0]);
    assert_eq!(world.insert(1, 1, 4), [1, 2, 3]);
    assert_eq!(world.order.held(), 0);
    let tally = world.order.take_tally();
    assert_eq!((tally.early, tally.skipped, tally.late), (2, 0, 0));
}

#[test]
fn nobody_waits_for_ever() {
    let mut world = World::new();
    // 0, 2 and 5 are lost.
    for (number, ms) in [(1, 10), (3, 20), (4, 30), (6, 100)] {
        assert_eq!(world.insert(1, number, ms), [0; 0]);
    }
    assert_eq!(world.expire(509), [0; 0]);
    assert_eq!(world.expire(510), [1]);
    assert_eq!(world.expire(519), [0; 0]);
    assert_eq!(world.expire(520), [3, 4]);
    assert_eq!(world.expire(600), [6]);
    assert_eq!(world.order.held(), 0);
    // Better late than sent again.
    assert_eq!(world.insert(1, 2, 601), [2]);
    assert_eq!(world.insert(1, 7, 602), [7]);
    let tally = world.order.take_tally();
    assert_eq!((tally.early, tally.skipped, tally.late), (4, 3, 1));
}

#[test]
fn a_sender_that_has_given_up_very_many_is_followed() {
    let mut world = World::new();
    assert_eq!(world.insert(1, 0, 0), [0]);
    assert_eq!(world.insert(1, 2, 0), [0; 0]);
    assert_eq!(world.insert(1, 100_000, 1), [2, 100_000]);
    assert_eq!(world.insert(1, 100_001, 1), [100_001]);
    // Across the end of the numbers too.
    let mut world = World::new();
    for number in [1 << 30, 1 << 31, 3 << 30, u32::MAX, 0, 1] {
        assert_eq!(world.insert(1, number, 0), [number]);
    }
}

#[test]
fn what_waits_is_bounded_whatever_comes() {
    let mut world = World::new();
    let packet = Bytes::from(vec![0; 60_000]);
    let (now, mut delivered) = (world.begun, 0_u32);
    for number in 0..3000_u32 {
        let place = Place {
            flow: (number % 1024) as u16,
            number: 1 + number / 1024,
        };
        let mut deliver = |_: Bytes| delivered += 1;
        world.order.insert(place, packet.clone(), now, &mut deliver);
        assert!(world.order.held() <= 16 << 20);
    }
    assert!(delivered > 2000, "{delivered}");
    assert!(world.order.held() > 0);
    let mut rest = 0;
    world
        .order
        .expire(now + PATIENCE, PATIENCE, &mut |_| rest += 1);
    assert_eq!((delivered + rest, world.order.held()), (3000, 0));
}

#[test]
fn a_packet_of_a_flow_that_there_is_none_of_is_refused() {
    for (flow, is_valid) in [(FLOWS - 1, true), (FLOWS, false)] {
        let place = Some(Place { flow, number: 7 });
        let taken = take(message(vec![0; HEAD], place));
        assert_eq!(taken, is_valid.then(|| (place, Bytes::new())));
    }
}
