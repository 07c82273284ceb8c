//! The result of an experiment.

use serde::{Serialize, Serializer};

use super::batches::Batches;
use super::run::Run;
use super::{Experiment, Latencies};

/// A mean and its standard error, from parts of a twentieth of a run each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub stderr: f64,
}

/// Source bits for each second of processor time, in Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speeds {
    /// Speed of making repair packets: the sender's work without that for source packets.
    pub encode_mbit: f64,
    /// Speed of receiving: packets in, ADUs out, with everything that a receiver does.
    pub decode_mbit: f64,
}

/// The result of an experiment, all runs together.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The experiment.
    #[serde(serialize_with = "experiment")]
    #[serde(flatten)]
    pub experiment: Experiment,
    /// Number of runs, each a session of its own.
    pub runs: u32,
    /// Share of symbols received or decoded within dw ticks.
    pub on_time: Estimate,
    /// Share of symbols that the application does not get: 1 - on time.
    pub residual_loss: f64,
    /// Share of symbols decoded later than dw ticks.
    pub late: f64,
    /// Share of source symbols lost on the path.
    pub lost: f64,
    /// Mean added in-order latency, in ticks, of symbols on time.
    pub latency: Estimate,
    /// Smallest, median, 90 %, 99 %, 99.9 % and largest added latency in ticks.
    pub latency_quantiles: [u32; 6],
    /// Symbols by added latency in ticks, from 0.
    #[serde(serialize_with = "counts")]
    pub histogram: Latencies,
    /// Symbols that were lost and became known, by ticks from when they were sent, from 0: in any
    /// order, and late ones too.
    #[serde(serialize_with = "counts")]
    pub recovered_after: Latencies,
    /// The sessions, one for each seed.
    pub sessions: Vec<Session>,
    /// Repair symbols sent for each source symbol.
    pub repair_share: f64,
    /// Speeds of this machine: the only values that differ between repetitions.
    pub speed: Speeds,
}

/// The result of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Session {
    /// The seed of its losses.
    pub seed: u64,
    /// Share of symbols received or decoded within dw ticks.
    pub on_time: f64,
    /// Share of source symbols that the path did not lose.
    pub received: f64,
    /// Mean added in-order latency, in ticks, of symbols on time.
    pub latency: f64,
    /// Mean ticks until symbols that were lost became known; `None` if none did.
    pub mean_recovered_after: Option<f64>,
    /// Symbols by added latency in ticks, from 0.
    #[serde(serialize_with = "counts")]
    pub histogram: Latencies,
    /// Symbols that were lost and became known, by ticks from when they were sent.
    #[serde(serialize_with = "counts")]
    pub recovered_after: Latencies,
    /// Its speeds.
    pub speed: Speeds,
}

impl Session {
    fn new(experiment: &Experiment, seed: u64, run: &Run) -> Self {
        let share = |count: u64| count as f64 / run.symbols.max(1) as f64;
        Self {
            seed,
            on_time: share(run.on_time),
            received: share(run.received),
            latency: run.latencies.mean().unwrap_or(0.0),
            mean_recovered_after: run.recovered_after.mean(),
            histogram: run.latencies.clone(),
            recovered_after: run.recovered_after.clone(),
            speed: Speeds::new(experiment, run),
        }
    }
}

impl Speeds {
    fn new(experiment: &Experiment, run: &Run) -> Self {
        let bits = run.sources as f64 * f64::from(experiment.symbol_size) * 8.0;
        let speed = |seconds: f64| bits / seconds.max(1e-9) / 1e6;
        Self {
            encode_mbit: speed(run.sending.as_secs_f64()),
            decode_mbit: speed(run.receiving.as_secs_f64()),
        }
    }
}

impl Outcome {
    /// The result of runs, each with its seed.
    pub(super) fn new(experiment: &Experiment, each: &[(u64, Run)]) -> Self {
        let mut sum = Run::default();
        each.iter().for_each(|(_, run)| sum.merge(run));
        let run = &sum;
        let share = |count: u64| count as f64 / run.symbols.max(1) as f64;
        let estimate = |mean: f64, batches: &Batches| Estimate {
            mean,
            stderr: batches.stderr(),
        };
        let all = &run.latencies;
        let quantile = |share: f64| all.quantile(share).unwrap_or(0);
        Self {
            experiment: experiment.clone(),
            runs: each.len() as u32,
            on_time: estimate(share(run.on_time), &run.on_time_batches),
            residual_loss: share(run.symbols - run.on_time),
            late: share(run.late),
            lost: share(run.symbols - run.received),
            latency: estimate(all.mean().unwrap_or(0.0), &run.latency_batches),
            latency_quantiles: [
                all.min().unwrap_or(0),
                quantile(0.5),
                quantile(0.9),
                quantile(0.99),
                quantile(0.999),
                all.max().unwrap_or(0),
            ],
            histogram: all.clone(),
            recovered_after: run.recovered_after.clone(),
            sessions: each
                .iter()
                .map(|(seed, run)| Session::new(experiment, *seed, run))
                .collect(),
            repair_share: run.repairs as f64 / run.sources.max(1) as f64,
            speed: Speeds::new(experiment, run),
        }
    }
}

#[derive(Serialize)]
struct ExperimentFields {
    code: String,
    code_rate: String,
    decoding_window: u32,
    loss: String,
    symbols: u64,
    symbol_size: u16,
}

fn experiment<S: Serializer>(value: &Experiment, to: S) -> Result<S::Ok, S::Error> {
    let fields = ExperimentFields {
        code: value.code.to_string(),
        code_rate: value.code_rate.to_string(),
        decoding_window: value.decoding_window,
        loss: value.loss.to_string(),
        symbols: value.symbols,
        symbol_size: value.symbol_size,
    };
    fields.serialize(to)
}

fn counts<S: Serializer>(value: &Latencies, to: S) -> Result<S::Ok, S::Error> {
    value.counts().serialize(to)
}
