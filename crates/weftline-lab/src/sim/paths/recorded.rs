//! Pairs of recorded links.

use std::time::Duration;

use serde::Serialize;
use weftline_emulator::Links;

use super::{SKIP, Stream, Study};
use crate::recordings::{BACK, MESSAGE, Recording};
use crate::sim::parallel::in_parallel;
use weftline_sim::engine::{Application, Path};

/// The stream's share of what both links carry on average.
const LOAD: f64 = 0.6;
const LASTS: Duration = Duration::from_secs(60);

/// A pair of recorded links with a stream: over the first alone, the second alone, both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recorded {
    /// The recordings.
    pub pair: [String; 2],
    /// The stream's rate, Mbit/s.
    pub offered_mbit: f64,
    /// The results.
    pub stream: [Stream; 3],
}

impl Recorded {
    /// The 99th percentile over both links for that of the better link alone.
    pub fn p99_ratio(&self) -> f64 {
        let [a, b, both] = self.stream.each_ref().map(|stream| stream.p99);
        both / a.min(b)
    }
}

/// Runs all pairs of these recordings.
pub(super) fn run(study: &Study, recordings: &[Recording]) -> Vec<Recorded> {
    let pairs = recordings.iter().enumerate();
    let pairs = pairs.flat_map(|(n, a)| recordings[n + 1..].iter().map(move |b| [a, b]));
    let jobs: Vec<_> = pairs
        .flat_map(|pair| (0..3).map(move |which| (pair, which)))
        .collect();
    let streams = in_parallel(study.threads, &jobs, |(pair, which)| {
        let mut paths = pair.map(path).to_vec();
        if *which < 2 {
            paths = vec![paths.swap_remove(*which)];
        }
        let application = Application::Cbr {
            rate: rate(pair),
            size: MESSAGE,
        };
        Stream::of(&study.outcomes(&paths, application, LASTS, SKIP))
    });
    let rows = jobs.chunks(3).zip(streams.chunks(3));
    let rows = rows.map(|(jobs, streams)| {
        let pair = jobs[0].0;
        Recorded {
            pair: pair.map(|recording| recording.name.clone()),
            offered_mbit: rate(&pair) as f64 / 1e6,
            stream: [streams[0], streams[1], streams[2]],
        }
    });
    rows.collect()
}

fn rate(pair: &[&Recording; 2]) -> u64 {
    (LOAD * (pair[0].mean + pair[1].mean)) as u64
}

fn path(recording: &Recording) -> Path {
    let links = Links::parse(&recording.link("none"), Some(BACK));
    let Links { forward, back } = links.expect("a recording that was opened");
    Path { forward, back }
}
