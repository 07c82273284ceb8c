//! A session with two paths that share a bottleneck, beside one flow of another kind.

use std::time::Duration;

use serde::Serialize;

use super::{Study, median};
use crate::sim::parallel::in_parallel;
use weftline_sim::crowd::{Crowd, Member, Sender};
use weftline_sim::engine::Application;

const BOTTLENECK: &str = "rate=40mbit delay=20ms queue=100ms";
const LASTS: Duration = Duration::from_secs(30);
/// Not counted: the flows find their rates.
const SKIP: Duration = Duration::from_secs(5);
const OTHERS: [Sender; 3] = [
    Sender::Cubic,
    Sender::Bbr,
    Sender::Engine(Application::Bulk),
];

/// What a session gets beside another flow, medians over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shared {
    /// The other flow.
    pub other: &'static str,
    /// Goodput with one path, Mbit/s.
    pub one_mbit: f64,
    /// Goodput with two.
    pub two_mbit: f64,
    /// What the other flow gets beside one path, and beside two.
    pub other_mbit: [f64; 2],
}

pub(super) fn run(study: &Study) -> Vec<Shared> {
    in_parallel(study.threads, &OTHERS, |other| {
        let [one, two] = [1, 2].map(|paths| beside(study, *other, paths));
        Shared {
            other: other.name(),
            one_mbit: one[1],
            two_mbit: two[1],
            other_mbit: [one[0], two[0]],
        }
    })
}

/// Goodput of the other flow and of ours.
fn beside(study: &Study, other: Sender, paths: usize) -> [f64; 2] {
    let member = |sender, paths| Member {
        sender,
        paths,
        extra: Duration::ZERO,
        join: (Duration::ZERO, Duration::from_millis(100)),
        leave: None,
    };
    let link: weftline_netem::LinkConfig = BOTTLENECK.parse().expect("a constant");
    let crowd = Crowd {
        config: study.config.clone(),
        forward: link.clone(),
        back: link,
        members: vec![
            member(other, 1),
            member(Sender::Engine(Application::Bulk), paths),
        ],
        duration: LASTS,
        skip: SKIP,
    };
    let runs: Vec<_> = (1..=study.seeds).map(|seed| crowd.run(seed)).collect();
    let from = SKIP.as_secs() as usize;
    [0, 1].map(|flow| {
        median(runs.iter().map(|run| {
            let windows = run.flows[flow].windows_mbit.get(from..).unwrap_or_default();
            windows.iter().sum::<f64>() / windows.len().max(1) as f64
        }))
    })
}
