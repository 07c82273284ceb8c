//! The two ends: a session each, with its application.

use std::time::Duration;

use weftline_netem::{Fate, Node};
use weftline_proto::{
    Config, PathId, PathOptions, PathReport, Role, Session, Stats, StreamId, Time,
};

use super::application::{Application, Timed};
use super::events::Recording;
use crate::Delays;

fn time(now: Duration) -> Time {
    Time::from_micros(now.as_micros() as u64)
}

/// The longest datagram that a path takes, if its carrier knows.
pub(crate) type Largest = Option<usize>;

/// A session as a node: no application yet.
struct End {
    session: Session,
    paths: Vec<PathId>,
    /// The path that the newest datagram left on.
    sent_on: usize,
    now: Duration,
    closed: bool,
    recording: Option<Recording>,
}

impl End {
    fn new(
        role: Role,
        config: Config,
        paths: &[Largest],
        seed: u64,
        recording: Option<Recording>,
    ) -> Self {
        let mut session = Session::new(role, config, seed, Time::ZERO)
            .expect("the configuration was checked when it was read");
        if recording.is_some() {
            session.start_log(Recording::CAPACITY);
        }
        let more = paths.iter().skip(1);
        let more = more.map(|_| session.add_path(Time::ZERO, PathOptions::default()));
        let more: Result<Vec<PathId>, _> = more.collect();
        let more = more.expect("check_paths() allows as many");
        let ids = [&[PathId::FIRST], &more[..]].concat();
        for (path, largest) in ids.iter().zip(paths) {
            // A path that takes less than every session needs carries nothing.
            let _ = largest.map(|bytes| session.set_largest_datagram_on(*path, bytes));
        }
        End {
            session,
            paths: ids,
            sent_on: 0,
            now: Duration::ZERO,
            closed: false,
            recording,
        }
    }

    fn record(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.take(&mut self.session);
        }
    }

    fn on_fate(&mut self, now: Duration, fate: Fate) {
        if let Some(recording) = &mut self.recording {
            let path = (self.paths.len() > 1).then_some(self.sent_on);
            recording.on_fate(time(now), path, fate);
        }
    }

    fn receive(&mut self, now: Duration, path: usize, datagram: &[u8]) {
        self.now = now;
        self.session
            .handle_datagram_on(time(now), self.paths[path], datagram);
        self.events();
    }

    fn timeout(&mut self, now: Duration) {
        self.now = now;
        if self.session.poll_timeout().is_some_and(|t| t <= time(now)) {
            self.session.handle_timeout(time(now));
        }
        self.events();
    }

    fn events(&mut self) {
        self.record();
        while self.session.poll_event().is_some() {}
        self.closed |= self.session.close_reason().is_some();
    }

    fn transmit(&mut self, now: Duration, path: usize) -> Option<Vec<u8>> {
        self.now = now;
        self.sent_on = path;
        let mut out = Vec::with_capacity(1500);
        let path = self.paths[path];
        let wrote = self.session.poll_transmit_on(time(now), path, &mut out);
        self.record();
        wrote.then_some(out)
    }

    fn is_drained(&self) -> bool {
        self.session.is_drained()
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.session
            .poll_timeout()
            .map(|t| Duration::from_micros(t.as_micros()))
    }
}

/// The sending end.
pub(crate) struct Writer {
    end: End,
    application: Application,
    duration: Duration,
    stream: StreamId,
    /// Messages that are due by now; the number of them that the session accepted completely.
    due: u64,
    taken: u64,
    /// The rest of the current message, which the session has not accepted yet.
    left: Vec<u8>,
    /// Bytes of a file that are not written yet.
    unwritten: u64,
    finished: bool,
}

/// Bulk data are written in pieces of this many bytes.
const PIECE: usize = 16 << 10;

impl Writer {
    pub(crate) fn new(
        role: Role,
        config: Config,
        paths: &[Largest],
        seed: u64,
        application: Application,
        duration: Duration,
        recording: Option<Recording>,
    ) -> Self {
        let mut end = End::new(role, config, paths, seed, recording);
        let stream = end.session.open_stream();
        Writer {
            stream: stream.expect("a new session has room for a stream"),
            end,
            application,
            duration,
            due: 0,
            taken: 0,
            left: Vec::new(),
            unwritten: match application {
                Application::File { size } => size,
                _ => 0,
            },
            finished: false,
        }
    }

    pub(crate) fn due(&self) -> u64 {
        self.due
    }

    pub(crate) fn closed(&self) -> bool {
        self.end.closed
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.end.is_drained()
    }

    pub(crate) fn close(&mut self, now: Duration) {
        self.end.session.close(time(now), 0, "");
        self.end.record();
    }

