//! The receiving side of a flow: decoding, and reports of its state.

mod arrivals;
mod budget;
mod field;
mod measure;
mod return_path;
mod room;

use core::time::Duration;

use weftline_codec::{DecodeError, DecoderConfig, DecoderStats, Esi, WindowDecoder};

use crate::feedback::Feedback;
use crate::histogram::Histogram;
use crate::limits::Limits;
use crate::time::{Time, micros};
use crate::wire::{Coded, FeedbackWriter, Measuring, Riders, Run, complete};

use arrivals::Arrivals;
use budget::Budget;
use room::Room;

/// The receiving side of a flow.
#[derive(Debug)]
pub(crate) struct Receiver {
    limits: Limits,
    decoder: WindowDecoder,
    room: Room,
    budget: Budget,
    /// Bits of a field element in repair symbols; `None` before the first one.
    bits: Option<u8>,
    /// The counts of the decoder before the field changed, and the counts of the new one for the
    /// symbols that it inherited.
    earlier: DecoderStats,
    inherited: DecoderStats,
    /// The current coding vector.
    vector: Vec<u8>,
    /// What arrived on each path; at least one.
    paths: Vec<Arrivals>,
    /// How the peer wants losses measured, if it does.
    measuring: Option<Measuring>,
    /// Unknown symbols and equations held, at the last datagram.
    holes: (usize, usize),
    /// Since when at least one symbol has been missing.
    missing_since: Option<Time>,
    feedback: Feedback,
    next_report: u64,
    stats: Counts,
    /// How long symbols were missing; nothing before they first were, since most sessions are small.
    stalls: Option<Box<Histogram>>,
}

/// Counts of what arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) repair_symbols: u64,
    pub(crate) useful_repairs: u64,
}

/// Why a numbered datagram was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drop {
    Malformed,
    Replayed,
    OutOfWindow,
    Inconsistent,
}

/// The news that a datagram brought for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    None,
    /// A gap in the transmissions, or a change of the missing symbols.
    Change,
    /// All symbols in the window of the repair symbol are known.
    Complete,
    /// The sender asks for a report.
    Asked,
}

/// After this time without a datagram, a path no longer tells the peer's time.
const DRIFTS: Duration = Duration::from_secs(20);

/// At full speed a report covers at most this many datagrams.
const REPORT_EVERY: u32 = 64;

/// A report covers at most this many transmission numbers: as many as a sender remembers.
const REPORTED_TRANSMISSIONS: u64 = 1 << 16;

impl Receiver {
    pub(crate) fn new(limits: Limits, feedback: Feedback) -> Self {
        let config = DecoderConfig::new(
            2 * limits.symbols as usize,
            usize::from(limits.symbol_size),
            usize::from(limits.unknowns),
            usize::from(limits.window),
        );
        Receiver {
            limits,
            room: Room::new(&limits),
            budget: Budget::new(&config),
            decoder: WindowDecoder::new(config),
            bits: None,
            earlier: DecoderStats::default(),
            inherited: DecoderStats::default(),
            vector: Vec::new(),
            paths: vec![Arrivals::default()],
            measuring: None,
            holes: (0, 0),
            missing_since: None,
            feedback,
            next_report: 0,
            stats: Counts::default(),
            stalls: None,
        }
    }

    /// The peer asked for these reports in HELLO.
    pub(crate) fn set_reports(&mut self, feedback: Feedback, measuring: Option<Measuring>) {
        self.feedback = feedback;
        self.measuring = measuring;
        for path in &mut self.paths {
            path.measure(measuring);
        }
    }

    /// Another path begins.
    pub(crate) fn add_path(&mut self) {
        let mut path = Arrivals::default();
        path.measure(self.measuring);
        self.paths.push(path);
    }

    /// The path is gone. Others move up.
    pub(crate) fn remove_path(&mut self, path: usize) {
        self.paths.remove(path);
        for path in &mut self.paths {
            // A report about the other path may have looked like an answer.
            path.return_path.on_late(0);
        }
    }

    pub(crate) fn decoder(&self) -> &WindowDecoder {
        &self.decoder
    }

    /// Bytes of symbols and equations, and of memory kept for further ones.
    pub(crate) fn held(&self) -> u64 {
        self.decoder.memory_bound() as u64
    }

