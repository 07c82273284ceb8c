//! The rate at which data arrives, and the rate that the path can carry.

use super::train::Trains;

/// Rounds whose rates are remembered.
const RATES: usize = 10;

#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    /// Bytes a second that arrived in the last rounds.
    rounds: [f64; RATES],
    /// The highest rate ever. A flow's share beside competing traffic says nothing about the path.
    peak: f64,
    pub(super) trains: Trains,
}

impl Rates {
    /// Adds a round, in which `rate` bytes a second arrived.
    pub(super) fn add(&mut self, rate: f64) {
        self.rounds.rotate_right(1);
        self.rounds[0] = rate;
        self.peak = self.peak.max(rate);
    }

    /// Forgets the path, which may have changed.
    pub(super) fn forget(&mut self) {
        self.peak = 0.0;
        self.trains = Trains::default();
    }

    pub(super) fn peak(&self) -> f64 {
        self.peak
    }

    /// Bytes a second that arrived in the last round.
    pub(super) fn newest(&self) -> f64 {
        self.rounds[0]
    }

    pub(super) fn recent(&self) -> f64 {
        self.rounds[..3].iter().copied().fold(0.0, f64::max)
    }

    /// Bytes a second that arrived in the best of the last rounds.
    pub(super) fn best(&self) -> f64 {
        self.rounds.into_iter().fold(0.0, f64::max)
    }

    /// Bytes a second that the path can carry, as far as is known.
    pub(super) fn path(&self) -> f64 {
        self.peak.max(self.trains.rate())
    }

    /// The same of late: a path that has become slower was faster once.
    pub(super) fn path_of_late(&self) -> f64 {
        match self.trains.rate() {
            0.0 => self.peak,
            rate => rate,
        }
    }

    /// The part of the path's rate that this flow has.
    pub(super) fn share(&self) -> f64 {
        self.recent() / self.path().max(1.0)
    }

    /// The part of the path's rate of late.
    pub(super) fn share_of_late(&self) -> f64 {
        self.recent() / self.path_of_late().max(1.0)
    }
}
