//! The session: the state machine that ties one flow each way to streams and messages.

mod bottleneck;
mod closing;
mod hello;
mod logging;
mod long;
mod path;
mod paths;
mod pieces;
mod schedule;
mod sizes;
#[cfg(test)]
mod testing;
mod transmit;

use core::time::Duration;

use bytes::Bytes;
use tracing::{debug, trace};

use crate::check::ConfigError;
use crate::config::Config;
use crate::error::{OpenError, ReadError, SendMessageError, WriteError};
use crate::event::{CloseReason, Event, Message, MessageId, Role, StreamId};
use crate::limits::{Limits, USUAL_SYMBOL};
use crate::log::EventLog;
use crate::path::PathId;
use crate::payload::Payload;
use crate::printable::printable;
use crate::receiver::{Drop, Receiver};
use crate::sender::{Fired, Sender, Setup};
use crate::stats::{DroppedStats, PathStats, ReceivedStats, SentStats, Stats};
use crate::time::Time;
use crate::violation::Violation;
use crate::wire::{
    CloseClass, Datagram, FeedbackView, MIN_SYMBOL_SIZE, Malformed, REPAIR_OVERHEAD,
    close_overhead, is_piece,
};

use bottleneck::Bottlenecks;
use closing::Closing;
use hello::Handshake;
use path::{Carried, Path};

/// A report may be late by this much besides the usual variation.
const REPORT_PATIENCE: Duration = Duration::from_millis(25);

/// A probe after such a silence is one of a pause, not of a peer that asks for a report of what flows.
const PAUSE: Duration = Duration::from_millis(100);

/// A session that is over does not stay for long, even if an outage has spoiled its estimate of
/// the round-trip time.
const LONGEST_LINGER: Duration = Duration::from_secs(2);

/// One end of a session.
///
/// The drive loop is an invariant of the driver's: after *any* call that changes the session
/// (a datagram, a timeout, anything of the application's), take all events with
/// [`poll_event`](Self::poll_event), send what [`poll_transmit`](Self::poll_transmit) gives until
/// it gives nothing, and set a timer to [`poll_timeout`](Self::poll_timeout), at which
/// [`handle_timeout`](Self::handle_timeout) is due. After a call of the application's the events are
/// enough, unless the session then [wants to send](Self::wants_to_send).
///
/// A session begins with one path, [`PathId::FIRST`]; [`add_path`](Self::add_path) adds others. The calls
/// that name no path mean the first one. With several, ask each with
/// [`poll_transmit_on`](Self::poll_transmit_on) until none has anything to send.
///
/// Memory is bounded by [`Config::limits`] and [`Config::send_buffer`]; the work for one datagram
/// by the bounds of [`weftline_codec::DecoderConfig`].
#[derive(Debug)]
pub struct Session {
    role: Role,
    config: Config,
    limits: Limits,
    payload: Payload,
    sender: Sender,
    receiver: Receiver,
    handshake: Handshake,
    /// At least one, in the order of the sender's and the receiver's.
    paths: Vec<Path>,
    /// The newest name that was given to a path.
    newest_path: PathId,
    bottlenecks: Option<Box<Bottlenecks>>,
    /// Since when data has waited for a path at any time.
    waiting_since: Option<Time>,
    closing: Option<Closing>,
    last_received: Time,
    /// The peer has done more than say hello, which anybody can in another's name where the
    /// carrier authenticates nobody: only then is it worth keeping the session alive.
    acquainted: bool,
    /// Bytes of a source symbol that both ends agree to and that the path takes.
    symbol_size: u16,
    /// Bytes of a source symbol that both ends agree to, usually and at a high rate.
    agreed_size: u16,
    agreed_long: u16,
    /// The rate is high enough for long symbols.
    long: bool,
    /// The carrier takes several datagrams at a time, best if they are equally long.
    in_batches: bool,
    symbol: Vec<u8>,
    /// What paths have carried that are gone; `None` before the first goes.
    gone: Option<Box<Carried>>,
    dropped: DroppedStats,
    log: Option<Box<EventLog>>,
}

