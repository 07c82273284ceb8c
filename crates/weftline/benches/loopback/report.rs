//! Medians, as tables and as JSON.

use std::fmt;
use std::thread;

use anyhow::Result;
use serde::Serialize;

use crate::engine::{Engine, Kind};
use crate::options::Options;
use crate::pair::Run;

/// What the columns mean.
const LEGEND: &str = "
client, server: processor seconds of either end for what was delivered; the kernel's work for a
  packet on loopback is mostly the sender's
wire: bytes on the interface, both ways, for each byte delivered
datagrams: goodput beside that of bare quinn datagrams
delivered: the rest was not sent by the time limit or, of datagrams, lost
gso: without ethtool loopback loses each buffer as a whole, a burst of packets; a real path does not
";

#[derive(Serialize)]
pub(crate) struct Report {
    mib: u64,
    rounds: u32,
    limit_seconds: u64,
    processors: Option<usize>,
    /// Processes that wanted to run, this one's included: mean of a minute, at start and end.
    load: [Option<f64>; 2],
    notes: Vec<String>,
    rows: Vec<Row>,
    #[serde(skip)]
    runs: Vec<(Engine, u32, Run)>,
}

/// Medians over the rounds.
#[derive(Serialize)]
struct Row {
    engine: String,
    loss_percent: u32,
    goodput_mbit_per_second: f64,
    goodput_min: f64,
    goodput_max: f64,
    /// Part of the file that arrived within the limit.
    delivered: f64,
    client_cpu_seconds: Option<f64>,
    server_cpu_seconds: Option<f64>,
    /// Bytes on the interface, both ways, for each byte delivered.
    wire_per_byte: Option<f64>,
    /// Goodput beside bare datagrams'.
    of_datagrams: Option<f64>,
}

impl Report {
    pub(crate) fn new(options: &Options) -> Self {
        Report {
            mib: options.mib,
            rounds: options.rounds,
            limit_seconds: options.limit,
            processors: thread::available_parallelism().ok().map(Into::into),
            load: [load(), None],
            notes: Vec::new(),
            rows: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Something the reader must know; said once.
    pub(crate) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(crate) fn add(&mut self, engine: Engine, loss: u32, run: Run) {
        self.runs.push((engine, loss, run));
    }

    /// Makes the rows of the runs.
    pub(crate) fn finish(&mut self) {
        self.load[1] = load();
        let mut seen = Vec::new();
        for &(engine, loss, _) in &self.runs {
            if !seen.contains(&(loss, engine)) {
                seen.push((loss, engine));
            }
        }
        // One table for each loss, though rounds mix them.
        seen.sort_by_key(|(loss, _)| *loss);
        self.rows = seen.iter().map(|&(loss, e)| self.row(e, loss)).collect();
    }

    pub(crate) fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    fn row(&self, engine: Engine, loss: u32) -> Row {
        let datagrams = Engine {
            kind: Kind::Datagrams,
            ..engine
        };
        let goodput = self.values(engine, loss, |run| Some(run.mbit_per_second()));
        let reference = median(&self.values(datagrams, loss, |run| Some(run.mbit_per_second())));
        let median_of =
            |value: &dyn Fn(&Run) -> Option<f64>| median(&self.values(engine, loss, value));
        let typical = median(&goodput).unwrap_or(0.0);
        Row {
            engine: engine.name(),
            loss_percent: loss,
            goodput_mbit_per_second: typical,
            goodput_min: goodput.first().copied().unwrap_or(0.0),
            goodput_max: goodput.last().copied().unwrap_or(0.0),
            delivered: median_of(&|run| Some(run.share(self.mib << 20))).unwrap_or(0.0),
            client_cpu_seconds: median_of(&|run| run.client_cpu),
            server_cpu_seconds: median_of(&|run| run.server_cpu),
            wire_per_byte: median_of(&Run::wire_per_byte),
            of_datagrams: reference.map(|reference| typical / reference.max(1e-9)),
        }
    }

    /// Sorted.
    fn values(&self, engine: Engine, loss: u32, value: impl Fn(&Run) -> Option<f64>) -> Vec<f64> {
        let runs = self.runs.iter();
        let mut values: Vec<f64> = runs
            .filter(|(e, l, _)| (*e, *l) == (engine, loss))
            .filter_map(|(_, _, run)| value(run))
            .collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = self.load.map(|load| optional(load, 1));
        writeln!(
            f,
            "{} MiB, medians of {} rounds; {} processors, load {before} before and {after} after",
            self.mib,
            self.rounds,
            self.processors.map_or("?".to_owned(), |n| n.to_string()),
        )?;
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        let mut loss = None;
        for row in &self.rows {
            if loss != Some(row.loss_percent) {
                loss = Some(row.loss_percent);
                writeln!(f, "\n{} % of the packets lost, each way", row.loss_percent)?;
                writeln!(
                    f,
                    "{:36} {:>7} {:>11} {:>9} {:>7} {:>7} {:>6} {:>9}",
                    "engine",
                    "Mbit/s",
                    "range",
                    "delivered",
                    "client",
                    "server",
                    "wire",
                    "datagrams"
                )?;
            }
            writeln!(
                f,
                "{:36} {:>7.0} {:>11} {:>7.1} % {:>7} {:>7} {:>6} {:>9}",
                row.engine,
                row.goodput_mbit_per_second,
                format!("{:.0}-{:.0}", row.goodput_min, row.goodput_max),
                row.delivered * 100.0,
                optional(row.client_cpu_seconds, 2),
                optional(row.server_cpu_seconds, 2),
                optional(row.wire_per_byte, 3),
                optional(row.of_datagrams, 2),
            )?;
        }
        write!(f, "{LEGEND}")
    }
}

fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

fn optional(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}

fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}
