//! What reports say about the peer and the path.

use core::time::Duration;
use weftline_codec::Esi;

use super::flight::Transmission;
use super::flow::Flow;
use super::scheme::Report;
use super::situation::Situation;
use super::{Inconsistent, Sender};
use crate::abandoned::Outcome;
use crate::rate::Progress;
use crate::time::Time;
use crate::wire::{FeedbackView, LOSS_UNITS, complete};

impl Sender {
    /// The peer reported its state. Returns what that says about the path, if it is new. Reports
    /// older than the newest are ignored.
    pub(crate) fn on_feedback(
        &mut self,
        now: Time,
        report: &FeedbackView<'_>,
    ) -> Result<Option<Progress>, Inconsistent> {
        let number = complete(report.number, self.newest_report.unwrap_or(0));
        if self.newest_report.is_some_and(|n| number <= n) {
            return Ok(None);
        }
        let flow = &mut self.flow;
        let largest = complete(report.largest, flow.flight.next().saturating_sub(1));
        let next = complete(report.next, flow.encoder.first());
        let sent = flow.encoder.next();
        if largest >= flow.flight.next() || next > sent || next + report.extent > sent {
            return Err(Inconsistent);
        }
        self.newest_report = Some(number);
        let told = Report {
            view: *report,
            next,
            largest,
            rank: report.rank,
            loss: report.loss.map(|l| f64::from(l) / f64::from(LOSS_UNITS)),
        };
        self.rule
            .on_report(&Situation::new(now, false, flow), &told);
        flow.rank = report.rank;
        flow.credit = flow.credit.max(next + report.credit);

        let delay = Duration::from_micros(report.delay);
        let runs = report.transmissions();
        let acknowledged = (flow.flight).on_report(now, largest, runs, delay, &mut flow.rtt);
        if acknowledged.count > 0 {
            self.window_shut = false;
            self.backoff = 0;
            self.probes_due = 0;
            self.last_activity = now;
        }
        self.settle();
        let systematic = self.rule.is_systematic();
        self.flow.learn(next, report, systematic);
        self.on_progress(now);
        self.advance(now);
        self.flow.on_credit(report.credit);
        // This report may have cancelled the timer's probe.
        if next < self.edge() {
            self.tell_edge();
        }
        self.flow
            .on_queue(now, Duration::from_micros(report.queue_delay));
        let flow = &self.flow;
        let (arrived, lost) = flow.flight.fates_of_bytes();
        let is_news = acknowledged.count > 0;
        Ok(is_news.then(|| Progress {
            newest: acknowledged.newest,
            count: acknowledged.count,
            rtt: flow.rtt.latest(),
            queue: Duration::from_micros(report.queue_delay),
            arrived,
            lost,
            burst: flow.loss.mean_burst(),
            next: flow.flight.next(),
        }))
    }

    /// The peer reported its state for the last time: it has closed. Symbols that are `needless` to
    /// it count as arrived. All that it lists counts as well, not only what was sent as it is.
    pub(crate) fn on_last_feedback(
        &mut self,
        now: Time,
        report: &FeedbackView<'_>,
        needless: impl Fn(&[u8]) -> bool,
    ) -> Result<(), Inconsistent> {
        self.on_feedback(now, report)?;
        let flow = &mut self.flow;
        let next = complete(report.next, flow.encoder.first());
        flow.learn_coded(next, report);
        for (esi, record) in (flow.encoder.first()..).zip(&mut flow.records) {
            record.known |= flow.encoder.symbol(esi).is_some_and(&needless);
        }
        self.advance(now);
        Ok(())
    }

    /// How many times in a row the retransmission timer has fired.
    pub(crate) fn timeouts_in_a_row(&self) -> u32 {
        self.backoff
    }

    fn on_progress(&mut self, now: Time) {
        self.rule
            .on_progress(&Situation::new(now, false, &self.flow));
    }

    /// The carrier dropped everything sent so far. Its source symbols leave again before anything
    /// else. The drop says nothing about the path.
    pub(crate) fn on_all_dropped(&mut self, now: Time) {
        self.flow.flight.on_all_dropped();
        self.settle_fates();
        self.flow.flight.resolved_in_order().for_each(drop);
        self.dropped_below = self.next_esi();
        self.window_shut = false;
        self.probes_due = 0;
        self.backoff = 0;
        self.last_activity = now;
    }

