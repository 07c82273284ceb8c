//! A link with its packets in flight.

use core::time::Duration;
use std::collections::VecDeque;

use crate::config::LinkConfig;
use crate::link::{Fate, Link};

/// A [`Link`] that carries payloads. They come out at their arrival times; those that
/// arrive at one instant come out in the order in which they were sent.
#[derive(Debug, Clone)]
pub struct Pipe<P> {
    link: Link,
    /// Sorted by arrival; nearly every packet is appended.
    in_flight: VecDeque<(Duration, P)>,
}

impl<P> Pipe<P> {
    /// An empty pipe over a new link.
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        Self {
            link: Link::new(config, seed),
            in_flight: VecDeque::new(),
        }
    }

    /// Sends `payload` as a packet of `len` bytes, headers included.
    pub fn send(&mut self, now: Duration, payload: P, len: usize) -> Fate
    where
        P: Clone,
    {
        let fate = self.link.send(now, len);
        self.carry(fate, payload);
        fate
    }

    /// [`send`](Self::send) for a packet that may be marked (ECN-capable transport):
    /// `mark` is called on the payload of a marked packet.
    pub fn send_ect(
        &mut self,
        now: Duration,
        mut payload: P,
        len: usize,
        mark: impl FnOnce(&mut P),
    ) -> Fate
    where
        P: Clone,
    {
        let fate = self.link.send_ect(now, len);
        if let Fate::Delivered { marked: true, .. } = fate {
            mark(&mut payload);
        }
        self.carry(fate, payload);
        fate
    }

    /// When the next packet arrives; `None` if nothing is in flight.
    pub fn next_arrival(&self) -> Option<Duration> {
        self.in_flight.front().map(|(at, _)| *at)
    }

    /// Takes the next packet that has arrived by `now`.
    pub fn recv(&mut self, now: Duration) -> Option<P> {
        self.recv_timed(now).map(|(_, payload)| payload)
    }

    /// Takes the next packet that has arrived by `now`, with the time it arrived at.
    pub fn recv_timed(&mut self, now: Duration) -> Option<(Duration, P)> {
        if self.next_arrival()? > now {
            return None;
        }
        self.in_flight.pop_front()
    }

    /// Packets sent but not received yet, second copies included.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// The link, for its counters and configuration.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Changes the link's configuration; see [`Link::set_config`].
    pub fn set_config(&mut self, config: LinkConfig) {
        self.link.set_config(config);
    }

    fn carry(&mut self, fate: Fate, payload: P)
    where
        P: Clone,
    {
        if let Fate::Delivered { at, duplicate, .. } = fate {
            let copy = duplicate.map(|at| (at, payload.clone()));
            self.insert(at, payload);
            if let Some((at, payload)) = copy {
                self.insert(at, payload);
            }
        }
    }

    fn insert(&mut self, at: Duration, payload: P) {
        let place = match self.in_flight.back() {
            Some((last, _)) if *last > at => self.in_flight.partition_point(|(t, _)| *t <= at),
            _ => self.in_flight.len(),
        };
        self.in_flight.insert(place, (at, payload));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn packets_come_out_at_their_arrival_and_not_before() {
        let mut pipe = Pipe::new(LinkConfig::default().with_delay(ms(10)), 0);
        pipe.send(ms(1), 'a', 100);
        pipe.send(ms(1), 'b', 100);
        pipe.send(ms(2), 'c', 100);
        assert_eq!(pipe.next_arrival(), Some(ms(11)));
        assert_eq!(pipe.recv(ms(10)), None);
        assert_eq!(pipe.recv(ms(11)), Some('a'));
        assert_eq!(pipe.recv(ms(11)), Some('b'));
        assert_eq!(pipe.recv(ms(11)), None);
        assert_eq!(pipe.in_flight(), 1);
        assert_eq!(pipe.recv(ms(99)), Some('c'));
        assert_eq!(pipe.next_arrival(), None);
    }

    #[test]
    fn a_packet_held_back_comes_out_after_those_that_overtook_it() {
        let straight = LinkConfig::default().with_delay(ms(10));
        let mut pipe = Pipe::new(straight.clone().with_reorder(1.0, ms(3)), 0);
        pipe.send(ms(0), 0, 100);
        pipe.set_config(straight);
        for i in 1..=5 {
            pipe.send(ms(i), i, 100);
        }
        let order: Vec<u64> = std::iter::from_fn(|| pipe.recv(ms(100))).collect();
        // Packet 3 arrives at the same instant, 13 ms, but was sent later.
        assert_eq!(order, [1, 2, 0, 3, 4, 5]);
        assert_eq!(pipe.link().counters().reordered, 1);
    }

    #[test]
    fn equal_times_come_out_as_sent_even_before_a_packet_held_back() {
        let straight = LinkConfig::default();
        let mut pipe = Pipe::new(straight.clone().with_reorder(1.0, ms(3)), 0);
        pipe.send(ms(0), "held", 100);
        pipe.set_config(straight);
        for payload in ["first", "second", "third"] {
            pipe.send(ms(1), payload, 100);
        }
        let order: Vec<&str> = std::iter::from_fn(|| pipe.recv(ms(3))).collect();
        assert_eq!(order, ["first", "second", "third", "held"]);
    }

    #[test]
    fn a_duplicate_comes_out_twice() {
        let mut pipe = Pipe::new(LinkConfig::default().with_duplicate(1.0), 0);
        pipe.send(ms(0), 'x', 100);
        pipe.send(ms(0), 'y', 100);
        let out: String = std::iter::from_fn(|| pipe.recv(ms(0))).collect();
        assert_eq!(out, "xxyy");
        assert_eq!(pipe.link().counters().duplicated, 2);
    }

    #[test]
    fn a_marked_packet_comes_out_changed_and_so_does_its_copy() {
        let config = LinkConfig::default()
            .with_rate(8_000_000)
            .with_ecn(crate::Queue::packets(0))
            .with_duplicate(1.0);
        let mut pipe = Pipe::new(config, 0);
        pipe.send_ect(ms(0), 1, 1000, |p| *p = -1);
        pipe.send_ect(ms(0), 2, 1000, |p| *p = -2);
        pipe.send(ms(0), 3, 1000);
        let out: Vec<i32> = std::iter::from_fn(|| pipe.recv(ms(9))).collect();
        assert_eq!(out, [1, 1, -2, -2, 3, 3]);
    }
}