    /// Frees the memory kept for further symbols, if none is held.
    pub(crate) fn release(&mut self) {
        self.decoder.release();
        if self.decoder.first() == self.decoder.end() {
            self.room.forget_long(&mut self.decoder);
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.stats
    }

    pub(crate) fn stalls(&self) -> Histogram {
        self.stalls.as_deref().copied().unwrap_or_default()
    }

    /// The timestamp of a datagram that arrives at `now` with the smallest delay of any path.
    pub(crate) fn remote(&self, now: Time) -> Option<u64> {
        let newest = self.paths.iter().map(|path| path.largest_at).max();
        // A clock that was not heard for long has drifted.
        let fresh = |path: &&Arrivals| newest.is_none_or(|t| path.largest_at + DRIFTS >= t);
        let paths = self.paths.iter().filter(fresh);
        paths.filter_map(|path| path.clock.remote(now)).max()
    }

    /// The next symbol that became known; [`WindowDecoder::symbol`] has its frames.
    pub(crate) fn next_known(&mut self) -> Option<Esi> {
        self.decoder.next_known()
    }

    pub(crate) fn on_source(
        &mut self,
        now: Time,
        path: usize,
        coded: &Coded,
        symbol: &[u8],
        riders: Option<&Riders<'_>>,
    ) -> Result<(), Drop> {
        if symbol.len() > usize::from(self.limits.symbol_size)
            || riders.is_some_and(|r| !self.accepts(r.nss, r.symbol_len()))
        {
            return Err(Drop::Malformed);
        }
        let transmission = self.paths[path].transmission(coded)?;
        if riders.is_some() && !self.decodes_in(field::USUAL) {
            return Err(Drop::Malformed);
        }
        let esi = complete(coded.esi, self.decoder.contiguous());
        let riding = riders.map_or(0, |riders| riders.symbol_len() - 2);
        self.enter(path, coded, esi, esi + 1, symbol.len().max(riding))?;
        let mut decoded = self.decoder.source(esi, symbol).map(|_| ());
        if let (Ok(()), Some(riders)) = (&decoded, riders) {
            decoded = self.on_riders(esi, riders);
        }
        self.budget.on_datagram(self.decoder.work(), symbol.len());
        self.on_numbered(now, path, coded, transmission, decoded, News::None)
    }

    /// Takes the repair symbols that came with the source symbol `esi`. If there is no room for one, it
    /// is dropped alone: the next report tells what is missing.
    fn on_riders(&mut self, esi: Esi, riders: &Riders<'_>) -> Result<(), DecodeError> {
        let window = esi.saturating_sub(riders.nss.into())..esi;
        for (key, data) in riders.iter() {
            self.budget.spend(self.decoder.work());
            if self.budget.is_spent() {
                break;
            }
            let decoded = self.decoder.repair(window.clone(), u32::from(key), data);
            match self.count_repair(decoded) {
                Err(DecodeError::OutOfSpan { .. } | DecodeError::TooManyUnknowns { .. }) => break,
                decoded => decoded?,
            }
        }
        Ok(())
    }

    /// Whether a repair symbol over `nss` symbols, of `len` bytes, is within the limits.
    fn accepts(&self, nss: u16, len: usize) -> bool {
        nss <= self.limits.window && len <= usize::from(self.limits.symbol_size) + 2
    }

    pub(crate) fn on_repair(
        &mut self,
        now: Time,
        path: usize,
        coded: &Coded,
        nss: u16,
        key: u16,
        data: &[u8],
    ) -> Result<(), Drop> {
        if !self.accepts(nss, data.len()) {
            return Err(Drop::Malformed);
        }
        let transmission = self.paths[path].transmission(coded)?;
        if !self.decodes_in(field::USUAL) {
            return Err(Drop::Malformed);
        }
        self.afford(now, path, data.len())?;
        let first = complete(coded.esi, self.decoder.contiguous());
        let end = first + u64::from(nss);
        self.enter(path, coded, first, end, data.len() - 2)?;
        let decoded = self.decoder.repair(first..end, u32::from(key), data);
        self.budget.on_datagram(self.decoder.work(), data.len());
        let decoded = self.count_repair(decoded);
        self.on_numbered(now, path, coded, transmission, decoded, News::None)
    }

    pub(crate) fn on_probe(&mut self, now: Time, path: usize, coded: &Coded) -> Result<(), Drop> {
        let transmission = self.paths[path].transmission(coded)?;
        let next = complete(coded.esi, self.decoder.contiguous());
        self.enter(path, coded, next, next, 0)?;
        let decoded = self.decoder.expect(next);
        self.budget.on_datagram(self.decoder.work(), 0);
        self.on_numbered(now, path, coded, transmission, decoded, News::Asked)
    }

    /// Checks that `end` is within the credit, for symbols of `bytes`, and follows the sender's lower
    /// edge, which is `coded.span` below `esi`.
    fn enter(
        &mut self,
        path: usize,
        coded: &Coded,
        esi: Esi,
        end: Esi,
        bytes: usize,
    ) -> Result<(), Drop> {
        let base = esi
            .checked_sub(u64::from(coded.span))
            .ok_or(Drop::Malformed)?;
        let edge = self.decoder.contiguous().max(base);
        let credit = self.room.credit_with(bytes);
        if end > edge + credit {
            return Err(Drop::OutOfWindow);
        }
        // An honest sender never covers symbols older than its credit.
        let floor = base.max(edge.saturating_sub(credit));
        self.decoder.forget_before(floor);
        self.paths[path].return_path.on_edge(base);
        match self.room.make(&mut self.decoder, end, bytes) {
            true => Ok(()),
            false => Err(Drop::OutOfWindow),
        }
    }

    /// Refuses a repair symbol, as if there were no room for it, while decoding has cost more than
    /// datagrams have earned.
    fn afford(&mut self, now: Time, path: usize, bytes: usize) -> Result<(), Drop> {
        if !self.budget.is_spent() {
            return Ok(());
        }
        self.budget.on_datagram(self.decoder.work(), bytes);
        self.schedule(now, path, News::Change);
        Err(Drop::OutOfWindow)
    }

    /// Accounts for a numbered datagram. It counts as lost if the decoder had no room for it, so that
    /// its sender sends it again.
    fn on_numbered(
        &mut self,
        now: Time,
        path: usize,
        coded: &Coded,
        transmission: u64,
        decoded: Result<(), DecodeError>,
        news: News,
    ) -> Result<(), Drop> {
        let refused = match decoded {
            Ok(()) => None,
            Err(DecodeError::Inconsistent { .. }) => Some(Drop::Inconsistent),
            Err(DecodeError::OutOfSpan { .. } | DecodeError::TooManyUnknowns { .. }) => {
                self.schedule(now, path, News::Change);
                return Err(Drop::OutOfWindow);
            }
            Err(_) => Some(Drop::Malformed),
        };
        let gap = self.paths[path].on_datagram(now, transmission, coded.timestamp);
        let holes = (self.decoder.unknowns(), self.decoder.rank());
        self.missing_since = match (self.missing_since, holes.0 > 0) {
            (since, true) => since.or(Some(now)),
            (Some(since), false) => {
                let stalls = self.stalls.get_or_insert_default();
                stalls.record(now.since(since));
                None
            }
            (None, false) => None,
        };
        let changed = gap || holes != core::mem::replace(&mut self.holes, holes);
        let news = match news {
            News::None if changed => News::Change,
            News::Asked if changed && !self.is_periodic() => News::Change,
            news => news,
        };
        self.schedule(now, path, news);
        refused.map_or(Ok(()), Err)
    }

    /// Sets the time of the next report about this path after this news.
    fn schedule(&mut self, now: Time, path: usize, news: News) {
        let several = self.paths.len() > 1;
        let arrivals = &mut self.paths[path];
        let urgent =
            matches!(news, News::Change | News::Complete) || arrivals.unreported >= REPORT_EVERY;
        let last = arrivals.last_report;
        let after = |interval| last.map_or(now, |last| now.max(last + interval));
        let due = match self.feedback {
            Feedback::EveryDatagram { .. } if urgent => now,
            Feedback::EveryDatagram { min_interval } => after(min_interval),
            Feedback::Block { .. } if news == News::Complete => now,
            Feedback::Periodic { .. } if news == News::Asked => now,
            Feedback::Periodic { interval } | Feedback::Block { interval } => after(interval),
            Feedback::Adaptive { target } => {
                arrivals.due = None;
                adaptive(now, target, arrivals, self.missing_since)
            }
        };
        let due = match news {
            // The sender waits for these.
            News::Complete | News::Asked => due,
            // Where reports of other paths reach the sender as well, their answers do not show how long
            // this one's wait.
            News::None | News::Change if several => due,
            News::None | News::Change => due.max(after(arrivals.return_path.interval(now))),
        };
        if !arrivals.wanted {
            arrivals.due = Some(arrivals.due.map_or(due, |d| d.min(due)));
        }
    }

    pub(crate) fn on_timeout(&mut self, now: Time) {
        for path in &mut self.paths {
            if path.due.is_some_and(|t| t <= now) {
                path.due = None;
                path.wanted = true;
            }
        }
    }

    fn is_periodic(&self) -> bool {
        matches!(self.feedback, Feedback::Periodic { .. })
    }

    /// Whether a report about this path is due.
    pub(crate) fn report_wanted(&self, path: usize) -> bool {
        self.paths[path].wanted
    }

    /// When a report is due.
    pub(crate) fn report_due(&self) -> Option<Time> {
        self.paths.iter().filter_map(|path| path.due).min()
    }

    /// Writes a report about this path, of at most `max` bytes.
    pub(crate) fn report(&mut self, now: Time, path: usize, max: usize, out: &mut Vec<u8>) -> bool {
        let periodic = self.is_periodic();
        let arrivals = &mut self.paths[path];
        arrivals.due = None;
        arrivals.wanted = false;
        let Some(largest) = arrivals.seen.max() else {
            return false;
        };
        arrivals.last_report = Some(now);
        arrivals.unreported = 0;
        let next = self.decoder.contiguous();
        let queue_delay = arrivals.queue_delay(periodic);
        let Arrivals { meter, seen, .. } = arrivals;
        let writer = FeedbackWriter {
            number: self.next_report as u32,
            largest: largest as u32,
            next: next as u32,
            delay: micros(now.since(arrivals.largest_at)),
            queue_delay,
            extent: self.decoder.end() - next,
            rank: self.decoder.rank() as u64,
            credit: self.room.credit(),
            loss: meter.as_mut().map(|m| m.report(now, seen)),
        };
        (arrivals.return_path).on_report(now, self.next_report, next, largest);
        self.next_report += 1;
        let end = self.decoder.end();
        let mut missing = self.decoder.missing().peekable();
        let symbols = core::iter::from_fn(move || {
            let run = missing.next()?;
            let following = missing.peek().map_or(end, |r| r.start);
            Some(Run {
                first: run.end - run.start,
                second: following - run.end,
            })
        });
        let arrivals = &self.paths[path];
        let mut received = arrivals.seen.descending().peekable();
        let unknown = match self.paths.len() {
            1 => arrivals.return_path.unknown(largest),
            // A report about another path may have moved the sender's edge.
            _ => u64::MAX,
        };
        let mut left = REPORTED_TRANSMISSIONS.min(unknown);
        let transmissions = core::iter::from_fn(move || {
            let run = received.next().filter(|_| left > 0)?;
            let following = received.peek().map_or(run.start, |r| r.end);
            let first = (run.end - run.start).min(left);
            left -= first;
            // Numbers below a run that was cut short are not reported.
            let second = (run.start - following).min(left);
            left -= second;
            Some(Run { first, second })
        });
        writer.write(symbols, transmissions, max, out);
        true
    }
}

/// When [`Feedback::Adaptive`] wants a report. Symbols repaired meanwhile need none.
fn adaptive(now: Time, target: Duration, path: &Arrivals, missing_since: Option<Time>) -> Time {
    if path.unreported >= REPORT_EVERY {
        return now;
    }
    let after = |interval| {
        path.last_report
            .map_or(now, |last| now.max(last + interval))
    };
    let usual = after(target * Feedback::SELDOM);
    let reported = |since| path.last_report.is_some_and(|last| last >= since);
    match missing_since {
        // Already reported: symbols that are still missing are reported again every `target`.
        Some(since) if reported(since) => after(target).min(usual),
        Some(since) => now.max(since + target).min(usual),
        None => usual,
    }
}
