//! The receiving side of a flow: decoding, and reports of its state.

mod budget;
mod field;
mod measure;
mod return_path;
mod room;

use core::time::Duration;

use weftline_codec::{DecodeError, DecoderConfig, DecoderStats, Esi, WindowDecoder};

use crate::clock::RemoteClock;
use crate::feedback::Feedback;
use crate::limits::Limits;
use crate::ranges::RangeSet;
use crate::time::{Time, micros};
use crate::wire::{Coded, FeedbackWriter, Measuring, Riders, Run, complete};

use budget::Budget;
use measure::LossMeter;
use return_path::ReturnPath;
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
    /// Transmission numbers that arrived.
    seen: RangeSet,
    /// When the largest transmission number arrived.
    largest_at: Time,
    clock: RemoteClock,
    /// The queueing delays of the newest datagrams, the newest first.
    queue_delays: [u64; RECENT],
    /// Measures the losses, for a peer that asks for the rate.
    meter: Option<LossMeter>,
    /// Unknown symbols and equations held, at the last datagram.
    holes: (usize, usize),
    /// Since when at least one symbol has been missing.
    missing_since: Option<Time>,
    feedback: Feedback,
    next_report: u64,
    /// When the next report is due, if anything arrived since the last one.
    due: Option<Time>,
    /// A report is due and waits for the carrier.
    wanted: bool,
    last_report: Option<Time>,
    return_path: ReturnPath,
    /// Numbered datagrams since the last report.
    unreported: u32,
    stats: Counts,
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

