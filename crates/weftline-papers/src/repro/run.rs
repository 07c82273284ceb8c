//! Runs points: several at a time, each in a separate process.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;

use super::{Kept, Point, Program};

/// Paths of the programs.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `weftline`.
    pub lab: PathBuf,
    /// The ns-3 model, or the reason why it is missing.
    pub ns3: Result<PathBuf, String>,
}

impl Programs {
    /// The path of a program.
    ///
    /// # Errors
    /// It is missing: the reason.
    pub fn path(&self, program: Program) -> Result<&PathBuf, String> {
        match program {
            Program::Lab => Ok(&self.lab),
            Program::Ns3 => self.ns3.as_ref().map_err(Clone::clone),
        }
    }

    /// Runs a point, and reads the object that it prints.
    ///
    /// # Errors
    /// The program cannot be run, failed, or printed anything but JSON: its output.
    pub fn run(&self, point: &Point) -> Result<Value, String> {
        let path = self.path(point.program())?;
        let output = Command::new(path)
            .args(point.arguments())
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("{} cannot be run: {e}", path.display()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let said = said.trim();
            return Err(format!("`{point}` failed ({}): {said}", output.status));
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        let line = printed.lines().rfind(|line| !line.trim().is_empty());
        let object = serde_json::from_str::<Value>(line.unwrap_or_default());
        match object {
            Ok(object @ Value::Object(_)) => Ok(object),
            _ => Err(format!("`{point}` printed no JSON object")),
        }
    }
}

/// Progress of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Points that are done.
    pub done: usize,
    /// Points of this run.
    pub all: usize,
    /// Estimated seconds for the rest.
    pub left: f64,
}

/// A point without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Its command.
    pub command: String,
    /// The error.
    pub reason: String,
}

/// Runs the points that are not kept yet, `jobs` at a time, and keeps their results. Points that
/// measure this machine's speed come last, one at a time. Returns the failed points.
///
/// # Errors
/// A result cannot be kept.
pub fn run(
    points: &[Point],
    jobs: usize,
    kept: &mut Kept,
    run: &(dyn Fn(&Point) -> Result<Value, String> + Sync),
    progress: &(dyn Fn(&Progress) + Sync),
) -> io::Result<Vec<Failed>> {
    let mut seen = HashSet::new();
    let new = |point: &&Point| !kept.values().has(point) && seen.insert(point.to_string());
    let mut todo: Vec<Point> = points.iter().filter(new).cloned().collect();
    todo.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
    let (alone, together): (Vec<_>, Vec<_>) = todo.into_iter().partition(Point::is_alone);
    let cost = |points: &[Point]| points.iter().map(Point::cost).sum::<f64>();
    let (before, estimated) = past(points, kept);
    let state = State {
        clock: Clock {
            start: Instant::now(),
            all: alone.len() + together.len(),
            done: 0,
            // A point that runs alone keeps all others from running.
            cost: cost(&together) / jobs.max(1) as f64 + cost(&alone),
            passed: 0.0,
            before: (before / jobs.max(1) as f64, estimated / jobs.max(1) as f64),
        },
        queue: VecDeque::new(),
        kept,
        failed: Vec::new(),
        error: None,
    };
    let state = Mutex::new(state);
    for (points, jobs) in [(together, jobs.max(1)), (alone, 1)] {
        lock(&state).queue = points.into();
        let work = || work(&state, jobs, run, progress);
        std::thread::scope(|scope| {
            for _ in 1..jobs {
                scope.spawn(work);
            }
            work();
        });
    }
    let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.error.map_or(Ok(state.failed), Err)
}

/// Seconds that the points of an interrupted run took, and were estimated to take.
fn past(points: &[Point], kept: &Kept) -> (f64, f64) {
    let mut seen = HashSet::new();
    let old = points
        .iter()
        .filter(|point| kept.values().has(point) && seen.insert(point.to_string()));
    old.fold((0.0, 0.0), |(took, cost), point| {
        (took + kept.seconds(&point.to_string()), cost + point.cost())
    })
}

struct State<'a> {
    clock: Clock,
    queue: VecDeque<Point>,
    kept: &'a mut Kept,
    failed: Vec<Failed>,
    error: Option<io::Error>,
}

struct Clock {
    start: Instant,
    all: usize,
    done: usize,
    /// Estimated seconds of all points.
    cost: f64,
    /// Estimated seconds of the finished points.
    passed: f64,
    /// Seconds that the kept points took, and their estimate.
    before: (f64, f64),
}

impl Clock {
    fn progress(&self) -> Progress {
        let left = (self.cost - self.passed).max(0.0);
        // At the speed so far, that of an interrupted run included; at first, at the estimated speed.
        let took = self.start.elapsed().as_secs_f64() + self.before.0;
        let pace = (took + 2.0) / (self.passed + self.before.1 + 2.0);
        Progress {
            done: self.done,
            all: self.all,
            left: left * pace,
        }
    }
}