impl Session {
    /// A session that begins at `now`. The `seed` only decorrelates repair keys; equal seeds and
    /// equal calls give equal datagrams.
    ///
    /// # Errors
    /// The configuration cannot be used: see [`Config::check`].
    pub fn new(
        role: Role,
        config: impl Into<Config>,
        seed: u64,
        now: Time,
    ) -> Result<Self, ConfigError> {
        let config = config.into();
        config.check()?;
        let limits = config.limits.announced();
        let symbol_size = config.symbol_size;
        let setup = Setup {
            scheme: &config.scheme,
            symbol_size: config.longest_symbol(),
            usual_size: symbol_size.min(USUAL_SYMBOL),
            capacity: limits.symbols,
            initial_rtt: config.initial_rtt,
            report_interval: config.feedback.longest(),
            datagram_overhead: config.datagram_overhead,
            seed,
        };
        let least = Limits::LEAST;
        let mut session = Session {
            role,
            limits,
            payload: Payload::new(role, &config, limits, least, now),
            sender: Sender::new(&setup, least, now),
            receiver: Receiver::new(limits, hello::FEEDBACK_BEFORE_HELLO),
            handshake: Handshake::new(role, now),
            paths: vec![Path::new(PathId::FIRST, &config, now)],
            newest_path: PathId::FIRST,
            bottlenecks: None,
            waiting_since: None,
            closing: None,
            last_received: now,
            acquainted: role == Role::Client,
            symbol_size: symbol_size.min(MIN_SYMBOL_SIZE),
            agreed_size: symbol_size.min(MIN_SYMBOL_SIZE),
            agreed_long: 0,
            long: false,
            in_batches: false,
            symbol: Vec::new(),
            gone: None,
            dropped: DroppedStats::default(),
            log: None,
            config,
        };
        session.fit_symbols();
        Ok(session)
    }

    /// Which end this is.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Takes a datagram from the carrier. Whatever it holds, nothing worse happens than a count
    /// in [`DroppedStats`] or, for a peer that breaks the protocol, the end of the session.
    pub fn handle_datagram(&mut self, now: Time, datagram: &[u8]) {
        self.handle_datagram_on(now, PathId::FIRST, datagram);
    }

    /// As [`Self::handle_datagram`], for a datagram that came on this path. One of a path that the
    /// session does not have is ignored.
    pub fn handle_datagram_on(&mut self, now: Time, path: PathId, datagram: &[u8]) {
        let Some(path) = self.index(path) else {
            return;
        };
        self.time_log(now);
        if let Some(closing) = &mut self.closing {
            closing.datagram_arrived(now);
            return;
        }
        let joined;
        let datagram = match is_piece(datagram) {
            false => datagram,
            true => match self.join(path, datagram) {
                Some(whole) => {
                    joined = whole;
                    &joined[..]
                }
                None => return,
            },
        };
        let parsed = match Datagram::parse(datagram) {
            Ok(parsed) => parsed,
            Err(Malformed::Version(_)) => {
                self.fail(now, Violation::Version);
                return;
            }
            Err(error) => {
                trace!(%error, len = datagram.len(), "datagram dropped");
                self.dropped.malformed += 1;
                self.log_received(now, path, datagram, Err(Drop::Malformed));
                return;
            }
        };
        let is_hello = matches!(parsed, Datagram::Hello(_));
        let outcome = match parsed {
            Datagram::Source {
                coded,
                payload,
                riders,
            } => (self.receiver).on_source(now, path, &coded, payload, riders.as_ref()),
            Datagram::Repair {
                coded,
                nss,
                key,
                data,
            } => self.receiver.on_repair(now, path, &coded, nss, key, data),
            Datagram::FieldRepair {
                coded,
                nss,
                code,
                data,
            } => (self.receiver).on_field_repair(now, path, &coded, nss, &code, data),
            Datagram::Probe(coded) => {
                let outcome = self.receiver.on_probe(now, path, &coded);
                if now.since(self.last_received) >= PAUSE {
                    self.release();
                }
                outcome
            }
            Datagram::Feedback(report) => {
                self.paths[path].carried.reports += 1;
                let taken = self.on_feedback(now, path, &report);
                self.follow_discovery();
                self.acknowledged(now);
                match taken {
                    Ok(Some(progress)) => {
                        self.on_pace(now, path, progress.arrived);
                        let pacer = &mut self.paths[path].pacer;
                        pacer.on_report(now, &progress);
                        self.sender.path_mut(path).set_hold(pacer.hold());
                        Ok(())
                    }
                    Ok(None) => Ok(()),
                    Err(_) => Err(Drop::Inconsistent),
                }
            }
            Datagram::Hello(hello) => {
                if self.handshake.on_hello(&hello) {
                    self.connected(&hello);
                }
                Ok(())
            }
            // Pieces of pieces are nobody's.
            Datagram::Piece(_) => Err(Drop::Malformed),
            Datagram::Close {
                report,
                class,
                code,
                reason,
            } => {
                if let Some(report) = report {
                    self.take_last_report(now, path, &report);
                }
                let reason = printable(&reason);
                let reason = match class {
                    CloseClass::Application => CloseReason::Peer { code, reason },
                    CloseClass::Protocol => CloseReason::Refused(reason),
                };
                self.end(now, Closing::by_peer(reason));
                Ok(())
            }
        };
        match outcome {
            Ok(()) => {
                let Path { carried, asked, .. } = &mut self.paths[path];
                carried.received += 1;
                carried.received_bytes += datagram.len() as u64;
                *asked = 0;
                // Only what passed all checks keeps a session alive.
                self.last_received = now;
                self.acquainted |= !is_hello;
            }
            Err(Drop::Malformed) => self.dropped.malformed += 1,
            Err(Drop::Replayed) => self.dropped.replayed += 1,
            Err(Drop::OutOfWindow) => self.dropped.out_of_window += 1,
            Err(Drop::Inconsistent) => self.dropped.inconsistent += 1,
        }
        self.log_received(now, path, datagram, outcome);
        self.deliver(now);
        self.log_handled(now, datagram);
    }

