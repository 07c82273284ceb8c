//! Runs experiments on several threads.

use std::num::NonZeroUsize;

use super::run::{Run, run};
use super::{Experiment, Outcome, StudyError};
use crate::sim::in_parallel;

/// Runs all experiments, each with the seeds `first..first + runs`, on `jobs` threads; `progress`
/// receives the number of finished runs and of all runs. All results but the speeds are
/// repeatable, on any number of threads.
///
/// # Errors
///
/// The first error of any run.
pub fn run_all(
    experiments: &[Experiment],
    first: u64,
    runs: u32,
    jobs: NonZeroUsize,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<Vec<Outcome>, StudyError> {
    experiments.iter().try_for_each(Experiment::check)?;
    let runs = runs.max(1);
    // Seed by seed, so that the speeds of all experiments are measured at about the same times.
    let each = |n| (0..experiments.len()).map(move |index| (index, first.wrapping_add(n)));
    let all: Vec<(usize, u64)> = (0..u64::from(runs)).flat_map(each).collect();
    let results = in_parallel(&all, jobs.get(), progress, |(index, seed)| {
        run(&experiments[*index], *seed)
    })?;
    let mut each: Vec<Vec<(u64, Run)>> = vec![Vec::new(); experiments.len()];
    for ((index, seed), result) in all.iter().zip(results) {
        each[*index].push((*seed, result));
    }
    let outcomes = experiments.iter().zip(&each);
    Ok(outcomes
        .map(|(experiment, runs)| Outcome::new(experiment, runs))
        .collect())
}