fn lock<'a, 'b>(state: &'a Mutex<State<'b>>) -> MutexGuard<'a, State<'b>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work(
    state: &Mutex<State<'_>>,
    jobs: usize,
    run: &(dyn Fn(&Point) -> Result<Value, String> + Sync),
    progress: &(dyn Fn(&Progress) + Sync),
) {
    loop {
        let point = {
            let mut state = lock(state);
            match state.queue.pop_front() {
                Some(point) if state.error.is_none() => point,
                _ => return,
            }
        };
        let start = Instant::now();
        let result = run(&point);
        let mut state = lock(state);
        let seconds = start.elapsed().as_secs_f64();
        let command = point.to_string();
        match result {
            Ok(value) => {
                if let Err(error) = state.kept.add(command, seconds, value) {
                    state.error = Some(error);
                }
            }
            Err(reason) => state.failed.push(Failed { command, reason }),
        }
        state.clock.done += 1;
        state.clock.passed += point.cost() / jobs as f64;
        let now = state.clock.progress();
        drop(state);
        progress(&now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Condvar;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn each_point_is_run_once_and_never_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = Kept::open(folder.path(), "1", "a", false).unwrap();
        let points: Vec<_> = (0..20)
            .map(|n| Point::lab(&format!("sim x {}", n / 2)))
            .collect();
        let (runs, beside) = (AtomicUsize::new(0), Mutex::new((0, 0)));
        let another = Condvar::new();
        let alone: Vec<_> = (0..3)
            .map(|n| Point::lab(&format!("bench {n}")).alone())
            .collect();
        let all = [points, alone].concat();
        let once = |point: &Point| {
            let is_first = runs.fetch_add(1, Ordering::Relaxed) == 0;
            let mut beside = beside.lock().unwrap();
            beside.0 += 1;
            assert!(!point.is_alone() || beside.0 == 1);
            beside.1 = beside.1.max(beside.0);
            another.notify_all();
            if is_first {
                let patience = std::time::Duration::from_secs(10);
                let waited = another.wait_timeout_while(beside, patience, |b| b.1 < 2);
                beside = waited.unwrap().0;
            }
            beside.0 -= 1;
            Ok(json!({}))
        };
        let last = Mutex::new(None);
        let tell = |now: &Progress| *last.lock().unwrap() = Some(now.clone());
        assert!(run(&all, 4, &mut kept, &once, &tell).unwrap().is_empty());
        assert_eq!(runs.load(Ordering::Relaxed), 10 + 3);
        assert!(beside.lock().unwrap().1 > 1, "several at a time");
        let last = last.into_inner().unwrap().unwrap();
        assert!(last.all == 13 && last.left.abs() < 1e-6, "{last:?}");
        let mut kept = Kept::open(folder.path(), "1", "a", false).unwrap();
        run(&all, 4, &mut kept, &once, &|_| ()).unwrap();
        assert_eq!(runs.load(Ordering::Relaxed), 13);
    }

    #[test]
    fn a_failed_point_is_named_and_stops_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = Kept::open(folder.path(), "1", "a", false).unwrap();
        let points = [Point::lab("a"), Point::lab("b")];
        let odd = |point: &Point| match point.to_string().contains(" a ") {
            true => Err("no".to_owned()),
            false => Ok(json!({})),
        };
        let failed = run(&points, 1, &mut kept, &odd, &|_| ()).unwrap();
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0].command, "weftline-lab a --json");
        assert!(kept.values().has(&points[1]) && !kept.values().has(&points[0]));
    }

    #[test]
    fn the_time_left_learns_from_the_run_before() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = Kept::open(folder.path(), "1", "a", false).unwrap();
        let point = |n: u32| Point::lab(&format!("sim x {n}")).about_secs(10.0);
        // Each point takes three times as long as estimated.
        for n in 0..4 {
            kept.add(point(n).to_string(), 30.0, json!({})).unwrap();
        }
        let points: Vec<Point> = (0..6).map(point).collect();
        let first = Mutex::new(None);
        let tell = |now: &Progress| {
            first.lock().unwrap().get_or_insert(now.clone());
        };
        run(&points, 1, &mut kept, &|_| Ok(json!({})), &tell).unwrap();
        let first = first.into_inner().unwrap().unwrap();
        assert_eq!((first.done, first.all), (1, 2));
        // Ten estimated seconds are left; this run's own point took no time.
        assert!((20.0..30.0).contains(&first.left), "{first:?}");
    }

    #[test]
    fn a_missing_program_is_the_reason() {
        let programs = Programs {
            lab: "/nonexistent/weftline-lab".into(),
            ns3: Err("not built".into()),
        };
        assert_eq!(
            programs.run(&Point::ns3("hop")),
            Err("not built".to_owned())
        );
        let error = programs.run(&Point::lab("theory bianchi")).unwrap_err();
        assert!(error.contains("cannot be run"), "{error}");
    }
}
