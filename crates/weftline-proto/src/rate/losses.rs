//! Losses that come with the rate, told from those that come anyway.

use super::round::Round;

/// Fates that a comparison needs.
const SAMPLE: f64 = 200.0;
/// And those among them that met no queue.
const REST_SAMPLE: f64 = 20.0;
/// What is known of the losses without a queue weighs this much less each time it is measured.
const KEPT: f64 = 0.7;
/// Losses of the path alone must be exceeded by this, and by so many standard deviations.
const MARGIN: f64 = 0.02;
const DEVIATIONS: f64 = 2.5;

/// Packets, and those of them that were lost.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: f64,
    lost: f64,
}

impl Count {
    fn share(self) -> f64 {
        self.lost / self.packets.max(1.0)
    }
}

/// Losses while the queue was empty, and lately.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    rest: Count,
    recent: Count,
}

impl Losses {
    /// The share that is lost without a queue, as far as is known.
    pub(super) fn random(&self) -> f64 {
        self.rest.share()
    }

    /// A round of packets that met no queue of ours.
    pub(super) fn rested(&mut self, round: &Round, packet: f64) {
        let packets = round.packets(packet);
        self.rest = Count {
            packets: self.rest.packets * KEPT + packets,
            lost: self.rest.lost * KEPT + packets * round.loss(),
        };
        self.recent = Count::default();
    }

    /// A round at full rate. The share of losses beyond those of an empty queue, 0 if there are not
    /// certainly more of them; `None`: there are losses, and those of an empty queue are not known.
    pub(super) fn excess(&mut self, round: &Round, packet: f64) -> Option<f64> {
        let packets = round.packets(packet);
        self.recent.packets += packets;
        self.recent.lost += packets * round.loss();
        if self.recent.packets < SAMPLE {
            return Some(0.0);
        }
        let recent = core::mem::take(&mut self.recent);
        if self.rest.packets < REST_SAMPLE {
            return (recent.share() <= MARGIN).then_some(0.0);
        }
        let usual = (self.rest.lost + 0.5) / (self.rest.packets + 1.0);
        let variance = usual * (1.0 - usual) * (2.0 * round.burst() - 1.0);
        let error = variance * (1.0 / recent.packets + 1.0 / self.rest.packets);
        let excess = recent.share() - usual;
        let certain = excess > MARGIN + DEVIATIONS * error.sqrt();
        Some(if certain { excess } else { 0.0 })
    }

    /// Whether a round lost more than chance explains: where nothing is lost without a queue, one.
    pub(super) fn beyond(&self, round: &Round, packet: f64) -> bool {
        let packets = round.packets(packet);
        let usual = self.random() * packets;
        let deviation = (usual * (2.0 * round.burst() - 1.0)).sqrt();
        packets * round.loss() > usual + 2.0 * deviation + 0.5
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::super::progress::Progress;
    use super::super::round::Point;
    use super::*;
    use crate::time::Time;

    /// So many packets of 1,000 bytes, and those of them that were lost.
    fn round(packets: u64, lost: u64) -> Round {
        let point = |arrived, lost| {
            Point::new(&Progress {
                number: 0,
                sent: Time::ZERO,
                rtt: Duration::ZERO,
                queue: Duration::ZERO,
                arrived,
                lost,
                burst: 1.0,
                next: 0,
            })
        };
        let mut round = Round::new(0, Some(point(0, 0)));
        round.add(point(1000 * (packets - lost), 1000 * lost));
        round
    }

    fn excess(rested: (u64, u64), full: (u64, u64)) -> Option<f64> {
        let mut losses = Losses::default();
        losses.rested(&round(rested.0, rested.1), 1000.0);
        losses.excess(&round(full.0, full.1), 1000.0)
    }

    #[test]
    fn a_path_that_loses_as_much_without_a_queue_has_no_excess() {
        for (rested, full) in [
            ((40, 8), (200, 40)),
            ((40, 5), (200, 44)),
            ((400, 4), (400, 4)),
        ] {
            assert_eq!(excess(rested, full), Some(0.0), "{rested:?} {full:?}");
        }
    }

    #[test]
    fn certainly_more_losses_at_full_rate_are_an_excess() {
        let found = excess((200, 2), (300, 45)).expect("enough is known");
        assert!((found - 0.1376).abs() < 1e-3, "{found}");
        // Nothing is known of the empty queue, and nothing need be where nothing is lost.
        assert_eq!(excess((10, 0), (300, 45)), None);
        assert_eq!(excess((10, 0), (300, 3)), Some(0.0));
    }
}