    /// CLOSE says what the peer had when it closed.
    fn take_last_report(&mut self, now: Time, path: usize, report: &FeedbackView<'_>) {
        let needless = Payload::is_needless_to_closed_peer;
        // A report that cannot be true does not change the end.
        let taken = (self.sender).on_last_feedback(now, path, report, needless);
        if taken.is_ok() {
            self.acknowledged(now);
        }
    }

    /// Tells streams and messages what the peer has.
    fn acknowledged(&mut self, now: Time) {
        let edge = self.sender.edge();
        let patience = self.sender.patience(REPORT_PATIENCE);
        let abandoned = self.sender.abandoned();
        self.payload.acknowledged(now, edge, abandoned, patience);
    }

    fn join(&mut self, path: usize, datagram: &[u8]) -> Option<Vec<u8>> {
        let longest = usize::from(self.limits.symbol_size) + REPAIR_OVERHEAD;
        match Datagram::parse(datagram) {
            Ok(Datagram::Piece(piece)) => self.paths[path].joiner.join(&piece, longest),
            _ => {
                self.dropped.malformed += 1;
                None
            }
        }
    }

    fn connected(&mut self, hello: &crate::wire::Hello) {
        debug!(limits = ?hello.limits, "peer's hello arrived");
        self.agreed_size = self.config.symbol_size.min(hello.limits.symbol_size);
        self.agreed_long = (self.config.longest_symbol()).min(hello.limits.symbol_size);
        self.fit_symbols();
        self.sender.set_peer_limits(hello.limits, hello.riders);
        self.payload.set_peer_limits(hello.limits);
        self.receiver.set_reports(hello.feedback, hello.measuring);
        self.payload.events.push_back(Event::Connected);
    }

    /// Whether the carrier hands datagrams to the system in batches, because many leave at a time.
    /// The system cuts equal datagrams from one buffer (GSO): source datagrams among repairs are then
    /// made as long as those, by a few bytes. False unless set.
    pub fn set_in_batches(&mut self, in_batches: bool) {
        self.in_batches = in_batches;
    }

    /// How often the path has marked datagrams since the session began, as the carrier knows (ECN,
    /// RFC 3168): with [`RateControl::Adaptive`](crate::RateControl::Adaptive) more of them slow the
    /// session down, once a round trip.
    pub fn set_congestion_marks(&mut self, count: u64) {
        self.set_congestion_marks_on(PathId::FIRST, count);
    }

    /// As [`Self::set_congestion_marks`], for this path.
    pub fn set_congestion_marks_on(&mut self, path: PathId, count: u64) {
        if let Some(path) = self.index(path) {
            self.paths[path].pacer.marked(count);
        }
    }

    /// The carrier has dropped every datagram that it was given until now, and says so: QUIC does
    /// when the peer refuses early data (RFC 9001, section 4.6.2). All of it leaves again, at once;
    /// nothing is concluded about the path.
    pub fn carrier_dropped_all(&mut self, now: Time) {
        self.handshake.dropped();
        self.sender.on_all_dropped(now);
    }

