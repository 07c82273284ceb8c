//! The streaming code, counted (Karzand et al.): l-1 information packets, then a coded one.

use serde::Serialize;

use super::channel::{Channel, Draws};
use super::delays::Delays;
use super::estimate::Ratio;
use super::spread::spread;
use super::{DelaySummary, Progress, SlotError, within};
use crate::theory::{SlotLoss, TheoryError};

/// Approximate slots of a part that a thread runs at a time.
const PART: u64 = 4 << 20;
/// Most parts of a run.
const MOST_PARTS: u64 = 256;
/// Most slots of a run.
pub const MOST_SLOTS: u64 = 1 << 46;

/// The model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Streaming {
    /// The channel.
    pub loss: SlotLoss,
    /// Slots from one coded packet to the next, l.
    pub spacing: u32,
    /// Least number of slots to run.
    pub slots: u64,
    /// Seed of all random choices.
    pub seed: u64,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Number of slots.
    pub slots: u64,
    /// Information packets.
    pub packets: u64,
    /// Mean in-order delay of information packets, in slots.
    pub mean_delay_slots: f64,
    /// Its standard error.
    pub stderr: f64,
    /// Share of packets that were not delayed.
    pub undelayed: f64,
    /// In-order delays, in slots.
    pub delay_slots: DelaySummary,
    /// The smallest delay, those that 1 % to 99 % of packets do not exceed, and the longest, in
    /// slots.
    #[serde(skip)]
    pub delay_percentiles: Vec<u64>,
    /// E S: intervals in which delivery stalls.
    pub mean_busy: f64,
    /// E S^2.
    pub second_moment_busy: f64,
    /// E S^3.
    pub third_moment_busy: f64,
    /// E S+.
    pub mean_busy_plus: f64,
    /// Busy periods, those of length 0 included.
    pub periods: u64,
    /// P(S = s) for s from 0 to at most 1000.
    #[serde(skip)]
    pub busy_time: Vec<f64>,
}

/// Counts of a part; all whole numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) slots: u64,
    pub(super) ratio: Ratio,
    pub(super) delays: Delays,
    /// Busy periods, those of length 0 included.
    periods: u64,
    /// The lengths of those of length 1 and more.
    lengths: Delays,
    busy: [u128; 3],
    idle: u64,
    /// Cycles of one interval in which nothing is missing, not yet in `ratio`.
    idle_cycles: u64,
}

impl Tally {
    #[inline]
    fn idle_cycle(&mut self) {
        self.idle_cycles += 1;
    }

    /// A busy period of `s` intervals.
    #[inline]
    pub(super) fn period(&mut self, s: u64) {
        if s > 0 {
            self.lengths.add(s);
        }
        let s = u128::from(s);
        self.periods += 1;
        self.busy[0] += s;
        self.busy[1] += s * s;
        self.busy[2] += s * s * s;
        self.idle += u64::from(s == 0);
    }

    fn merge(&mut self, other: &Self) {
        self.slots += other.slots;
        self.ratio.merge(&other.ratio);
        self.delays.merge(&other.delays);
        self.lengths.merge(&other.lengths);
        self.periods += other.periods;
        self.idle += other.idle;
        for (sum, more) in self.busy.iter_mut().zip(other.busy) {
            *sum += more;
        }
    }

    fn outcome(&self) -> Outcome {
        let (mean, stderr) = self.ratio.estimate();
        let periods = (self.periods as f64).max(1.0);
        let moment = |n: usize| self.busy[n] as f64 / periods;
        let long = self.lengths.total() as f64 / periods;
        let mut busy_time = self.lengths.bins(1.0);
        busy_time.iter_mut().for_each(|share| *share *= long);
        match busy_time.first_mut() {
            Some(none) => *none = self.idle as f64 / periods,
            None => busy_time.push(1.0),
        }
        Outcome {
            slots: self.slots,
            packets: self.ratio.bottom(),
            mean_delay_slots: mean,
            stderr,
            undelayed: self.delays.within(0),
            delay_slots: self.delays.summary(),
            delay_percentiles: self.delays.percentiles(),
            mean_busy: moment(0),
            second_moment_busy: moment(1),
            third_moment_busy: moment(2),
            mean_busy_plus: moment(0) + self.idle as f64 / periods,
            periods: self.periods,
            busy_time,
        }
    }
}

