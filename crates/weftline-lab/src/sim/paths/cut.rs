//! One of two paths is cut without notice, and comes back.

use std::time::Duration;

use serde::Serialize;
use weftline_netem::Outages;

use super::{Bulk, MESSAGES, Order, Profile, SKIP, Study, median};
use crate::sim::parallel::in_parallel;
use weftline_sim::engine::{Application, Outcome, Path};

/// The first path is down between these times.
const DOWN: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(10));
/// Both applications run for this long.
const LASTS: Duration = Duration::from_secs(15);
/// The path is in full use this long after it is back.
const BACK_WITHIN: Duration = Duration::from_secs(2);
/// The pairs.
const PAIRS: [&str; 4] = ["baseline", "rtt_120", "dual_lte", "lte_starlink"];

/// What a cut did, medians over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cut {
    /// The pair; its first path is cut.
    pub pair: &'static str,
    /// Messages of the stream that were never read.
    pub missing: f64,
    /// The longest delay of a message, ms.
    pub max_ms: f64,
    /// What it may be: 150 ms and the delay of the other path.
    pub limit_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// What bulk data used of the cut path's rate without losses, in the last second before the cut.
    pub before: f64,
    /// The same in the third second after its return.
    pub after: f64,
    /// What bulk data used of the other path in the meantime, from 2 s after the cut on.
    pub other: f64,
    /// Bulk data over the whole time.
    pub bulk: Bulk,
}

pub(super) fn run(study: &Study) -> Vec<Cut> {
    let chosen = |name: &&str| study.pairs.iter().any(|(pair, _)| pair.name == *name);
    let names: Vec<&str> = PAIRS.into_iter().filter(chosen).collect();
    in_parallel(study.threads, &names, |name| cut(study, name))
}

fn cut(study: &Study, name: &str) -> Cut {
    let (profile, order) = Profile::find(name).expect("one of the pairs");
    debug_assert_eq!(order, Order::Kept);
    let mut paths = profile.paths(order);
    let outage = Outages::new(DOWN.0, DOWN.1);
    paths[0].forward.down = outage.clone();
    paths[0].back.down = outage;
    let stream = study.outcomes(&paths, MESSAGES, LASTS, SKIP);
    let bulk = study.outcomes(&paths, Application::Bulk, LASTS, SKIP);
    let secs = |time: Duration| time.as_secs() as usize;
    let used = |path: usize, from: usize, to: usize| {
        let rate = carries(&paths[path]);
        let of = |o: &Outcome| {
            let windows = o.paths[path].windows_mbit.get(from..to).unwrap_or_default();
            windows.iter().sum::<f64>() / (windows.len().max(1) as f64 * rate)
        };
        median(bulk.iter().map(of))
    };
    let longest = |o: &Outcome| o.delay.max.unwrap_or(f64::INFINITY);
    let p99 = |o: &Outcome| o.delay.p99.unwrap_or(f64::INFINITY);
    let full = secs(DOWN.1 + BACK_WITHIN);
    Cut {
        pair: profile.name,
        missing: median(stream.iter().map(|o| o.sent.saturating_sub(o.got) as f64)),
        max_ms: median(stream.iter().map(longest)),
        limit_ms: 150.0 + profile.delays_ms()[1],
        p99_ms: median(stream.iter().map(p99)),
        before: used(0, secs(DOWN.0) - 1, secs(DOWN.0)),
        after: used(0, full, full + 1),
        other: used(1, secs(DOWN.0) + 2, secs(DOWN.1)),
        bulk: Bulk::of(&bulk, LASTS),
    }
}

/// What arrives at most over a path, in Mbit/s.
fn carries(path: &Path) -> f64 {
    let rate = path.forward.rate.unwrap_or_default() as f64 / 1e6;
    rate * (1.0 - path.forward.loss.mean_loss())
}
