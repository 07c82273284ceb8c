//! The real engine over simulated links.
//!
//! Two [`Session`]s, an application on the first and its reader on the
//! second, and one path of two links of `weftline-netem` between them, or several. Nothing waits, and the same experiment
//! gives exactly the same result.

mod application;
pub(crate) mod end;
mod events;
mod outcome;
mod symbols;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use weftline_netem::{LinkConfig, RunEnd, Simulation};
use weftline_proto::{AddPathError, Config, PathOptions, Role, Session, Time};

pub use application::{Application, UnknownApplication};
pub use events::{
    DatagramKind, Entry, LogLine, PathDatagram, PathEntry, PathEvent, Place, TooManyEntries,
};
pub use outcome::{Outcome, PathOutcome};
pub use symbols::{SymbolSeries, Symbols, symbols};

use end::{Counting, Largest, Reader, Writer};
use events::{Log, Recording};
use outcome::Windows;

/// An experiment.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The engine's settings, for both ends.
    pub config: Config,
    /// The paths between the ends, one at least.
    pub paths: Vec<Path>,
    /// The writer's application.
    pub application: Application,
    /// Duration of its traffic.
    pub duration: Duration,
    /// Messages due, and bytes read, before this are not counted.
    pub skip: Duration,
    /// Messages that are read later than this after their due time are late.
    pub within: Option<Duration>,
    /// Whether the distribution of delays is wanted.
    pub distribution: bool,
    /// Seed of all random choices.
    pub seed: u64,
    /// Whether, in a log, the writer closes the session when everything is acknowledged.
    pub close: bool,
}

/// A path: its two links.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The link from the writer to the reader.
    pub forward: LinkConfig,
    /// The link from the reader to the writer.
    pub back: LinkConfig,
}

/// How long after the application's end messages may still arrive.
const DRAIN: Duration = Duration::from_secs(10);
/// A file is given up after this many times `duration`.
const PATIENCE: u32 = 20;

/// Checks that a session with this configuration can have `paths` paths.
///
/// # Errors
/// The configuration is invalid, its scheme works over one path, or there are too many.
pub fn check_paths(config: &Config, paths: usize) -> Result<(), AddPathError> {
    let mut session = Session::new(Role::Client, config.clone(), 0, Time::ZERO)
        .expect("the configuration was checked when it was read");
    let options = PathOptions::default();
    (1..paths).try_for_each(|_| session.add_path(Time::ZERO, options).map(drop))
}

impl Experiment {
    /// Runs the experiment.
    pub fn run(&self) -> Outcome {
        self.simulate(None)
    }

    /// Runs the experiment and gives the event log too. The outcome is the same; the log goes on until
    /// the writer knows that everything arrived, and with `close` until the session is over, for ten
    /// seconds each at most.
    ///
    /// # Errors
    /// The log has more than `most` entries; the run ends there.
    pub fn run_logged(&self, most: usize) -> Result<(Outcome, Vec<LogLine>), TooManyEntries> {
        let log = Log::new(most);
        let outcome = self.simulate(Some(&log));
        let lines = log.borrow_mut().finish()?;
        Ok((outcome, lines))
    }

    fn simulate(&self, log: Option<&Rc<RefCell<Log>>>) -> Outcome {
        let mut sim = self.simulation(log);
        let mut windows = Windows::default();
        let limit = match self.application {
            Application::File { .. } => self.duration * PATIENCE,
            Application::Bulk => self.duration,
            Application::Cbr { .. }
            | Application::Video { .. }
            | Application::Saturating { .. } => self.duration + DRAIN,
        };
        let end = sim.run_while(limit, |sim| {
            windows.on_step(sim);
            let full = log.is_some_and(|log| log.borrow().is_full());
            !(sim.b.is_complete() || sim.a.closed() || sim.b.closed() || full)
        });
        debug_assert_ne!(end, RunEnd::Idle, "sessions have timers");
        windows.on_step(&sim);
        let now = sim.now();
        sim.b.count_missing(sim.a.due(), now);
        let outcome = self.outcome(&sim, &windows);
        if let Some(log) = log {
            // The log also tells how the writer learns that the reader has everything.
            sim.run_while(now + DRAIN, |sim| {
                !(sim.a.is_acknowledged() || sim.a.closed() || log.borrow().is_full())
            });
            if self.close && sim.a.is_acknowledged() {
                let now = sim.now();
                sim.a.close(now);
                sim.run_while(now + DRAIN, |sim| {
                    !(sim.a.is_drained() && sim.b.is_drained() || log.borrow().is_full())
                });
            }
        }
        outcome
    }

    /// A carrier knows the MTU of each of several paths. One path is left to discover it.
    fn largest(&self, link: impl Fn(&Path) -> &LinkConfig) -> Vec<Largest> {
        let overhead = usize::from(self.config.datagram_overhead);
        let several = self.paths.len() > 1;
        let mtu = |path| link(path).mtu.filter(|_| several);
        let each = self.paths.iter().map(mtu);
        each.map(|mtu| Some(mtu?.saturating_sub(overhead)))
            .collect()
    }

    fn simulation(&self, log: Option<&Rc<RefCell<Log>>>) -> Simulation<Writer, Reader> {
        let recording = |end| log.map(|log| Recording::new(end, log));
        let writer = Writer::new(
            Role::Client,
            self.config.clone(),
            &self.largest(|path| &path.forward),
            self.seed,
            self.application,
            self.duration,
            recording(Place::Writer),
        );
        let counting = Counting {
            skip: self.skip,
            within: self.within,
        };
        let reader = Reader::new(
            self.config.clone(),
            &self.largest(|path| &path.back),
            !self.seed,
            self.application,
            counting,
            recording(Place::Reader),
        );
        let [first, more @ ..] = &self.paths[..] else {
            panic!("an experiment has a path");
        };
        let links = first.clone();
        let mut sim = Simulation::new(writer, reader, links.forward, links.back, self.seed);
        for (path, n) in more.iter().zip(1..) {
            let Path { forward, back } = path.clone();
            // Neighbouring seeds belong to other runs of the same experiment.
            sim.add_path(forward, back, self.seed ^ n << 32);
        }
        sim.per_datagram_overhead = usize::from(self.config.datagram_overhead);
        sim
    }
}