impl Streaming {
    /// Runs the model on this many threads.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn run(&self, threads: usize, progress: Progress<'_>) -> Result<Outcome, SlotError> {
        self.check()?;
        self.run_with(threads, progress, |channel, slots| {
            Ok(self.part(channel, slots))
        })
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// A parameter is out of its range, or the loss exceeds the repairs.
    pub fn check(&self) -> Result<(), SlotError> {
        let loss = self.loss.checked()?;
        let fits = (2..=100_000).contains(&self.spacing);
        within("the spacing", self.spacing, fits, "from 2 to 100000 slots")?;
        let fits = (1..=MOST_SLOTS).contains(&self.slots);
        within(
            "the number of slots",
            self.slots as f64,
            fits,
            "from 1 to 2^46",
        )?;
        let lost = f64::from(self.spacing) * loss.rate();
        if lost >= 1.0 {
            return Err(TheoryError::Overloaded { lost }.into());
        }
        Ok(())
    }

    /// Runs parts that each begin with nothing missing, and adds them up.
    pub(super) fn run_with(
        &self,
        threads: usize,
        progress: Progress<'_>,
        part: impl Fn(Channel, u64) -> Result<Tally, SlotError> + Sync,
    ) -> Result<Outcome, SlotError> {
        let parts = self.slots.div_ceil(PART).clamp(1, MOST_PARTS);
        let each = self.slots.div_ceil(parts);
        let tallies = spread(parts, threads, progress, |index| {
            part(Channel::new(self.loss, Draws::new(self.seed, index)), each)
        });
        let mut sum = Tally::default();
        for tally in tallies {
            sum.merge(&tally?);
        }
        Ok(sum.outcome())
    }

