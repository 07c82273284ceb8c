//! The order of runs.

use super::peer::Peer;
use super::record::Identity;
use super::suite::{Case, Suite};

/// One thing to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The case.
    pub case: Case,
    /// The peer.
    pub peer: Peer,
    /// The emulator's seed.
    pub seed: u64,
    /// The identity of the run in the file of runs.
    pub what: Identity,
}

/// All runs of a suite. Peers alternate within a case, and cases within a seed, so that a machine
/// that slows down affects all of them; the first peer changes, too.
pub fn jobs(suite: &Suite, seeds: u64) -> Vec<Job> {
    let mut jobs = Vec::new();
    for seed in 1..=seeds {
        for (index, case) in suite.cases.iter().enumerate() {
            let turn = index + seed as usize;
            for place in 0..case.peers.len() {
                let peer = &case.peers[(place + turn) % case.peers.len()];
                jobs.push(job(suite.name, case, peer, seed));
            }
        }
    }
    jobs
}

fn job(suite: &str, case: &Case, peer: &Peer, seed: u64) -> Job {
    let others = case.others.iter();
    Job {
        what: Identity {
            suite: suite.to_owned(),
            case: case.name.clone(),
            peer: peer.to_string(),
            seed,
            link: case.link.clone(),
            back: case.back.clone(),
            more: case.more.clone(),
            events: case.events.clone(),
            mode: case.mode.name().to_owned(),
            settings: case.settings.clone(),
            engine: case.engine_for(peer).to_vec(),
            others: others
                .map(|o| o.as_ref().unwrap_or(peer).to_string())
                .collect(),
        },
        case: case.clone(),
        peer: peer.clone(),
        seed,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::suite::Scale;
    use super::super::suites;
    use super::*;

    #[test]
    fn seeds_are_outside_and_peers_alternate_inside() {
        let suite = suites::by_name("B", Scale::default()).unwrap();
        let jobs = jobs(&suite, 3);
        assert!(jobs.is_sorted_by_key(|job| job.seed));
        let size: usize = suite.cases.iter().map(|c| c.peers.len()).sum();
        assert_eq!(jobs.len(), 3 * size);
        let names: BTreeSet<String> = jobs.iter().map(|j| format!("{:?}", j.what)).collect();
        assert_eq!(names.len(), jobs.len(), "no run is there twice");
        let firsts: BTreeSet<&str> = jobs
            .iter()
            .step_by(size)
            .map(|j| j.what.peer.as_str())
            .collect();
        assert_eq!(firsts.len(), 3, "with each seed another peer is first");
    }

    #[test]
    fn beside_itself_means_beside_the_peer() {
        let suite = suites::by_name("D", Scale::default()).unwrap();
        let jobs = jobs(&suite, 1);
        let of = |case: &str| {
            jobs.iter()
                .filter(|j| j.what.case == case)
                .collect::<Vec<_>>()
        };
        for job in of("beside 4 of itself") {
            assert_eq!(job.what.others, vec![job.what.peer.clone(); 4]);
        }
        assert!(
            of("beside 1 TCP BBR")
                .iter()
                .all(|j| j.what.others == ["tcp/bbr"])
        );
    }
}
