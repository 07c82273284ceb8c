//! What a comparison is made of, as data.

use crate::load::Mode;

use super::peer::Peer;

/// A comparison that has a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// What it does and where its numbers come from, for readers of the report.
    pub about: &'static str,
    /// What is looked at.
    pub view: View,
    /// Runs of each case and peer, unless told otherwise.
    pub seeds: u64,
    /// The paths and workloads.
    pub cases: Vec<Case>,
}

/// What a suite shows of its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// How much gets through.
    Goodput,
    /// How late messages are, and what that costs.
    Delay,
    /// How long transfers take.
    Times,
    /// How a queue is shared.
    Sharing,
    /// In-order delivery delay of a transfer as fast as a window allows, and its packets.
    Window,
}

/// A path and what is done on it, by each of several peers.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its name, unique in the suite.
    pub name: String,
    /// The part of the report that it belongs to.
    pub group: String,
    /// The link from sender to receiver, as `lab run --link` takes it.
    pub link: String,
    /// The way back; `None` is what `lab run` makes of that.
    pub back: Option<String>,
    /// The workload.
    pub mode: Mode,
    /// Its settings, as `load` takes them.
    pub settings: Vec<String>,
    /// Settings that peers of the transport `weftline` get besides their own.
    pub engine: Vec<String>,
    /// Flows that share the path, started before the one that is measured. `None` is one more
    /// of the peer itself.
    pub others: Vec<Option<Peer>>,
    /// Seconds by which the others start earlier.
    pub head_start: f64,
    /// Who is measured, unless told otherwise.
    pub peers: Vec<Peer>,
    /// How long a run takes about, in seconds.
    pub about_secs: f64,
}

/// Which form of a suite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scale {
    /// The small form: fewer cases, peers and seconds, one seed.
    pub quick: bool,
    /// Seconds that are sent, where the workload has such a time.
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

    /// Keeps the cases whose names contain one of these texts, in any letters.
    pub fn keep_cases(mut self, texts: &[String]) -> Self {
        let texts = Vec::from_iter(texts.iter().map(|text| text.to_lowercase()));
        self.cases.retain(|case| {
            let name = case.name.to_lowercase();
            texts.iter().any(|text| name.contains(text))
        });
        self
    }

    /// Leaves peers out; cases without any vanish.
    pub fn keep_peers(mut self, mut keep: impl FnMut(&Case, &Peer) -> bool) -> Self {
        for case in &mut self.cases {
            let peers = std::mem::take(&mut case.peers);
            case.peers = peers.into_iter().filter(|p| keep(case, p)).collect();
        }
        self.cases.retain(|case| !case.peers.is_empty());
        self
    }

    /// Seconds that all runs take about.
    pub fn about_secs(&self, seeds: u64) -> f64 {
        let of = |case: &Case| case.about_secs * case.peers.len() as f64;
        self.cases.iter().map(of).sum::<f64>() * seeds as f64
    }
}

impl Case {
    /// What `peer` gets besides its own settings, if it is our engine.
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

/// The number that a setting has.
pub(super) fn number(settings: &[String], name: &str) -> Option<f64> {
    let pairs = settings.iter().filter_map(|s| s.split_once('='));
    let mut found = pairs.filter(|(n, _)| *n == name);
    found.next().and_then(|(_, value)| value.parse().ok())
}
