//! The parts of a comparison, as data.

use serde::{Deserialize, Serialize};

use crate::load::Mode;

use super::peer::Peer;

/// A named comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Its description and the source of its numbers, for readers of the report.
    pub about: &'static str,
    /// Its view.
    pub view: View,
    /// Default number of runs of each case and peer.
    pub seeds: u64,
    /// The paths and workloads.
    pub cases: Vec<Case>,
}

/// The measures that a suite shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Goodput.
    Goodput,
    /// The delay of messages, and its cost.
    Delay,
    /// The time of transfers.
    Times,
    /// The sharing of a queue.
    Sharing,
    /// In-order delivery delay of a transfer that fills a window, and its packets.
    Window,
    /// Goodput as a share of the capacity, or the delay of messages, and the queue.
    Recorded,
    /// Goodput as a share of what several links carry together, or the delay of messages.
    Paths,
}

/// A link and its return path, in the form of `lab run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkText {
    /// From sender to receiver.
    pub link: String,
    /// From receiver to sender; `None` is the default of `lab run`.
    pub back: Option<String>,
}

/// A path and a workload, for several peers.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its name, unique in the suite.
    pub name: String,
    /// The part of the report that it belongs to.
    pub group: String,
    /// The link from sender to receiver, in the form of `lab run --link`.
    pub link: String,
    /// The return path; `None` is the default of `lab run`.
    pub back: Option<String>,
    /// Further links between the two.
    pub more: Vec<LinkText>,
    /// What happens while flows run, in the form of `lab run --at`.
    pub events: Vec<String>,
    /// The workload.
    pub mode: Mode,
    /// Its settings, in the form of `load`.
    pub settings: Vec<String>,
    /// Settings for peers of the transport `weftline`, in addition to their own.
    pub engine: Vec<String>,
    /// Flows that share the path, started before the measured one. `None` is another flow of the
    /// peer itself.
    pub others: Vec<Option<Peer>>,
    /// Seconds by which the others start earlier.
    pub head_start: f64,
    /// Default peers.
    pub peers: Vec<Peer>,
    /// Estimated duration of a run, in seconds.
    pub about_secs: f64,
}

/// The form of a suite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scale {
    /// The short form: fewer cases, peers and seconds, one seed.
    pub quick: bool,
    /// Seconds of sending, for workloads that have such a time.
    pub secs: Option<f64>,
}

impl Suite {
    /// Measures these peers in every case.
    pub fn with_peers(mut self, peers: &[Peer]) -> Self {
        for case in &mut self.cases {
            case.peers = peers.to_vec();
        }
        self
    }

    /// All peers, each once, in the order of the cases.
    pub fn peers(&self) -> Vec<Peer> {
        let mut all: Vec<Peer> = Vec::new();
        for peer in self.cases.iter().flat_map(|case| &case.peers) {
            if !all.contains(peer) {
                all.push(peer.clone());
            }
        }
        all
    }

    /// Keeps the cases whose names contain one of these texts, in upper or lower case.
    pub fn keep_cases(mut self, texts: &[String]) -> Self {
        let texts = Vec::from_iter(texts.iter().map(|text| text.to_lowercase()));
        self.cases.retain(|case| {
            let name = case.name.to_lowercase();
            texts.iter().any(|text| name.contains(text))
        });
        self
    }

    /// Removes peers; cases without any peer are removed too.
    pub fn keep_peers(mut self, mut keep: impl FnMut(&Case, &Peer) -> bool) -> Self {
        for case in &mut self.cases {
            let peers = std::mem::take(&mut case.peers);
            case.peers = peers.into_iter().filter(|p| keep(case, p)).collect();
        }
        self.cases.retain(|case| !case.peers.is_empty());
        self
    }

    /// Estimated seconds of all runs.
    pub fn about_secs(&self, seeds: u64) -> f64 {
        let of = |case: &Case| case.about_secs * case.peers.len() as f64;
        self.cases.iter().map(of).sum::<f64>() * seeds as f64
    }
}

impl Case {
    /// Settings for `peer` in addition to its own, if it is `weftline`.
    pub fn engine_for(&self, peer: &Peer) -> &[String] {
        match peer.transport.as_str() {
            "weftline" => &self.engine,
            _ => &[],
        }
    }

    /// The value of a workload setting.
    pub fn setting(&self, name: &str) -> Option<f64> {
        number(&self.settings, name)
    }
}

/// The number in a setting's value.
pub(super) fn number(settings: &[String], name: &str) -> Option<f64> {
    let pairs = settings.iter().filter_map(|s| s.split_once('='));
    let mut found = pairs.filter(|(n, _)| *n == name);
    found.next().and_then(|(_, value)| value.parse().ok())
}