    /// Hands newly known symbols to streams and messages.
    fn deliver(&mut self, now: Time) {
        let remote = self.receiver.remote(now);
        while let Some(esi) = self.receiver.next_known() {
            self.log_known(esi);
            let Some(symbol) = self.receiver.decoder().symbol(esi) else {
                continue;
            };
            if let Err(violation) = self.payload.on_symbol(remote, symbol) {
                self.fail(now, violation);
                return;
            }
        }
    }

    /// The peer broke the protocol.
    fn fail(&mut self, now: Time, violation: Violation) {
        debug!(%violation, "session failed");
        let linger = self.linger();
        self.end(now, Closing::by_violation(now, linger, violation));
    }

    fn end(&mut self, now: Time, closing: Closing) {
        if self.closing.is_none() {
            self.log_closed(now, closing.reason());
            debug!(reason = %closing.reason(), "session over");
            self.payload
                .events
                .push_back(Event::Closed(closing.reason().clone()));
            self.closing = Some(closing);
        }
    }

    /// How long CLOSE is repeated for a peer that still sends. The peer may have measured no round
    /// trip yet, and ask only after the timeout that it began with.
    fn linger(&self) -> Duration {
        let timeout = self.sender.rtt().probe_timeout(Duration::ZERO);
        let timeout = timeout.max(self.config.initial_rtt);
        timeout.min(LONGEST_LINGER)
    }

    /// A timer that [`Self::poll_timeout`] named has come.
    pub fn handle_timeout(&mut self, now: Time) {
        self.time_log(now);
        if let Some(closing) = &mut self.closing {
            closing.timer(now);
            return;
        }
        if now >= self.last_received + self.config.idle_timeout {
            let seconds = self.config.idle_timeout.as_secs();
            self.end(now, Closing::silent(CloseReason::TimedOut { seconds }));
            return;
        }
        self.handshake.on_timeout(now);
        self.receiver.on_timeout(now);
        self.payload.on_timeout(now);
        for fired in self.sender.on_timeout(now) {
            match fired {
                Fired::Retransmission(path) => {
                    self.paths[path].carried.sent.timeouts += 1;
                    let times = self.sender.paths()[path].timeouts_in_a_row();
                    self.paths[path].pacer.timed_out(times);
                    trace!("retransmission timer");
                }
                Fired::Silent(path) => self.on_silent(now, path),
            }
        }
        self.follow_discovery();
        self.acknowledged(now);
        self.log_acknowledged(now);
        for path in 0..self.paths.len() {
            if self.keep_alive_time(path).is_some_and(|t| t <= now) {
                let state = &mut self.paths[path];
                state.probe_due = true;
                state.asked = state.asked.saturating_add(1);
                // The peer answers, and does not probe in its turn.
                self.release();
            }
            let state = &mut self.paths[path];
            state.paced_until = state.paced_until.filter(|t| *t > now);
            state.size_probe_at = state.size_probe_at.filter(|t| *t > now);
        }
    }

    /// Frees the memory of busier times, which is not needed in a pause.
    fn release(&mut self) {
        self.receiver.release();
        self.sender.release();
        self.payload.release();
        self.symbol = Vec::new();
    }

    fn keep_alive_time(&self, path: usize) -> Option<Time> {
        let path = &self.paths[path];
        if path.probe_due || !self.acquainted {
            return None;
        }
        // One probe or its answer may be lost.
        let longest = self.config.idle_timeout / 3;
        self.config
            .keep_alive
            .map(|interval| path.last_sent + interval.min(longest))
    }

    /// The earliest timer; `None` when the session is over and can be dropped.
    pub fn poll_timeout(&self) -> Option<Time> {
        if let Some(closing) = &self.closing {
            return closing.next_timeout();
        }
        let all = [
            Some(self.last_received + self.config.idle_timeout),
            self.handshake.next_timeout(),
            self.receiver.report_due(),
            self.sender.next_timeout(),
            self.payload.next_timeout(),
            self.payload.next_fate(),
        ];
        let mut next = all.into_iter().flatten().min();
        for path in 0..self.paths.len() {
            let timers = self.path_timers(path).into_iter().flatten();
            next = next.into_iter().chain(timers).min();
        }
        next
    }

    /// Whether something of the application's waits to be sent, or the session is over. When a call of
    /// the application's leaves this false, no datagram and no timer has changed: a driver need only
    /// take the events.
    pub fn wants_to_send(&self) -> bool {
        self.closing.is_some() || self.payload.is_waiting()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.payload.events.pop_front()
    }

