//! An endpoint for virtual-time tests: a session with an application that checks every byte.

pub(crate) mod pair;
pub(crate) mod rateless;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use weftline_netem::{LinkConfig, Node, RunEnd, Simulation};
use weftline_proto::{
    CloseReason, Config, Event, Message, MessageId, OpenError, PathId, PathOptions, ReadError,
    Role, SendMessageError, Session, StreamId, Time, WriteError,
};

pub(crate) fn time(now: Duration) -> Time {
    Time::from_micros(now.as_micros() as u64)
}

/// Byte `position` of the stream or message `name`. It reveals any mix-up or shift.
pub(crate) fn byte(name: u64, position: u64) -> u8 {
    let mut x = name.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (position / 8);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> (8 * (position % 8))) as u8
}

/// What an application does with its session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// Bytes to send on streams that this end opens.
    pub(crate) streams: Vec<u64>,
    /// Messages to send: length and deadline.
    pub(crate) messages: VecDeque<(usize, Option<Duration>)>,
    /// Open-loop writer: (period, size, count) on one stream.
    pub(crate) live: Option<(Duration, usize, u64)>,
    /// Bytes to expect from the peer's streams, in the order of their ids.
    pub(crate) expect_streams: Vec<u64>,
    pub(crate) expect_messages: usize,
    /// The peer's first stream is live and carries messages of this size.
    pub(crate) read_live: Option<usize>,
}

impl Script {
    /// One end sends `bytes` on a stream, and the other one reads them.
    pub(crate) fn transfer(bytes: u64) -> [Script; 2] {
        let writer = Script {
            streams: vec![bytes],
            ..Script::default()
        };
        let reader = Script {
            expect_streams: vec![bytes],
            ..Script::default()
        };
        [writer, reader]
    }
}

/// A live stream, (period, size, count) of its messages, from side A to side B.
pub(crate) fn live(
    config: Config,
    (period, size, count): (Duration, usize, u64),
    forward: LinkConfig,
    back: LinkConfig,
    seed: u64,
) -> Simulation<Peer, Peer> {
    let writer = Script {
        live: Some((period, size, count)),
        ..Script::default()
    };
    let reader = Script {
        read_live: Some(size),
        ..Script::default()
    };
    Simulation::new(
        Peer::new(Role::Client, config.clone(), 1, writer),
        Peer::new(Role::Server, config, 2, reader),
        forward,
        back,
        seed,
    )
}

#[derive(Debug)]
struct Outgoing {
    id: StreamId,
    len: u64,
    written: u64,
    finished: bool,
    acknowledged: bool,
}

pub(crate) struct Peer {
    pub(crate) session: Session,
    script: Script,
    outgoing: Vec<Outgoing>,
    to_open: VecDeque<u64>,
    pub(crate) read: BTreeMap<u64, (u64, bool)>,
    incoming: Vec<StreamId>,
    pub(crate) resets: BTreeMap<u64, u64>,
    pub(crate) messages: Vec<Message>,
    /// What was told of each message sent: the peer has it.
    pub(crate) fates: Vec<(MessageId, bool)>,
    live: Option<Live>,
    /// For each live message, the delay from its scheduled writing to its in-order reading.
    pub(crate) live_delays: Vec<Duration>,
    live_read: Vec<u8>,
    next_message: Option<Vec<u8>>,
    pub(crate) wrong: u64,
    pub(crate) closed: Option<CloseReason>,
    pub(crate) connected: bool,
    /// The session's paths, in the order of the simulation's.
    pub(crate) paths: Vec<PathId>,
    /// Paths that fell silent, and that were heard again, and when.
    pub(crate) silent: Vec<(PathId, Duration)>,
    pub(crate) heard: Vec<(PathId, Duration)>,
    now: Duration,
    chunk: usize,
}

struct Live {
    id: StreamId,
    next: Duration,
    sent: u64,
    pending: VecDeque<Vec<u8>>,
    done: bool,
}

impl Peer {
    pub(crate) fn new(role: Role, config: Config, seed: u64, script: Script) -> Self {
        Peer {
            session: Session::new(role, config, seed, Time::ZERO).expect("it is possible"),
            to_open: script.streams.iter().copied().collect(),
            script,
            outgoing: Vec::new(),
            read: BTreeMap::new(),
            incoming: Vec::new(),
            resets: BTreeMap::new(),
            messages: Vec::new(),
            fates: Vec::new(),
            live: None,
            live_delays: Vec::new(),
            live_read: Vec::new(),
            next_message: None,
            wrong: 0,
            closed: None,
            connected: false,
            paths: vec![PathId::FIRST],
            silent: Vec::new(),
            heard: Vec::new(),
            now: Duration::ZERO,
            chunk: 1000 + (seed % 5000) as usize,
        }
    }

