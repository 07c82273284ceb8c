//! Two honest ends, and paths that lose, repeat and reorder datagrams, come and go.

use core::time::Duration;

use super::input::Input;
use super::model::{Direction, Sent, bytes};
use crate::wire::{MIN_SYMBOL_SIZE, REPAIR_OVERHEAD};
use crate::{
    CloseReason, Config, EncodingWindow, Event, Feedback, Limits, PathId, PathOptions, Preset,
    RateControl, Rateless, Role, Scheme, Session, StreamId, Time, VectorHeader, WriteError,
};

const MAX_OPERATIONS: usize = 400;
/// Total bytes that both ends write: enough to fill the smallest windows.
const MAX_BYTES: usize = 150 << 10;
/// No end sends more datagrams at one moment, even if the carrier takes all: twice its data with all
/// repairs.
const MOST_AT_ONCE: usize = 4096;
/// Datagrams in flight in one direction; more are lost.
const MAX_FLIGHT: usize = 256;
/// Paths at a time, and in all.
const MOST_PATHS: usize = 4;
const MAX_PATHS: usize = 40;
/// No path is faster than this.
const HOP: Duration = Duration::from_micros(100);
const IDLE: Duration = Duration::from_secs(30);

/// Runs any sequence of calls and of fates of datagrams. Only sent data arrives, and in order. Once
/// the path stops losing datagrams, everything arrives and both ends become idle; if one end has
/// closed the session, both learn it.
pub fn session(data: &[u8]) {
    run(data, false);
}

/// The same over several paths, which come, die without notice, come back and go.
pub fn paths(data: &[u8]) {
    run(data, true);
}

fn run(data: &[u8], several: bool) {
    let mut input = Input::new(data);
    let mut pair = Pair::new(&mut input, several);
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        pair.step(&mut input);
    }
    pair.heal();
}

/// One end: the session and its application.
struct End {
    session: Session,
    longest: usize,
    /// Streams that the application can use.
    streams: Vec<StreamId>,
    opened: u64,
    accepted: u64,
    /// This end's names of the paths, by the numbers of [`Pair::paths`]; `None` where it has none.
    paths: Vec<Option<PathId>>,
    /// Datagrams to the other end, and the numbers of their paths.
    way: Vec<(usize, Vec<u8>)>,
    last_delivery: Time,
    closed: Option<CloseReason>,
}

struct Pair {
    ends: [End; 2],
    /// What each end has sent.
    sent: [Direction; 2],
    /// The paths between the ends; true: it loses everything.
    paths: Vec<bool>,
    several: bool,
    now: Time,
    bytes: usize,
    may_close: bool,
}

fn limits(choice: u8) -> Limits {
    let least = Limits::LEAST;
    match choice & 3 {
        0 => Limits::default(),
        1 => Limits {
            symbols: 256,
            window: 256,
            unknowns: 256,
            streams: 10,
            ..least
        },
        2 => Limits {
            symbol_size: 1500,
            symbols: 8192,
            window: 1024,
            unknowns: 1024,
            ..least
        },
        _ => least,
    }
}

