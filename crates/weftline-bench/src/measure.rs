//! Measurement: contenders take turns, and the median counts.

use std::hint::black_box;
use std::time::Duration;

use crate::clock;
use crate::contest::{Case, Contender, Contest, Error, Kind, Skipped, Visitor};
use crate::cycles::Cycles;
use crate::plan::{Plan, Scope};

/// The fewest samples of a contender, even of a slow one.
const LEAST_ROUNDS: usize = 5;

/// How long and how often to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timing {
    /// Samples of each contender, if its time allows.
    pub rounds: usize,
    /// The least time of a sample. It is short, so that most samples end before
    /// another program gets the CPU.
    pub sample: Duration,
    /// The time for a contender; slow ones have fewer samples, but at least 5.
    pub budget: Duration,
}

impl Timing {
    /// The timing for a scope.
    #[must_use]
    pub fn of(scope: Scope) -> Self {
        let (rounds, sample_micros, budget_millis) = match scope {
            Scope::Quick => (25, 500, 50),
            Scope::Default => (101, 1_000, 200),
            Scope::Full => (15, 500, 20),
        };
        Self {
            rounds,
            sample: Duration::from_micros(sample_micros),
            budget: Duration::from_millis(budget_millis),
        }
    }
}

/// The samples of a contender, sorted.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// At least one sample.
    fn new(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        Self(samples)
    }

    /// The sample that exceeds a share `rank` (0 to 1) of the others.
    fn quantile(&self, rank: f64) -> f64 {
        let place = rank * (self.0.len() - 1) as f64;
        let (below, above) = (place.floor() as usize, place.ceil() as usize);
        let part = place - place.floor();
        self.0[below] * (1.0 - part) + self.0[above] * part
    }

    /// The number of samples.
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The median.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The least.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.quantile(0.0)
    }

    /// The greatest.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.quantile(1.0)
    }

    /// The distance between the quartiles, as a share of the median.
    #[must_use]
    pub fn spread(&self) -> f64 {
        (self.quantile(0.75) - self.quantile(0.25)) / self.median()
    }
}

/// The speed of one contender.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measurement {
    /// Who.
    pub contender: String,
    /// Its kind.
    pub kind: Kind,
    /// Nanoseconds of one run.
    pub nanos: Samples,
    /// Cycles of one run.
    pub cycles: Option<Samples>,
    /// As [`Contender::residual`].
    pub residual: Option<(usize, usize)>,
}

impl Measurement {
    /// GB of the case's bytes per second, by the median.
    #[must_use]
    pub fn gbps(&self, case: &Case) -> f64 {
        case.bytes as f64 / self.nanos.median()
    }

    /// Cycles for each of the case's bytes, by the median.
    #[must_use]
    pub fn cycles_per_byte(&self, case: &Case) -> Option<f64> {
        let cycles = self.cycles.as_ref()?;
        Some(cycles.median() / case.bytes as f64)
    }
}

/// The result of a contest.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// The contenders, in the order of the contest.
    pub measurements: Vec<Measurement>,
    /// The contenders that did not take part.
    pub skipped: Vec<Skipped>,
}

impl Outcome {
    /// The measurement of a contender.
    #[must_use]
    pub fn of(&self, contender: &str) -> Option<&Measurement> {
        self.measurements.iter().find(|m| m.contender == contender)
    }

    /// The fastest peer.
    #[must_use]
    pub fn best_peer(&self) -> Option<&Measurement> {
        let peers = self.measurements.iter().filter(|m| m.kind == Kind::Peer);
        peers.min_by(|a, b| a.nanos.median().total_cmp(&b.nanos.median()))
    }

    /// The ceiling to compare with: the first one of the contest, which is the
    /// hardest that a code might reach.
    #[must_use]
    pub fn ceiling(&self) -> Option<&Measurement> {
        self.measurements.iter().find(|m| m.kind == Kind::Ceiling)
    }

    /// The speed of a contender as a multiple of that of `other`.
    #[must_use]
    pub fn ratio(measurement: &Measurement, other: &Measurement) -> f64 {
        other.nanos.median() / measurement.nanos.median()
    }
}

/// A contender in a running contest.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// Runs of a sample.
    runs: u32,
    samples: usize,
}

/// Measures every contest of a plan.
pub struct Runner<'a> {
    plan: Plan,
    timing: Timing,
    cycles: Result<Cycles, String>,
    outcomes: Vec<Outcome>,
    progress: Box<dyn FnMut(&Outcome) + 'a>,
}

impl<'a> Runner<'a> {
    /// A runner that reports each contest when it is over.
    #[must_use]
    pub fn new(plan: Plan, timing: Timing, progress: impl FnMut(&Outcome) + 'a) -> Self {
        Self {
            plan,
            timing,
            cycles: Cycles::new(),
            outcomes: Vec::new(),
            progress: Box::new(progress),
        }
    }

    /// The reason if cycles are not counted.
    #[must_use]
    pub fn no_cycles(&self) -> Option<&str> {
        self.cycles.as_ref().err().map(String::as_str)
    }

