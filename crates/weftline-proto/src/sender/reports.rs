//! What reports say about the peer and the path.

use core::time::Duration;
use weftline_codec::Esi;

use super::flight::{Acknowledged, Transmission};
use super::flow::Flow;
use super::scheme::Report;
use super::situation::Situation;
use super::{Inconsistent, Sender};
use crate::abandoned::Outcome;
use crate::rate::Progress;
use crate::time::Time;
use crate::wire::{FeedbackView, LOSS_UNITS, complete};

impl Sender {
    /// The peer reported its state, and that of this path. Returns what that says about the path, if it
    /// is new. What an older report says about the same is ignored.
    pub(crate) fn on_feedback(
        &mut self,
        now: Time,
        path: usize,
        report: &FeedbackView<'_>,
    ) -> Result<Option<Progress>, Inconsistent> {
        let number = complete(report.number, self.newest_report.unwrap_or(0));
        let flow = &mut self.flow;
        let state = &mut flow.paths[path];
        if state.newest_report.is_some_and(|n| number <= n) {
            return Ok(None);
        }
        let largest = complete(report.largest, state.flight.next().saturating_sub(1));
        let next = complete(report.next, flow.encoder.first());
        let sent = flow.encoder.next();
        if largest >= state.flight.next() || next > sent || next + report.extent > sent {
            return Err(Inconsistent);
        }
        state.newest_report = Some(number);
        state.reported = now;
        // Reports of other paths may have overtaken this one.
        let newest = self.newest_report.is_none_or(|n| number > n);
        if newest {
            self.newest_report = Some(number);
            let told = Report {
                view: *report,
                next,
                heard: next + report.extent,
                largest,
                rank: report.rank,
                loss: report.loss.map(|l| f64::from(l) / f64::from(LOSS_UNITS)),
            };
            self.rule
                .on_report(&Situation::on(path, now, false, &self.flow), &told);
            self.flow.rank = report.rank;
        }
        self.flow.credit = self.flow.credit.max(next + report.credit);
        let is_news = self.on_arrivals(now, path, largest, report);
        let systematic = self.rule.is_systematic();
        self.flow.learn(next, report, systematic);
        self.on_progress(now);
        self.advance(now);
        if newest {
            self.flow.on_credit(report.credit);
        }
        // This report may have cancelled the timer's probe.
        if next < self.edge() {
            self.tell_edge();
        }
        let state = &mut self.flow.paths[path];
        let queue = state.on_queue(now, Duration::from_micros(report.queue_delay));
        Ok(is_news.map(|acknowledged| {
            let (arrived, lost) = state.flight.fates_of_bytes();
            Progress {
                newest: acknowledged.newest,
                count: acknowledged.count,
                waited: acknowledged.waited,
                rtt: state.rtt.latest(),
                queue,
                arrived,
                lost,
                burst: state.loss.mean_burst(),
                next: state.flight.next(),
            }
        }))
    }

    /// What the report says about the datagrams of its path. Returns what is new.
    fn on_arrivals(
        &mut self,
        now: Time,
        path: usize,
        largest: u64,
        report: &FeedbackView<'_>,
    ) -> Option<Acknowledged> {
        let delay = Duration::from_micros(report.delay);
        let several = self.flow.paths.len() > 1;
        let state = &mut self.flow.paths[path];
        // Heard again by a datagram that left after the path fell silent: what left before it and is not
        // reported did not arrive, for a reason that is not the path's loss.
        let left = state.flight.left_at(largest);
        let gone = left.filter(|left| state.silent.is_some_and(|since| *left >= since));
        let runs = report.transmissions();
        let acknowledged =
            (state.flight).on_report(now, largest, runs, delay, gone, &mut state.rtt);
        let again = acknowledged.newest.is_some() && state.on_measured();
        let is_news = acknowledged.count > 0;
        let mut heard = false;
        if is_news {
            state.on_progress(now);
            heard = state.silent.take().is_some();
            state.probes_due = u8::from(again && several);
        }
        if heard {
            self.flow.restart_timers(now);
        }
        self.settle();
        self.flow.choose_main(now);
        is_news.then_some(acknowledged)
    }

