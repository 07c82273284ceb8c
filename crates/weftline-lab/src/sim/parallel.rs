//! Independent runs on several threads.

use std::convert::Infallible;

/// Works on all cases; the results are in the order of the cases.
pub(super) fn in_parallel<C: Sync, R: Send>(
    threads: usize,
    cases: &[C],
    work: impl Fn(&C) -> R + Sync,
) -> Vec<R> {
    let work = |case: &C| Ok::<R, Infallible>(work(case));
    let Ok(results) = weftline_papers::sim::in_parallel(cases, threads, |_, _| {}, work);
    results
}