    /// Another path of the simulation joins the session.
    pub(crate) fn add_path(&mut self, cost: u8) {
        let path = self.session.add_path(time(self.now), PathOptions { cost });
        self.paths.push(path.expect("there is room"));
    }

    /// Whether all sent data is acknowledged and all expected data has arrived.
    pub(crate) fn is_done(&self) -> bool {
        let live_done = match (&self.script.live, &self.live) {
            (None, _) => true,
            (Some(_), Some(live)) => live.done && live.pending.is_empty(),
            (Some(_), None) => false,
        };
        self.to_open.is_empty()
            && self.script.messages.is_empty()
            && self.outgoing.iter().all(|o| o.acknowledged)
            && live_done
            && self.session.all_acknowledged()
            && self.has_all()
    }

    /// Whether the peer has the streams that this end sent, and this end has all that it expects.
    pub(crate) fn may_leave(&self) -> bool {
        self.outgoing.len() == self.script.streams.len()
            && self.outgoing.iter().all(|o| o.acknowledged)
            && self.has_all()
    }

    fn has_all(&self) -> bool {
        self.read.values().filter(|(_, end)| *end).count() >= self.script.expect_streams.len()
            && self.messages.len() >= self.script.expect_messages
    }

    fn events(&mut self) {
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::Connected => self.connected = true,
                Event::StreamFinished(id) => {
                    for o in self.outgoing.iter_mut().filter(|o| o.id == id) {
                        assert!(o.finished, "acknowledged before it was finished");
                        o.acknowledged = true;
                    }
                }
                Event::StreamOpened => {
                    while let Some(id) = self.session.accept_stream() {
                        self.incoming.push(id);
                    }
                }
                Event::MessageReceived => {
                    while let Some(message) = self.session.recv_message() {
                        self.messages.push(message);
                    }
                }
                Event::MessageDelivered(id) => self.fates.push((id, true)),
                Event::MessageExpired(id) => self.fates.push((id, false)),
                Event::PathSilent(path) => self.silent.push((path, self.now)),
                Event::PathHeard(path) => self.heard.push((path, self.now)),
                Event::Closed(reason) => self.closed = Some(reason),
                _ => {}
            }
        }
    }

    fn read_all(&mut self) {
        let mut buf = [0; 4096];
        for &id in &self.incoming {
            let (position, end) = self.read.entry(id.0).or_default();
            while !*end {
                match self.session.read(id, &mut buf) {
                    Ok(0) => *end = true,
                    Ok(n) if self.script.read_live.is_some() => {
                        self.live_read.extend_from_slice(&buf[..n]);
                        *position += n as u64;
                    }
                    Ok(n) => {
                        for &b in &buf[..n] {
                            self.wrong += u64::from(b != byte(id.0, *position));
                            *position += 1;
                        }
                    }
                    Err(ReadError::Reset(code)) => {
                        self.resets.insert(id.0, code);
                        *end = true;
                    }
                    // Unknown: this end stopped it.
                    Err(ReadError::Blocked | ReadError::Closed(_) | ReadError::Unknown) => break,
                    Err(other) => panic!("reading {id:?}: {other}"),
                }
            }
        }
        let Some(size) = self.script.read_live else {
            return;
        };
        let whole = self.live_read.len() / size * size;
        for message in self.live_read[..whole].chunks(size) {
            let field = |at: usize| {
                u64::from_le_bytes(message[at..at + 8].try_into().expect("eight bytes"))
            };
            assert_eq!(field(8), self.live_delays.len() as u64, "messages in order");
            self.live_delays
                .push(self.now.saturating_sub(Duration::from_nanos(field(0))));
        }
        self.live_read.drain(..whole);
    }

    fn write_all(&mut self) {
        while let Some(&len) = self.to_open.front() {
            match self.session.open_stream() {
                Ok(id) => {
                    self.to_open.pop_front();
                    self.outgoing.push(Outgoing {
                        id,
                        len,
                        written: 0,
                        finished: false,
                        acknowledged: false,
                    });
                }
                Err(OpenError::Blocked) => break,
                Err(OpenError::Closed(_)) => return,
                Err(other) => panic!("{other}"),
            }
        }
        for o in &mut self.outgoing {
            while o.written < o.len {
                let n = (o.len - o.written).min(self.chunk as u64);
                let data: Vec<u8> = (0..n).map(|i| byte(o.id.0, o.written + i)).collect();
                match self.session.write(o.id, &data) {
                    Ok(taken) => o.written += taken as u64,
                    Err(WriteError::Blocked) => break,
                    Err(WriteError::Closed(_)) => return,
                    Err(other) => panic!("writing {:?}: {other}", o.id),
                }
            }
            if o.written == o.len && !o.finished {
                o.finished = self.session.finish(o.id).is_ok();
            }
        }
        while let Some(&(len, deadline)) = self.script.messages.front() {
            let name = 1_000_000 + self.script.messages.len() as u64;
            let data = self.next_message.take().unwrap_or_else(|| {
                let body = (0..len as u64).map(|i| byte(name, i));
                name.to_be_bytes().into_iter().chain(body).collect()
            });
            match self
                .session
                .send_message(time(self.now), data.clone(), deadline)
            {
                Ok(_) => drop(self.script.messages.pop_front()),
                // Before HELLO the assumed limit is small: wait for it.
                Err(SendMessageError::Full | SendMessageError::TooLong { .. }) => {
                    self.next_message = Some(data);
                    break;
                }
                Err(SendMessageError::Closed(_)) => return,
                Err(other) => panic!("{other}"),
            }
        }
    }

    fn live(&mut self) {
        let Some((period, size, count)) = self.script.live else {
            return;
        };
        if self.live.is_none() {
            let id = self
                .session
                .open_stream()
                .expect("the first stream may be opened");
            self.live = Some(Live {
                id,
                next: Duration::ZERO,
                sent: 0,
                pending: VecDeque::new(),
                done: false,
            });
        }
        let live = self.live.as_mut().expect("just made");
        while !live.done && live.next <= self.now {
            let mut message = vec![0u8; size];
            message[..8].copy_from_slice(&(live.next.as_nanos() as u64).to_le_bytes());
            message[8..16].copy_from_slice(&live.sent.to_le_bytes());
            live.pending.push_back(message);
            live.sent += 1;
            live.next += period;
            live.done = live.sent == count;
        }
        while let Some(front) = live.pending.front_mut() {
            match self.session.write(live.id, front) {
                Ok(n) if n == front.len() => drop(live.pending.pop_front()),
                Ok(n) => drop(front.drain(..n)),
                Err(_) => break,
            }
        }
        if live.done && live.pending.is_empty() {
            let _ = self.session.finish(live.id);
        }
    }

    pub(crate) fn pump(&mut self) {
        self.events();
        self.live();
        self.read_all();
        self.write_all();
        self.events();
    }
}

