//! The real engine over simulated links.
//!
//! Two [`Session`](weftline_proto::Session)s, an application on the first and its reader on the
//! second, and the links of `weftline-netem` between them. Nothing waits, and the same experiment
//! gives exactly the same result.

mod application;
pub(in crate::sim) mod end;
mod events;
mod symbols;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use weftline_netem::{LinkConfig, RunEnd, Simulation};
use weftline_proto::{Config, Role, Stats};

pub use application::{Application, UnknownApplication};
pub use events::{DatagramKind, Entry, LogLine, PathEntry, PathEvent, Place, TooManyEntries};
pub use symbols::{SymbolSeries, Symbols, symbols};

use crate::load::Summary;
use end::{Counting, Reader, Writer};
use events::{Log, Recording};

/// An experiment.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The engine's settings, for both ends.
    pub config: Config,
    /// The link from the writer to the reader.
    pub forward: LinkConfig,
    /// The link from the reader to the writer.
    pub back: LinkConfig,
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

/// How long after the application's end messages may still arrive.
const DRAIN: Duration = Duration::from_secs(10);
/// A file is given up after this many times `duration`.
const PATIENCE: u32 = 20;

/// The result of an experiment. A delay is the time from when a message was due to when it was
/// read in order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Messages that were due.
    pub sent: u64,
    /// Messages that were read, in order.
    pub got: u64,
    /// Delays of messages, ms.
    #[serde(flatten)]
    pub delay: Summary,
    /// Shares, and the delay in ms that this share of messages does not exceed, if
    /// [`Experiment::distribution`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cdf: Option<Vec<(f64, f64)>>,
    /// Share of messages that were read within [`Experiment::within`].
    pub on_time: Option<f64>,
    /// Bytes that the reader's application read after `skip`.
    pub bytes: u64,
    /// The same as a rate, in Mbit/s of the measured time.
    pub goodput_mbit: f64,
    /// The same as a share of what the forward link could carry in that time, if it has a rate.
    pub capacity_share: Option<f64>,
    /// Seconds until the whole file had been read, for files.
    pub completion_s: Option<f64>,
    /// Bytes offered to the forward link, headers included, for each byte read, over the whole
    /// run.
    pub wire_per_byte: f64,
    /// The same on the return link.
    pub back_per_byte: f64,
    /// Repair symbols for each source symbol.
    pub repair_share: f64,
    /// Source symbols for all symbols sent for them: repairs, and source symbols sent again.
    pub effective_rate: f64,
    /// Share of packets that the forward link lost, without queue drops.
    pub loss_rate: f64,
    /// Packets dropped by a full queue.
    pub queue_drops: u64,
    /// Median and 99th percentile of the wait for the transmitter, ms.
    pub queue_ms: [f64; 2],
    /// The 95th percentile of it.
    pub queue_p95_ms: f64,
    /// Seconds of virtual time.
    pub simulated_s: f64,
    /// Counters of the writer's end.
    #[serde(skip)]
    pub stats: Stats,
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
        let recording = |end| log.map(|log| Recording::new(end, log));
        let writer = Writer::new(
            Role::Client,
            self.config.clone(),
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
            !self.seed,
            self.application,
            counting,
            recording(Place::Reader),
        );
        let mut sim = Simulation::new(
            writer,
            reader,
            self.forward.clone(),
            self.back.clone(),
            self.seed,
        );
        sim.per_datagram_overhead = usize::from(self.config.datagram_overhead);
        let limit = match self.application {
            Application::File { .. } => self.duration * PATIENCE,
            Application::Bulk => self.duration,
            Application::Cbr { .. }
            | Application::Video { .. }
            | Application::Saturating { .. } => self.duration + DRAIN,
        };
        let end = sim.run_while(limit, |sim| {
            let full = log.is_some_and(|log| log.borrow().is_full());
            !(sim.b.is_complete() || sim.a.closed() || sim.b.closed() || full)
        });
        debug_assert_ne!(end, RunEnd::Idle, "sessions have timers");
        let now = sim.now();
        sim.b.count_missing(sim.a.due(), now);
        let outcome = self.outcome(&sim);
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

    fn outcome(&self, sim: &Simulation<Writer, Reader>) -> Outcome {
        let (writer, reader, now) = (&sim.a, &sim.b, sim.now());
        let (forward, back) = (sim.a_to_b.link().counters(), sim.b_to_a.link().counters());
        let stats = writer.stats();
        let total = reader.bytes().max(1) as f64;
        let measured = now.min(self.duration).saturating_sub(self.skip);
        let capacity = self.forward.capacity(self.skip, self.skip + measured);
        let millis = |share: f64| forward.queue_delay.quantile(share).as_secs_f64() * 1e3;
        Outcome {
            sent: writer.due(),
            got: reader.messages(),
            delay: reader.delays().summary(),
            cdf: self.distribution.then(|| reader.delays().curve()),
            on_time: reader.on_time(),
            bytes: reader.counted(),
            goodput_mbit: reader.counted() as f64 * 8.0 / 1e6 / measured.as_secs_f64().max(1e-9),
            capacity_share: capacity
                .filter(|bits| *bits > 0)
                .map(|bits| reader.counted() as f64 * 8.0 / bits as f64),
            completion_s: reader.completion().map(|at| at.as_secs_f64()),
            wire_per_byte: forward.offered_bytes as f64 / total,
            back_per_byte: back.offered_bytes as f64 / total,
            repair_share: stats.sent.repair_symbols as f64
                / (stats.sent.source_symbols as f64).max(1.0),
            effective_rate: stats.sent.source_symbols as f64
                / ((stats.sent.source_symbols
                    + stats.sent.retransmissions
                    + stats.sent.repair_symbols) as f64)
                    .max(1.0),
            loss_rate: forward.loss_rate(),
            queue_drops: forward.queue_drops,
            queue_ms: [millis(0.5), millis(0.99)],
            queue_p95_ms: millis(0.95),
            simulated_s: now.as_secs_f64(),
            stats,
        }
    }
}
