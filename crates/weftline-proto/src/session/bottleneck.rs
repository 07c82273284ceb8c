//! Which paths share a bottleneck: their queues grow and fall together (the idea of RFC 8382). There, all
//! of them take what one flow would.

use core::time::Duration;

use crate::path::PathId;
use crate::time::Time;

/// Queues are compared this often.
const EVERY: Duration = Duration::from_millis(20);
/// Samples that count, about; a pair is judged after as many.
const MEMORY: f64 = 64.0;
/// Paths share a queue if their queues correlate more than this, and vary by more than a timer's step.
const TOGETHER: f64 = 0.7;
const LEAST: f64 = 1e-3;
/// A path has at least this part of a bottleneck that it shares with others, so that it can grow.
const LEAST_PART: f64 = 0.1;

/// Compares the queues of all pairs of paths.
#[derive(Debug, Default)]
pub(super) struct Bottlenecks {
    pairs: Vec<Pair>,
    sampled: Time,
}

#[derive(Debug)]
struct Pair {
    paths: [PathId; 2],
    samples: f64,
    means: [f64; 2],
    /// Variances of the two, and their covariance.
    variances: [f64; 2],
    covariance: f64,
}

impl Bottlenecks {
    /// Whether the queues are to be compared now.
    pub(super) fn is_due(&self, now: Time) -> bool {
        now.since(self.sampled) >= EVERY
    }

    /// The newest queueing delays of the paths that carry data.
    pub(super) fn on_queues(&mut self, now: Time, queues: &[(PathId, Duration)]) {
        self.sampled = now;
        for (at, (first, queue)) in queues.iter().enumerate() {
            for (second, other) in &queues[at + 1..] {
                let pair = self.pair([*first, *second]);
                pair.add([queue.as_secs_f64(), other.as_secs_f64()]);
            }
        }
    }

    fn pair(&mut self, paths: [PathId; 2]) -> &mut Pair {
        let index = self.pairs.iter().position(|pair| pair.paths == paths);
        let index = index.unwrap_or_else(|| {
            self.pairs.push(Pair {
                paths,
                samples: 0.0,
                means: [0.0; 2],
                variances: [0.0; 2],
                covariance: 0.0,
            });
            self.pairs.len() - 1
        });
        &mut self.pairs[index]
    }

    /// Whether the two share a bottleneck.
    pub(super) fn are_shared(&self, paths: [PathId; 2]) -> bool {
        let same = |pair: &&Pair| {
            let [first, second] = pair.paths;
            pair.paths == paths || [second, first] == paths
        };
        self.pairs.iter().find(same).is_some_and(Pair::is_shared)
    }

    /// The part that this path, at its `own` rate, has of what it and others take from a bottleneck;
    /// 1 if it shares none. `rates`: of the paths that carry data.
    pub(super) fn part(&self, path: PathId, own: f64, rates: &[(PathId, f64)]) -> f64 {
        let others = rates.iter().filter(|(id, _)| self.are_shared([path, *id]));
        let together = own + others.map(|(_, rate)| rate).sum::<f64>();
        match together > 0.0 {
            true => (own / together).max(LEAST_PART),
            false => 1.0,
        }
    }

    /// A path is gone.
    pub(super) fn forget(&mut self, path: PathId) {
        self.pairs.retain(|pair| !pair.paths.contains(&path));
    }
}

impl Pair {
    fn add(&mut self, queues: [f64; 2]) {
        self.samples += 1.0;
        let weight = 1.0 / self.samples.min(MEMORY);
        let [x, y] = [0, 1].map(|at| queues[at] - self.means[at]);
        let keep = 1.0 - weight;
        self.covariance = keep * (self.covariance + weight * x * y);
        for (at, difference) in [x, y].into_iter().enumerate() {
            let variance = &mut self.variances[at];
            *variance = keep * (*variance + weight * difference * difference);
            self.means[at] += weight * difference;
        }
    }

