//! Tells losses by congestion from the losses that the path has anyway.

use super::round::Round;

/// A comparison needs this many packets at full rate.
const SAMPLE: f64 = 200.0;
/// This many are enough if many are lost.
const HEAVY_SAMPLE: f64 = 40.0;
/// It needs this many packets that met no queue, unless fewer make an excess certain.
const REST_SAMPLE: f64 = 20.0;
/// Weight that older measurements of the losses without a queue keep at each new one, once they are
/// enough.
const KEPT: f64 = 0.7;
/// Losses are excessive beyond the path's own by this share and this many standard deviations.
const MARGIN: f64 = 0.02;
const DEVIATIONS: f64 = 2.5;

/// Packets, and how many of them were lost.
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

/// Losses while the queue was empty, and recent losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    rest: Count,
    recent: Count,
}

impl Losses {
    /// The loss rate without a queue, as far as is known.
    pub(super) fn random(&self) -> f64 {
        self.rest.share()
    }

    /// Whether the loss rate without a queue is known.
    pub(super) fn are_known(&self) -> bool {
        self.rest.packets >= REST_SAMPLE
    }

    /// The packets of a round met no queue of this flow.
    pub(super) fn on_rested_round(&mut self, round: &Round, packet: f64) {
        let packets = round.packets(packet);
        let kept = match self.are_known() {
            true => KEPT,
            false => 1.0,
        };
        self.rest = Count {
            packets: self.rest.packets * kept + packets,
            lost: self.rest.lost * kept + packets * round.loss(),
        };
        self.recent = Count::default();
    }

    /// Adds a round at full rate. Returns the loss rate beyond that of an empty queue, 0 unless the
    /// excess is certain. A loss rate above `most` is an excess as long as nothing is known of that of an empty
    /// queue.
    ///
    /// # Errors
    /// The loss rate, if there are losses and that of an empty queue is not known.
    pub(super) fn excess(&mut self, round: &Round, packet: f64, most: f64) -> Result<f64, f64> {
        let packets = round.packets(packet);
        self.recent.packets += packets;
        self.recent.lost += packets * round.loss();
        let sample = match self.recent.share() > most {
            true => HEAVY_SAMPLE,
            false => SAMPLE,
        };
        if self.recent.packets < sample {
            return Ok(0.0);
        }
        let recent = core::mem::take(&mut self.recent);
        let is_known = self.are_known();
        if !is_known && recent.share() <= MARGIN {
            return Ok(0.0);
        }
        let rest = match is_known || recent.share() <= most {
            true => self.rest,
            false => Count {
                packets: recent.packets,
                lost: recent.packets * most.max(self.random()),
            },
        };
        let usual = (rest.lost + 0.5) / (rest.packets + 1.0);
        let variance = usual * (1.0 - usual) * (2.0 * round.burst() - 1.0);
        let error = variance * (1.0 / recent.packets + 1.0 / rest.packets);
        let excess = recent.share() - usual;
        let certain = excess > MARGIN + DEVIATIONS * error.sqrt();
        match certain {
            true => Ok(excess),
            false if is_known => Ok(0.0),
            false => Err(recent.share()),
        }
    }

    /// Whether a round lost more than chance explains. One loss is enough on a path that loses
    /// nothing without a queue.
    pub(super) fn is_excessive(&self, round: &Round, packet: f64) -> bool {
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

    /// A round of packets of 1,000 bytes, `lost` of which were lost.
    fn round(packets: u64, lost: u64) -> Round {
        let point = |arrived, lost| {
            Point::new(
                Time::ZERO,
                &Progress {
                    newest: None,
                    count: 1,
                    waited: Duration::ZERO,
                    rtt: Duration::ZERO,
                    queue: Duration::ZERO,
                    arrived,
                    lost,
                    burst: 1.0,
                    next: 0,
                },
                Duration::ZERO,
            )
        };
        let mut round = Round::new(0, Some(point(0, 0)));
        round.add(point(1000 * (packets - lost), 1000 * lost));
        round
    }

    fn excess(rested: (u64, u64), full: (u64, u64)) -> Result<f64, f64> {
        let mut losses = Losses::default();
        losses.on_rested_round(&round(rested.0, rested.1), 1000.0);
        losses.excess(&round(full.0, full.1), 1000.0, 1.0)
    }

    #[test]
    fn a_path_that_loses_as_much_without_a_queue_has_no_excess() {
        for (rested, full) in [
            ((40, 8), (200, 40)),
            ((40, 5), (200, 44)),
            ((400, 4), (400, 4)),
        ] {
            assert_eq!(excess(rested, full), Ok(0.0), "{rested:?} {full:?}");
        }
    }

    #[test]
    fn short_rests_add_up_and_few_packets_show_an_excess_that_is_certain() {
        let mut losses = Losses::default();
        for _ in 0..4 {
            losses.on_rested_round(&round(5, 0), 1000.0);
        }
        assert!(losses.are_known());
        let found = excess((5, 0), (200, 150)).expect("it is certain");
        assert!((0.6..0.75).contains(&found), "{found}");
        assert_eq!(excess((5, 0), (200, 50)), Err(0.25));
    }

    #[test]
    fn certainly_more_losses_at_full_rate_are_an_excess() {
        let found = excess((200, 2), (300, 45)).expect("enough is known");
        assert!((found - 0.1376).abs() < 1e-3, "{found}");
        // The loss rate of the empty queue is not known. It need not be if nothing is lost.
        assert_eq!(excess((10, 0), (300, 45)), Err(0.15));
        assert_eq!(excess((10, 0), (300, 3)), Ok(0.0));
    }

    #[test]
    fn what_no_path_loses_is_an_excess_before_anything_is_known() {
        let mut losses = Losses::default();
        assert_eq!(losses.excess(&round(50, 20), 1000.0, 0.3), Err(0.4));
        let found = losses.excess(&round(50, 35), 1000.0, 0.3);
        let found = found.expect("it is certain");
        assert!((found - 0.4).abs() < 0.01, "{found}");
        // A path that loses as much without a queue.
        losses.on_rested_round(&round(50, 35), 1000.0);
        assert_eq!(losses.excess(&round(50, 35), 1000.0, 0.3), Ok(0.0));
    }
}
