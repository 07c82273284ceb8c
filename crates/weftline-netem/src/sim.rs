//! A virtual clock that runs two endpoints over a path.

use core::any::type_name;
use core::time::Duration;

use crate::config::LinkConfig;
use crate::link::Fate;
use crate::pipe::Pipe;

/// The most datagrams that one node may send, and the most timeouts that it may ask
/// for, while the clock stands still. Beyond that a [`Simulation`] panics.
pub const MAX_EVENTS_PER_INSTANT: u32 = 100_000;

/// Bytes of IPv4 and UDP headers.
const IPV4_UDP: usize = 28;

/// An endpoint without sockets or clocks, driven from outside.
pub trait Node {
    /// A datagram has arrived.
    fn receive(&mut self, now: Duration, datagram: &[u8]);

    /// The time asked for by [`next_timeout`](Self::next_timeout) has come.
    fn timeout(&mut self, now: Duration);

    /// The next datagram to send at `now`; `None` when there is nothing more to send
    /// until something else happens.
    fn transmit(&mut self, now: Duration) -> Option<Vec<u8>>;

    /// When to call [`timeout`](Self::timeout). The simulation asks before each step. A
    /// time in the past means now; `None` means never.
    fn next_timeout(&self) -> Option<Duration>;

    /// [`receive`](Self::receive) for a node with several paths: a datagram has arrived on one of them.
    fn receive_on(&mut self, now: Duration, _path: usize, datagram: &[u8]) {
        self.receive(now, datagram);
    }

    /// [`transmit`](Self::transmit) for a node with several paths: the next datagram for one of them.
    /// One path's turn may leave work for another, so all are asked until none has any.
    fn transmit_on(&mut self, now: Duration, path: usize) -> Option<Vec<u8>> {
        match path {
            0 => self.transmit(now),
            _ => None,
        }
    }

    /// What becomes of the datagram that [`transmit`](Self::transmit) gave just now. No endpoint on a
    /// network knows this: it is for logs.
    fn on_fate(&mut self, _now: Duration, _fate: Fate) {}
}

impl<N: Node + ?Sized> Node for Box<N> {
    fn receive(&mut self, now: Duration, datagram: &[u8]) {
        (**self).receive(now, datagram);
    }

    fn timeout(&mut self, now: Duration) {
        (**self).timeout(now);
    }

    fn transmit(&mut self, now: Duration) -> Option<Vec<u8>> {
        (**self).transmit(now)
    }

    fn next_timeout(&self) -> Option<Duration> {
        (**self).next_timeout()
    }

    fn receive_on(&mut self, now: Duration, path: usize, datagram: &[u8]) {
        (**self).receive_on(now, path, datagram);
    }

    fn transmit_on(&mut self, now: Duration, path: usize) -> Option<Vec<u8>> {
        (**self).transmit_on(now, path)
    }

    fn on_fate(&mut self, now: Duration, fate: Fate) {
        (**self).on_fate(now, fate);
    }
}

/// Two nodes, the two directions between them, and the time. There may be more paths.
///
/// Everything is deterministic. At one instant the order is: arrivals at `b`,
/// arrivals at `a`, timeout of `a`, timeout of `b`; then `a` transmits until it
/// has no more, then `b`. Paths have their turns in their order. The fields are public: between steps you can give a node
/// new work, change a link, or put a forged datagram into a pipe.
///
/// # Panics
/// Every method that runs the nodes panics when a node sends or times out more than
/// [`MAX_EVENTS_PER_INSTANT`] times while the clock stands still, and names the node:
/// such an endpoint would hang on a real network too.
#[derive(Debug, Clone)]
pub struct Simulation<A: Node, B: Node> {
    /// One endpoint.
    pub a: A,
    /// The other.
    pub b: B,
    /// Datagrams on their way from `a` to `b`.
    pub a_to_b: Pipe<Vec<u8>>,
    /// Datagrams on their way from `b` to `a`.
    pub b_to_a: Pipe<Vec<u8>>,
    /// Further paths between them, from a to b and back: paths 1, 2 and so on of a [`Node`].
    pub more: Vec<[Pipe<Vec<u8>>; 2]>,
    /// Bytes added to each datagram's length on the link; at first 28, as IPv4 and UDP do.
    pub per_datagram_overhead: usize,
    now: Duration,
    a_events: Events,
    b_events: Events,
}

/// Why [`Simulation::run_while`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEnd {
    /// The condition no longer held.
    Condition,
    /// The time limit came first; the clock stands at it.
    TimeLimit,
    /// Nothing was in flight and no node waited for a time.
    Idle,
}

impl<A: Node, B: Node> Simulation<A, B> {
    /// Joins `a` and `b` by two links, at time zero.
    pub fn new(a: A, b: B, a_to_b: LinkConfig, b_to_a: LinkConfig, seed: u64) -> Self {
        Self {
            a,
            b,
            a_to_b: Pipe::new(a_to_b, seed),
            // Any other seed will do: the two directions must not lose the same packets.
            b_to_a: Pipe::new(b_to_a, !seed),
            more: Vec::new(),
            per_datagram_overhead: IPV4_UDP,
            now: Duration::ZERO,
            a_events: Events::default(),
            b_events: Events::default(),
        }
    }

    /// The virtual time.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Sends what the nodes have to send, then moves the clock to the next arrival
    /// or timeout and handles that instant. Returns the new time, or `None` when
    /// nothing will ever happen again unless a node is given new work.
    pub fn step(&mut self) -> Option<Duration> {
        self.transmit();
        let at = self.next_instant()?;
        self.handle(at);
        Some(at)
    }