    fn alive(&self) -> Result<(), CloseReason> {
        match &self.closing {
            Some(closing) => Err(closing.reason().clone()),
            None => Ok(()),
        }
    }

    /// Opens a stream, which both ends can write to and read from.
    pub fn open_stream(&mut self) -> Result<StreamId, OpenError> {
        self.alive().map_err(OpenError::Closed)?;
        self.payload.open_stream()
    }

    /// Takes a stream that the peer has opened.
    pub fn accept_stream(&mut self) -> Option<StreamId> {
        self.payload.accept_stream()
    }

    /// Writes bytes to a stream; returns how many were taken, at least one unless `data` is empty.
    pub fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, WriteError> {
        self.alive().map_err(WriteError::Closed)?;
        let taken = self.payload.write(id, data)?;
        self.log_written(id, taken);
        Ok(taken)
    }

    /// Ends a stream after what was written; [`Event::StreamFinished`] follows when the peer has
    /// all of it.
    pub fn finish(&mut self, id: StreamId) -> Result<(), WriteError> {
        self.alive().map_err(WriteError::Closed)?;
        self.payload.finish(id)
    }

    /// Gives up writing to a stream: the peer learns `code`, and what was not sent is dropped.
    pub fn reset(&mut self, id: StreamId, code: u64) {
        self.payload.reset(id, code);
    }

    /// Reads in-order bytes of a stream. `Ok(0)` for a non-empty `buf`: the peer finished the
    /// stream and all of it was read; as after a reset, do not read it again.
    ///
    /// What arrived before the session ended can still be read after it.
    pub fn read(&mut self, id: StreamId, buf: &mut [u8]) -> Result<usize, ReadError> {
        match self.payload.read(id, buf) {
            Err(ReadError::Blocked) => Err(match self.alive() {
                Ok(()) => ReadError::Blocked,
                Err(reason) => ReadError::Closed(reason),
            }),
            other => other,
        }
    }

    /// Reads no more of a stream: the peer learns `code`, and what arrives is dropped.
    pub fn stop(&mut self, id: StreamId, code: u64) {
        self.payload.stop(id, code);
    }

    /// Sends a message, delivered whole and in no particular order.
    ///
    /// With a `deadline`, counted from now, it is worthless to the peer when it would arrive
    /// later: nothing more is spent on it then. Without, it is delivered whatever it takes.
    ///
    /// [`Event::MessageDelivered`] or [`Event::MessageExpired`] tells later what became of it,
    /// unless the session ends first.
    pub fn send_message(
        &mut self,
        now: Time,
        data: impl Into<Bytes>,
        deadline: Option<Duration>,
    ) -> Result<MessageId, SendMessageError> {
        self.alive().map_err(SendMessageError::Closed)?;
        let (latest, data) = (self.latest(now, deadline), data.into());
        let bytes = data.len() as u64;
        let id = self.payload.send_message(data, latest)?;
        self.log_message(now, id, bytes);
        Ok(id)
    }

    /// As [`Self::send_message`], but the message has a source symbol to itself: it is never cut
    /// in pieces, and nothing shares its fate. For datagrams of others, which must not be lost
    /// together. The bound is [`Self::message_alone_max`].
    pub fn send_message_alone(
        &mut self,
        now: Time,
        data: impl Into<Bytes>,
        deadline: Option<Duration>,
    ) -> Result<MessageId, SendMessageError> {
        self.alive().map_err(SendMessageError::Closed)?;
        let latest = self.latest(now, deadline);
        let (size, data) = (usize::from(self.fitted(self.agreed_size)), data.into());
        let bytes = data.len() as u64;
        let id = self.payload.send_message_alone(data, latest, size)?;
        self.log_message(now, id, bytes);
        Ok(id)
    }

    /// Bytes of the longest message that [`Self::send_message_alone`] takes: the symbol size
    /// that both ends agree to, less the longest header. It may grow when the peer's HELLO
    /// arrives or the path takes more, and shrink when the path does.
    pub fn message_alone_max(&self) -> usize {
        self.payload
            .message_alone_max(usize::from(self.fitted(self.agreed_size)))
    }

    /// The latest time of sending at which what is sent can arrive by `deadline`.
    fn latest(&self, now: Time, deadline: Option<Duration>) -> Option<Time> {
        // Half of the smallest round trip is spent on the way whatever happens.
        let on_the_way = self.sender.rtt().min() / 2;
        let measured = self.sender.rtt().is_measured();
        deadline.map(|d| {
            now + if measured {
                d.saturating_sub(on_the_way)
            } else {
                d
            }
        })
    }

