//! Medians, as tables and as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::thread;

use anyhow::Result;
use serde::Serialize;

use crate::engine::{Engine, Kind, Wire};
use crate::measure::{load, median};
use crate::options::Options;
use crate::pair::Run;
use crate::profile::Profile;

/// What the columns mean.
const LEGEND: &str = "
client, server: processor seconds of either end for what was delivered; the kernel's work for a
  packet on loopback is mostly the sender's
wire: bytes on the interface, both ways, for each byte delivered
stream, datagrams: goodput beside that of a bare quinn stream (CUBIC), and of bare quinn datagrams
processor: processor time for each byte, both ends, beside that of the bare quinn stream
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
    runs: Vec<(Engine, Wire, Run)>,
    #[serde(skip)]
    profiles: Vec<(Engine, Wire, Profile)>,
}

/// Medians over the rounds.
#[derive(Serialize)]
struct Row {
    engine: String,
    mtu: u32,
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
    /// Goodput beside a bare stream's, and beside bare datagrams'.
    of_stream: Option<f64>,
    of_datagrams: Option<f64>,
    /// Processor time for each byte beside a bare stream's.
    processor_of_stream: Option<f64>,
    /// Microseconds there and back of a small message: median and 99th percentile.
    trips: Option<[f64; 2]>,
    /// Processor seconds for each GiB delivered by layer: client, server.
    layers: BTreeMap<&'static str, [f64; 2]>,
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
            profiles: Vec::new(),
        }
    }

    /// Something the reader must know; said once.
    pub(crate) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(crate) fn add(&mut self, engine: Engine, path: Wire, run: Run) {
        self.runs.push((engine, path, run));
    }

    pub(crate) fn profile(&mut self, engine: Engine, path: Wire, profile: Profile) {
        self.profiles.push((engine, path, profile));
    }

    /// Makes the rows of the runs.
    pub(crate) fn finish(&mut self) {
        self.load[1] = load();
        let mut seen = Vec::new();
        for &(engine, path, _) in &self.runs {
            if !seen.contains(&(path, engine)) {
                seen.push((path, engine));
            }
        }
        // One table for each path, though rounds mix them.
        seen.sort_by_key(|(path, _)| *path);
        self.rows = seen.iter().map(|&(path, e)| self.row(e, path)).collect();
    }

    pub(crate) fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    fn row(&self, engine: Engine, path: Wire) -> Row {
        let median_of = |kind: Kind, value: &dyn Fn(&Run) -> Option<f64>| {
            let engine = Engine { kind, ..engine };
            median(&self.values(engine, path, value))
        };
        let own = engine.kind;
        let (stream, datagrams) = (Kind::Stream { bbr: false }, Kind::Datagrams);
        let beside = |kind, value: &dyn Fn(&Run) -> Option<f64>| {
            Some(median_of(own, value)? / median_of(kind, value)?.max(1e-12))
        };
        let speed = |run: &Run| Some(run.mbit_per_second());
        let speeds = self.values(engine, path, speed);
        Row {
            engine: engine.name(),
            mtu: path.mtu,
            loss_percent: path.loss,
            goodput_mbit_per_second: median(&speeds).unwrap_or(0.0),
            goodput_min: speeds.first().copied().unwrap_or(0.0),
            goodput_max: speeds.last().copied().unwrap_or(0.0),
            delivered: median_of(own, &|run| Some(run.share(self.mib << 20))).unwrap_or(0.0),
            client_cpu_seconds: median_of(own, &|run| run.client_cpu),
            server_cpu_seconds: median_of(own, &|run| run.server_cpu),
            wire_per_byte: median_of(own, &Run::wire_per_byte),
            of_stream: beside(stream, &speed),
            of_datagrams: beside(datagrams, &speed),
            processor_of_stream: beside(stream, &Run::processor_per_byte),
            trips: median_of(own, &|run| Some(run.trips?.median))
                .zip(median_of(own, &|run| Some(run.trips?.p99)))
                .map(<[f64; 2]>::from),
            layers: self.layers(engine, path),
        }
    }

    /// The processor time of each layer: means over the rounds.
    fn layers(&self, engine: Engine, path: Wire) -> BTreeMap<&'static str, [f64; 2]> {
        let mut layers = BTreeMap::<_, [f64; 2]>::new();
        let per_byte = median(&self.values(engine, path, Run::processor_per_byte));
        let profiles = self.profiles.iter();
        let profiles: Vec<_> = profiles
            .filter(|(e, l, _)| (*e, *l) == (engine, path))
            .map(|(_, _, profile)| profile)
            .collect();
        let seconds = per_byte.unwrap_or(0.0) * f64::from(1 << 30) / profiles.len().max(1) as f64;
        for (name, shares) in profiles.iter().flat_map(|profile| profile.shares()) {
            let layer = layers.entry(name).or_default();
            layer[0] += shares[0] * seconds;
            layer[1] += shares[1] * seconds;
        }
        layers
    }

    /// Sorted.
    fn values(&self, engine: Engine, path: Wire, value: impl Fn(&Run) -> Option<f64>) -> Vec<f64> {
        let runs = self.runs.iter();
        let mut values: Vec<f64> = runs
            .filter(|(e, l, _)| (*e, *l) == (engine, path))
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
        if self.rows.iter().any(|row| row.trips.is_some()) {
            writeln!(f, "\nmicroseconds there and back")?;
            writeln!(f, "{:36} {:>7} {:>7}", "engine", "median", "p99")?;
            for row in &self.rows {
                let trips = row.trips.unwrap_or_default();
                writeln!(f, "{:36} {:>7.0} {:>7.0}", row.engine, trips[0], trips[1])?;
            }
            return Ok(());
        }
        let mut path = None;
        for row in &self.rows {
            if path != Some((row.mtu, row.loss_percent)) {
                path = Some((row.mtu, row.loss_percent));
                writeln!(
                    f,
                    "\npackets of up to {} bytes, {} % of them lost, each way",
                    row.mtu, row.loss_percent
                )?;
                writeln!(
                    f,
                    "{:36} {:>7} {:>11} {:>9} {:>7} {:>7} {:>6} {:>6} {:>9} {:>9}",
                    "engine",
                    "Mbit/s",
                    "range",
                    "delivered",
                    "client",
                    "server",
                    "wire",
                    "stream",
                    "datagrams",
                    "processor"
                )?;
            }
            writeln!(
                f,
                "{:36} {:>7.0} {:>11} {:>7.1} % {:>7} {:>7} {:>6} {:>6} {:>9} {:>9}",
                row.engine,
                row.goodput_mbit_per_second,
                format!("{:.0}-{:.0}", row.goodput_min, row.goodput_max),
                row.delivered * 100.0,
                optional(row.client_cpu_seconds, 2),
                optional(row.server_cpu_seconds, 2),
                optional(row.wire_per_byte, 3),
                optional(row.of_stream, 2),
                optional(row.of_datagrams, 2),
                optional(row.processor_of_stream, 2),
            )?;
        }
        for row in self.rows.iter().filter(|row| !row.layers.is_empty()) {
            writeln!(
                f,
                "\n{}, {} bytes, {} % lost: processor seconds for each GiB",
                row.engine, row.mtu, row.loss_percent
            )?;
            writeln!(f, "{:24} {:>7} {:>7}", "layer", "client", "server")?;
            for (layer, [client, server]) in &row.layers {
                writeln!(f, "{layer:24} {client:>7.2} {server:>7.2}")?;
            }
        }
        write!(f, "{LEGEND}")
    }
}

fn optional(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}
