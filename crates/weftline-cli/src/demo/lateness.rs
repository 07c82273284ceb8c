//! How exactly the path kept the model's times.

use std::time::Duration;

/// How much later than in the model packets left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lateness {
    /// Packets that left the path.
    pub packets: u64,
    /// Packets that were more than 1 ms late.
    pub over_1ms: u64,
    /// Sum of the lateness of all packets.
    pub total: Duration,
    /// The largest lateness.
    pub max: Duration,
}

impl Lateness {
    /// Mean over all packets.
    pub(super) fn mean(&self) -> Duration {
        self.total
            .checked_div(u32::try_from(self.packets).unwrap_or(u32::MAX))
            .unwrap_or_default()
    }

    /// Counts a packet that left this late.
    pub(super) fn add(&mut self, late: Duration) {
        self.packets += 1;
        self.over_1ms += u64::from(late > Duration::from_millis(1));
        self.total += late;
        self.max = self.max.max(late);
    }

    /// More than 2 % of the packets were late: the delays describe the machine, not the protocol.
    fn is_busy(&self) -> bool {
        self.over_1ms * 50 > self.packets
    }
}

/// The verdict on all runs. Every report uses this one, so that they agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exactness {
    all: Lateness,
    busy: bool,
}

impl Exactness {
    /// One run on a busy machine invalidates the comparison.
    pub(super) fn of(runs: impl IntoIterator<Item = Lateness>) -> Self {
        let mut all = Lateness::default();
        let mut busy = false;
        for run in runs {
            all.packets += run.packets;
            all.over_1ms += run.over_1ms;
            all.total += run.total;
            all.max = all.max.max(run.max);
            busy |= run.is_busy();
        }
        Exactness { all, busy }
    }

    /// The machine was too busy for exact times.
    pub(super) fn is_busy(&self) -> bool {
        self.busy
    }

    /// The verdict for people.
    pub(super) fn sentence(&self) -> String {
        let Lateness {
            packets,
            over_1ms,
            max,
            ..
        } = self.all;
        if self.busy {
            format!(
                "This machine was too busy for exact times: {over_1ms} of {packets} packets left more than 1 ms late; repeat the demo on an idle machine."
            )
        } else {
            format!(
                "The path kept its times: {over_1ms} of {packets} packets left more than 1 ms late, the latest by {:.1} ms.",
                max.as_secs_f64() * 1e3
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(packets: u64, over_1ms: u64) -> Lateness {
        Lateness {
            packets,
            over_1ms,
            ..Lateness::default()
        }
    }

    #[test]
    fn packets_are_late_from_a_millisecond_on() {
        let mut lateness = Lateness::default();
        for ms in [0, 1, 2, 5] {
            lateness.add(Duration::from_millis(ms));
        }
        assert_eq!((lateness.packets, lateness.over_1ms), (4, 2));
        assert_eq!(lateness.mean(), Duration::from_millis(2));
        assert_eq!(lateness.max, Duration::from_millis(5));
    }

    #[test]
    fn one_run_beyond_the_threshold_makes_all_inexact() {
        let quiet = Exactness::of([late(100, 2), late(100, 0), late(0, 0)]);
        assert!(!quiet.is_busy());
        assert!(quiet.sentence().contains("kept its times: 2 of 200"));
        let busy = Exactness::of([late(100, 3), late(1000, 0)]);
        assert!(busy.is_busy());
        assert!(
            busy.sentence()
                .contains("too busy for exact times: 3 of 1100")
        );
    }
}
