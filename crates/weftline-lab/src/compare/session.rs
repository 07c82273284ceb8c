//! All runs of a suite, continued after an interruption.

use std::time::Instant;

use super::plan::{Job, jobs};
use super::record::{Record, Runs, RunsError};
use super::run::{RunError, run};
use super::suite::Suite;
use super::tools::Tools;

/// The result of a run: `None` if it was stopped.
type Ran = Result<Option<Record>, RunError>;

/// Attempts at a run: one, and two more if it is invalid.
const ATTEMPTS: u32 = 3;

/// Why a comparison ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The file of runs cannot be used.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// No run is possible.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// How a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything was run.
    Complete,
    /// It was stopped.
    Stopped,
}

/// The progress of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress<'a> {
    /// Finished runs, of this and earlier sessions.
    pub done: usize,
    /// All runs.
    pub all: usize,
    /// The current run, or the last one.
    pub job: &'a Job,
    /// Its outcome; `None` while it runs.
    pub record: Option<&'a Record>,
    /// Whether it will be tried again.
    pub again: bool,
    /// Estimated seconds until all are finished.
    pub left: f64,
}

/// Runs every job that has no valid run in `runs`, and keeps the new runs there.
///
/// # Errors
/// The lab cannot be opened, a program is missing, or a run cannot be kept. All runs that ended
/// before are kept.
pub fn session(
    suite: &Suite,
    seeds: u64,
    tools: &Tools,
    runs: &mut Runs,
    stop: &mut dyn FnMut() -> bool,
    tell: &mut dyn FnMut(&Progress<'_>),
) -> Result<Ended, SessionError> {
    let mut attempt = |job: &Job, attempt: u32| run(job, attempt, tools, stop);
    work(&jobs(suite, seeds), runs, &mut attempt, tell)
}

/// The same with any function that runs a job.
fn work(
    jobs: &[Job],
    runs: &mut Runs,
    run: &mut dyn FnMut(&Job, u32) -> Ran,
    tell: &mut dyn FnMut(&Progress<'_>),
) -> Result<Ended, SessionError> {
    let todo: Vec<&Job> = jobs.iter().filter(|job| !runs.has(&job.what)).collect();
    let mut left: f64 = todo.iter().map(|job| job.case.about_secs).sum();
    // Ratio of measured to estimated time.
    let (mut took, mut foreseen) = (0.0, 0.0);
    for (index, job) in todo.iter().enumerate() {
        for attempt in 1..=ATTEMPTS {
            let pace = if foreseen > 0.0 { took / foreseen } else { 1.0 };
            let mut progress = Progress {
                done: jobs.len() - todo.len() + index,
                all: jobs.len(),
                job,
                record: None,
                again: false,
                left: left * pace,
            };
            tell(&progress);
            let start = Instant::now();
            let Some(record) = run(job, attempt)? else {
                return Ok(Ended::Stopped);
            };
            took += start.elapsed().as_secs_f64();
            foreseen += job.case.about_secs;
            let is_over = record.is_good() || attempt == ATTEMPTS;
            if is_over {
                left -= job.case.about_secs;
            }
            runs.add(record.clone())?;
            progress.done += usize::from(is_over);
            progress.again = !is_over;
            progress.record = Some(&record);
            progress.left = left * took / foreseen;
            tell(&progress);
            if is_over {
                break;
            }
        }
    }
    Ok(Ended::Complete)
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::super::suite::Scale;
    use super::super::suites;
    use super::*;

    fn some_jobs() -> Vec<Job> {
        let scale = Scale {
            quick: true,
            secs: None,
        };
        let mut jobs = jobs(&suites::by_name("B", scale).unwrap(), 1);
        jobs.truncate(4);
        jobs
    }

    /// A run of a job, valid or not.
    fn ran(job: &Job, valid: bool, error: Option<&str>) -> Record {
        Record {
            what: job.what.clone(),
            ..record("x", 1, valid, error)
        }
    }

    #[test]
    fn a_stopped_comparison_continues_where_it_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let (jobs, mut ran_jobs) = (some_jobs(), Vec::new());
        let mut runs = Runs::open(folder.path()).unwrap();
        let mut stops_at_2 = |job: &Job, _| {
            if ran_jobs.len() == 2 {
                return Ok(None);
            }
            ran_jobs.push(job.what.peer.clone());
            Ok(Some(ran(job, true, None)))
        };
        let ended = work(&jobs, &mut runs, &mut stops_at_2, &mut |_| {}).unwrap();
        assert_eq!(ended, Ended::Stopped);
        drop(runs);
        let mut runs = Runs::open(folder.path()).unwrap();
        let mut rest = |job: &Job, _| {
            ran_jobs.push(job.what.peer.clone());
            Ok(Some(ran(job, true, None)))
        };
        let ended = work(&jobs, &mut runs, &mut rest, &mut |_| {}).unwrap();
        assert_eq!(ended, Ended::Complete);
        let peers: Vec<String> = jobs.iter().map(|j| j.what.peer.clone()).collect();
        assert_eq!(ran_jobs, peers, "each once, in order");
    }

    #[test]
    fn an_invalid_run_is_tried_three_times_and_again_by_the_next_session() {
        let folder = tempfile::tempdir().unwrap();
        let jobs = &some_jobs()[..2];
        let mut runs = Runs::open(folder.path()).unwrap();
        let mut attempts = Vec::new();
        let mut second_is_bad = |job: &Job, attempt| {
            attempts.push((job.what.peer == jobs[1].what.peer, attempt));
            let is_late = attempts.len() == 1;
            let error = (job.what.peer == jobs[1].what.peer).then_some("crash");
            Ok(Some(ran(job, !is_late, error)))
        };
        let mut last = 0;
        let mut tell = |p: &Progress<'_>| last = p.done;
        work(jobs, &mut runs, &mut second_is_bad, &mut tell).unwrap();
        assert_eq!(last, 2);
        let crashes = [(true, 1), (true, 2), (true, 3)];
        assert_eq!(attempts, [&[(false, 1), (false, 2)], &crashes[..]].concat());
        assert_eq!(runs.records().len(), 5, "every attempt is kept");
        let mut again = Vec::new();
        let mut good = |job: &Job, attempt| {
            again.push(attempt);
            Ok(Some(ran(job, true, None)))
        };
        work(jobs, &mut runs, &mut good, &mut |_| {}).unwrap();
        assert_eq!(again, [1], "only what was not good");
    }

    #[test]
    fn the_time_left_follows_the_runs_durations() {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = Runs::open(folder.path()).unwrap();
        let jobs = some_jobs();
        let mut left = Vec::new();
        let mut tell = |p: &Progress<'_>| left.push(p.left);
        let mut good = |job: &Job, _| Ok(Some(ran(job, true, None)));
        work(&jobs, &mut runs, &mut good, &mut tell).unwrap();
        let sum: f64 = jobs.iter().map(|j| j.case.about_secs).sum();
        assert_eq!(left[0], sum);
        // These runs took no time.
        assert!(left[1] < 1.0 && *left.last().unwrap() == 0.0, "{left:?}");
    }
}
