//! Numbered datagrams in flight: their fate is not known.

use std::collections::VecDeque;

use core::time::Duration;
use weftline_codec::Esi;

use super::reordering::Reordering;
use crate::rtt::RttEstimator;
use crate::spare::free_spare;
use crate::time::Time;
use crate::wire::Run;

/// Every transmission from the oldest unresolved one on.
#[derive(Debug, Default)]
pub(super) struct Flight {
    sent: VecDeque<Sent>,
    /// Number of the first in `sent`.
    first: u64,
    largest_acknowledged: Option<u64>,
    bytes: u64,
    repairs: u64,
    top_ups: u64,
    sources: u64,
    loss_time: Option<Time>,
    reordering: Reordering,
    /// Bytes whose fate is known, since the session began.
    arrived: u64,
    gone: u64,
    /// Datagrams taken for lost, and those of them that arrived after all.
    lost: u64,
    spurious: u64,
    fates: VecDeque<(u64, Transmission, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    /// 0 for a probe of a size, whose fate tells of nothing else.
    size: u16,
    kind: Transmission,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Unknown,
    Arrived,
    Lost,
    /// It did not arrive, for a reason that says nothing about the path.
    Dropped,
}

/// What a transmission carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transmission {
    /// A source symbol.
    Source {
        /// Its number.
        esi: Esi,
        /// It was sent before.
        again: bool,
        /// Repair symbols in the same datagram.
        riders: u8,
    },
    /// A repair symbol, of a numbered block if the code has blocks.
    Repair {
        /// The number of the block.
        block: Option<u64>,
        /// It covers the oldest missing symbol.
        top_up: bool,
    },
    /// A repair symbol over this source symbol alone, which is of no use to others.
    Copy(Esi),
    /// A datagram without a symbol, which asks for a report.
    Probe,
}

impl Transmission {
    /// Repair symbols in it.
    pub(super) fn repairs(self) -> u64 {
        match self {
            Transmission::Source { riders, .. } => riders.into(),
            Transmission::Repair { .. } => 1,
            Transmission::Copy(_) | Transmission::Probe => 0,
        }
    }
}

/// What a report acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledged {
    /// Transmissions that it acknowledged for the first time.
    pub(super) count: u64,
    /// The time since they left, added up.
    pub(super) waited: Duration,
    /// The largest transmission and when it left, if its fate was not known before.
    pub(super) newest: Option<(u64, Time)>,
}

/// A datagram counts as lost when one sent this many later has arrived (RFC 9002, section 6.1.1).
const REORDERING: u64 = 3;

/// At most this many transmissions are remembered. When more leave without a report, the oldest count
/// as lost.
const MAX_UNRESOLVED: usize = 1 << 16;

impl Flight {
    /// The next transmission number.
    pub(super) fn next(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Repair symbols whose fate is unknown.
    pub(super) fn repairs(&self) -> u64 {
        self.repairs
    }

    /// Repair symbols over the oldest window whose fate is unknown.
    pub(super) fn top_ups(&self) -> u64 {
        self.top_ups
    }

    /// When the datagrams left that are newer than all that reports tell of, the oldest first.
    pub(super) fn unheard(&self) -> impl Iterator<Item = Time> + '_ {
        let next = self.largest_acknowledged.map_or(0, |n| n + 1);
        let index = usize::try_from(next.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let newer = self.sent.iter().skip(index);
        newer.filter(|sent| sent.size > 0).map(|sent| sent.at)
    }

    /// Frees the memory kept for further transmissions.
    pub(super) fn release(&mut self) {
        free_spare(&mut self.sent);
        free_spare(&mut self.fates);
    }

    /// Source symbols whose fate is unknown.
    pub(super) fn sources(&self) -> u64 {
        self.sources
    }

    /// No transmission waits for a report.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Transmissions from the oldest one of unknown fate on.
    pub(super) fn unresolved(&self) -> usize {
        self.sent.len()
    }

    /// The transmissions of unknown fate, but for probes of a size, among the newest `most`, in order:
    /// their numbers, when they left, and what they carry.
    pub(super) fn undecided(
        &self,
        most: usize,
    ) -> impl Iterator<Item = (u64, Time, Transmission)> + '_ {
        let skipped = self.sent.len().saturating_sub(most);
        let newest = self.sent.iter().enumerate().skip(skipped);
        newest
            .filter(|(_, t)| t.fate == Fate::Unknown && t.size > 0)
            .map(|(index, t)| (self.first + index as u64, t.at, t.kind))
    }

    pub(super) fn loss_time(&self) -> Option<Time> {
        self.loss_time
    }

    /// Bytes that arrived, and bytes that were lost, since the session began.
    pub(super) fn fates_of_bytes(&self) -> (u64, u64) {
        (self.arrived, self.gone)
    }

