//! The counts of one stream.

use super::Series;

/// A stream that has ended.
pub(super) struct Run {
    pub(super) tally: Tally,
    pub(super) series: Option<Series>,
}

/// Repairs, all and those before the last data packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repairs {
    pub(super) all: u64,
    pub(super) inline: u64,
}

impl Repairs {
    fn add(&mut self, inline: bool) {
        self.all += 1;
        self.inline += u64::from(inline);
    }
}

/// The packets that decodings gave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Matrices {
    pub(super) count: u64,
    pub(super) largest: u32,
    sum: u64,
    squares: u64,
}

impl Matrices {
    pub(super) fn add(&mut self, packets: u32) {
        self.count += 1;
        self.largest = self.largest.max(packets);
        self.sum += u64::from(packets);
        self.squares += u64::from(packets) * u64::from(packets);
    }

    /// 0 without a decoding.
    pub(super) fn mean(&self) -> f64 {
        self.sum as f64 / (self.count as f64).max(1.0)
    }

    pub(super) fn largest_share(&self) -> f64 {
        f64::from(self.largest) / (self.sum as f64).max(1.0)
    }

    pub(super) fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares = self.squares as f64 / (self.count as f64).max(1.0);
        (squares - mean * mean).max(0.0).sqrt()
    }
}

/// The counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    packets: u32,
    pub(super) repairs: Repairs,
    /// Repairs that arrived and brought nothing.
    pub(super) useless: Repairs,
    pub(super) acks: u64,
    /// An acknowledgement has said that everything arrived.
    pub(super) ended: bool,
    pub(super) matrices: Matrices,
    pub(super) largest_system: usize,
    pub(super) estimate: f64,
    /// Seconds until the receiver had everything; its mean delay and their deviation.
    pub(super) duration: f64,
    pub(super) mean_delay: f64,
    pub(super) std_delay: f64,
}

impl Tally {
    pub(super) fn new(packets: u32) -> Self {
        Self {
            packets,
            ..Self::default()
        }
    }

    pub(super) fn on_repair(&mut self, inline: bool, useless: bool) {
        self.repairs.add(inline);
        if useless {
            self.useless.add(inline);
        }
    }

    /// Packets that the sender sent.
    pub(super) fn sent(&self) -> u64 {
        u64::from(self.packets) + self.repairs.all
    }

    /// The paper's overhead.
    pub(super) fn overhead(&self) -> f64 {
        (self.useless.all + self.acks) as f64 / (self.sent() + self.acks) as f64
    }

    /// The same without the repairs after the last data packet.
    pub(super) fn inline_overhead(&self) -> f64 {
        let sent = u64::from(self.packets) + self.repairs.inline + self.acks;
        (self.useless.inline + self.acks) as f64 / sent as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_is_of_the_packets_of_both_directions() {
        let mut tally = Tally::new(80);
        (0..15).for_each(|n| tally.on_repair(n < 10, n < 3));
        tally.on_repair(false, true);
        tally.acks = 4;
        assert_eq!((tally.sent(), tally.repairs.inline), (96, 10));
        assert_eq!((tally.useless.all, tally.useless.inline), (4, 3));
        assert!((tally.overhead() - 8.0 / 100.0).abs() < 1e-12);
        assert!((tally.inline_overhead() - 7.0 / 94.0).abs() < 1e-12);
    }

    #[test]
    fn matrices_have_a_mean_and_a_deviation() {
        let mut matrices = Matrices::default();
        assert_eq!((matrices.mean(), matrices.deviation()), (0.0, 0.0));
        [2, 4].into_iter().for_each(|n| matrices.add(n));
        assert_eq!((matrices.mean(), matrices.deviation()), (3.0, 1.0));
        assert_eq!((matrices.largest, matrices.largest_share()), (4, 4.0 / 6.0));
    }
}
