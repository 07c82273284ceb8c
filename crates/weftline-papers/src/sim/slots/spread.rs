//! Runs of a model over the machine's threads.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

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
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let results = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= runs {
                return;
            }
            let result = run(index);
            let lock = results.lock();
            lock.unwrap_or_else(PoisonError::into_inner)
                .push((index, result));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, runs);
        }
    };
    let others = threads
        .clamp(1, 1024)
        .min(usize::try_from(runs).unwrap_or(1024))
        .saturating_sub(1);
    std::thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(work);
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
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
