//! Independent runs on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Works on all cases; the results are in the order of the cases.
pub(super) fn in_parallel<C: Sync, R: Send>(
    threads: usize,
    cases: &[C],
    work: impl Fn(&C) -> R + Sync,
) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || {
        while let index = next.fetch_add(1, Ordering::Relaxed)
            && let Some(case) = cases.get(index)
        {
            let result = work(case);
            let mut results = results.lock().expect("no thread panics");
            results.push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, cases.len().max(1)) {
            scope.spawn(worker);
        }
    });
    let mut results = results.into_inner().expect("no thread panicked");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
