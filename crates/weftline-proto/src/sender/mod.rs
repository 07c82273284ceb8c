//! The sending side of a flow: what to send next, and what the peer has.

mod auto;
mod belief;
mod blocks;
mod flight;
mod measure;
mod redundancy;

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use core::time::Duration;
use weftline_codec::{Esi, WindowEncoder};

use crate::config::{Config, Limits};
use crate::loss::LossEstimator;
use crate::policy::{Code, EncodingWindow, Feedback, Policies, Redundancy, TopUp};
use crate::rate::Progress;
use crate::rtt::RttEstimator;
use crate::time::Time;
use crate::wire::{Coded, FeedbackView, complete};

use auto::Rule;
use blocks::Blocks;
use flight::Flight;
pub(crate) use flight::Kind;
use measure::Measure;
use redundancy::{Spacing, share};

/// The sending side of a flow.
#[derive(Debug)]
pub(crate) struct Sender {
    policies: Policies,
    peer: Limits,
    encoder: WindowEncoder,
    /// One for each symbol that the encoder holds.
    records: VecDeque<Record>,
    flight: Flight,
    rtt: RttEstimator,
    loss: LossEstimator,
    /// Symbols whose latest transmission was lost and that the peer is not known to have. With
    /// retransmission those on their way again are left out.
    lost: BTreeSet<Esi>,
    /// Equations that the peer holds, by its newest report.
    rank: u64,
    /// Repairs over the oldest window that arrived since its edge last moved.
    top_ups_arrived: u64,
    newest_report: Option<u64>,
    /// ESIs below this may be sent.
    credit: Esi,
    spacing: Spacing,
    /// Of [`Redundancy::Measured`].
    measure: Option<Measure>,
    /// Of [`Redundancy::Auto`].
    rule: Option<Box<Rule>>,
    blocks: Blocks,
    next_key: u16,
    /// When the newest source symbol was sent first, and whether the pause after it was noticed.
    last_source: Time,
    end_noticed: bool,
    /// Nothing has happened since a look found that no top-up is needed.
    sated: bool,
    /// Transmissions that the retransmission timer asked for.
    probes_due: u8,
    backoff: u32,
    /// Nothing was acknowledged since the window was found shut.
    window_shut: bool,
    /// The timer fired when this was the next ESI: what was sent before it is made up for.
    stalled_below: Esi,
    /// Time that timestamps count from.
    zero: Time,
    /// When progress was last made or something was last sent.
    last_activity: Time,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    /// Latest transmission.
    transmission: u64,
    known: bool,
    /// Worthless from then on.
    expires: Option<Time>,
}

/// What to send next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A new source symbol.
    New,
    /// A source symbol once more.
    Again(Esi),
    /// A repair symbol over this encoding window.
    Repair {
        window: Range<Esi>,
        /// Asked for by a report or the retransmission timer.
        top_up: bool,
    },
    /// Nothing but a question.
    Probe,
}

/// A report that cannot be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inconsistent;

/// The retransmission timer does not back off beyond this: after an outage a session must not
/// stay silent for long.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(2);
/// Nor beyond this when the round trip seems longer: an outage may have spoiled the estimate.
const LONGEST_TIMEOUT_EVER: Duration = Duration::from_secs(5);

/// A pause of this part of a round trip is the end, for now.
const PAUSE: u32 = 8;

/// Reports wait for the peer's timers at most this long besides the agreed interval.
const REPORT_SLACK: Duration = Duration::from_millis(5);

impl Sender {
    /// A flow to a peer that accepts `peer`; `own` limits bound what is kept for it.
    pub(crate) fn new(config: &Config, own: Limits, peer: Limits, seed: u64, now: Time) -> Self {
        let capacity = own.symbols as usize;
        Sender {
            policies: config.policies,
            peer,
            encoder: WindowEncoder::new(capacity, usize::from(config.symbol_size)),
            records: VecDeque::new(),
            flight: Flight::default(),
            rtt: RttEstimator::new(config.initial_rtt),
            loss: LossEstimator::default(),
            lost: BTreeSet::new(),
            rank: 0,
            top_ups_arrived: 0,
            newest_report: None,
            credit: u64::from(peer.symbols),
            spacing: Spacing::default(),
            measure: match (config.policies.code, config.policies.redundancy) {
                (Code::SlidingWindow, Redundancy::Measured(policy)) => {
                    Some(Measure::new(policy, now))
                }
                _ => None,
            },
            last_source: now,
            rule: match (config.policies.code, config.policies.redundancy) {
                (Code::SlidingWindow, Redundancy::Auto(policy)) => {
                    Some(Box::new(Rule::new(policy, now)))
                }
                _ => None,
            },
            blocks: Blocks::default(),
            next_key: seed as u16,
            end_noticed: false,
            sated: true,
            probes_due: 0,
            backoff: 0,
            window_shut: false,
            stalled_below: 0,
            zero: now,
            last_activity: now,
        }
    }