    /// The peer reported its state for the last time: it has closed. Symbols that are `needless` to
    /// it count as arrived. All that it lists counts as well, not only what was sent as it is.
    pub(crate) fn on_last_feedback(
        &mut self,
        now: Time,
        path: usize,
        report: &FeedbackView<'_>,
        needless: impl Fn(&[u8]) -> bool,
    ) -> Result<(), Inconsistent> {
        self.on_feedback(now, path, report)?;
        let flow = &mut self.flow;
        let next = complete(report.next, flow.encoder.first());
        flow.learn_coded(next, report);
        for (esi, record) in (flow.encoder.first()..).zip(&mut flow.records) {
            record.known |= flow.encoder.symbol(esi).is_some_and(&needless);
        }
        self.advance(now);
        Ok(())
    }

    fn on_progress(&mut self, now: Time) {
        self.rule
            .on_progress(&Situation::new(now, false, &self.flow));
    }

    /// The carrier dropped everything sent so far. Its source symbols leave again before anything
    /// else. The drop says nothing about the path.
    pub(crate) fn on_all_dropped(&mut self, now: Time) {
        for path in 0..self.flow.paths.len() {
            self.give_up_flight(path, now);
        }
        self.dropped_below = self.next_esi();
    }

    /// Accounts for transmissions whose fate is known now.
    pub(super) fn settle(&mut self) {
        self.settle_fates();
        for path in &mut self.flow.paths {
            let (id, loss) = (path.id, &mut path.loss);
            for (size, lost) in path.flight.resolved_in_order() {
                // A probe of a size is lost because of its size.
                if size == 0 {
                    continue;
                }
                loss.record(lost);
                self.rule.on_fate_in_order(id, lost);
                if let Some(discovery) = &mut path.discovery {
                    discovery.on_datagram(size.into(), lost, loss.expected());
                }
            }
        }
    }

    pub(super) fn settle_fates(&mut self) {
        self.rule.on_news();
        for path in 0..self.flow.paths.len() {
            let id = self.flow.paths[path].id;
            while let Some((number, transmission, lost)) = self.flow.paths[path].flight.pop_fate() {
                if let (Transmission::Probe, Some(discovery)) =
                    (transmission, &mut self.flow.paths[path].discovery)
                {
                    discovery.on_fate(number, lost);
                }
                self.settle_fate(id.name(number), transmission, lost);
            }
        }
    }

    fn settle_fate(&mut self, name: u64, transmission: Transmission, lost: bool) {
        let flow = &mut self.flow;
        match transmission {
            Transmission::Source { esi, .. } => {
                let Some(record) = flow.record_mut(esi) else {
                    flow.abandoned.on_fate(esi, name, lost);
                    return;
                };
                if !lost {
                    record.known = true;
                    flow.lost.remove(esi);
                } else if !record.known && record.transmission == name {
                    flow.lost.insert(esi);
                }
            }
            Transmission::Repair { block, top_up } => {
                flow.top_ups_arrived += u32::from(top_up && !lost);
                if let Some(block) = block {
                    self.rule.on_fate(block, lost);
                }
            }
            Transmission::Copy(esi) if !lost => {
                if let Some(record) = flow.record_mut(esi) {
                    record.known = true;
                    flow.lost.remove(esi);
                }
            }
            Transmission::Copy(_) | Transmission::Probe => {}
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
    pub(super) fn tell_edge(&mut self) {
        if self.is_idle() && !self.flow.has_room() {
            let main = self.flow.main_mut();
            main.probes_due = main.probes_due.max(1);
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
        let below: Vec<Esi> = self.lost.take(0..next).collect();
        self.on_recovered(below);
        // Of several paths, another one's report may have told first.
        if !systematic || self.paths.len() > 1 {
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
            recovered.extend(self.lost.take(known));
        }
        for esi in &recovered {
            if let Some(record) = self.record_mut(*esi) {
                record.known = true;
            }
        }
        self.on_recovered(recovered);
    }

    /// The peer has these symbols although their latest transmission was lost.
    fn on_recovered(&mut self, symbols: impl IntoIterator<Item = Esi>) {
        for esi in symbols {
            let Some(name) = self.record_mut(esi).map(|record| record.transmission) else {
                continue;
            };
            if let Some(path) = self.paths.iter_mut().find(|path| path.id.owns(name)) {
                path.recovered += 1;
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
                let outcome = match self.lost.contains(edge) {
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
        self.lost.take(0..edge);
        skipped
    }
}
