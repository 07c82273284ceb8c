//! The events of a run, in their order.

use std::collections::BTreeMap;
use std::time::Duration;

use weftline_netem::{Counters, Fate, Histogram, Link, Node};
use weftline_proto::Role;

use super::competitor::Competitor;
use super::{Crowd, Member, Sender};
use crate::engine::end::{Counting, Reader, Writer};

/// Goodput is counted in windows of this length.
pub(super) const WINDOW: Duration = Duration::from_secs(1);

/// A flow. Its ends live in its own time, which begins when it joins.
struct Flow {
    ends: Ends,
    paths: usize,
    extra: Duration,
    join: Duration,
    leave: Option<Duration>,
    /// When it wants to do something without a packet that arrives.
    wake: Option<Duration>,
}

enum Ends {
    Engine(Box<(Writer, Reader)>),
    Model(Box<Competitor>),
}

/// A packet behind the shared link.
struct Packet {
    flow: usize,
    /// Of the flow's paths.
    path: usize,
    forward: bool,
    data: Vec<u8>,
}

/// What is shared.
struct Shared {
    forward: Link,
    back: Link,
    overhead: usize,
    /// By arrival, and in the order of sending.
    in_flight: BTreeMap<(Duration, u64), Packet>,
    sent: u64,
    /// Waits at the bottleneck, of packets that are counted.
    waits: Histogram,
    skip: Duration,
}

pub(super) struct Run {
    flows: Vec<Flow>,
    shared: Shared,
    /// The forward link's counters before the part that is counted.
    pub(super) before: Counters,
    /// In each window, the bytes that each flow's reader read.
    pub(super) windows: Vec<Vec<u64>>,
    read: Vec<u64>,
}

impl Shared {
    /// Sends a packet over a shared link: when it arrives, behind the private delay, if it does.
    fn send(&mut self, now: Duration, forward: bool, len: usize) -> Fate {
        let link = match forward {
            true => &mut self.forward,
            false => &mut self.back,
        };
        let waited = link.counters().queue_delay.total();
        let accepted = link.counters().queue_delay.count();
        let fate = link.send(now, len);
        let delays = &link.counters().queue_delay;
        if forward && now >= self.skip && delays.count() > accepted {
            self.waits.record(delays.total() - waited);
        }
        fate
    }

    fn carry(&mut self, now: Duration, extra: Duration, packet: Packet) -> Fate {
        let len = packet.data.len() + self.overhead;
        let fate = self.send(now, packet.forward, len);
        if let Fate::Delivered { at, duplicate, .. } = fate {
            if let Some(again) = duplicate {
                let data = packet.data.clone();
                self.arrive(again + extra, Packet { data, ..packet });
            }
            self.arrive(at + extra, packet);
        }
        fate
    }

    fn arrive(&mut self, at: Duration, packet: Packet) {
        self.in_flight.insert((at, self.sent), packet);
        self.sent += 1;
    }
}

impl Flow {
    /// Handles a packet, or what the flow waited for.
    fn handle(&mut self, now: Duration, packet: Option<&Packet>) {
        let now = now.saturating_sub(self.join);
        match (&mut self.ends, packet) {
            (Ends::Engine(ends), Some(packet)) if packet.forward => {
                ends.1.receive_on(now, packet.path, &packet.data);
            }
            (Ends::Engine(ends), Some(packet)) => {
                ends.0.receive_on(now, packet.path, &packet.data);
            }
            (Ends::Engine(ends), None) => {
                ends.0.timeout(now);
                ends.1.timeout(now);
            }
            (Ends::Model(model), _) => model.timeout(now),
        }
    }

    fn transmit(&mut self, now: Duration, flow: usize, shared: &mut Shared) {
        let (join, extra, paths) = (self.join, self.extra, self.paths);
        let own = now.saturating_sub(join);
        let next = match &mut self.ends {
            Ends::Engine(ends) => {
                let (writer, reader) = &mut **ends;
                let mut drain = |node: &mut dyn Node, forward| {
                    // One path's turn may leave work for another.
                    let (mut at, mut silent) = (0, 0);
                    while silent < paths {
                        let Some(data) = node.transmit_on(own, at) else {
                            (at, silent) = ((at + 1) % paths, silent + 1);
                            continue;
                        };
                        silent = 0;
                        let packet = Packet {
                            flow,
                            path: at,
                            forward,
                            data,
                        };
                        shared.carry(now, extra, packet);
                    }
                    node.next_timeout()
                };
                let next = [drain(writer, true), drain(reader, false)];
                next.into_iter().flatten().min()
            }
            Ends::Model(model) => {
                let back = shared.back.config().delay + 2 * extra;
                while let Some(len) = model.transmit(own) {
                    let arrives = match shared.send(now, true, len) {
                        Fate::Delivered { at, .. } => Some(at + back - join),
                        _ => None,
                    };
                    model.on_fate(own, arrives);
                }
                model.next_timeout()
            }
        };
        self.wake = next.map(|at| (at + join).max(now));
    }