fn config(input: &mut Input<'_>, several: bool) -> Config {
    let choice = input.u8();
    let more = input.u8();
    // Older corpora, from when there were four presets, still begin with one of the first four.
    let preset = usize::from(choice & 3) + 4 * usize::from(more >> 5 & 1);
    let presets: &[Preset] = match several {
        true => &[Preset::Auto, Preset::Streaming, Preset::Arq],
        false => &Preset::ALL,
    };
    let mut config = Config::preset(presets[preset % presets.len()]);
    config.limits = limits(choice >> 2);
    config.symbol_size = [200, 1120, 333, 700][usize::from(choice >> 4 & 3)];
    config.keep_alive = (choice & 64 == 0).then_some(Duration::from_secs(5));
    config.deliver_late_messages = choice & 128 != 0;
    config.idle_timeout = IDLE;
    let choice = more;
    config.send_buffer = [512, 4 << 10, 64 << 10, 256 << 10][usize::from(choice & 3)];
    config.rate = match choice >> 2 & 3 {
        0 => RateControl::Carrier,
        1 => RateControl::Adaptive,
        2 => RateControl::Fixed {
            rate: Some(4_000_000),
            window: None,
        },
        _ => RateControl::Fixed {
            rate: Some(20_000_000),
            window: Some(20_000),
        },
    };
    if choice & 16 != 0 {
        let choice = input.u8();
        let share = f64::from(choice & 3) / 4.0;
        config.feedback = match choice >> 2 & 3 {
            0 => Feedback::Periodic {
                interval: Duration::from_millis(20),
            },
            n => Feedback::EveryDatagram {
                min_interval: Duration::from_millis(u64::from(n) * 10),
            },
        };
        let answers = choice >> 4 & 3 != 0;
        let window = match choice >> 6 {
            0 => EncodingWindow::Elastic { max: 64 },
            1 => EncodingWindow::Fixed { size: 16 },
            2 => EncodingWindow::Mobile { size: 24 },
            _ => EncodingWindow::Elastic { max: 512 },
        };
        let k = [1, 7, 32, 100][usize::from(choice & 3)];
        match &mut config.scheme {
            Scheme::Block(block) => {
                *block = block.k(k).share(share);
                block.top_up = answers;
            }
            Scheme::Streaming(streaming) => {
                *streaming = streaming.share(share).window(window);
                streaming.top_up = answers;
            }
            Scheme::Rest(rest) => {
                *rest = rest.share(share).window(window);
                rest.at_end = answers;
            }
            Scheme::Rateless(rateless) => {
                rateless.k = k;
                rateless.bits = 1 + (choice >> 2 & 7);
                rateless.systematic ^= choice & 32 != 0;
                rateless.header = match choice & 64 {
                    0 => VectorHeader::Seed,
                    _ => VectorHeader::Explicit,
                };
                rateless.extra = [0, 3, 10, Rateless::ENDLESS][usize::from(choice >> 6)];
                rateless.pace = 0.25;
                if choice & 16 != 0 {
                    config.feedback = Feedback::Block {
                        interval: Duration::from_millis(30),
                    };
                }
            }
            _ => {}
        }
    }
    config
}

impl Pair {
    fn new(input: &mut Input<'_>, several: bool) -> Self {
        let may_close = input.flag();
        let ends = [Role::Client, Role::Server].map(|role| {
            let config = config(input, several);
            End {
                longest: (usize::from(config.symbol_size) + REPAIR_OVERHEAD)
                    .max(usize::from(MIN_SYMBOL_SIZE) / 4),
                session: Session::new(role, config, input.u8().into(), Time::ZERO)
                    .expect("every configuration is possible"),
                streams: Vec::new(),
                opened: 0,
                accepted: 0,
                paths: vec![Some(PathId::FIRST)],
                way: Vec::new(),
                last_delivery: Time::ZERO,
                closed: None,
            }
        });
        let mut sent = [Direction::default(), Direction::default()];
        sent[1].writer = 1;
        let mut pair = Pair {
            ends,
            sent,
            paths: vec![false],
            several,
            now: Time::ZERO,
            bytes: 0,
            may_close,
        };
        pair.drive(0);
        pair.drive(1);
        pair
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let operation = input.u8();
        let end = usize::from(operation >> 7);
        let (then, timer) = (self.now, self.ends[end].session.poll_timeout());
        match operation & 31 {
            0..=2 => self.write(end, input),
            3 => self.open(end),
            4 => self.finish(end, input),
            5 if input.u8() < 64 => self.reset(end, input),
            6 if input.u8() < 64 => self.stop(end, input),
            7 | 8 => self.message(end, input),
            9 | 10 => {
                let id = self.stream(end, input);
                let most = usize::from(input.u16());
                self.read(end, id, most);
            }
            11 => self.receive_messages(end),
            12..=14 => self.advance(input),
            15..=18 => {
                for _ in 0..1 + input.u8() % 32 {
                    self.deliver(end, 0, false);
                }
            }
            19 | 20 => {
                let which = input.index(self.ends[end].way.len());
                self.deliver(end, which, false);
            }
            21 => {
                let which = input.index(self.ends[end].way.len());
                self.deliver(end, which, true);
            }
            22 => {
                let which = input.index(self.ends[end].way.len());
                let most = self.ends[end].way.len() - which;
                let lost = usize::from(input.u8() % 32).min(most);
                self.ends[end].way.drain(which..which + lost);
            }
            23 => self.ends[end].way.clear(),
            24 if self.may_close && input.u8() < 8 => {
                self.ends[end].session.close(self.now, 7, "done");
            }
            25 => {
                // The next timer of either end.
                let next = self.next_timer();
                self.run_until(next.unwrap_or(self.now));
            }
            26 | 27 if self.several => self.change_paths(end, input),
            _ => {
                for _ in 0..4 {
                    self.deliver(end, 0, false);
                    self.deliver(1 - end, 0, false);
                }
                self.run_until(self.now + Duration::from_millis(10));
            }
        }
        // Only the application was called.
        if matches!(operation & 31, 0..=11 | 24) && self.now == then {
            self.check_wants_to_send(end, timer);
        }
        self.drive(0);
        self.drive(1);
    }