    /// Accounts for transmissions whose fate is known now.
    pub(super) fn settle(&mut self) {
        self.settle_fates();
        let Flow { flight, loss, .. } = &mut self.flow;
        for (size, lost) in flight.resolved_in_order() {
            // A probe of a size is lost because of its size.
            if size == 0 {
                continue;
            }
            loss.record(lost);
            self.rule.on_fate_in_order(lost);
            if let Some(discovery) = &mut self.discovery {
                discovery.on_datagram(size.into(), lost, loss.expected());
            }
        }
    }

    fn settle_fates(&mut self) {
        self.rule.on_news();
        let flow = &mut self.flow;
        while let Some((number, transmission, lost)) = flow.flight.pop_fate() {
            match transmission {
                Transmission::Source { esi, .. } => {
                    let Some(record) = flow.record_mut(esi) else {
                        flow.abandoned.on_fate(esi, number, lost);
                        continue;
                    };
                    if !lost {
                        record.known = true;
                        flow.lost.remove(&esi);
                    } else if !record.known && record.transmission == number {
                        flow.lost.insert(esi);
                    }
                }
                Transmission::Repair { block, top_up } => {
                    flow.top_ups_arrived += u64::from(top_up && !lost);
                    if let Some(block) = block {
                        self.rule.on_fate(block, lost);
                    }
                }
                Transmission::Probe => {
                    if let Some(discovery) = &mut self.discovery {
                        discovery.on_fate(number, lost);
                    }
                }
            }
        }
    }

    /// Moves the lower edge over symbols that the peer has and over symbols that are worthless by
    /// now.
    pub(super) fn advance(&mut self, now: Time) {
        let skipped = self.flow.advance(now);
        self.on_progress(now);
        if skipped {
            self.tell_edge();
        }
    }

    /// Tells the peer the edge after it moved over worthless symbols, because the peer's credit
    /// starts from its own edge. The next symbol would tell it, but may have no credit.
    fn tell_edge(&mut self) {
        if self.is_idle() && !self.flow.has_room() {
            self.probes_due = self.probes_due.max(1);
        }
    }
}

impl Flow {
    /// Learns which symbols the peer knows without having received them: all below `next`, and lost
    /// symbols that it recovered. The received ones are known by their transmissions.
    fn learn(&mut self, next: Esi, report: &FeedbackView<'_>, systematic: bool) {
        let first = self.encoder.first();
        let below = next.saturating_sub(first).min(self.records.len() as u64) as usize;
        let below = self.records.iter_mut().take(below);
        below.for_each(|r| r.known = true);
        self.lost = self.lost.split_off(&next);
        if !systematic {
            self.learn_coded(next, report);
        }
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

    /// Learns which symbols the peer decoded that were sent only as repair symbols. Blocks may be
    /// decoded in any order.
    fn learn_coded(&mut self, next: Esi, report: &FeedbackView<'_>) {
        let first = self.encoder.first();
        let mut esi = next;
        for run in report.symbols() {
            let known = esi + run.first..esi + run.first + run.second;
            esi = known.end;
            let place = |esi: Esi| (esi.saturating_sub(first) as usize).min(self.records.len());
            let places = place(known.start)..place(known.end);
            self.records.range_mut(places).for_each(|r| r.known = true);
        }
    }

    /// Moves the lower edge. Returns true if it moved over a symbol that the peer does not have.
    fn advance(&mut self, now: Time) -> bool {
        let mut edge = self.encoder.first();
        let mut skipped = false;
        while let Some(front) = self.records.front()
            && (front.known || front.expires.is_some_and(|t| now > t))
        {
            if !front.known {
                skipped = true;
                let outcome = match self.lost.contains(&edge) {
                    true => Outcome::Lost,
                    false => Outcome::Pending,
                };
                self.abandoned.add(edge, front.transmission, outcome);
            }
            self.records.pop_front();
            edge += 1;
        }
        if edge > self.encoder.first() {
            self.top_ups_arrived = 0;
        }
        self.encoder.discard_before(edge);
        self.lost = self.lost.split_off(&edge);
        skipped
    }
}