    /// Datagrams that were taken for lost, but for probes of a size, and those of them that arrived after
    /// all.
    pub(super) fn losses(&self) -> [u64; 2] {
        [self.lost, self.spurious]
    }

    /// A datagram left. Returns true if too many are unresolved, so that the oldest was given up; its
    /// fate waits in [`Self::pop_fate`].
    pub(super) fn on_sent(&mut self, at: Time, kind: Transmission, len: usize) -> bool {
        let size = u16::try_from(len).unwrap_or(u16::MAX);
        let full = self.sent.len() >= MAX_UNRESOLVED;
        if full {
            self.resolve(0, Fate::Lost);
        }
        self.bytes += u64::from(size);
        self.repairs += kind.repairs();
        self.top_ups += u64::from(matches!(kind, Transmission::Repair { top_up: true, .. }));
        self.sources += u64::from(matches!(kind, Transmission::Source { .. }));
        self.sent.push_back(Sent {
            at,
            size,
            kind,
            fate: Fate::Unknown,
        });
        full
    }

    fn resolve(&mut self, index: usize, fate: Fate) {
        let transmission = &mut self.sent[index];
        if transmission.fate != Fate::Unknown {
            return;
        }
        transmission.fate = fate;
        let size = u64::from(transmission.size);
        self.bytes -= size;
        self.lost += u64::from(fate != Fate::Arrived && size > 0);
        match fate {
            Fate::Lost => {
                self.gone += size;
                let number = self.first + index as u64;
                if size > 0 {
                    self.reordering
                        .on_lost(number, transmission.at, transmission.size);
                }
            }
            Fate::Arrived => self.arrived += size,
            Fate::Dropped | Fate::Unknown => {}
        }
        self.repairs -= transmission.kind.repairs();
        self.top_ups -= u64::from(matches!(
            transmission.kind,
            Transmission::Repair { top_up: true, .. }
        ));
        self.sources -= u64::from(matches!(transmission.kind, Transmission::Source { .. }));
        self.fates.push_back((
            self.first + index as u64,
            transmission.kind,
            fate != Fate::Arrived,
        ));
    }

    /// The peer has `largest` and, downwards from it, the first run of each pair. What left before
    /// `dropped` and is in no run did not arrive, for a reason that says nothing about the path.
    pub(super) fn on_report(
        &mut self,
        now: Time,
        largest: u64,
        runs: impl Iterator<Item = Run>,
        delay: Duration,
        dropped: Option<Time>,
        rtt: &mut RttEstimator,
    ) -> Acknowledged {
        let mut count = 0;
        let mut waited = Duration::ZERO;
        let mut newest = None;
        if let Some(index) = largest.checked_sub(self.first)
            && let Some(transmission) = self.sent.get(index as usize)
            && transmission.fate == Fate::Unknown
        {
            rtt.sample(now.since(transmission.at), delay);
            newest = Some((largest, transmission.at));
        }
        let mut end = largest + 1;
        for run in runs {
            let start = end.saturating_sub(run.first);
            let remembered = self.reordering.first().unwrap_or(self.first);
            if end <= self.first.min(remembered) {
                break;
            }
            if end > remembered {
                let (late, bytes) = self.reordering.on_run(now, start..end, rtt.smoothed());
                self.spurious += late;
                self.arrived += bytes;
                self.gone -= bytes;
            }
            for number in start.max(self.first)..end.max(self.first) {
                let index = (number - self.first) as usize;
                if self.sent[index].fate == Fate::Unknown {
                    count += 1;
                    let took = now.since(self.sent[index].at);
                    waited += took;
                    self.reordering.on_arrival(took);
                    self.resolve(index, Fate::Arrived);
                }
            }
            end = start.saturating_sub(run.second);
        }
        self.largest_acknowledged = self.largest_acknowledged.max(Some(largest));
        if let Some(before) = dropped {
            self.on_dropped(before);
        }
        self.detect_losses(now, rtt);
        Acknowledged {
            count,
            waited,
            newest,
        }
    }

    /// Declares transmissions lost that should have been acknowledged by now (RFC 9002, section 6.1).
    pub(super) fn detect_losses(&mut self, now: Time, rtt: &RttEstimator) {
        self.loss_time = None;
        let Some(largest) = self.largest_acknowledged else {
            return;
        };
        let late = self.reordering.window();
        let delay = rtt.loss_delay() + late;
        let older = (largest + 1)
            .saturating_sub(self.first)
            .min(self.sent.len() as u64) as usize;
        for index in 0..older {
            let transmission = self.sent[index];
            if transmission.fate != Fate::Unknown {
                continue;
            }
            let overtaken = self.first + index as u64 + REORDERING <= largest;
            let deadline = match overtaken {
                true => transmission.at + rtt.smoothed() + late,
                false => transmission.at + delay,
            };
            if overtaken && late.is_zero() || deadline <= now {
                self.resolve(index, Fate::Lost);
            } else {
                let first = self.loss_time.map_or(deadline, |t| t.min(deadline));
                self.loss_time = Some(first);
            }
        }
    }