    fn change_paths(&mut self, end: usize, input: &mut Input<'_>) {
        let which = input.index(self.paths.len());
        match input.u8() % 5 {
            0 | 1 => self.add_path(),
            2 => self.paths[which] = !self.paths[which],
            3 => self.remove_path(end, which),
            _ => (0..2).for_each(|end| self.remove_path(end, which)),
        }
    }

    fn add_path(&mut self) {
        let live = |end: &End| end.paths.iter().flatten().count();
        if self.paths.len() >= MAX_PATHS || self.ends.iter().any(|e| live(e) >= MOST_PATHS) {
            return;
        }
        let options = PathOptions {
            cost: (self.paths.len() % 3 == 2).into(),
        };
        self.paths.push(false);
        for end in &mut self.ends {
            // The session may be over.
            end.paths.push(end.session.add_path(self.now, options).ok());
        }
    }

    fn remove_path(&mut self, end: usize, which: usize) {
        if let Some(path) = self.ends[end].paths[which].take() {
            self.ends[end].session.remove_path(self.now, path);
        }
    }

    /// A driver that is not woken after a call of the application's misses nothing.
    fn check_wants_to_send(&mut self, end: usize, timer_before: Option<Time>) {
        let session = &mut self.ends[end].session;
        if !session.wants_to_send() {
            assert_eq!(session.poll_timeout(), timer_before);
            for path in self.ends[end].paths.iter().flatten() {
                let sends = session.poll_transmit_on(self.now, *path, &mut Vec::new());
                assert!(!sends, "sends without wanting to: {session:#?}");
            }
        }
    }

    fn stream(&self, end: usize, input: &mut Input<'_>) -> Option<StreamId> {
        let streams = &self.ends[end].streams;
        streams.get(input.index(streams.len())).copied()
    }

    fn open(&mut self, end: usize) {
        let this = &mut self.ends[end];
        if let Ok(id) = this.session.open_stream() {
            assert_eq!(id, StreamId(this.opened * 2 + end as u64));
            this.opened += 1;
            this.streams.push(id);
        }
    }

    fn write(&mut self, end: usize, input: &mut Input<'_>) {
        let len = usize::from(input.u16() & 0x1fff).min(MAX_BYTES - self.bytes);
        let Some(id) = self.stream(end, input) else {
            return self.open(end);
        };
        let direction = &mut self.sent[end];
        let data = bytes(end, id.0, direction.half(id).written, len);
        let outcome = self.ends[end].session.write(id, &data);
        self.bytes += outcome.as_ref().map_or(0, |n| *n);
        direction.wrote(id, &outcome);
    }

    fn finish(&mut self, end: usize, input: &mut Input<'_>) {
        let Some(id) = self.stream(end, input) else {
            return;
        };
        let outcome = self.ends[end].session.finish(id);
        let half = self.sent[end].half(id);
        match outcome {
            Ok(()) => {
                assert!(!half.finished && half.reset.is_none());
                half.finished = true;
            }
            Err(WriteError::Stopped(code)) => assert_eq!(half.stopped, Some(code)),
            Err(WriteError::Unknown) => panic!("{id:?} is open, yet unknown"),
            Err(_) => {}
        }
    }

    fn reset(&mut self, end: usize, input: &mut Input<'_>) {
        let Some(id) = self.stream(end, input) else {
            return;
        };
        let half = self.sent[end].half(id);
        // A reset has no effect if the peer has the whole stream or has stopped reading.
        if half.reset.is_none() && !half.acknowledged && self.ends[end].closed.is_none() {
            half.reset = Some(9);
        }
        self.ends[end].session.reset(id, 9);
    }

    fn stop(&mut self, end: usize, input: &mut Input<'_>) {
        let Some(id) = self.stream(end, input) else {
            return;
        };
        let half = self.sent[1 - end].half(id);
        half.stopped.get_or_insert(5);
        self.ends[end].session.stop(id, 5);
    }