    /// Runs at least this many slots, until nothing is missing.
    fn part(&self, mut channel: Channel, slots: u64) -> Tally {
        let l = u64::from(self.spacing);
        let mut tally = Tally::default();
        // A cycle ends where nothing is missing and the channel has no memory.
        let (mut delay, mut packets) = (0, 0);
        let (mut clean, mut now) = (0, 0);
        while now < slots || packets > 0 {
            // Nothing is missing here.
            let first = (0..l - 1).find(|_| channel.next_is_lost());
            let Some(first) = first else {
                channel.next_is_lost();
                now += l;
                clean += 1;
                if channel.is_fresh() {
                    // Most cycles are of this kind: they are counted, and added at the end.
                    if packets > 0 {
                        tally.ratio.add(delay, packets + l - 1);
                    } else {
                        tally.idle_cycle();
                    }
                    (delay, packets) = (0, 0);
                } else {
                    packets += l - 1;
                }
                continue;
            };
            let mut missing = 1;
            let mut place = first + 1;
            let mut s = 0;
            loop {
                for _ in place..l - 1 {
                    missing += u64::from(channel.next_is_lost());
                }
                missing -= u64::from(!channel.next_is_lost());
                s += 1;
                if missing == 0 {
                    break;
                }
                place = 0;
            }
            // Packets before the first loss had no delay.
            tally.delays.add_times(0, first);
            let released = s * l - 1;
            for interval in 0..s {
                let from = if interval == 0 { first } else { 0 };
                for m in from..l - 1 {
                    let waited = released - interval * l - m;
                    tally.delays.add(waited);
                    delay += waited;
                }
            }
            packets += s * (l - 1);
            tally.period(s);
            now += s * l;
            if channel.is_fresh() {
                tally.ratio.add(delay, packets);
                (delay, packets) = (0, 0);
            }
        }
        let idle = std::mem::take(&mut tally.idle_cycles);
        tally.ratio.add_times(0, l - 1, idle);
        tally.delays.add_times(0, clean * (l - 1));
        tally.periods += clean;
        tally.idle += clean;
        tally.slots = now;
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::super::silent;
    use super::*;
    use crate::theory::markov::MarkovStreaming;
    use crate::theory::streaming;

    fn run(loss: &str, spacing: u32, slots: u64) -> Outcome {
        let loss = loss.parse().unwrap();
        Streaming {
            loss,
            spacing,
            slots,
            seed: 7,
        }
        .run(2, &silent)
        .unwrap()
    }

    #[test]
    fn it_agrees_with_the_reference_simulation_and_with_theory() {
        for (loss, spacing, delay, stderr) in [
            ("0.05", 10, 5.57568, 0.02767),
            ("0.1", 5, 2.60600, 0.00844),
            ("0.02", 25, 14.56304, 0.11958),
            ("0.05", 15, 65.67099, 0.51535),
            ("0.1", 8, 57.47689, 0.36206),
            ("0.01", 50, 29.64658, 0.37255),
            ("0.2", 3, 2.78197, 0.00843),
            ("markov:0.05,2", 10, 22.0607, 0.1045),
            ("markov:0.1,4", 5, 25.7485, 0.1128),
            ("markov:0.05,4", 12, 134.1339, 1.0982),
        ] {
            let got = run(loss, spacing, 4_000_000);
            let error = got.stderr.hypot(stderr);
            assert!(
                (got.mean_delay_slots - delay).abs() < 4.0 * error,
                "{loss} {spacing}: {got:?}"
            );
            let theory = MarkovStreaming::new(loss.parse().unwrap(), spacing).unwrap();
            let off = (got.mean_delay_slots - theory.mean_delay()).abs();
            assert!(
                off < 4.0 * got.stderr,
                "{loss} {spacing}: {got:?}, theory {}",
                theory.mean_delay()
            );
            for (simulated, exact) in [
                (got.mean_busy, theory.mean_busy()),
                (got.mean_busy_plus, theory.mean_busy_plus()),
                (got.second_moment_busy, theory.second_moment_busy()),
            ] {
                assert!(
                    (simulated / exact - 1.0).abs() < 0.15,
                    "{loss} {spacing}: {simulated} {exact}"
                );
            }
        }
    }

    #[test]
    fn quantiles_match_the_exact_distribution() {
        let got = run("0.1", 5, 4_000_000);
        let theory = streaming::Streaming::new(0.1, 5).unwrap();
        assert!(
            (got.undelayed - theory.undelayed()).abs() < 0.003,
            "{}",
            got.undelayed
        );
        for (s, found) in got.busy_time.iter().enumerate().take(6) {
            let exact = theory.busy_time(s as u64);
            let error = (exact * (1.0 - exact) / got.periods as f64).sqrt();
            assert!(
                (found - exact).abs() < 4.0 * error,
                "S = {s}: {found} {exact}"
            );
        }
        for (share, found) in [(0.95, got.delay_slots.p95), (0.99, got.delay_slots.p99)] {
            let exact = theory.delay_quantile(share).unwrap();
            assert!(
                found.abs_diff(exact) <= 1 + exact / 20,
                "{share}: {found} {exact}"
            );
        }
    }

    #[test]
    fn threads_do_not_change_the_result() {
        let model = Streaming {
            loss: "markov:0.05,2".parse().unwrap(),
            spacing: 8,
            slots: PART + 1_000,
            seed: 3,
        };
        let one = model.run(1, &silent).unwrap();
        assert_eq!(one, model.run(3, &silent).unwrap());
        assert_ne!(one, Streaming { seed: 4, ..model }.run(1, &silent).unwrap());
        assert!(one.slots >= model.slots && one.slots < model.slots + 100_000);
    }

    #[test]
    fn endless_runs_are_refused() {
        let model = Streaming {
            loss: "0.1".parse().unwrap(),
            spacing: 10,
            slots: 1000,
            seed: 1,
        };
        let error = model.run(1, &silent).unwrap_err();
        assert!(error.to_string().contains("unstable"), "{error}");
        assert!(
            Streaming {
                spacing: 1,
                ..model
            }
            .run(1, &silent)
            .is_err()
        );
        assert!(
            Streaming {
                spacing: 5,
                slots: 0,
                ..model
            }
            .run(1, &silent)
            .is_err()
        );
    }
}