    pub(crate) fn set_peer_limits(&mut self, peer: Limits) {
        self.peer = peer;
        self.credit = self
            .credit
            .max(self.encoder.first() + u64::from(peer.symbols));
    }

    /// A new symbol can be sent: the peer's credit and this end's memory allow it, and the peer
    /// has no more holes than it can hold.
    pub(crate) fn has_room(&self) -> bool {
        self.encoder.next() < self.credit
            && !self.encoder.is_full()
            && self.lost.len() < usize::from(self.peer.unknowns)
    }

    /// The ESI that the next new symbol gets.
    pub(crate) fn next_esi(&self) -> Esi {
        self.encoder.next()
    }

    /// Lowest ESI not known to be with the peer.
    pub(crate) fn edge(&self) -> Esi {
        self.encoder.first()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.encoder.first() == self.encoder.next()
    }

    pub(crate) fn unacknowledged(&self) -> u64 {
        self.encoder.next() - self.encoder.first()
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.flight.bytes()
    }

    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    pub(crate) fn loss(&self) -> &LossEstimator {
        &self.loss
    }

    /// Whether the retransmission timer asked for something: it may exceed the window.
    pub(crate) fn probe_due(&self) -> bool {
        self.probes_due > 0
    }

    /// The rate control keeps what is worth sending from leaving, for all that is in flight.
    pub(crate) fn window_is_shut(&mut self) {
        self.window_shut = true;
    }

    /// What is worth sending now, if anything; `pending`: the application has data.
    pub(crate) fn next_action(&mut self, now: Time, pending: bool) -> Option<Action> {
        if self.probes_due > 0 {
            return Some(self.probe());
        }
        if self.rule.is_some() {
            return self.by_worth(now, pending);
        }
        if !self.sated {
            let action = self.top_up(now);
            if action.is_some() {
                return action;
            }
            self.sated = true;
        }
        if let Some(window) = self.a_priori() {
            return Some(Action::Repair {
                window,
                top_up: false,
            });
        }
        if pending && self.has_room() {
            return Some(Action::New);
        }
        (!pending && self.at_end(now)).then(|| Action::Repair {
            window: self.oldest_window(),
            top_up: true,
        })
    }

    /// [`TopUp::AtEnd`]: nothing new has come for a while, and more repairs could be of use than are
    /// on their way.
    fn at_end(&self, now: Time) -> bool {
        self.policies.top_up == TopUp::AtEnd
            && !self.is_idle()
            && now >= self.last_source + self.pause()
            && short(
                self.unacknowledged().min(self.largest_window()) as f64,
                self.flight.repairs(),
                self.loss.expected(),
            )
    }

    /// So long after a source symbol it was the last one.
    fn pause(&self) -> Duration {
        self.rtt.smoothed() / PAUSE
    }

    /// The choice of [`Redundancy::Auto`].
    fn by_worth(&mut self, now: Time, pending: bool) -> Option<Action> {
        let source = pending && self.has_room();
        let srtt = self.rtt.smoothed();
        let window = self.newest_window();
        let rule = self.rule.as_mut()?;
        if rule.backlog(now, srtt, source) {
            return self.top_up(now).or(Some(Action::New));
        }
        let wants = rule.wants_repair(now, srtt, source, &self.flight);
        // Repairs do not reach symbols this old.
        let old = self.lost.first().is_some_and(|&esi| esi < window.start);
        let behind = old && rule.retransmits();
        if behind && let Some(esi) = self.lost_from(0, now) {
            return Some(Action::Again(esi));
        }
        if wants && !self.is_idle() {
            let window = if old { self.oldest_window() } else { window };
            return Some(Action::Repair {
                window,
                top_up: false,
            });
        }
        source.then_some(Action::New)
    }