    fn message(&mut self, end: usize, input: &mut Input<'_>) {
        let len = usize::from(input.u16() & 0x1fff).min(MAX_BYTES - self.bytes);
        let deadline = match input.u8() {
            by @ 0..=63 => Some(Duration::from_millis(u64::from(by) * 5)),
            _ => None,
        };
        let direction = &mut self.sent[end];
        let id = direction.messages.len() as u64;
        let data = bytes(end, !id, 0, len);
        let session = &mut self.ends[end].session;
        if let Ok(given) = session.send_message(self.now, data.clone(), deadline) {
            assert_eq!(given.0, id);
            self.bytes += len;
            direction.messages.push(Sent {
                len,
                reliable: deadline.is_none(),
                received: false,
            });
        }
    }

    fn read(&mut self, end: usize, id: Option<StreamId>, most: usize) {
        let Some(id) = id else { return };
        let mut buf = vec![0; most];
        let outcome = self.ends[end].session.read(id, &mut buf);
        self.sent[1 - end].has_read(id, &outcome, &buf);
    }

    fn receive_messages(&mut self, end: usize) {
        while let Some(message) = self.ends[end].session.recv_message() {
            self.sent[1 - end].received(&message);
        }
    }

    fn advance(&mut self, input: &mut Input<'_>) {
        let step = match input.u8() {
            by @ 0..=199 => u64::from(by) * 500,
            by => u64::from(by - 199) * 200_000,
        };
        self.run_until(self.now + Duration::from_micros(step));
    }

    fn next_timer(&self) -> Option<Time> {
        let timers = self.ends.iter().map(|end| end.session.poll_timeout());
        timers.flatten().min()
    }

    /// Lets time pass, and serves all timers that become due.
    fn run_until(&mut self, target: Time) {
        while let Some(next) = self.next_timer()
            && next <= target
        {
            self.now = self.now.max(next);
            for end in 0..2 {
                let due = |e: &End| e.session.poll_timeout().is_some_and(|t| t <= self.now);
                if due(&self.ends[end]) {
                    self.ends[end].session.handle_timeout(self.now);
                    self.drive(end);
                    let again = self.ends[end].session.poll_timeout();
                    assert!(
                        again.is_none_or(|t| t > self.now),
                        "the timer at {again:?} stays due, now {:?} {:#?}",
                        self.now,
                        self.ends[end].session
                    );
                }
            }
        }
        self.now = self.now.max(target);
    }

    /// Delivers the `which`-th datagram from `end` to the other end, and keeps a copy if `twice`.
    fn deliver(&mut self, end: usize, which: usize, twice: bool) {
        let way = &mut self.ends[end].way;
        if which >= way.len() {
            return;
        }
        let (path, datagram) = match twice {
            true => way[which].clone(),
            false => way.remove(which),
        };
        self.now += HOP;
        let other = &mut self.ends[1 - end];
        let Some(path) = other.paths[path].filter(|_| !self.paths[path]) else {
            return;
        };
        let before = other.session.stats().dropped.total();
        other.session.handle_datagram_on(self.now, path, &datagram);
        let dropped = other.session.stats().dropped;
        assert_eq!((dropped.malformed, dropped.inconsistent), (0, 0));
        if dropped.total() == before {
            other.last_delivery = self.now;
        }
        self.drive(1 - end);
    }

    /// Handles an end's events and sends its datagrams.
    fn drive(&mut self, end: usize) {
        self.handle_events(end);
        let this = &mut self.ends[end];
        let mut out = Vec::new();
        let mut count = 0;
        // One path's turn may leave work for another.
        let (mut path, mut silent) = (0, 0);
        while silent < this.paths.len() {
            let number = path;
            path = (path + 1) % this.paths.len();
            silent += 1;
            let Some(name) = this.paths[number] else {
                continue;
            };
            while this.session.poll_transmit_on(self.now, name, &mut out) {
                silent = 0;
                assert!(!out.is_empty() && out.len() <= this.longest);
                count += 1;
                assert!(
                    count < MOST_AT_ONCE,
                    "never stops sending: {:#?}",
                    this.session.stats()
                );
                if this.way.len() < MAX_FLIGHT {
                    this.way.push((number, out.clone()));
                }
            }
        }
        self.handle_events(end);
    }