/// Of a periodic report the queueing delay is the shortest of this many datagrams: it stands for
/// many, and the wait of a process for its processor must not look like a queue.
const RECENT: usize = 4;

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
            seen: RangeSet::default(),
            largest_at: Time::ZERO,
            clock: RemoteClock::default(),
            queue_delays: [0; RECENT],
            meter: None,
            holes: (0, 0),
            missing_since: None,
            feedback,
            next_report: 0,
            due: None,
            wanted: false,
            last_report: None,
            return_path: ReturnPath::default(),
            unreported: 0,
            stats: Counts::default(),
        }
    }

    /// The peer asked for these reports in HELLO.
    pub(crate) fn set_reports(&mut self, feedback: Feedback, measuring: Option<Measuring>) {
        self.feedback = feedback;
        self.meter = measuring.map(|options| LossMeter::new(options, &self.seen));
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

    pub(crate) fn clock(&self) -> &RemoteClock {
        &self.clock
    }

    /// The next symbol that became known; [`WindowDecoder::symbol`] has its frames.
    pub(crate) fn next_known(&mut self) -> Option<Esi> {
        self.decoder.next_known()
    }

    pub(crate) fn on_source(
        &mut self,
        now: Time,
        coded: &Coded,
        symbol: &[u8],
        riders: Option<&Riders<'_>>,
    ) -> Result<(), Drop> {
        if symbol.len() > usize::from(self.limits.symbol_size)
            || riders.is_some_and(|r| !self.accepts(r.nss, r.symbol_len()))
        {
            return Err(Drop::Malformed);
        }
        let transmission = self.transmission(coded)?;
        if riders.is_some() && !self.decodes_in(field::USUAL) {
            return Err(Drop::Malformed);
        }
        let esi = complete(coded.esi, self.decoder.contiguous());
        let riding = riders.map_or(0, |riders| riders.symbol_len() - 2);
        self.enter(coded, esi, esi + 1, symbol.len().max(riding))?;
        let mut decoded = self.decoder.source(esi, symbol).map(|_| ());
        if let (Ok(()), Some(riders)) = (&decoded, riders) {
            decoded = self.on_riders(esi, riders);
        }
        self.budget.on_datagram(self.decoder.work(), symbol.len());
        self.on_numbered(now, coded, transmission, decoded, News::None)
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
        coded: &Coded,
        nss: u16,
        key: u16,
        data: &[u8],
    ) -> Result<(), Drop> {
        if !self.accepts(nss, data.len()) {
            return Err(Drop::Malformed);
        }
        let transmission = self.transmission(coded)?;
        if !self.decodes_in(field::USUAL) {
            return Err(Drop::Malformed);
        }
        self.afford(now, data.len())?;
        let first = complete(coded.esi, self.decoder.contiguous());
        let end = first + u64::from(nss);
        self.enter(coded, first, end, data.len() - 2)?;
        let decoded = self.decoder.repair(first..end, u32::from(key), data);
        self.budget.on_datagram(self.decoder.work(), data.len());
        let decoded = self.count_repair(decoded);
        self.on_numbered(now, coded, transmission, decoded, News::None)
    }

    pub(crate) fn on_probe(&mut self, now: Time, coded: &Coded) -> Result<(), Drop> {
        let transmission = self.transmission(coded)?;
        let next = complete(coded.esi, self.decoder.contiguous());
        self.enter(coded, next, next, 0)?;
        let decoded = self.decoder.expect(next);
        self.budget.on_datagram(self.decoder.work(), 0);
        self.on_numbered(now, coded, transmission, decoded, News::Asked)
    }

    fn transmission(&self, coded: &Coded) -> Result<u64, Drop> {
        let expected = self.seen.max().map_or(0, |m| m + 1);
        let number = complete(coded.transmission, expected);
        match self.seen.is_new(number) {
            true => Ok(number),
            false => Err(Drop::Replayed),
        }
    }

    /// Checks that `end` is within the credit, for symbols of `bytes`, and follows the sender's lower
    /// edge, which is `coded.span` below `esi`.
    fn enter(&mut self, coded: &Coded, esi: Esi, end: Esi, bytes: usize) -> Result<(), Drop> {
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
        self.return_path.on_edge(base);
        match self.room.make(&mut self.decoder, end, bytes) {
            true => Ok(()),
            false => Err(Drop::OutOfWindow),
        }
    }

    /// Refuses a repair symbol, as if there were no room for it, while decoding has cost more than
    /// datagrams have earned.
    fn afford(&mut self, now: Time, bytes: usize) -> Result<(), Drop> {
        if !self.budget.is_spent() {
            return Ok(());
        }
        self.budget.on_datagram(self.decoder.work(), bytes);
        self.schedule(now, News::Change);
        Err(Drop::OutOfWindow)
    }

    /// Accounts for a numbered datagram. It counts as lost if the decoder had no room for it, so that
    /// its sender sends it again.
    fn on_numbered(
        &mut self,
        now: Time,
        coded: &Coded,
        transmission: u64,
        decoded: Result<(), DecodeError>,
        news: News,
    ) -> Result<(), Drop> {
        let refused = match decoded {
            Ok(()) => None,
            Err(DecodeError::Inconsistent { .. }) => Some(Drop::Inconsistent),
            Err(DecodeError::OutOfSpan { .. } | DecodeError::TooManyUnknowns { .. }) => {
                self.schedule(now, News::Change);
                return Err(Drop::OutOfWindow);
            }
            Err(_) => Some(Drop::Malformed),
        };
        let gap = self.seen.max().is_none_or(|m| transmission != m + 1);
        self.seen.insert(transmission);
        if let Some(meter) = &mut self.meter {
            meter.on_arrival(transmission);
        }
        if self.seen.max() == Some(transmission) {
            self.largest_at = now;
        }
        self.queue_delays.rotate_right(1);
        let before = self.clock.newest();
        self.queue_delays[0] = self.clock.observe(now, coded.timestamp);
        if let (Some(before), Some(sent)) = (before, self.clock.newest()) {
            self.return_path.on_datagram(now, before, sent);
        }
        self.unreported += 1;
        let holes = (self.decoder.unknowns(), self.decoder.rank());
        self.missing_since = (holes.0 > 0).then(|| self.missing_since.unwrap_or(now));
        let changed = gap || holes != core::mem::replace(&mut self.holes, holes);
        let news = match news {
            News::None if changed => News::Change,
            News::Asked if changed && !self.is_periodic() => News::Change,
            news => news,
        };
        self.schedule(now, news);
        refused.map_or(Ok(()), Err)
    }

    /// Sets the time of the next report after this news.
    fn schedule(&mut self, now: Time, news: News) {
        let urgent =
            matches!(news, News::Change | News::Complete) || self.unreported >= REPORT_EVERY;
        let after = |interval| {
            self.last_report
                .map_or(now, |last| now.max(last + interval))
        };
        let due = match self.feedback {
            Feedback::EveryDatagram { .. } if urgent => now,
            Feedback::EveryDatagram { min_interval } => after(min_interval),
            Feedback::Block { .. } if news == News::Complete => now,
            Feedback::Periodic { .. } if news == News::Asked => now,
            Feedback::Periodic { interval } | Feedback::Block { interval } => after(interval),
            Feedback::Adaptive { target } => {
                self.due = None;
                self.adaptive(now, target)
            }
        };
        let due = match news {
            // The sender waits for these.
            News::Complete | News::Asked => due,
            News::None | News::Change => due.max(after(self.return_path.interval(now))),
        };
        if !self.wanted {
            self.due = Some(self.due.map_or(due, |d| d.min(due)));
        }
    }

    /// When [`Feedback::Adaptive`] wants a report. Symbols repaired meanwhile need none.
    fn adaptive(&self, now: Time, target: Duration) -> Time {
        if self.unreported >= REPORT_EVERY {
            return now;
        }
        let usual = target * Feedback::SELDOM;
        let usual = self.last_report.map_or(now, |last| now.max(last + usual));
        let reported = |since| self.last_report.is_some_and(|last| last >= since);
        match self.missing_since {
            // Already reported: symbols that are still missing are reported again every `target`.
            Some(since) if reported(since) => self
                .last_report
                .map_or(now, |last| now.max(last + target))
                .min(usual),
            Some(since) => now.max(since + target).min(usual),
            None => usual,
        }
    }

    pub(crate) fn on_timeout(&mut self, now: Time) {
        if self.due.is_some_and(|t| t <= now) {
            self.due = None;
            self.wanted = true;
        }
    }

    fn is_periodic(&self) -> bool {
        matches!(self.feedback, Feedback::Periodic { .. })
    }

    fn queue_delay(&self) -> u64 {
        match self.is_periodic() {
            true => self.queue_delays.into_iter().min().unwrap_or(0),
            false => self.queue_delays[0],
        }
    }

    pub(crate) fn report_wanted(&self) -> bool {
        self.wanted
    }

    /// When a report is due.
    pub(crate) fn report_due(&self) -> Option<Time> {
        self.due
    }

    /// Writes a report of at most `max` bytes.
    pub(crate) fn report(&mut self, now: Time, max: usize, out: &mut Vec<u8>) -> bool {
        self.due = None;
        self.wanted = false;
        let Some(largest) = self.seen.max() else {
            return false;
        };
        self.last_report = Some(now);
        self.unreported = 0;
        let next = self.decoder.contiguous();
        let writer = FeedbackWriter {
            number: self.next_report as u32,
            largest: largest as u32,
            next: next as u32,
            delay: micros(now.since(self.largest_at)),
            queue_delay: self.queue_delay(),
            extent: self.decoder.end() - next,
            rank: self.decoder.rank() as u64,
            credit: self.room.credit(),
            loss: self.meter.as_mut().map(|m| m.report(now, &self.seen)),
        };
        self.return_path
            .on_report(now, self.next_report, next, largest);
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
        let mut received = self.seen.descending().peekable();
        let mut left = REPORTED_TRANSMISSIONS.min(self.return_path.covered(largest));
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
