//! What rounds found.

use std::collections::BTreeMap;

use serde::Serialize;

use super::plan::Plan;
use super::{Done, Fault};

/// The results of all rounds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    /// Rounds.
    pub rounds: u64,
    /// Seconds that they took.
    pub seconds: f64,
    /// By what they carried.
    pub errands: BTreeMap<&'static str, Errand>,
    /// Faults that were made, by kind.
    pub faults: BTreeMap<&'static str, u64>,
}

/// The results of all rounds that carried the same.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Errand {
    /// Rounds.
    pub rounds: u64,
    /// Rounds with bytes that were not sent, or an end that only looked complete.
    pub wrong: u64,
    /// Rounds in which nothing moved although nothing was in the way.
    pub hangs: u64,
    /// Rounds in which an end failed without saying why, or ended where it must not.
    pub unexplained: u64,
    /// Rounds in which the laboratory failed.
    pub laboratory: u64,
    /// Programs that were started.
    pub starts: u64,
    /// Seconds until everything was done, once nothing was in the way any more, sorted.
    pub recoveries: Vec<f64>,
}

impl Tally {
    pub(super) fn add(&mut self, name: &'static str, plan: &Plan, found: &Result<Done, Fault>) {
        self.rounds += 1;
        for kind in &plan.kinds {
            *self.faults.entry(kind.name()).or_default() += 1;
        }
        let errand = self.errands.entry(name).or_default();
        errand.rounds += 1;
        match found {
            Ok(done) => {
                errand.starts += u64::from(done.starts);
                let seconds = done.recovery.as_secs_f64();
                let at = errand.recoveries.partition_point(|one| *one < seconds);
                errand.recoveries.insert(at, seconds);
            }
            Err(Fault::Wrong(_)) => errand.wrong += 1,
            Err(Fault::Hang(_)) => errand.hangs += 1,
            Err(Fault::Unexplained(_)) => errand.unexplained += 1,
            Err(Fault::Lab(_)) => errand.laboratory += 1,
        }
    }

    /// Whether no round failed.
    pub fn is_good(&self) -> bool {
        let failed = |e: &Errand| e.wrong + e.hangs + e.unexplained + e.laboratory;
        self.errands.values().map(failed).sum::<u64>() == 0
    }
}

impl Errand {
    /// The recovery that this share of rounds did not exceed, seconds.
    pub fn recovery(&self, share: f64) -> Option<f64> {
        let last = self.recoveries.len().checked_sub(1)?;
        let at = (share * last as f64).ceil() as usize;
        self.recoveries.get(at.min(last)).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_fault_is_counted_and_one_is_enough_to_fail() {
        let mut tally = Tally::default();
        for seconds in [3, 1, 2] {
            let done = Done {
                starts: 2,
                recovery: Duration::from_secs(seconds),
            };
            tally.add("relay", &Plan::default(), &Ok(done));
        }
        assert!(tally.is_good());
        assert_eq!(tally.errands["relay"].recovery(0.5), Some(2.0));
        assert_eq!(tally.errands["relay"].recovery(1.0), Some(3.0));
        tally.add("forward", &Plan::default(), &Err(Fault::Wrong("x".into())));
        assert!(!tally.is_good() && tally.rounds == 4);
        assert_eq!(tally.errands["forward"].recovery(0.5), None);
    }
}