    /// The retransmission timer's choice: whatever helps the oldest unacknowledged symbol.
    fn probe(&self) -> Action {
        let edge = self.encoder.first();
        if self.is_idle() {
            return Action::Probe;
        }
        match self.policies.code {
            Code::None => Action::Again(edge),
            Code::Block { k } => Action::Repair {
                window: self
                    .blocks
                    .window_of(edge, self.block_size(k), self.encoder.next()),
                top_up: true,
            },
            Code::SlidingWindow => Action::Repair {
                window: self.oldest_window(),
                top_up: true,
            },
        }
    }

    fn top_up(&self, now: Time) -> Option<Action> {
        let policy = match self.policies.top_up {
            // The redundancy did not suffice: the timer alone would bring one symbol each time.
            TopUp::None | TopUp::AtEnd if self.encoder.first() < self.stalled_below => {
                match self.policies.code {
                    Code::None => TopUp::Retransmit,
                    _ => TopUp::Deficit,
                }
            }
            policy => policy,
        };
        match policy {
            TopUp::None | TopUp::AtEnd => None,
            TopUp::Retransmit => self.lost_from(0, now).map(Action::Again),
            TopUp::Deficit => {
                let loss = self.loss.expected();
                if let Code::Block { .. } = self.policies.code {
                    let window = self.blocks.short(&self.lost, loss)?;
                    let window = window.start.max(self.encoder.first())..window.end;
                    return Some(Action::Repair {
                        window,
                        top_up: true,
                    });
                }
                let window = self.oldest_window();
                let lost = self.lost.range(window.clone()).count() as u64;
                let reached = self
                    .lost
                    .first()
                    .is_some_and(|&e| e >= self.newest_window().start);
                let (deficit, expected, in_flight) = if reached {
                    let deficit = lost.saturating_sub(self.rank);
                    // Of what is under way some will be lost too, and take repairs that are under
                    // way with them.
                    let to_come = loss * self.flight.sources() as f64;
                    (deficit, deficit as f64 + to_come, self.flight.repairs())
                } else {
                    // Repairs of newer windows do not reach back to this hole, and the rank may be
                    // theirs: only what was sent for it counts, and while it is open that was short.
                    let held = self.rank.min(self.top_ups_arrived);
                    let deficit = lost.saturating_sub(held).max(lost.min(1));
                    (deficit, deficit as f64, self.flight.top_ups())
                };
                if deficit > 0 && short(expected, in_flight, loss) {
                    return Some(Action::Repair {
                        window,
                        top_up: true,
                    });
                }
                // After an outage more is lost than one window covers: beyond it nothing is
                // gained by coding, and waiting for the window to move costs a round trip each.
                self.lost_from(window.end, now).map(Action::Again)
            }
        }
    }

    /// The first lost symbol from `esi` on that is still worth something.
    fn lost_from(&self, esi: Esi, now: Time) -> Option<Esi> {
        let worth = |esi: &Esi| {
            let record = self.records.get((esi - self.encoder.first()) as usize);
            record.is_some_and(|r| r.expires.is_none_or(|t| now <= t))
        };
        self.lost.range(esi..).copied().find(worth)
    }

    fn a_priori(&self) -> Option<Range<Esi>> {
        match self.policies.code {
            Code::None => None,
            Code::Block { .. } => {
                let window = self.blocks.owing(self.encoder.first())?;
                Some(window.start.max(self.encoder.first())..window.end)
            }
            Code::SlidingWindow => {
                (self.spacing.is_due() && !self.is_idle()).then(|| self.newest_window())
            }
        }
    }

    /// Symbols that the peer lets one repair cover, all of them unknown to it.
    fn most_covered(&self) -> u64 {
        u64::from(self.peer.window.min(self.peer.unknowns))
    }

    fn block_size(&self, k: u16) -> u16 {
        k.min(self.peer.window).min(self.peer.unknowns)
    }