    pub(crate) fn is_acknowledged(&self) -> bool {
        self.end.session.all_acknowledged()
    }

    pub(crate) fn stats(&self) -> Stats {
        self.end.session.stats()
    }

    /// What it knows of each path.
    pub(crate) fn path_reports(&self) -> Vec<PathReport> {
        let reports = self.end.session.paths();
        reports.map(|(_, report)| report).collect()
    }

    fn work(&mut self) {
        match self.application {
            Application::Cbr { .. } | Application::Video { .. } => self.messages(),
            Application::Bulk if self.end.now < self.duration => {
                while self.write(&[0; PIECE]) == PIECE {}
            }
            Application::Bulk => {}
            Application::Saturating { size } => self.saturate(size),
            Application::File { .. } => self.file(),
        }
    }

    fn write(&mut self, data: &[u8]) -> usize {
        self.end.session.write(self.stream, data).unwrap_or(0)
    }

    fn finish(&mut self) {
        if !self.finished {
            self.finished = self.end.session.finish(self.stream).is_ok();
        }
    }

    fn messages(&mut self) {
        let Some(timed) = self.application.timed() else {
            return;
        };
        while let Some(at) = due_time(timed, self.due, self.duration)
            && at <= self.end.now
        {
            self.due += 1;
        }
        loop {
            if self.left.is_empty() {
                if self.taken == self.due {
                    break;
                }
                let at = timed.due(self.taken);
                self.left = message(timed.size, at, self.taken);
                self.taken += 1;
            }
            let left = std::mem::take(&mut self.left);
            let n = self.write(&left);
            if n < left.len() {
                self.left = left[n..].to_vec();
                return;
            }
        }
        if due_time(timed, self.due, self.duration).is_none() {
            self.finish();
        }
    }

    /// Each message has the time at which its first byte was accepted.
    fn saturate(&mut self, size: usize) {
        loop {
            let mut left = std::mem::take(&mut self.left);
            if left.is_empty() {
                if self.end.now >= self.duration {
                    self.finish();
                    return;
                }
                left = message(size, self.end.now, self.taken);
            }
            let n = self.write(&left);
            // A message of which nothing was accepted is not due yet.
            if n == 0 && left.len() == size {
                return;
            }
            if left.len() == size {
                self.taken += 1;
                self.due += 1;
            }
            if n < left.len() {
                self.left = left[n..].to_vec();
                return;
            }
        }
    }

    fn file(&mut self) {
        while self.unwritten > 0 {
            let n = self.write(&[0; PIECE][..PIECE.min(self.unwritten as usize)]);
            if n == 0 {
                return;
            }
            self.unwritten -= n as u64;
        }
        self.finish();
    }
}

/// A message: its due time and its number, and filler.
fn message(size: usize, due: Duration, number: u64) -> Vec<u8> {
    let mut message = vec![0; size];
    message[..8].copy_from_slice(&(due.as_nanos() as u64).to_le_bytes());
    message[8..16].copy_from_slice(&number.to_le_bytes());
    message
}

/// When message `number` is due, `None` for messages after the end.
fn due_time(timed: Timed, number: u64, duration: Duration) -> Option<Duration> {
    Some(timed.due(number)).filter(|at| *at < duration)
}

impl Node for Writer {
    fn receive(&mut self, now: Duration, datagram: &[u8]) {
        self.receive_on(now, 0, datagram);
    }

    fn receive_on(&mut self, now: Duration, path: usize, datagram: &[u8]) {
        self.end.receive(now, path, datagram);
        self.work();
    }

    fn timeout(&mut self, now: Duration) {
        self.end.timeout(now);
        self.work();
    }

    fn transmit(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.transmit_on(now, 0)
    }

    fn transmit_on(&mut self, now: Duration, path: usize) -> Option<Vec<u8>> {
        let datagram = self.end.transmit(now, path);
        // A sent packet makes room.
        self.work();
        datagram.or_else(|| self.end.transmit(now, path))
    }

    fn next_timeout(&self) -> Option<Duration> {
        let message = match self.application {
            Application::Cbr { .. } | Application::Video { .. } => self
                .application
                .timed()
                .and_then(|timed| due_time(timed, self.due, self.duration)),
            // The end of the traffic.
            Application::Saturating { .. } if !self.finished && self.end.now < self.duration => {
                Some(self.duration)
            }
            _ => None,
        };
        [self.end.next_timeout(), message]
            .into_iter()
            .flatten()
            .min()
    }

    fn on_fate(&mut self, now: Duration, fate: Fate) {
        self.end.on_fate(now, fate);
    }
}