    fn is_shared(&self) -> bool {
        let [x, y] = self.variances.map(f64::sqrt);
        let varies = x.min(y) > LEAST;
        self.samples >= MEMORY && varies && self.covariance > TOGETHER * x * y
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random;

    /// Whether two paths count as shared, with queues of a common part and of parts of their own.
    fn shared(common: f64, own: f64) -> bool {
        let mut bottlenecks = Bottlenecks::default();
        let paths = [PathId::FIRST, PathId::FIRST.next().expect("there is one")];
        let mut state = 1;
        for round in 1..500u64 {
            let both = common * random(&mut state);
            let queues = paths.map(|path| {
                let queue = both + own * random(&mut state);
                (path, Duration::from_secs_f64(queue))
            });
            bottlenecks.on_queues(Time::from_micros(20_000 * round), &queues);
        }
        bottlenecks.are_shared(paths)
    }

    #[test]
    fn paths_share_a_bottleneck_if_their_queues_move_together() {
        assert!(shared(0.020, 0.005));
        assert!(!shared(0.005, 0.020));
        assert!(!shared(0.0, 0.020));
        // Less than timers tell.
        assert!(!shared(0.001, 0.0));
    }

    #[test]
    fn the_first_samples_of_a_pair_count_alike() {
        let mut bottlenecks = Bottlenecks::default();
        let pair = bottlenecks.pair([PathId::FIRST, PathId::FIRST.next().expect("there is one")]);
        for queues in [[1.0, 4.0], [3.0, 2.0], [8.0, 0.0]] {
            pair.add(queues);
        }
        let found = [pair.variances[0], pair.variances[1], pair.covariance];
        let [x, y, together] = found.map(|sum| 3.0 * sum);
        assert!((x - 26.0).abs() < 1e-9, "{x}");
        assert!((y - 8.0).abs() < 1e-9, "{y}");
        assert!((together + 14.0).abs() < 1e-9, "{together}");
        assert_eq!(pair.means, [4.0, 2.0]);
    }

    #[test]
    fn each_pair_is_judged_by_its_own_queues_in_either_order_and_every_20_ms() {
        let mut bottlenecks = Bottlenecks::default();
        let first = PathId::FIRST;
        let second = first.next().expect("there is one");
        let alone = second.next().expect("there is one");
        let mut state = 1;
        let mut now = Time::ZERO;
        for _ in 0..100 {
            now += EVERY;
            assert!(bottlenecks.is_due(now));
            let both = Duration::from_secs_f64(0.020 * random(&mut state));
            let own = Duration::from_secs_f64(0.020 * random(&mut state));
            bottlenecks.on_queues(now, &[(first, both), (alone, own), (second, both)]);
            let soon = now + EVERY - Duration::from_micros(1);
            assert!(!bottlenecks.is_due(soon));
        }
        for paths in [[first, second], [second, first]] {
            assert!(bottlenecks.are_shared(paths));
        }
        for path in [first, second] {
            assert!(!bottlenecks.are_shared([path, alone]));
            assert!(!bottlenecks.are_shared([alone, path]));
        }
        // Those that share have parts by their rates, and none has too little to grow.
        let parts = |rates: [f64; 3]| {
            let rates = [first, alone, second].into_iter().zip(rates);
            let rates: Vec<_> = rates.collect();
            let part = |(path, own): &(PathId, f64)| bottlenecks.part(*path, *own, &rates);
            rates.iter().map(part).collect::<Vec<_>>()
        };
        assert_eq!(parts([6e6, 5e6, 2e6]), [0.75, 1.0, 0.25]);
        assert_eq!(parts([0.0, 0.0, 2e6]), [0.1, 1.0, 1.0]);
        assert_eq!(parts([0.0; 3]), [1.0; 3]);
        // One that carries nothing now has what it would have.
        assert_eq!(bottlenecks.part(first, 6e6, &[(second, 2e6)]), 0.75);
        bottlenecks.forget(second);
        assert!(!bottlenecks.are_shared([first, second]));
    }
}
