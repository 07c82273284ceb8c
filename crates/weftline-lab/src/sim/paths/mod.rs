//! Several paths under one session: what a second path is worth.
//!
//! Each pair of [`PROFILES`] carries bulk data and a stream, over each path alone and over both. Then a
//! path is cut, and two paths share a bottleneck with one flow of another kind.

mod cut;
mod goals;
mod profiles;
mod recorded;
mod shared;

use std::time::Duration;

use serde::Serialize;
use weftline_netem::LinkConfig;
use weftline_proto::Config;

pub use cut::Cut;
pub use goals::{Goal, goals};
pub use profiles::{Order, PROFILES, Profile, UnknownPair};
pub use recorded::Recorded;
pub use shared::Shared;

use crate::recordings::Recording;

use super::parallel::in_parallel;
use weftline_sim::engine::{Application, Experiment, Outcome, Path};

/// What is run.
#[derive(Clone, Debug)]
pub struct Study {
    /// The engine's settings.
    pub config: Config,
    /// The pairs.
    pub pairs: Vec<(Profile, Order)>,
    /// Whether two paths share a bottleneck too.
    pub shared: bool,
    /// Recorded links, of which all pairs carry a stream too.
    pub recordings: Vec<Recording>,
    /// Each case runs once with each of this number of seeds; the results are medians.
    pub seeds: u64,
    /// Cases that run at a time.
    pub threads: usize,
}

/// Bulk data run for this long, from the start of the session; the second half is told too.
const BULK: Duration = Duration::from_secs(10);
/// A stream runs for this long.
const STREAM: Duration = Duration::from_secs(20);
/// Its first messages do not count.
const SKIP: Duration = Duration::from_secs(1);
/// The stream.
const MESSAGES: Application = Application::Cbr {
    rate: 10_000_000,
    size: 1200,
};

/// Everything that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Studied {
    /// Payload bytes for each byte on the wire, of full datagrams without repairs.
    pub payload_share: f64,
    /// A row for each pair.
    pub rows: Vec<Row>,
    /// A path is cut.
    pub cuts: Vec<Cut>,
    /// Two paths through one bottleneck.
    pub shared: Vec<Shared>,
    /// Pairs of recorded links.
    pub recorded: Vec<Recorded>,
}

/// A pair. Three results each: the first path alone, the second alone, both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The pair's name, with `,reorder` if jitter reorders.
    pub pair: String,
    /// Payload that both paths can carry, Mbit/s.
    pub ceiling_mbit: f64,
    /// Delay of the faster path without jitter, ms.
    pub delay_ms: f64,
    /// Whether both paths lose packets.
    pub loses_on_both: bool,
    /// Bulk data.
    pub bulk: [Bulk; 3],
    /// The stream.
    pub stream: [Stream; 3],
}

/// Bulk data, medians over the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bulk {
    /// Goodput over the whole time, Mbit/s.
    pub goodput_mbit: f64,
    /// The same over the second half.
    pub late_mbit: f64,
    /// Bytes on the wire for each byte read.
    pub wire: f64,
    /// Share of what arrived over the second of two paths.
    pub second_share: Option<f64>,
}

/// A stream of messages, medians over the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stream {
    /// Median of delays in order, ms.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
    /// Messages that were never read.
    pub missing: f64,
    /// Bytes on the wire for each byte read.
    pub wire: f64,
    /// Repairs, and source symbols sent again, for each source symbol.
    pub redundancy: f64,
    /// Share of what arrived over the second of two paths.
    pub second_share: Option<f64>,
}