    fn largest_window(&self) -> u64 {
        let own = match self.policies.window {
            EncodingWindow::Elastic { max } => max,
            EncodingWindow::Fixed { size } | EncodingWindow::Mobile { size } => size,
        };
        u64::from(own).min(self.most_covered()).max(1)
    }

    /// For repairs sent without being asked for: they protect what was sent last.
    fn newest_window(&self) -> Range<Esi> {
        let (first, next) = (self.encoder.first(), self.encoder.next());
        match self.policies.window {
            EncodingWindow::Mobile { .. } => self.oldest_window(),
            _ => next.saturating_sub(self.largest_window()).max(first)..next,
        }
    }

    /// For repairs that fill a known hole: they must reach back to it.
    fn oldest_window(&self) -> Range<Esi> {
        let (first, next) = (self.encoder.first(), self.encoder.next());
        first..next.min(first + self.largest_window())
    }

    /// Takes a new source symbol and writes its datagram.
    pub(crate) fn send_new(
        &mut self,
        now: Time,
        symbol: &[u8],
        expires: Option<Time>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Ok(esi) = self.encoder.push(symbol) else {
            return false;
        };
        let transmission = self.flight.next();
        self.records.push_back(Record {
            transmission,
            known: false,
            expires,
        });
        self.last_source = now;
        self.end_noticed = false;
        match self.policies.code {
            Code::None => {}
            Code::Block { k } => {
                self.blocks
                    .pushed(esi, self.block_size(k), self.policies.redundancy)
            }
            Code::SlidingWindow => self.spacing.pushed(match &self.measure {
                Some(measure) => measure.share(),
                None => share(self.policies.redundancy),
            }),
        }
        self.write_source(now, esi, false, out)
    }

    /// Writes the datagram of a symbol that was sent before.
    pub(crate) fn send_again(&mut self, now: Time, esi: Esi, out: &mut Vec<u8>) -> bool {
        self.probes_due = self.probes_due.saturating_sub(1);
        self.lost.remove(&esi);
        let transmission = self.flight.next();
        if let Some(record) = self.record_mut(esi) {
            record.transmission = transmission;
        }
        self.write_source(now, esi, true, out)
    }

    /// False, and nothing is written, when the symbol is not held.
    fn write_source(&mut self, now: Time, esi: Esi, again: bool, out: &mut Vec<u8>) -> bool {
        let header = self.coded(now, esi);
        let Some(symbol) = self.encoder.symbol(esi) else {
            debug_assert!(false, "symbol {esi} is not held");
            return false;
        };
        header.put_source(out);
        out.extend_from_slice(symbol);
        self.transmitted(now, Kind::Source { esi, again }, out.len());
        true
    }

    /// Writes a repair datagram over `window`; false when the window is not held.
    pub(crate) fn send_repair(
        &mut self,
        now: Time,
        window: Range<Esi>,
        top_up: bool,
        out: &mut Vec<u8>,
    ) -> bool {
        let key = self.next_key;
        let nss = (window.end - window.start) as u16;
        self.coded(now, window.start).put_repair(nss, key, out);
        let probing = self.probes_due > 0;
        self.probes_due = self.probes_due.saturating_sub(1);
        if self
            .encoder
            .repair(window.clone(), u32::from(key), out)
            .is_err()
        {
            debug_assert!(false, "window {window:?} is not held");
            out.clear();
            return false;
        }
        self.next_key = key.wrapping_add(1);
        let block = match self.policies.code {
            Code::Block { .. } => self.blocks.repair_sent(window.end - 1, !top_up),
            _ => None,
        };
        if !top_up && !probing {
            self.spacing.sent();
        }
        self.transmitted(now, Kind::Repair { block, top_up }, out.len());
        true
    }

    /// Writes a probe.
    pub(crate) fn send_probe(&mut self, now: Time, out: &mut Vec<u8>) {
        self.probes_due = self.probes_due.saturating_sub(1);
        self.coded(now, self.encoder.next()).put_probe(out);
        self.transmitted(now, Kind::Probe, out.len());
    }

    fn coded(&self, now: Time, esi: Esi) -> Coded {
        Coded {
            transmission: self.flight.next() as u32,
            timestamp: crate::time::micros(now.since(self.zero)) as u32,
            esi: esi as u32,
            span: (esi - self.encoder.first()) as u16,
        }
    }

