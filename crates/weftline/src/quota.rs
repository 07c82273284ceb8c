//! How much of what strangers cause is told.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Refusals that are told one by one in an interval; further ones are counted.
const TOLD: usize = 8;
/// The interval.
pub(crate) const INTERVAL: Duration = Duration::from_secs(10);
/// Addresses that are told apart in an interval.
const ADDRESSES: usize = 1024;

/// Counts what has happened too often to be told each time.
#[derive(Default)]
pub(crate) struct Quota {
    interval: Option<Interval>,
}

struct Interval {
    began: Instant,
    told: usize,
    untold: u64,
    addresses: HashSet<IpAddr>,
}

/// What an interval's end tells of those that were not told one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Untold {
    /// How many.
    pub(crate) count: u64,
    /// From how many addresses, as far as they were counted.
    pub(crate) addresses: usize,
}

/// What to do with a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tell {
    /// Tell it.
    Now,
    /// It is counted; ask for the sum when the interval ends.
    AtTheEnd(Instant),
    /// It is counted, and the sum is asked for already.
    Counted,
}

impl Quota {
    /// Something happened because of this address.
    pub(crate) fn on_refusal(&mut self, addr: SocketAddr, now: Instant) -> Tell {
        let interval = self.interval.get_or_insert_with(|| Interval::new(now));
        if interval.untold == 0 && now.saturating_duration_since(interval.began) >= INTERVAL {
            *interval = Interval::new(now);
        }
        if interval.told < TOLD {
            interval.told += 1;
            return Tell::Now;
        }
        interval.untold += 1;
        if interval.addresses.len() < ADDRESSES {
            interval.addresses.insert(addr.ip());
        }
        match interval.untold {
            1 => Tell::AtTheEnd(interval.began + INTERVAL),
            _ => Tell::Counted,
        }
    }

    /// The interval has ended: what was not told in it.
    pub(crate) fn on_end(&mut self) -> Option<Untold> {
        let interval = self.interval.take()?;
        (interval.untold > 0).then_some(Untold {
            count: interval.untold,
            addresses: interval.addresses.len(),
        })
    }
}

impl Interval {
    fn new(began: Instant) -> Self {
        Interval {
            began,
            told: 0,
            untold: 0,
            addresses: HashSet::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(number: u32) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(number.into()), 9)
    }

    #[test]
    fn a_million_refusals_are_eight_and_a_sum() {
        let (mut quota, now) = (Quota::default(), Instant::now());
        let tells: Vec<Tell> = (0..1_000_000)
            .map(|n| quota.on_refusal(from(n), now))
            .collect();
        let told = tells.iter().filter(|tell| **tell == Tell::Now).count();
        assert_eq!(told, TOLD);
        assert_eq!(tells[TOLD], Tell::AtTheEnd(now + INTERVAL));
        assert!(tells[TOLD + 1..].iter().all(|tell| *tell == Tell::Counted));
        let untold = quota.on_end().unwrap();
        assert_eq!(
            (untold.count, untold.addresses),
            (1_000_000 - TOLD as u64, ADDRESSES)
        );
        assert_eq!(quota.on_refusal(from(1), now + INTERVAL), Tell::Now);
    }

    #[test]
    fn few_refusals_are_all_told() {
        let (mut quota, now) = (Quota::default(), Instant::now());
        for second in 0..100 {
            let now = now + Duration::from_secs(2 * second);
            assert_eq!(quota.on_refusal(from(1), now), Tell::Now);
        }
        assert_eq!(quota.on_end(), None);
    }
}
