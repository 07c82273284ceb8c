//! The hooks of the event log. Each is one branch while the log is off.

use std::collections::VecDeque;

use weftline_codec::Esi;

use super::{Drop, Session};
use crate::event::{CloseReason, MessageId, StreamId};
use crate::log::{
    CodingVectorKind, DropReason, EndReason, EsiRun, EventLog, Few, HoldReason, LogEntry, LogEvent,
    LogReport, Numbered, ReceiverState, RepairReason,
};
use crate::path::PathId;
use crate::receiver::Receiver;
use crate::sender::Action;
use crate::time::{Time, micros};
use crate::wire::{
    Coded, CodingVector, Datagram, FeedbackView, Frame, Frames, LOSS_UNITS, complete,
};

/// Runs of an entry about a report.
const MOST_RUNS: usize = 128;

impl Session {
    /// Starts the event log, or a new one: entries wait for [`poll_log`](Self::poll_log), at most
    /// `capacity` of them. If more come, the newest are left out, and a
    /// [`Gap`](LogEvent::Gap) says how many. The log changes nothing that the session does.
    ///
    /// ```
    /// use weftline_proto::{Config, LogEvent, Role, Session, Time};
    ///
    /// let mut session = Session::new(Role::Client, Config::default(), 1, Time::ZERO)?;
    /// session.start_log(10_000);
    /// let mut datagram = Vec::new();
    /// while session.poll_transmit(Time::ZERO, &mut datagram) {}
    /// let entry = session.poll_log().expect("HELLO was sent");
    /// assert!(matches!(entry.event, LogEvent::HelloSent { .. }));
    /// # Ok::<(), weftline_proto::ConfigError>(())
    /// ```
    ///
    /// An entry holds no more than 128 runs of ESIs, or as many as
    /// [`Limits::unknowns`](crate::Limits) when symbols are decoded.
    pub fn start_log(&mut self, capacity: usize) {
        let edge = self.sender.edge();
        let log = EventLog::new(capacity, edge, state(&self.receiver));
        self.log = Some(Box::new(log));
    }

    /// Ends the event log. Entries that wait are dropped.
    pub fn stop_log(&mut self) {
        self.log = None;
    }

    /// The next entry of the event log. Entries come in the order of what happened; `None` if there
    /// is none now, or no log.
    pub fn poll_log(&mut self) -> Option<LogEntry> {
        self.log.as_mut()?.pop()
    }

    /// All entries that wait, in exchange for `empty`, which must be that: for a driver that takes many at
    /// a time and has no time to lose. Without a log nothing is exchanged.
    pub fn take_log(&mut self, empty: &mut VecDeque<LogEntry>) {
        if let Some(log) = &mut self.log {
            log.take(empty);
        }
    }

    /// Tells the event log, if there is one, when the application's calls since the last call with a time
    /// were: [`Self::write`] knows no time. Without this they seem to be as late as the next such call.
    #[inline]
    pub fn time_log(&mut self, now: Time) {
        if let Some(log) = &mut self.log {
            log.on_time(now);
        }
    }

    /// The application wrote to a stream.
    #[inline]
    pub(super) fn log_written(&mut self, id: StreamId, bytes: usize) {
        if let Some(log) = &mut self.log
            && bytes > 0
        {
            log.on_written(id.0, bytes as u64);
        }
    }

    /// The application gave a message.
    #[inline]
    pub(super) fn log_message(&mut self, now: Time, id: MessageId, bytes: u64) {
        if let Some(log) = &mut self.log {
            log.on_time(now);
            let written = LogEvent::Written {
                stream: None,
                message: Some(id.0),
                bytes,
            };
            log.push(now, written);
        }
    }

    /// The session has nothing to send on this path now.
    #[inline]
    pub(super) fn log_held(&mut self, now: Time, path: usize) {
        if self.log.is_some() && self.closing.is_none() {
            let by = self.held_by(now, path);
            let path = self.paths[path].id;
            if let Some(log) = &mut self.log {
                log.on_held(now, path, by);
            }
        }
    }