    fn transmitted(&mut self, now: Time, kind: Kind, len: usize) {
        if let Some(rule) = &mut self.rule {
            rule.sent(now, self.rtt.smoothed(), kind);
        }
        if self.flight.sent(now, kind, len) {
            self.settle();
        }
        // A keep-alive must not put off the retransmission of what is unacknowledged.
        if kind != Kind::Probe || self.is_idle() {
            self.last_activity = now;
        }
    }

    fn record_mut(&mut self, esi: Esi) -> Option<&mut Record> {
        let index = esi.checked_sub(self.encoder.first())?;
        self.records.get_mut(usize::try_from(index).ok()?)
    }

    /// The peer reported its state; what that says about the path, if it is news. Reports older
    /// than the newest are ignored.
    pub(crate) fn on_feedback(
        &mut self,
        now: Time,
        report: &FeedbackView<'_>,
    ) -> Result<Option<Progress>, Inconsistent> {
        let number = complete(report.number, self.newest_report.unwrap_or(0));
        if self.newest_report.is_some_and(|n| number <= n) {
            return Ok(None);
        }
        let largest = complete(report.largest, self.flight.next().saturating_sub(1));
        let next = complete(report.next, self.encoder.first());
        let sent = self.encoder.next();
        if largest >= self.flight.next() || next > sent || next + report.extent > sent {
            return Err(Inconsistent);
        }
        self.newest_report = Some(number);
        if let Some(measure) = &mut self.measure {
            measure.reported(now);
        }
        self.rank = report.rank;
        if let Some(rule) = &mut self.rule {
            let missing = report.symbols().map(|run| run.first).sum();
            rule.reported(missing, report.rank, largest);
        }
        self.credit = self.credit.max(next + report.credit);

        let delay = Duration::from_micros(report.delay);
        let acknowledged =
            self.flight
                .on_report(now, largest, report.transmissions(), delay, &mut self.rtt);
        if acknowledged.progress {
            self.window_shut = false;
            self.backoff = 0;
            self.probes_due = 0;
            self.last_activity = now;
        }
        self.settle();
        self.learn(next, report);
        self.advance(now);
        // The timer's probe may have been called off by this very report.
        if next < self.encoder.first() {
            self.tell_edge();
        }
        let (arrived, lost) = self.flight.fates_of_bytes();
        Ok(acknowledged.newest.map(|(number, sent)| Progress {
            number,
            sent,
            rtt: self.rtt.latest(),
            queue: Duration::from_micros(report.queue_delay),
            arrived,
            lost,
            burst: self.loss.mean_burst(),
            next: self.flight.next(),
        }))
    }

    /// The retransmission timer has fired this often in a row.
    pub(crate) fn timeouts_in_a_row(&self) -> u32 {
        self.backoff
    }

    /// What the peer knows besides what it received: all below `next`, and lost symbols that it
    /// recovered. Those it received are known by their transmissions.
    fn learn(&mut self, next: Esi, report: &FeedbackView<'_>) {
        let first = self.encoder.first();
        let below = next.saturating_sub(first).min(self.records.len() as u64) as usize;
        self.records
            .iter_mut()
            .take(below)
            .for_each(|r| r.known = true);
        self.lost = self.lost.split_off(&next);
        let mut esi = next;
        let mut recovered = Vec::new();
        for run in report.symbols() {
            if self.lost.is_empty() {
                break;
            }
            let known = esi + run.first..esi + run.first + run.second;
            esi = known.end;
            recovered.extend(self.lost.range(known));
        }
        for esi in recovered {
            self.lost.remove(&esi);
            if let Some(record) = self.record_mut(esi) {
                record.known = true;
            }
        }
    }

    /// Accounts for transmissions that are acknowledged or lost by now.
    fn settle(&mut self) {
        self.sated = false;
        if let Some(rule) = &mut self.rule {
            rule.settled();
        }
        while let Some((transmission, kind, lost)) = self.flight.pop_fate() {
            match kind {
                Kind::Source { esi, .. } => {
                    let Some(record) = self.record_mut(esi) else {
                        continue;
                    };
                    if !lost {
                        record.known = true;
                        self.lost.remove(&esi);
                    } else if !record.known && record.transmission == transmission {
                        self.lost.insert(esi);
                    }
                }
                Kind::Repair { block, top_up } => {
                    self.top_ups_arrived += u64::from(top_up && !lost);
                    if let Some(block) = block {
                        self.blocks.repair_fate(block, lost);
                    }
                }
                _ => {}
            }
        }
        for lost in self.flight.resolved_in_order() {
            self.loss.record(lost);
            if let Some(measure) = &mut self.measure {
                measure.resolved(lost);
            }
            if let Some(rule) = &mut self.rule {
                rule.resolved(lost);
            }
        }
    }