impl Study {
    /// Runs all of it.
    pub fn run(&self) -> Studied {
        let payload_share = payload_share(&self.config);
        let pairs = self.pairs.iter();
        let jobs: Vec<_> = pairs
            .flat_map(|pair| (0..3).map(move |which| (pair, which)))
            .collect();
        let measured = in_parallel(self.threads, &jobs, |((profile, order), which)| {
            let mut paths = profile.paths(*order).to_vec();
            if *which < 2 {
                paths = vec![paths.swap_remove(*which)];
            }
            (self.bulk(&paths), self.stream(&paths))
        });
        let rows = self.pairs.iter().zip(measured.chunks(3));
        let rows = rows.map(|((profile, order), measured)| {
            let reorder = if *order == Order::Lost {
                ",reorder"
            } else {
                ""
            };
            let [a, b] = profile.delays_ms();
            Row {
                pair: format!("{}{reorder}", profile.name),
                ceiling_mbit: profile.ceiling_mbit() * payload_share,
                delay_ms: a.min(b),
                loses_on_both: profile.loses_on_both(),
                bulk: [0, 1, 2].map(|n| measured[n].0),
                stream: [0, 1, 2].map(|n| measured[n].1),
            }
        });
        Studied {
            payload_share,
            rows: rows.collect(),
            cuts: cut::run(self),
            shared: if self.shared {
                shared::run(self)
            } else {
                Vec::new()
            },
            recorded: recorded::run(self, &self.recordings),
        }
    }

    fn outcomes(
        &self,
        paths: &[Path],
        application: Application,
        duration: Duration,
        skip: Duration,
    ) -> Vec<Outcome> {
        let one = |seed| Experiment {
            config: self.config.clone(),
            paths: paths.to_vec(),
            application,
            duration,
            skip,
            within: None,
            distribution: false,
            seed,
            close: false,
        };
        (1..=self.seeds).map(|seed| one(seed).run()).collect()
    }

    fn bulk(&self, paths: &[Path]) -> Bulk {
        let outcomes = self.outcomes(paths, Application::Bulk, BULK, BULK / 2);
        Bulk::of(&outcomes, BULK)
    }

    fn stream(&self, paths: &[Path]) -> Stream {
        Stream::of(&self.outcomes(paths, MESSAGES, STREAM, SKIP))
    }
}

impl Bulk {
    fn of(outcomes: &[Outcome], lasted: Duration) -> Self {
        let median = |value: &dyn Fn(&Outcome) -> f64| median(outcomes.iter().map(value));
        Bulk {
            goodput_mbit: median(&|o| o.total_bytes as f64 * 8.0 / 1e6 / lasted.as_secs_f64()),
            late_mbit: median(&|o| o.goodput_mbit),
            wire: median(&|o| o.wire_per_byte),
            second_share: second_share(outcomes),
        }
    }
}

impl Stream {
    fn of(outcomes: &[Outcome]) -> Self {
        let median = |value: &dyn Fn(&Outcome) -> f64| median(outcomes.iter().map(value));
        let known = |delay: Option<f64>| delay.unwrap_or(f64::INFINITY);
        Stream {
            p50: median(&|o| known(o.delay.p50)),
            p99: median(&|o| known(o.delay.p99)),
            max: median(&|o| known(o.delay.max)),
            missing: median(&|o| o.sent.saturating_sub(o.got) as f64),
            wire: median(&|o| o.wire_per_byte),
            redundancy: median(&|o| 1.0 / o.effective_rate - 1.0),
            second_share: second_share(outcomes),
        }
    }
}

/// What arrived over the second path, if there is one.
fn second_share(outcomes: &[Outcome]) -> Option<f64> {
    let two = outcomes.iter().all(|outcome| outcome.paths.len() > 1);
    two.then(|| median(outcomes.iter().map(|outcome| outcome.paths[1].share)))
}

/// The upper median: with an even number of values the worse delay.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Payload bytes for each byte on the wire, of full datagrams, measured without losses and without
/// repairs.
pub fn payload_share(config: &Config) -> f64 {
    let mut plain: Config = "arq,fixed_rate=20".parse().expect("a preset and an option");
    plain.symbol_size = config.symbol_size;
    plain.datagram_overhead = config.datagram_overhead;
    let link = LinkConfig::default().with_delay(Duration::from_millis(1));
    let path = Path {
        forward: link.clone(),
        back: link,
    };
    let study = Study {
        config: plain,
        pairs: Vec::new(),
        shared: false,
        recordings: Vec::new(),
        seeds: 1,
        threads: 1,
    };
    1.0 / study.bulk(&[path]).wire
}
