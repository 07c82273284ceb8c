//! Runs of a model over the machine's threads.

use std::convert::Infallible;

use crate::sim::in_parallel;

/// Called with the number of finished runs and of all runs.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// Reports no progress.
pub fn silent(_done: u64, _of: u64) {}

/// The results of `run(0)` to `run(runs - 1)` in order, from any thread.
pub(super) fn spread<T: Send>(
    runs: u64,
    threads: usize,
    progress: Progress<'_>,
    run: impl Fn(u64) -> T + Sync,
) -> Vec<T> {
    let all: Vec<u64> = (0..runs).collect();
    let progress = |done: usize, of: usize| progress(done as u64, of as u64);
    let Ok(results) = in_parallel(&all, threads, progress, |index| {
        Ok::<T, Infallible>(run(*index))
    });
    results
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn results_are_in_order_and_progress_ends_at_the_end() {
        let last = AtomicU64::new(0);
        let progress = |done, of| {
            assert_eq!(of, 100);
            last.fetch_max(done, Ordering::Relaxed);
        };
        let squares = spread(100, 4, &progress, |i| i * i);
        assert_eq!(squares, (0..100).map(|i| i * i).collect::<Vec<_>>());
        assert_eq!(last.into_inner(), 100);
        assert!(spread(0, 4, &silent, |i| i).is_empty());
    }
}