impl Node for Peer {
    fn receive(&mut self, now: Duration, datagram: &[u8]) {
        self.receive_on(now, 0, datagram);
    }

    fn receive_on(&mut self, now: Duration, path: usize, datagram: &[u8]) {
        self.now = now;
        let path = self.paths[path];
        self.session.handle_datagram_on(time(now), path, datagram);
        self.pump();
    }

    fn timeout(&mut self, now: Duration) {
        self.now = now;
        self.session.handle_timeout(time(now));
        self.pump();
    }

    fn transmit(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.transmit_on(now, 0)
    }

    fn transmit_on(&mut self, now: Duration, path: usize) -> Option<Vec<u8>> {
        self.now = now;
        self.write_all();
        let mut out = Vec::new();
        let path = self.paths[path];
        self.session
            .poll_transmit_on(time(now), path, &mut out)
            .then_some(out)
    }

    fn next_timeout(&self) -> Option<Duration> {
        let session = self
            .session
            .poll_timeout()
            .map(|t| Duration::from_micros(t.as_micros()));
        let live = match (&self.script.live, &self.live) {
            (Some(_), None) => Some(Duration::ZERO),
            (Some(_), Some(live)) if !live.done => Some(live.next),
            _ => None,
        };
        [session, live].into_iter().flatten().min()
    }
}

/// The outcome of both ends.
pub(crate) struct Outcome {
    pub(crate) client: Peer,
    pub(crate) server: Peer,
    pub(crate) took: Duration,
    pub(crate) done: bool,
}

/// Runs two peers over a path until both are done, then closes in order.
pub(crate) fn run(
    client: Peer,
    server: Peer,
    forward: LinkConfig,
    back: LinkConfig,
    seed: u64,
    limit: Duration,
) -> Outcome {
    let mut sim = Simulation::new(client, server, forward, back, seed);
    let end = sim.run_while(limit, |s| {
        !(s.a.is_done() && s.b.is_done() || s.a.closed.is_some() && s.b.closed.is_some())
    });
    let done = end == RunEnd::Condition && sim.a.closed.is_none();
    let took = sim.now();
    Outcome {
        client: sim.a,
        server: sim.b,
        took,
        done,
    }
}
