//! Medians, as a table.

use std::fmt;
use std::thread;

use crate::measure::{load, median};
use crate::options::{Crowd, Engine, Options};
use crate::pair::Run;

/// A name, and of each run one value or two: mostly those of client and server.
type Row = (&'static str, Vec<(Engine, [Option<f64>; 2])>);

pub(crate) struct Report {
    crowd: Crowd,
    rounds: u32,
    engines: Vec<Engine>,
    before: Option<f64>,
    rows: Vec<Row>,
}

impl Report {
    pub(crate) fn new(options: &Options) -> Self {
        Report {
            crowd: options.crowd,
            rounds: options.rounds,
            engines: options.engines.clone(),
            before: load(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, engine: Engine, run: &Run) {
        let alone = |value| [Some(value), None];
        for (name, values) in [
            ("set-ups in a second", alone(run.setups_per_second)),
            ("processor ms of a set-up", run.setup_cpu),
            ("KiB of an idle session", run.idle),
            ("KiB of one that sends", run.busy),
            ("KiB of one that is idle again", run.quiet),
            ("processor us of an idle session in 1 s", run.idle_cpu),
            ("messages sent in a second", alone(run.sent_per_second)),
            ("percent of them that arrived", alone(run.arrived * 100.0)),
            ("processor us of a message", run.message_cpu),
            (
                "delay in ms, median and 99th percentile",
                run.delays.map(Some),
            ),
        ] {
            match self.rows.iter_mut().find(|(row, _)| *row == name) {
                Some((_, all)) => all.push((engine, values)),
                None => self.rows.push((name, vec![(engine, values)])),
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Crowd {
            sessions,
            rate,
            bytes,
            secs,
            at_once,
        } = self.crowd;
        let one = |value: Option<f64>| value.map_or("?".to_owned(), |v| format!("{v:.1}"));
        writeln!(
            f,
            "{sessions} sessions, {at_once} set-ups at a time; each sends {rate} messages of {bytes} \
             bytes in a second for {secs} s\nmedians of {} rounds; {} processors, load {} before and \
             {} after\n",
            self.rounds,
            thread::available_parallelism().map_or(0, Into::into),
            one(self.before),
            one(load()),
        )?;
        write!(f, "{:42}", "client / server")?;
        for engine in &self.engines {
            write!(f, "{:>20}", format!("{engine:?}"))?;
        }
        writeln!(f)?;
        for (name, runs) in &self.rows {
            write!(f, "{name:42}")?;
            for engine in &self.engines {
                let of = |n: usize| {
                    let runs = runs.iter().filter(|(of, _)| of == engine);
                    let mut values: Vec<f64> = runs.filter_map(|(_, run)| run[n]).collect();
                    values.sort_by(f64::total_cmp);
                    median(&values)
                };
                let cell = match (of(0), of(1)) {
                    (value, None) => one(value),
                    (client, server) => format!("{} / {}", one(client), one(server)),
                };
                write!(f, "{cell:>20}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