    /// Why data waits on this path, if it does.
    fn held_by(&self, now: Time, index: usize) -> Option<HoldReason> {
        // A stream that its peer holds up does not count as waiting there.
        if self.payload.queued() == 0 && !self.payload.is_waiting() {
            return None;
        }
        let (path, in_flight) = (&self.paths[index], self.sender.paths()[index].in_flight());
        Some(if !self.payload.sendable() {
            HoldReason::Credit
        } else if !self.sender.has_room() {
            HoldReason::Symbols
        } else if !path.pacer.window_open(in_flight) {
            HoldReason::Window
        } else if path.pacer.next_departure().is_some_and(|at| at > now) {
            HoldReason::Rate
        } else if self.paths.len() > 1 {
            HoldReason::OtherPath
        } else {
            HoldReason::Scheme
        })
    }

    /// The session writes what the scheme chose.
    #[inline]
    pub(super) fn log_action(&mut self, path: usize, action: &Action) {
        if let Some(log) = &mut self.log {
            let top_up = matches!(action, Action::Repair { top_up: true, .. });
            let reason = match (self.sender.paths()[path].is_probe_due(), top_up) {
                (true, _) => RepairReason::Probe,
                (false, true) => RepairReason::TopUp,
                (false, false) => RepairReason::Scheduled,
            };
            log.on_action(reason, matches!(action, Action::Again(_)));
        }
    }

    /// The session wrote `datagram`.
    #[inline]
    pub(super) fn log_sent(&mut self, now: Time, path: usize, datagram: &[u8]) {
        if let Some(log) = &mut self.log {
            log.set_path(self.paths[path].id);
            sent(log, now, datagram, self.sender.edge());
        }
    }

    /// Source symbols from `first` on entered the encoding window, and will not be sent as they are.
    #[inline]
    pub(super) fn log_filled(&mut self, now: Time, first: Esi) {
        let next = self.sender.next_esi();
        if let Some(log) = &mut self.log
            && next > first
        {
            let ends = |esi: &Esi| self.sender.symbol(*esi).is_some_and(is_end);
            let (count, fin) = (next - first, (first..next).any(|esi| ends(&esi)));
            log.on_new_source();
            log.push(now, LogEvent::Filled { first, count, fin });
            for esi in (first..next).filter(ends) {
                log.push(now, LogEvent::EndOfData { esi });
            }
        }
    }

    /// The session took `datagram`, or refused it.
    #[inline]
    pub(super) fn log_received(
        &mut self,
        now: Time,
        path: usize,
        datagram: &[u8],
        outcome: Result<(), Drop>,
    ) {
        if self.log.is_some() {
            self.log_received_now(now, path, datagram, outcome);
        }
    }

    #[cold]
    fn log_received_now(
        &mut self,
        now: Time,
        path: usize,
        datagram: &[u8],
        outcome: Result<(), Drop>,
    ) {
        let Some(log) = &mut self.log else { return };
        log.set_path(self.paths[path].id);
        let size = datagram.len() as u32;
        if let Err(reason) = outcome {
            let reason = match reason {
                Drop::Malformed => DropReason::Malformed,
                Drop::Replayed => DropReason::Replayed,
                Drop::OutOfWindow => DropReason::OutOfWindow,
                Drop::Inconsistent => DropReason::Inconsistent,
            };
            log.push(now, LogEvent::Dropped { size, reason });
        } else if let Ok(parsed) = Datagram::parse(datagram) {
            let news = received(log, now, &parsed, size, &self.receiver, self.sender.edge());
            if news {
                let estimates = self.estimates(path);
                if let Some(log) = &mut self.log {
                    log.push(now, estimates);
                }
            }
        }
    }

    /// The session took what followed from `datagram`.
    #[inline]
    pub(super) fn log_handled(&mut self, now: Time, datagram: &[u8]) {
        if self.log.is_some() {
            self.log_handled_now(now, datagram);
        }
    }

    #[cold]
    fn log_handled_now(&mut self, now: Time, datagram: &[u8]) {
        let state = state(&self.receiver);
        let own = match Datagram::parse(datagram) {
            Ok(Datagram::Source { coded, .. }) => Some(complete(coded.esi, state.edge)),
            _ => None,
        };
        if let Some(log) = &mut self.log {
            log.on_received(now, own, state);
        }
        self.log_acknowledged(now);
    }

    /// A received or decoded symbol became known.
    #[inline]
    pub(super) fn log_known(&mut self, esi: Esi) {
        if let Some(log) = &mut self.log {
            let symbol = self.receiver.decoder().symbol(esi);
            log.on_known(esi, symbol.is_some_and(is_end));
        }
    }