    /// Whether a message of this length would be taken now; if not, [`Event::MessageWritable`] tells
    /// when to ask again.
    pub fn has_message_room(&mut self, bytes: usize) -> bool {
        self.payload.has_message_room(bytes)
    }

    /// From now on, at most `bytes` bytes of messages may wait to be sent, instead of
    /// [`Config::send_buffer`]; the limit of streams stays. What waits already is not dropped.
    pub fn set_message_buffer(&mut self, bytes: usize) {
        self.payload.set_message_buffer(bytes);
    }

    /// Takes a message.
    pub fn recv_message(&mut self) -> Option<Message> {
        self.payload.recv_message()
    }

    /// Ends the session at once, for the peer too: `code` 0 says that all went well. To be sure
    /// that the peer has everything, wait for [`Self::all_acknowledged`] first. The peer learns with
    /// the end what of its own data arrived here.
    pub fn close(&mut self, now: Time, code: u64, reason: &str) {
        if self.closing.is_some() {
            return;
        }
        let mut report = Vec::new();
        let longest = usize::from(self.symbol_size) + REPAIR_OVERHEAD;
        let room = longest.min(self.largest_datagram());
        let max = room.saturating_sub(close_overhead(reason));
        // About the main path, or another one if nothing has arrived there.
        let main = self.sender.main();
        let mut paths = core::iter::once(main).chain(0..self.paths.len());
        let about = paths.find(|&path| self.receiver.report(now, path, max, &mut report));
        let path = self.paths[about.unwrap_or(main)].id;
        let linger = self.linger();
        let closing = Closing::by_us(now, linger, (path, &report), code, reason);
        self.end(now, closing);
    }

    /// Whether the peer has everything that was written, finished or sent.
    pub fn all_acknowledged(&self) -> bool {
        self.payload.is_drained() && self.sender.is_idle()
    }

    /// Why the session is over, if it is.
    pub fn close_reason(&self) -> Option<&CloseReason> {
        self.closing.as_ref().map(Closing::reason)
    }

    /// Nothing more will be sent: the session can be dropped.
    pub fn is_drained(&self) -> bool {
        self.closing
            .as_ref()
            .is_some_and(|c| c.next_timeout().is_none())
    }

    /// Bytes that the peer can make this end hold at most: see [`Config::memory`].
    pub fn memory(&self) -> u64 {
        self.config.memory()
    }

    /// Bytes that this end holds for the peer now: symbols and equations of the decoder, symbols that
    /// the peer has not acknowledged, what the application has not read, and what waits to be sent;
    /// with the memory that is kept for reuse until the next pause. At most [`Self::memory`], and
    /// [`PathStats::queued`] more. O(1).
    pub fn held(&self) -> u64 {
        self.receiver.held() + self.sender.held() + self.payload.held()
    }

    /// A snapshot of the counters and estimates.
    pub fn stats(&self) -> Stats {
        let [source_symbols, recovered_symbols, abandoned_symbols] = self.receiver.decoded();
        let counts = self.receiver.counts();
        let mut carried = self.gone.as_deref().copied().unwrap_or_default();
        for (path, sender) in self.paths.iter().zip(self.sender.paths()) {
            carried.add(&path.carried, sender.losses());
        }
        Stats {
            sent: SentStats {
                data: self.payload.counts.sent,
                expired_messages: self.payload.counts.expired_messages,
                ..carried.sent
            },
            received: ReceivedStats {
                last_heard: self.last_received,
                source_symbols,
                repair_symbols: counts.repair_symbols,
                useful_repairs: counts.useful_repairs,
                recovered_symbols,
                abandoned_symbols,
                data: self.payload.counts.received,
                late_messages: self.payload.counts.late_messages,
                refused_fragments: self.payload.counts.refused_fragments,
                datagrams: carried.received,
                bytes: carried.received_bytes,
                feedback: carried.reports,
            },
            dropped: self.dropped,
            stalls: self.receiver.stalls(),
            budget: self.sender.budget(),
            path: PathStats {
                rtt: self.sender.rtt().smoothed(),
                min_rtt: self.sender.rtt().min(),
                loss: self.sender.loss().rate(),
                mean_burst: self.sender.loss().mean_burst(),
                in_flight: self.sender.in_flight(),
                unacknowledged: self.sender.unacknowledged(),
                queued: self.payload.queued(),
            },
        }
    }
}