    /// Moves the lower edge over what the peer has and over what is worthless by now.
    fn advance(&mut self, now: Time) {
        let mut edge = self.encoder.first();
        let mut skipped = false;
        while let Some(front) = self.records.front()
            && (front.known || front.expires.is_some_and(|t| now > t))
        {
            skipped |= !front.known;
            self.records.pop_front();
            edge += 1;
        }
        if edge > self.encoder.first() {
            self.top_ups_arrived = 0;
        }
        self.encoder.discard_before(edge);
        self.lost = self.lost.split_off(&edge);
        self.blocks.discard_before(edge);
        if skipped {
            self.tell_edge();
        }
    }

    /// The peer's credit starts from its own edge: it must learn of one that was moved over
    /// worthless symbols, and the next symbol, which would tell it, may have no credit.
    fn tell_edge(&mut self) {
        if self.is_idle() && !self.has_room() {
            self.probes_due = self.probes_due.max(1);
        }
    }

    /// When [`Self::on_timeout`] wants to be called.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let loss = self.flight.loss_time();
        let probe = self.probe_time();
        // A worthless symbol at the edge is given up at once, not when something arrives.
        let expiry = self.records.front().and_then(|r| r.expires);
        let expiry = expiry.map(|t| t + Duration::from_micros(1));
        let tail = self.rule.as_ref().filter(|_| !self.is_idle());
        let tail = tail.and_then(|rule| rule.next_timeout(self.rtt.smoothed()));
        let end = self.last_source + self.pause();
        let waits = self.policies.top_up == TopUp::AtEnd && !self.is_idle() && !self.end_noticed;
        let end = waits.then_some(end);
        [loss, probe, expiry, tail, end].into_iter().flatten().min()
    }

    fn probe_time(&self) -> Option<Time> {
        // With nothing unacknowledged a lost probe does no harm, unless the peer must learn from it
        // where its credit starts, or this end what became of what fills the window.
        let stuck = self.window_shut || !self.has_room();
        let waiting = !self.is_idle() || stuck && !self.flight.is_empty();
        if self.probes_due > 0 || !waiting {
            return None;
        }
        let report = match self.policies.feedback {
            Feedback::EveryDatagram { min_interval } => min_interval,
            Feedback::Periodic { interval } => interval,
        };
        let timeout = self.rtt.probe_timeout(report + REPORT_SLACK);
        let backed_off = timeout.saturating_mul(1 << self.backoff.min(16));
        let longest = (self.rtt.smoothed() * 2).clamp(LONGEST_TIMEOUT, LONGEST_TIMEOUT_EVER);
        Some(self.last_activity + backed_off.min(longest))
    }

    /// True: the retransmission timer fired.
    pub(crate) fn on_timeout(&mut self, now: Time) -> bool {
        if self.flight.loss_time().is_some_and(|t| t <= now) {
            self.flight.detect_losses(now, &self.rtt);
            self.settle();
        }
        self.advance(now);
        self.end_noticed |= now >= self.last_source + self.pause();
        if self.probe_time().is_none_or(|t| now < t) {
            return false;
        }
        self.probes_due = 2;
        self.stalled_below = self.encoder.next();
        self.blocks.close(self.policies.redundancy);
        self.sated = false;
        self.backoff += 1;
        self.last_activity = now;
        true
    }
}

/// Whether `in_flight` repairs, of which the share `loss` will not arrive, leave the receiver
/// short of the `needed` ones; half a repair either way is left to later reports.
fn short(needed: f64, in_flight: u64, loss: f64) -> bool {
    // On a path that looks dead, sending ever more at once would not help.
    needed >= in_flight as f64 * (1.0 - loss.min(0.75)) + 0.5
}
