//! Lines that peers cause: only as many as a person can read, whatever the peers do.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use super::terminal;
use weftline_apps::lock;

/// Lines shown in an interval; further ones are counted.
const SHOWN: u32 = 8;
const INTERVAL: Duration = Duration::from_secs(10);

static QUOTA: Mutex<Quota> = Mutex::new(Quota::new());

/// Queues a line for the terminal, or counts it.
pub fn tell(text: String) {
    match quota(|quota| quota.next(Instant::now())) {
        Next::Show => terminal::offer(text),
        Next::Count => {}
        Next::CountUntil(end) => {
            if let Ok(runtime) = Handle::try_current() {
                runtime.spawn(async move {
                    tokio::time::sleep_until(end.into()).await;
                    let left_out = quota(Quota::end);
                    let seconds = INTERVAL.as_secs();
                    terminal::offer(format!(
                        "{left_out} more messages about peers within {seconds} s"
                    ));
                });
            }
        }
    }
}

fn quota<T>(with: impl FnOnce(&mut Quota) -> T) -> T {
    with(&mut lock(&QUOTA))
}

struct Quota {
    began: Option<Instant>,
    shown: u32,
    left_out: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    Show,
    /// This is the first that is not shown; the number is due then.
    CountUntil(Instant),
    Count,
}

impl Quota {
    const fn new() -> Self {
        Quota {
            began: None,
            shown: 0,
            left_out: 0,
        }
    }

    fn next(&mut self, now: Instant) -> Next {
        let began = *self.began.get_or_insert(now);
        // As long as a number is due, its interval goes on.
        if self.left_out == 0 && now >= began + INTERVAL {
            *self = Quota::new();
            return self.next(now);
        }
        if self.shown < SHOWN {
            self.shown += 1;
            return Next::Show;
        }
        self.left_out += 1;
        match self.left_out {
            1 => Next::CountUntil(began + INTERVAL),
            _ => Next::Count,
        }
    }

    /// The interval is over: how many were not shown.
    fn end(&mut self) -> u64 {
        std::mem::replace(self, Quota::new()).left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_few_lines_and_a_number() {
        let (mut quota, now) = (Quota::new(), Instant::now());
        let nexts: Vec<Next> = (0..100_000).map(|_| quota.next(now)).collect();
        let shown = nexts.iter().filter(|next| **next == Next::Show).count();
        assert_eq!(shown, SHOWN as usize);
        assert_eq!(nexts[shown], Next::CountUntil(now + INTERVAL));
        assert!(nexts[shown + 1..].iter().all(|next| *next == Next::Count));
        assert_eq!(quota.end(), 100_000 - u64::from(SHOWN));
        assert_eq!(quota.next(now + INTERVAL), Next::Show);
    }

    #[test]
    fn a_line_now_and_then_is_always_shown() {
        let (mut quota, now) = (Quota::new(), Instant::now());
        for minute in 0..100 {
            assert_eq!(
                quota.next(now + Duration::from_secs(60 * minute)),
                Next::Show
            );
        }
    }
}