    /// A report or a timer may have moved the sender's edge.
    #[inline]
    pub(super) fn log_acknowledged(&mut self, now: Time) {
        if self.log.is_some() {
            let all = self.all_acknowledged();
            let (edge, next) = (self.sender.edge(), self.sender.next_esi());
            if let Some(log) = &mut self.log {
                log.on_acknowledged(now, edge, next, all);
            }
        }
    }

    /// The session is over.
    pub(super) fn log_closed(&mut self, now: Time, reason: &CloseReason) {
        if let Some(log) = &mut self.log {
            log.set_path(PathId::FIRST);
            let reason = match reason {
                CloseReason::Local => EndReason::Local,
                CloseReason::Peer { .. } => EndReason::Peer,
                CloseReason::TimedOut { .. } => EndReason::TimedOut,
                CloseReason::Violation(_) => EndReason::Violation,
                CloseReason::Refused(_) => EndReason::Refused,
                CloseReason::Carrier(_) => EndReason::Carrier,
            };
            log.push(now, LogEvent::Closed { reason });
        }
    }

    fn estimates(&self, path: usize) -> LogEvent {
        let (path, plan) = (&self.sender.paths()[path], self.sender.redundancy());
        LogEvent::Estimates {
            loss: path.loss().rate(),
            mean_burst: path.loss().mean_burst(),
            rtt_us: micros(path.rtt().smoothed()),
            in_flight: path.in_flight(),
            planned_loss: plan.and_then(|plan| plan.loss),
            share: plan.map(|plan| plan.share),
            apart: plan.map(|plan| 1.0 / plan.share).filter(|k| k.is_finite()),
        }
    }
}

/// What the receiver has now.
fn state(receiver: &Receiver) -> ReceiverState {
    let decoder = receiver.decoder();
    let [sources, _, given_up] = receiver.decoded();
    ReceiverState {
        edge: decoder.contiguous(),
        unknowns: decoder.unknowns() as u64,
        rank: decoder.rank() as u64,
        sources,
        useful_repairs: receiver.counts().useful_repairs,
        given_up,
    }
}

/// Whether a stream ends in a symbol.
fn is_end(symbol: &[u8]) -> bool {
    let mut frames = Frames::new(symbol);
    frames.any(|frame| matches!(frame, Ok(Frame::Stream { fin: true, .. })))
}

/// What is in a source symbol.
#[derive(Default)]
struct Content {
    /// A stream ends in it.
    fin: bool,
    /// Streams, and how many of their bytes.
    streams: Few<(u64, u64)>,
    messages: Few<u64>,
}

impl Content {
    fn of(symbol: &[u8]) -> Self {
        let mut content = Content::default();
        for frame in Frames::new(symbol) {
            match frame {
                Ok(Frame::Stream { id, fin, data, .. }) => {
                    content.fin |= fin;
                    content.streams.push((id, data.len() as u64));
                }
                Ok(Frame::Message { id, .. }) => content.messages.push(id),
                _ => {}
            }
        }
        content
    }
}

/// Logs a datagram that this end wrote. `first` is the sender's lower edge.
#[cold]
fn sent(log: &mut EventLog, now: Time, datagram: &[u8], first: Esi) {
    let Ok(parsed) = Datagram::parse(datagram) else {
        debug_assert!(false, "this end wrote it");
        return;
    };
    let size = datagram.len() as u32;
    let header = |log: &mut EventLog, coded: &Coded| {
        let esi = complete(coded.esi, first);
        let edge = esi.saturating_sub(u64::from(coded.span));
        (
            log.sent_number(Numbered::Transmission, coded.transmission),
            esi,
            edge,
        )
    };
    let mut repair = |coded: &Coded, count, vector, key, field_bits| {
        let (number, first, edge) = header(log, coded);
        let reason = log.reason();
        let count = u32::from(count);
        log.push(
            now,
            LogEvent::RepairSent {
                number,
                size,
                first,
                count,
                edge,
                reason,
                vector,
                key,
                field_bits,
            },
        );
    };
    match parsed {
        Datagram::Repair {
            coded, nss, key, ..
        } => repair(&coded, nss, CodingVectorKind::Key, Some(u32::from(key)), 8),
        Datagram::FieldRepair {
            coded, nss, code, ..
        } => match code.vector {
            CodingVector::Seed(seed) => {
                repair(&coded, nss, CodingVectorKind::Seed, Some(seed), code.bits);
            }
            CodingVector::Explicit(_) => {
                repair(&coded, nss, CodingVectorKind::Explicit, None, code.bits);
            }
        },
        Datagram::Source {
            coded,
            payload,
            riders,
        } => {
            let riders = riders.map_or(0, |r| r.count());
            let (number, esi, edge) = header(log, &coded);
            let (again, content) = (log.is_again(), Content::of(payload));
            let fin = content.fin;
            let (streams, messages) = match again {
                true => Default::default(),
                false => (content.streams, content.messages),
            };
            log.push(
                now,
                LogEvent::SourceSent {
                    number,
                    size,
                    esi,
                    edge,
                    again,
                    fin,
                    riders,
                    streams,
                    messages,
                },
            );
            if !again {
                log.on_new_source();
                if fin {
                    log.push(now, LogEvent::EndOfData { esi });
                }
            }
        }
        Datagram::Probe(coded) => {
            let (number, next, edge) = header(log, &coded);
            log.push(
                now,
                LogEvent::ProbeSent {
                    number,
                    size,
                    next,
                    edge,
                },
            );
        }
        Datagram::Feedback(view) => {
            let number = log.sent_number(Numbered::Report, view.number);
            let largest = log.received_before(Numbered::Transmission, view.largest);
            let next = complete(view.next, log.before().edge);
            let report = report(&view, size, number, largest, next);
            log.push(now, LogEvent::ReportSent(Box::new(report)));
        }
        Datagram::Hello(_) => log.push(now, LogEvent::HelloSent { size }),
        Datagram::Close { .. } => log.push(now, LogEvent::CloseSent { size }),
        Datagram::Piece(_) => log.push(now, LogEvent::PieceSent { size }),
    }
}

