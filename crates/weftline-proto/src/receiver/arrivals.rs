//! What arrived on one path, and when its next report is due.

use crate::clock::RemoteClock;
use crate::ranges::RangeSet;
use crate::time::Time;
use crate::wire::{Coded, Measuring, complete};

use super::Drop;
use super::measure::LossMeter;
use super::return_path::ReturnPath;

/// Of a periodic report the queueing delay is the shortest of this many datagrams: it stands for
/// many, and the wait of a process for its processor must not look like a queue.
const RECENT: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// Transmission numbers that arrived.
    pub(super) seen: RangeSet,
    /// When the largest transmission number arrived.
    pub(super) largest_at: Time,
    pub(super) clock: RemoteClock,
    /// The queueing delays of the newest datagrams, the newest first.
    queue_delays: [u64; RECENT],
    /// Measures the losses, for a peer that asks for the rate.
    pub(super) meter: Option<LossMeter>,
    /// When the next report is due, if anything arrived since the last one.
    pub(super) due: Option<Time>,
    /// A report is due and waits for the carrier.
    pub(super) wanted: bool,
    pub(super) last_report: Option<Time>,
    pub(super) return_path: ReturnPath,
    /// Numbered datagrams since the last report.
    pub(super) unreported: u32,
}

impl Arrivals {
    /// From now on the losses are measured, as the peer asks in `options`, or not.
    pub(super) fn measure(&mut self, options: Option<Measuring>) {
        self.meter = options.map(|options| LossMeter::new(options, &self.seen));
    }

    /// The transmission number of a datagram, if it is new.
    pub(super) fn transmission(&self, coded: &Coded) -> Result<u64, Drop> {
        let expected = self.seen.max().map_or(0, |m| m + 1);
        let number = complete(coded.transmission, expected);
        match self.seen.is_new(number) {
            true => Ok(number),
            false => Err(Drop::Replayed),
        }
    }

    /// A datagram arrived. Returns whether there is a gap before it.
    pub(super) fn on_datagram(&mut self, now: Time, transmission: u64, timestamp: u32) -> bool {
        let gap = self.seen.max().is_none_or(|m| transmission != m + 1);
        self.seen.insert(transmission);
        if let Some(meter) = &mut self.meter {
            meter.on_arrival(transmission);
        }
        match self.seen.max() == Some(transmission) {
            true => self.largest_at = now,
            false => self.return_path.on_late(transmission),
        }
        self.queue_delays.rotate_right(1);
        let before = self.clock.newest();
        self.queue_delays[0] = self.clock.observe(now, timestamp);
        if let (Some(before), Some(sent)) = (before, self.clock.newest()) {
            self.return_path.on_datagram(now, before, sent);
        }
        self.unreported += 1;
        gap
    }

    /// The wait in the path's queue that a report tells; `periodic`: it stands for many datagrams.
    pub(super) fn queue_delay(&self, periodic: bool) -> u64 {
        match periodic {
            true => self.queue_delays.into_iter().min().unwrap_or(0),
            false => self.queue_delays[0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_that_was_overtaken_does_not_count_as_the_largest() {
        let at = |ms: u64| Time::from_micros(1000 * ms);
        let mut arrivals = Arrivals::default();
        let gaps = [(1, 0), (2, 2), (3, 1), (4, 3)].map(|(ms, transmission)| {
            let gap = arrivals.on_datagram(at(ms), transmission, 1000 * ms as u32);
            (gap, arrivals.largest_at)
        });
        let expected = [(true, 1), (true, 2), (true, 2), (false, 4)];
        assert_eq!(gaps, expected.map(|(gap, ms)| (gap, at(ms))));
    }
}
