//! The queue in virtual time: short, fair, bounded.

use std::time::{Duration, Instant};

use super::packets::{Packet, TCP, UDP, checksum, number};
use crate::tun::queue::{Queue, Tally};
use crate::tun::wire::HEAD;

const MTU: u16 = 1320;
const MS: Duration = Duration::from_millis(1);

/// A queue before a link that sends one packet each millisecond.
struct World {
    queue: Queue,
    now: Instant,
}

impl World {
    fn new() -> Self {
        World {
            queue: Queue::new(MTU),
            now: Instant::now(),
        }
    }

    fn push(&mut self, packet: Packet) {
        let (frame, header) = packet.frame();
        self.queue.push(frame, &header, self.now);
    }

    /// Lets a millisecond pass; the source port and number of the packet that leaves, and its wait.
    fn step(&mut self) -> Option<(u16, u32, Duration)> {
        self.now += MS;
        let waiting = self.queue.pop(self.now)?;
        let packet = &waiting.frame[HEAD..];
        assert_eq!(checksum(&packet[..20]), 0);
        let port = u16::from_be_bytes([packet[20], packet[21]]);
        Some((port, number(packet), self.now - waiting.since))
    }

    fn tally(&self) -> Tally {
        self.queue.tally()
    }
}

/// A long packet of a flow.
fn long(port: u16, number: u32) -> Packet {
    let mut packet = Packet::new(TCP, (port, 80), number);
    packet.length = usize::from(MTU);
    packet
}

#[test]
fn a_sparse_flow_does_not_wait_behind_a_bulk_flow() {
    let mut world = World::new();
    for number in 0..200 {
        world.push(long(1, number));
    }
    for number in 0..20 {
        world.step();
        world.push(Packet::new(UDP, (2, 53), number));
        let (port, seen, waited) = world.step().unwrap();
        assert_eq!((port, seen, waited), (2, number, MS));
        for _ in 0..5 {
            assert_eq!(world.step().unwrap().0, 1);
        }
    }
}

#[test]
fn a_segment_tells_whether_its_flow_sends_little() {
    let mut world = World::new();
    for number in 0..200 {
        world.push(long(1, number));
    }
    for number in 0..20 {
        // The first packet of a download cannot be known from one of a flow that sends little.
        let first = world.queue.pop(world.now).unwrap();
        assert_eq!(first.is_sparse, number == 0);
        world.push(Packet::new(TCP, (2, 22), number));
        let key = world.queue.pop(world.now).unwrap();
        assert!(key.is_sparse && key.place.unwrap().number == number);
        for _ in 0..5 {
            assert!(!world.queue.pop(world.now).unwrap().is_sparse);
        }
    }
}

#[test]
fn bulk_flows_share_by_bytes_whatever_their_packets_are() {
    let mut world = World::new();
    for number in 0..3000 {
        world.push(Packet::new(UDP, (1, 5), number));
    }
    for number in 0..200 {
        world.push(long(2, number));
    }
    let mut bytes = [0; 2];
    // Less than the time after which a standing queue is dropped from.
    for _ in 0..90 {
        let (port, ..) = world.step().unwrap();
        bytes[usize::from(port - 1)] += if port == 1 { 100 } else { usize::from(MTU) };
    }
    let difference = bytes[0].abs_diff(bytes[1]);
    assert!(difference <= 2 * usize::from(MTU), "{bytes:?}");
}

#[test]
fn packets_of_a_flow_stay_in_order() {
    let mut world = World::new();
    for number in 0..50 {
        for port in 1..4 {
            world.push(long(port, number));
        }
    }
    let mut next = [0; 3];
    while let Some((port, number, _)) = world.step() {
        let next = &mut next[usize::from(port - 1)];
        assert!(number >= *next, "{port}: {number} after {next}");
        *next = number + 1;
    }
    assert_eq!(world.tally().left + world.tally().stood, 150);
}

/// A sender that has two packets in flight for each that leaves until one is dropped or marked, as TCP
/// after a time of growth; returns the waits of the last half of `steps`.
fn responsive(world: &mut World, steps: u32, ecn: u8) -> Vec<Duration> {
    // Milliseconds between packets, times 1000: AIMD.
    let (mut rate, mut credit, mut sent) = (1.2_f64, 0.0, 0);
    let (mut seen, mut waits) = (0, Vec::new());
    for step in 0..steps {
        credit += rate;
        while credit >= 1.0 {
            credit -= 1.0;
            let mut packet = long(1, sent);
            packet.ecn = ecn;
            world.push(packet);
            sent += 1;
        }
        rate += 0.001;
        let left = world.step();
        let signals = world.tally().stood + world.tally().marked;
        if std::mem::replace(&mut seen, signals) != signals {
            rate *= 0.7;
        }
        waits.extend(left.filter(|_| step > steps / 2).map(|(.., waited)| waited));
    }
    waits
}