    /// Runs everything up to and including `end`, and leaves the clock there.
    pub fn run_until(&mut self, end: Duration) {
        self.transmit();
        while let Some(at) = self.next_instant().filter(|at| *at <= end) {
            self.handle(at);
            self.transmit();
        }
        self.now = self.now.max(end);
    }

    /// Runs while `keep_going` holds, which is asked before each step, but not beyond
    /// the time `limit`.
    pub fn run_while(
        &mut self,
        limit: Duration,
        mut keep_going: impl FnMut(&mut Self) -> bool,
    ) -> RunEnd {
        while keep_going(self) {
            self.transmit();
            match self.next_instant() {
                None => return RunEnd::Idle,
                Some(at) if at > limit => {
                    self.now = self.now.max(limit);
                    return RunEnd::TimeLimit;
                }
                Some(at) => self.handle(at),
            }
        }
        RunEnd::Condition
    }

    /// Adds a path, with losses of its own.
    pub fn add_path(&mut self, a_to_b: LinkConfig, b_to_a: LinkConfig, seed: u64) {
        let path = [Pipe::new(a_to_b, seed), Pipe::new(b_to_a, !seed)];
        self.more.push(path);
    }

    fn transmit(&mut self) {
        let (now, overhead) = (self.now, self.per_datagram_overhead);
        let paths = 1 + self.more.len();
        let (first, more) = (&mut self.a_to_b, &mut self.more);
        drain(
            "a",
            &mut self.a,
            &mut self.a_events,
            now,
            paths,
            |path, datagram| {
                let pipe = path.checked_sub(1).map_or(&mut *first, |n| &mut more[n][0]);
                send(pipe, now, datagram, overhead)
            },
        );
        let (first, more) = (&mut self.b_to_a, &mut self.more);
        drain(
            "b",
            &mut self.b,
            &mut self.b_events,
            now,
            paths,
            |path, datagram| {
                let pipe = path.checked_sub(1).map_or(&mut *first, |n| &mut more[n][1]);
                send(pipe, now, datagram, overhead)
            },
        );
    }

    fn next_instant(&self) -> Option<Duration> {
        let arrivals = [self.a_to_b.next_arrival(), self.b_to_a.next_arrival()];
        let timeouts = [self.a.next_timeout(), self.b.next_timeout()];
        let more = self.more.iter().flatten().filter_map(Pipe::next_arrival);
        let first = arrivals.into_iter().chain(timeouts).flatten().min();
        let earliest = first.into_iter().chain(more.min()).min()?;
        Some(earliest.max(self.now))
    }

    fn handle(&mut self, at: Duration) {
        self.now = at;
        let forward = self.more.iter_mut().map(|path| &mut path[0]);
        for (path, pipe) in [&mut self.a_to_b].into_iter().chain(forward).enumerate() {
            while let Some(datagram) = pipe.recv(at) {
                self.b.receive_on(at, path, &datagram);
            }
        }
        let back = self.more.iter_mut().map(|path| &mut path[1]);
        for (path, pipe) in [&mut self.b_to_a].into_iter().chain(back).enumerate() {
            while let Some(datagram) = pipe.recv(at) {
                self.a.receive_on(at, path, &datagram);
            }
        }
        expire("a", &mut self.a, &mut self.a_events, at);
        expire("b", &mut self.b, &mut self.b_events, at);
    }
}

/// What a node did since the clock last moved.
#[derive(Debug, Clone, Copy, Default)]
struct Events {
    at: Duration,
    datagrams: u32,
    timeouts: u32,
}

impl Events {
    fn at(&mut self, now: Duration) -> &mut Self {
        if self.at != now {
            *self = Self {
                at: now,
                ..Self::default()
            };
        }
        self
    }
}

fn send(pipe: &mut Pipe<Vec<u8>>, now: Duration, datagram: Vec<u8>, overhead: usize) -> Fate {
    let len = datagram.len().saturating_add(overhead);
    pipe.send(now, datagram, len)
}

/// Asks all paths until none has anything.
fn drain<N: Node>(
    name: &str,
    node: &mut N,
    events: &mut Events,
    now: Duration,
    paths: usize,
    mut send: impl FnMut(usize, Vec<u8>) -> Fate,
) {
    let events = events.at(now);
    // Paths that were asked in a row and had nothing.
    let (mut path, mut silent) = (0, 0);
    while silent < paths {
        let Some(datagram) = node.transmit_on(now, path) else {
            (path, silent) = ((path + 1) % paths, silent + 1);
            continue;
        };
        silent = 0;
        events.datagrams += 1;
        assert!(
            events.datagrams <= MAX_EVENTS_PER_INSTANT,
            "node {name} ({}) sent more than {MAX_EVENTS_PER_INSTANT} datagrams at {now:?} without \
             letting the clock move: transmit() must return None at some point, or the path needs some delay",
            type_name::<N>(),
        );
        let fate = send(path, datagram);
        node.on_fate(now, fate);
    }
}

fn expire<N: Node>(name: &str, node: &mut N, events: &mut Events, now: Duration) {
    let Some(due) = node.next_timeout().filter(|due| *due <= now) else {
        return;
    };
    let events = events.at(now);
    events.timeouts += 1;
    assert!(
        events.timeouts <= MAX_EVENTS_PER_INSTANT,
        "node {name} ({}) still asks for a timeout at {due:?} after {MAX_EVENTS_PER_INSTANT} calls \
         of timeout() at {now:?}: timeout() must clear or move it",
        type_name::<N>(),
    );
    node.timeout(now);
}