/// What the reader counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counting {
    /// Only messages that are due after this.
    pub(crate) skip: Duration,
    /// Messages that are read later than this after their due time are late.
    pub(crate) within: Option<Duration>,
}

/// The receiving end.
pub(crate) struct Reader {
    end: End,
    application: Application,
    counting: Counting,
    on_time: u64,
    stream: Option<StreamId>,
    delays: Delays,
    messages: u64,
    /// The part of the next message that was read.
    head: Vec<u8>,
    head_left: usize,
    bytes: u64,
    counted: u64,
    complete: Option<Duration>,
}

impl Reader {
    pub(crate) fn new(
        config: Config,
        paths: &[Largest],
        seed: u64,
        application: Application,
        counting: Counting,
        recording: Option<Recording>,
    ) -> Self {
        Reader {
            end: End::new(Role::Server, config, paths, seed, recording),
            application,
            counting,
            on_time: 0,
            stream: None,
            delays: Delays::default(),
            messages: 0,
            head: Vec::new(),
            head_left: 0,
            bytes: 0,
            counted: 0,
            complete: None,
        }
    }

    /// Whether everything was read, to the end of the stream.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete.is_some()
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.end.is_drained()
    }

    pub(crate) fn completion(&self) -> Option<Duration> {
        self.complete
    }

    pub(crate) fn closed(&self) -> bool {
        self.end.closed
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn counted(&self) -> u64 {
        self.counted
    }

    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// Share of counted messages that were not late.
    pub(crate) fn on_time(&self) -> Option<f64> {
        let all = self.delays.len();
        let told = self.counting.within.filter(|_| all > 0);
        told.map(|_| self.on_time as f64 / all as f64)
    }

    pub(crate) fn delays(&self) -> &Delays {
        &self.delays
    }

    /// Missing messages count with the time they have waited.
    pub(crate) fn count_missing(&mut self, due: u64, now: Duration) {
        if let Some(timed) = self.application.timed() {
            for number in self.messages..due {
                self.count(timed.due(number), now);
            }
        }
    }

    fn count(&mut self, due: Duration, now: Duration) {
        if due >= self.counting.skip {
            let delay = now.saturating_sub(due);
            self.on_time += u64::from(self.counting.within.is_some_and(|w| delay <= w));
            self.delays.add(delay.as_nanos() as i64);
        }
    }

    fn read(&mut self) {
        let mut buf = [0; 4096];
        loop {
            let Some(stream) = self.stream.or_else(|| self.end.session.accept_stream()) else {
                return;
            };
            self.stream = Some(stream);
            match self.end.session.read(stream, &mut buf) {
                Ok(0) => {
                    self.complete.get_or_insert(self.end.now);
                    return;
                }
                Ok(n) => {
                    self.bytes += n as u64;
                    self.counted += if self.end.now >= self.counting.skip {
                        n as u64
                    } else {
                        0
                    };
                    if let Some(size) = self.application.message() {
                        self.split_messages(&buf[..n], size);
                    }
                }
                Err(_) => return,
            }
        }
    }

    /// Splits the data into messages.
    fn split_messages(&mut self, mut data: &[u8], size: usize) {
        while !data.is_empty() {
            if self.head_left == 0 {
                self.head_left = size;
                self.head.clear();
            }
            let n = data.len().min(self.head_left);
            let (piece, rest) = data.split_at(n);
            let wanted = 16_usize.saturating_sub(self.head.len()).min(n);
            self.head.extend_from_slice(&piece[..wanted]);
            self.head_left -= n;
            data = rest;
            if self.head_left == 0 {
                let field = |at: usize| {
                    let bytes = self.head[at..at + 8].try_into();
                    u64::from_le_bytes(bytes.expect("a message begins with two fields"))
                };
                let (due, number) = (field(0), field(8));
                assert_eq!(
                    number, self.messages,
                    "the engine delivered a message out of order"
                );
                self.messages += 1;
                self.count(Duration::from_nanos(due), self.end.now);
            }
        }
    }
}

impl Node for Reader {
    fn receive(&mut self, now: Duration, datagram: &[u8]) {
        self.receive_on(now, 0, datagram);
    }

    fn receive_on(&mut self, now: Duration, path: usize, datagram: &[u8]) {
        self.end.receive(now, path, datagram);
        self.read();
    }

    fn timeout(&mut self, now: Duration) {
        self.end.timeout(now);
        self.read();
    }

    fn transmit(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.transmit_on(now, 0)
    }

    fn transmit_on(&mut self, now: Duration, path: usize) -> Option<Vec<u8>> {
        self.end.transmit(now, path)
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.end.next_timeout()
    }

    fn on_fate(&mut self, now: Duration, fate: Fate) {
        self.end.on_fate(now, fate);
    }
}