#[test]
fn a_sender_that_heeds_drops_finds_a_short_queue() {
    for (ecn, is_marked) in [(0, false), (2, true)] {
        let mut world = World::new();
        world.queue.set_round_trip(2 * MS);
        let mut waits = responsive(&mut world, 20_000, ecn);
        waits.sort_unstable();
        let median = waits[waits.len() / 2];
        assert!(median < 20 * MS, "{median:?}");
        let tally = world.tally();
        assert_eq!(tally.marked > 0, is_marked, "{tally:?}");
        assert_eq!(tally.stood > 0, !is_marked, "{tally:?}");
        // And the link was busy.
        assert!(waits.len() > 9_000, "{}", waits.len());
    }
}

#[test]
fn a_longer_path_has_a_longer_queue() {
    let median = |rtt: Duration| {
        let mut world = World::new();
        world.queue.set_round_trip(rtt);
        let mut waits = responsive(&mut world, 40_000, 0);
        waits.sort_unstable();
        waits[waits.len() / 2]
    };
    let [short, long] = [2, 60].map(|ms| median(ms * MS));
    assert!(short < long && long < 60 * MS, "{short:?} {long:?}");
}

#[test]
fn a_burst_that_is_over_soon_loses_nothing() {
    let mut world = World::new();
    for round in 0..20 {
        for number in 0..80 {
            world.push(long(1, round * 80 + number));
        }
        while world.step().is_some() {}
    }
    assert_eq!(world.tally().stood, 0);
}

#[test]
fn a_flow_that_heeds_nothing_is_bounded_and_others_do_not_suffer() {
    let mut world = World::new();
    let mut sent = 0;
    for _ in 0..500 {
        for _ in 0..40 {
            world.push(long(1, sent));
            sent += 1;
        }
        world.push(Packet::new(UDP, (2, 53), sent));
        // At most one packet of the other leaves before.
        let left = [world.step(), world.step()].map(|left| left.unwrap().0);
        assert!(left.contains(&2), "{left:?}");
    }
    assert!(world.queue.bytes() <= 4 << 20, "{}", world.queue.bytes());
    let tally = world.tally();
    assert!(tally.full > 1000, "{tally:?}");
}

#[test]
fn the_segments_of_a_flow_that_leave_are_numbered_without_gaps() {
    let mut world = World::new();
    for number in 0..3000 {
        world.push(long(1, number));
        world.push(Packet::new(UDP, (2, 53), number));
    }
    let numbers = |world: &mut World| {
        let mut next = 0;
        while let Some(leaving) = world.queue.pop(world.now) {
            world.now += MS;
            if let Some(place) = leaving.place {
                assert_eq!(place.number, next);
                next += 1;
            }
        }
        next
    };
    let sent = numbers(&mut world);
    let tally = world.tally();
    assert!(
        sent > 0 && tally.stood + tally.full > 0,
        "{sent}, {tally:?}"
    );
    assert!(u64::from(sent) < tally.left, "UDP has no numbers");
    world.queue.clear();
    world.push(long(1, 0));
    assert_eq!(numbers(&mut world), 1);
}

#[test]
fn clearing_says_how_many_packets_waited() {
    let mut world = World::new();
    for port in 0..10 {
        world.push(long(port, 0));
        world.push(long(port, 1));
    }
    world.step();
    assert_eq!(world.queue.clear(), 19);
    assert!(world.queue.is_empty() && world.step().is_none());
    world.push(long(1, 5));
    assert_eq!(world.step().unwrap().1, 5);
}

#[test]
fn a_queue_is_full_with_4096_packets() {
    let mut world = World::new();
    for number in 0..4096 {
        world.push(Packet::new(UDP, (1, 5), number));
    }
    assert_eq!(world.tally().full, 0);
    world.push(Packet::new(UDP, (1, 5), 4096));
    let dropped = world.tally().full;
    assert!((1..=64).contains(&dropped), "{dropped}");
    assert_eq!(world.queue.clear() as u64, 4097 - dropped);
}
