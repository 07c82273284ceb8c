//! Independent work on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// The results of `f` for each item, in their order; `progress` receives the number of finished
/// items and of all items. After a failure no further item is started.
///
/// # Errors
/// The failure of the first item that failed.
pub fn in_parallel<T: Sync, R: Send, E: Send>(
    items: &[T],
    threads: usize,
    progress: impl Fn(usize, usize) + Sync,
    f: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failed = AtomicBool::new(false);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return;
            };
            let result = f(item);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            let mut results = results.lock().unwrap_or_else(|e| e.into_inner());
            results.push((index, result));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, items.len());
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, 1024).min(items.len()) {
            scope.spawn(work);
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|e| e.into_inner());
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..50).collect();
        let most = AtomicUsize::new(0);
        let progress = |done, all| {
            assert_eq!(all, 50);
            most.fetch_max(done, Ordering::Relaxed);
        };
        let squares = in_parallel(&items, 3, progress, |n| Ok::<_, ()>(n * n));
        assert_eq!(squares.unwrap()[49], 49 * 49);
        assert_eq!(most.into_inner(), 50);
        let failing = |n: &u64| if *n == 7 { Err("seven") } else { Ok(*n) };
        assert_eq!(in_parallel(&items, 3, |_, _| {}, failing), Err("seven"));
    }
}