    fn handle_events(&mut self, end: usize) {
        while let Some(event) = self.ends[end].session.poll_event() {
            let this = &mut self.ends[end];
            assert_eq!(this.closed, None, "{event:?} after the end");
            match event {
                Event::StreamOpened => {
                    let id = this.session.accept_stream();
                    assert_eq!(id, Some(StreamId(this.accepted * 2 + 1 - end as u64)));
                    this.accepted += 1;
                    this.streams.extend(id);
                }
                Event::StreamFinished(id) => self.finished(end, id),
                Event::StreamStopped { id, code } => {
                    assert_eq!(self.sent[end].half(id).stopped, Some(code));
                }
                Event::Closed(reason) => {
                    self.check_reason(end, &reason);
                    self.ends[end].closed = Some(reason);
                }
                _ => {}
            }
        }
        assert!(self.ends[0].opened >= self.ends[1].accepted);
        assert!(self.ends[1].opened >= self.ends[0].accepted);
    }

    /// The writer learned that its peer has the whole stream: then the peer can read all of it.
    fn finished(&mut self, end: usize, id: StreamId) {
        let half = self.sent[end].half(id);
        assert!(half.finished && !half.acknowledged, "{id:?}: {half:?}");
        half.acknowledged = true;
        if half.stopped.is_some() || half.ended {
            return;
        }
        let left = (half.written - half.read) as usize;
        if left > 0 {
            self.read(1 - end, Some(id), left);
        }
        self.read(1 - end, Some(id), 1);
        let half = self.sent[end].half(id);
        assert!(
            half.ended,
            "{id:?} is acknowledged but incomplete: {half:?}"
        );
    }

    fn check_reason(&self, end: usize, reason: &CloseReason) {
        let silence = self.now.since(self.ends[end].last_delivery);
        match reason {
            CloseReason::Local => assert!(self.may_close),
            CloseReason::Peer { code, reason } => {
                assert!(self.may_close);
                assert_eq!((*code, reason.as_str()), (7, "done"));
            }
            CloseReason::TimedOut { .. } => assert!(silence >= IDLE || self.may_close),
            other => panic!("an honest peer was refused: {other}"),
        }
    }

    /// From now on the path is perfect and the applications read everything.
    fn heal(&mut self) {
        for which in 0..self.paths.len() {
            self.paths[which] = false;
            if self.ends.iter().any(|end| end.paths[which].is_none()) {
                (0..2).for_each(|end| self.remove_path(end, which));
            }
        }
        if self.ends[0].paths.iter().all(Option::is_none) {
            self.add_path();
        }
        (0..2).for_each(|end| self.drive(end));
        // An outage that the round-trip estimate mistook for delay doubles the longest timeout.
        let give_up = self.now + Duration::from_secs(120);
        while self.now < give_up {
            for _ in 0..4 {
                for end in 0..2 {
                    for _ in 0..self.ends[end].way.len() {
                        self.deliver(end, 0, false);
                    }
                    self.read_everything(end);
                    self.drive(end);
                }
            }
            if self.is_idle() {
                break;
            }
            let step = self.now + Duration::from_millis(5);
            let timer = self.next_timer().unwrap_or(step);
            let busy = self.ends.iter().any(|end| !end.way.is_empty());
            self.run_until(if busy { step } else { timer.max(step) });
        }
        let [client, server] = &self.ends;
        assert!(
            self.is_idle(),
            "not idle at {:?}: client {:?} {:#?}, server {:?} {:#?}",
            self.now,
            client.closed,
            client.session.stats(),
            server.closed,
            server.session.stats(),
        );
        if client.closed.is_none() {
            self.sent.iter().for_each(Direction::assert_complete);
        }
    }

    fn read_everything(&mut self, end: usize) {
        self.receive_messages(end);
        for index in 0..self.ends[end].streams.len() {
            let id = self.ends[end].streams[index];
            let half = self.sent[1 - end].half(id);
            if half.ended || half.stopped.is_some() {
                continue;
            }
            let before = half.read;
            self.read(end, Some(id), 1 << 16);
            if self.sent[1 - end].half(id).read > before {
                self.read(end, Some(id), 1 << 16);
            }
        }
    }

    /// Both ends are open and have nothing left to do, or both are closed.
    fn is_idle(&self) -> bool {
        let [client, server] = &self.ends;
        match (&client.closed, &server.closed) {
            (None, None) => {
                let idle = |end: &End| end.session.all_acknowledged() && end.way.is_empty();
                idle(client) && idle(server)
            }
            (Some(_), Some(_)) => client.session.is_drained() && server.session.is_drained(),
            _ => false,
        }
    }
}