    /// The transmissions that left before `before` and of which nothing was heard will not arrive, for a
    /// reason that says nothing about the path.
    pub(super) fn on_dropped(&mut self, before: Time) {
        let older = self.sent.partition_point(|sent| sent.at < before);
        for index in 0..older {
            self.resolve(index, Fate::Dropped);
        }
        self.loss_time = None;
        self.resolved_in_order().for_each(drop);
    }

    /// Transmissions that left at `time` or later.
    pub(super) fn sent_since(&self, time: Time) -> usize {
        self.sent.len() - self.sent.partition_point(|sent| sent.at < time)
    }

    /// When this transmission left, if its fate is not known.
    pub(super) fn left_at(&self, number: u64) -> Option<Time> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let sent = self.sent.get(index)?;
        (sent.fate == Fate::Unknown).then_some(sent.at)
    }

    /// The next resolved transmission: its number, what it carried, and whether it was lost.
    pub(super) fn pop_fate(&mut self) -> Option<(u64, Transmission, bool)> {
        self.fates.pop_front()
    }

    /// Forgets resolved transmissions from the oldest on. Yields for each its bytes, and whether it was
    /// lost.
    pub(super) fn resolved_in_order(&mut self) -> impl Iterator<Item = (u16, bool)> + '_ {
        core::iter::from_fn(|| {
            let Sent { fate, size, .. } = *self.sent.front()?;
            if fate == Fate::Unknown {
                return None;
            }
            self.sent.pop_front();
            self.first += 1;
            Some((size, fate == Fate::Lost))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(n: u64) -> (Flight, RttEstimator) {
        let mut flight = Flight::default();
        for i in 0..n {
            flight.on_sent(
                Time::from_micros(i * 1000),
                Transmission::Source {
                    esi: i,
                    again: false,
                    riders: 0,
                },
                100,
            );
        }
        (flight, RttEstimator::new(Duration::from_millis(50)))
    }

    fn fates(flight: &mut Flight) -> Vec<(u64, bool)> {
        core::iter::from_fn(|| flight.pop_fate())
            .map(|(n, _, lost)| (n, lost))
            .collect()
    }

    #[test]
    fn a_gap_is_lost_once_three_later_transmissions_have_arrived() {
        let (mut flight, mut rtt) = flight(10);
        let now = Time::from_micros(40_000);
        let runs = [
            Run {
                first: 2,
                second: 1,
            },
            Run {
                first: 2,
                second: 0,
            },
        ];
        let report = flight.on_report(now, 4, runs.into_iter(), Duration::ZERO, None, &mut rtt);
        assert_eq!(report.count, 4);
        assert_eq!(report.newest, Some((4, Time::from_micros(4000))));
        // 0, 1, 3 and 4 arrived; 2 is only two behind the largest.
        assert_eq!(
            fates(&mut flight),
            [(3, false), (4, false), (0, false), (1, false)]
        );
        assert!(flight.loss_time().is_some());
        let runs = [Run {
            first: 3,
            second: 1,
        }];
        flight.on_report(now, 5, runs.into_iter(), Duration::ZERO, None, &mut rtt);
        assert_eq!(fates(&mut flight), [(5, false), (2, true)]);
        assert_eq!(
            flight.resolved_in_order().collect::<Vec<_>>(),
            [false, false, true, false, false, false].map(|lost| (100, lost))
        );
        assert_eq!(flight.bytes(), 400);
        assert_eq!(flight.next(), 10);
    }

    #[test]
    fn an_older_transmission_is_lost_when_its_time_has_passed() {
        let (mut flight, mut rtt) = flight(3);
        flight.on_report(
            Time::from_micros(30_000),
            2,
            [Run {
                first: 1,
                second: 0,
            }]
            .into_iter(),
            Duration::ZERO,
            None,
            &mut rtt,
        );
        let deadline = flight.loss_time().unwrap();
        assert_eq!(deadline, Time::from_micros(0) + rtt.loss_delay());
        fates(&mut flight);
        flight.detect_losses(deadline, &rtt);
        assert_eq!(fates(&mut flight), [(0, true)]);
    }

    #[test]
    fn the_number_of_remembered_transmissions_is_bounded() {
        let mut flight = Flight::default();
        for i in 0..3 * MAX_UNRESOLVED as u64 / 2 {
            if flight.on_sent(Time::from_micros(i), Transmission::Probe, 100) {
                assert_eq!(
                    flight.resolved_in_order().collect::<Vec<_>>(),
                    [(100, true)]
                );
            }
            assert!(flight.sent.len() <= MAX_UNRESOLVED);
        }
        assert_eq!(flight.bytes(), 100 * MAX_UNRESOLVED as u64);
    }
}
