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
        let usual = (self.rest.lost + 0.5) / (self.rest.packets + 1.0).max(SAMPLE / 2.0);
        let variance = usual * (1.0 - usual) * (2.0 * round.burst() - 1.0);
        let error = variance * (1.0 / recent.packets + 1.0 / self.rest.packets.max(SAMPLE / 2.0));
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
