//! What reports tell of the peer, and of the path.

use core::time::Duration;
use weftline_codec::Esi;

use super::flight::Kind;
use super::{Inconsistent, Sender};
use crate::abandoned::Outcome;
use crate::rate::Progress;
use crate::time::Time;
use crate::wire::{FeedbackView, complete};

/// How many symbols the peer lacks from `edge` on, of those it knows of. What is below was given up.
fn missing_from(edge: Esi, next: Esi, report: &FeedbackView<'_>) -> u64 {
    let mut esi = next;
    let mut missing = 0;
    for run in report.symbols() {
        let end = esi + run.first;
        missing += end.saturating_sub(esi.max(edge));
        esi = end + run.second;
    }
    missing
}

impl Sender {
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
            let edge = self.encoder.first();
            let missing = missing_from(edge, next, report);
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
        self.learn_blocks();
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
        if self.rateless.as_ref().is_some_and(|r| !r.is_systematic()) {
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

    /// What was never sent as itself is known when its block is decoded, in whatever order blocks are.
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

    /// Blocks that the peer has are over.
    fn learn_blocks(&mut self) {
        let first = self.encoder.first();
        let records = &self.records;
        if let Some(rateless) = &mut self.rateless {
            rateless.learn(|esi| match esi.checked_sub(first) {
                Some(index) => records.get(index as usize).is_some_and(|r| r.known),
                None => true,
            });
        }
    }

    /// The carrier has dropped all that was sent until now: its source symbols leave again before
    /// anything else. Nothing follows from it for the path.
    pub(crate) fn all_dropped(&mut self, now: Time) {
        self.flight.dropped();
        self.settle_fates();
        self.flight.resolved_in_order().for_each(drop);
        self.dropped_below = self.encoder.next();
        self.window_shut = false;
        self.probes_due = 0;
        self.backoff = 0;
        self.last_activity = now;
    }

    /// Accounts for transmissions that are acknowledged or lost by now.
    pub(super) fn settle(&mut self) {
        self.settle_fates();
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

    fn settle_fates(&mut self) {
        self.sated = false;
        if let Some(rule) = &mut self.rule {
            rule.settled();
        }
        while let Some((transmission, kind, lost)) = self.flight.pop_fate() {
            match kind {
                Kind::Source { esi, .. } => {
                    let Some(record) = self.record_mut(esi) else {
                        self.abandoned.on_fate(esi, transmission, lost);
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
                    match (block, &mut self.rateless) {
                        (Some(block), Some(rateless)) => rateless.repair_fate(block),
                        (Some(block), None) => self.blocks.repair_fate(block, lost),
                        (None, _) => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// Moves the lower edge over what the peer has and over what is worthless by now.
    pub(super) fn advance(&mut self, now: Time) {
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
        self.blocks.discard_before(edge);
        self.learn_blocks();
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Datagram, FeedbackWriter, Run};

    #[test]
    fn what_was_given_up_is_not_missing() {
        // From 70 on: two missing, ten known, three missing, five known.
        let writer = FeedbackWriter {
            number: 1,
            largest: 90,
            next: 70,
            delay: 0,
            queue_delay: 0,
            extent: 20,
            rank: 0,
            credit: 1000,
        };
        let runs = [(2, 10), (3, 5)].map(|(first, second)| Run { first, second });
        let mut out = Vec::new();
        writer.write(runs.into_iter(), [].into_iter(), 1200, &mut out);
        let Ok(Datagram::Feedback(report)) = Datagram::parse(&out) else {
            panic!("not a report")
        };
        for (edge, missing) in [(70, 5), (71, 4), (75, 3), (83, 2), (90, 0)] {
            assert_eq!(missing_from(edge, 70, &report), missing, "from {edge}");
        }
    }
}