    fn read(&self) -> u64 {
        match &self.ends {
            Ends::Engine(ends) => ends.1.bytes(),
            Ends::Model(model) => model.delivered(),
        }
    }
}

impl Run {
    pub(super) fn new(crowd: &Crowd, joins: &[Duration], seed: u64) -> Self {
        let flows = crowd.members.iter().zip(joins).enumerate();
        let flows: Vec<Flow> = flows
            .map(|(n, (member, &join))| Flow {
                ends: ends(crowd, member, join, seed ^ (n as u64) << 32),
                paths: member.paths,
                extra: member.extra,
                join,
                leave: member.leave,
                wake: Some(join),
            })
            .collect();
        Run {
            shared: Shared {
                forward: Link::new(crowd.forward.clone(), seed),
                back: Link::new(crowd.back.clone(), !seed),
                overhead: usize::from(crowd.config.datagram_overhead),
                in_flight: BTreeMap::new(),
                sent: 0,
                waits: Histogram::default(),
                skip: crowd.skip,
            },
            before: Counters::default(),
            windows: Vec::new(),
            read: vec![0; flows.len()],
            flows,
        }
    }

    /// Waits at the bottleneck, and what the forward link counted.
    pub(super) fn bottleneck(&self) -> (&Histogram, &Counters) {
        (&self.shared.waits, self.shared.forward.counters())
    }

    /// The reader of a flow of the engine.
    pub(super) fn reader(&self, flow: usize) -> Option<&Reader> {
        match &self.flows[flow].ends {
            Ends::Engine(ends) => Some(&ends.1),
            Ends::Model(_) => None,
        }
    }

    pub(super) fn go(&mut self, end: Duration) {
        let mut window_ends = WINDOW;
        let mut counts = self.shared.skip.is_zero();
        loop {
            let arrives = self
                .shared
                .in_flight
                .first_key_value()
                .map(|(key, _)| key.0);
            let wakes = self.flows.iter().enumerate();
            let wakes = wakes.filter_map(|(n, flow)| Some((flow.wake?, n))).min();
            let now = arrives.into_iter().chain(wakes.map(|(at, _)| at)).min();
            let now = now.unwrap_or(Duration::MAX);
            while window_ends <= now.min(end) {
                self.end_window();
                window_ends += WINDOW;
            }
            if !counts && now >= self.shared.skip {
                counts = true;
                self.before = self.shared.forward.counters().clone();
            }
            if now > end {
                break;
            }
            let packet = match arrives {
                Some(at) if at == now => {
                    self.shared.in_flight.pop_first().map(|(_, packet)| packet)
                }
                _ => None,
            };
            let wakes = wakes.map(|(_, n)| n);
            let Some(n) = packet.as_ref().map(|packet| packet.flow).or(wakes) else {
                break;
            };
            let flow = &mut self.flows[n];
            if flow.leave.is_some_and(|leave| now >= leave) {
                flow.wake = None;
                continue;
            }
            flow.handle(now, packet.as_ref());
            flow.transmit(now, n, &mut self.shared);
        }
        if !counts {
            self.before = self.shared.forward.counters().clone();
        }
    }

    fn end_window(&mut self) {
        let read: Vec<u64> = self.flows.iter().map(Flow::read).collect();
        let bytes = read.iter().zip(&self.read).map(|(now, then)| now - then);
        self.windows.push(bytes.collect());
        self.read = read;
    }
}

fn ends(crowd: &Crowd, member: &Member, join: Duration, seed: u64) -> Ends {
    let Sender::Engine(application) = member.sender else {
        return Ends::Model(Box::new(Competitor::new(member.sender)));
    };
    let config = &crowd.config;
    let paths = vec![None; member.paths];
    let duration = crowd.duration.saturating_sub(join);
    let counting = Counting {
        skip: crowd.skip.saturating_sub(join),
        within: None,
    };
    let writer = Writer::new(
        Role::Client,
        config.clone(),
        &paths,
        seed,
        application,
        duration,
        None,
    );
    let reader = Reader::new(config.clone(), &paths, !seed, application, counting, None);
    Ends::Engine(Box::new((writer, reader)))
}