/// Logs a datagram that was taken. Returns true if it is a report with news. `first` is the
/// sender's lower edge.
fn received(
    log: &mut EventLog,
    now: Time,
    parsed: &Datagram<'_>,
    size: u32,
    receiver: &Receiver,
    first: Esi,
) -> bool {
    let (state, before) = (state(receiver), *log.before());
    let mut repair = |coded: &Coded, count: u16| {
        let number = log
            .received_number(Numbered::Transmission, coded.transmission)
            .0;
        LogEvent::RepairReceived {
            number,
            size,
            first: complete(coded.esi, state.edge),
            count: u32::from(count),
            useful: state.useful_repairs > before.useful_repairs,
            unknowns: state.unknowns,
            rank: state.rank,
        }
    };
    let event = match parsed {
        Datagram::Source { coded, riders, .. } => LogEvent::SourceReceived {
            number: log
                .received_number(Numbered::Transmission, coded.transmission)
                .0,
            size,
            esi: complete(coded.esi, state.edge),
            useful: state.sources > before.sources,
            riders: riders.map_or(0, |r| r.count()),
            // Not known yet.
            delivered: 0,
        },
        Datagram::Repair { coded, nss, .. } | Datagram::FieldRepair { coded, nss, .. } => {
            repair(coded, *nss)
        }
        Datagram::Probe(coded) => LogEvent::ProbeReceived {
            number: log
                .received_number(Numbered::Transmission, coded.transmission)
                .0,
            size,
            next: complete(coded.esi, state.edge),
        },
        Datagram::Feedback(view) => {
            let (number, news) = log.received_number(Numbered::Report, view.number);
            let largest = log.sent_before(Numbered::Transmission, view.largest);
            let next = complete(view.next, first);
            let report = Box::new(report(view, size, number, largest, next));
            log.push(now, LogEvent::ReportReceived { report, news });
            return news;
        }
        Datagram::Hello(_) => LogEvent::HelloReceived { size },
        Datagram::Close { .. } => LogEvent::CloseReceived { size },
        // It was joined before.
        Datagram::Piece(_) => return false,
    };
    log.push(now, event);
    false
}

fn report(view: &FeedbackView<'_>, size: u32, number: u64, largest: u64, next: Esi) -> LogReport {
    let mut esi = next;
    let missing = view.symbols().map(|run| {
        let first = esi;
        esi = esi.saturating_add(run.first).saturating_add(run.second);
        (first, run.first)
    });
    // An honest peer lists no more.
    let missing: Vec<EsiRun> = missing.take(MOST_RUNS).collect();
    LogReport {
        report: number,
        size,
        largest,
        next,
        extent: view.extent,
        missing,
        rank: view.rank,
        credit: view.credit,
        delay_us: view.delay,
        queue_us: view.queue_delay,
        loss: view
            .loss
            .map(|units| f64::from(units) / f64::from(LOSS_UNITS)),
    }
}