    /// The timing in use.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// The results so far.
    #[must_use]
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// The runs in a sample, and the number of samples that the time allows.
    fn calibrate(&self, contender: &mut Contender<'_>) -> Share {
        // Another program may interrupt an attempt, so the fastest of a few
        // counts.
        let fastest = (0..3).map(|_| self.time_of_run(contender));
        let run = fastest.fold(f64::INFINITY, f64::min);
        let runs = (self.timing.sample.as_secs_f64() / run).ceil().max(1.0);
        let samples = (self.timing.budget.as_secs_f64() / (runs * run)) as usize;
        let most = self.timing.rounds.max(1);
        Share {
            runs: runs as u32,
            samples: samples.clamp(LEAST_ROUNDS.min(most), most),
        }
    }

    /// The approximate seconds of a run.
    fn time_of_run(&self, contender: &mut Contender<'_>) -> f64 {
        let mut runs = 1u32;
        loop {
            let start = clock::now();
            for _ in 0..runs {
                contender.run();
            }
            let spent = clock::now() - start;
            if spent * 4 >= self.timing.sample {
                return spent.as_secs_f64() / f64::from(runs);
            }
            runs = runs.saturating_mul(2);
        }
    }

    /// Nanoseconds and cycles of a run.
    fn sample(&mut self, contender: &mut Contender<'_>, runs: u32) -> (f64, Option<f64>) {
        let mut cycles = || self.cycles.as_mut().ok()?.read();
        let before = cycles();
        let start = clock::now();
        for _ in 0..runs {
            black_box(&mut *contender).run();
        }
        let spent = clock::now() - start;
        let after = cycles();
        let per_run = |total: f64| total / f64::from(runs);
        let cycles = before
            .zip(after)
            .map(|(from, to)| per_run((to - from) as f64));
        (per_run(spent.as_nanos() as f64), cycles)
    }
}

impl Visitor for Runner<'_> {
    fn wants(&mut self, case: &Case) -> bool {
        // Two lists of parameters may contain the same case.
        self.plan.includes(case) && self.outcomes.iter().all(|o| o.case.id() != case.id())
    }

    fn contest(&mut self, contest: Contest<'_>) -> Result<(), Error> {
        let Contest {
            case,
            mut contenders,
            skipped,
        } = contest;
        let shares: Vec<Share> = contenders.iter_mut().map(|c| self.calibrate(c)).collect();
        let mut nanos = vec![Vec::new(); contenders.len()];
        let mut cycles = vec![Vec::new(); contenders.len()];
        for round in 0..self.timing.rounds {
            // Each round begins with another contender, so that no contender
            // always follows the same one.
            for turn in 0..contenders.len() {
                let index = (round + turn) % contenders.len();
                let Share { runs, samples } = shares[index];
                // The samples of a slow contender are spread over all rounds.
                if round * samples % self.timing.rounds >= samples {
                    continue;
                }
                let (time, count) = self.sample(&mut contenders[index], runs);
                nanos[index].push(time);
                cycles[index].extend(count);
            }
        }
        let measurements = contenders
            .into_iter()
            .zip(nanos.into_iter().zip(cycles))
            .map(|(contender, (nanos, cycles))| Measurement {
                contender: contender.name,
                kind: contender.kind,
                nanos: Samples::new(nanos),
                cycles: (!cycles.is_empty()).then(|| Samples::new(cycles)),
                residual: contender.residual,
            })
            .collect();
        let outcome = Outcome {
            case,
            measurements,
            skipped,
        };
        (self.progress)(&outcome);
        self.outcomes.push(outcome);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_samples() {
        let samples = Samples::new(vec![5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!(
            (samples.min(), samples.median(), samples.max()),
            (1.0, 3.0, 5.0)
        );
        assert_eq!(samples.spread(), 2.0 / 3.0);
        assert_eq!(Samples::new(vec![1.0, 2.0]).median(), 1.5);
    }

    #[test]
    fn the_slower_contender_is_measured_as_slower() {
        let case = Case::new("test", "", &[], 1);
        let mut contest = Contest::new(case);
        for (name, kind, size) in [
            ("slow", Kind::Ours, 1 << 18),
            ("fast", Kind::Peer, 1 << 10),
            ("memcpy", Kind::Ceiling, 1 << 8),
        ] {
            let (from, mut to) = (vec![1u8; size], vec![0u8; size]);
            contest.enter_checked(name, kind, None, move || {
                black_box(&mut to).copy_from_slice(black_box(&from));
            });
        }
        let timing = Timing {
            rounds: 20,
            sample: Duration::from_micros(50),
            budget: Duration::from_micros(800),
        };
        let mut told = 0;
        let mut runner = Runner::new(Plan::new(Scope::Quick), timing, |_| told += 1);
        runner.contest(contest).unwrap();
        let outcome = &runner.outcomes()[0];
        let slow = outcome.of("slow").unwrap();
        let best = outcome.best_peer().unwrap();
        assert_eq!(best.contender, "fast");
        assert_eq!(outcome.ceiling().unwrap().contender, "memcpy");
        assert!((5..20).contains(&slow.nanos.len()), "{:?}", slow.nanos);
        assert!(Outcome::ratio(slow, best) < 1.0);
        assert!(slow.gbps(&outcome.case) < best.gbps(&outcome.case));
        drop(runner);
        assert_eq!(told, 1);
    }
}
