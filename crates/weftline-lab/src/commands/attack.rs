//! `weftline-lab attack`: floods from strangers against a server with good sessions.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use weftline_cli::ui::{Exit, OutputOptions, output};

use super::program;
use crate::attack::{self, Kind, Options, Row};

const HELP: &str = "\
Strangers send from loopback, 127.88.0.0/16. For handshakes a rate counts handshakes, not packets.
Good sessions are clients of `weftline relay serve` with a flow of 20 datagrams a second each. During a
flood 20 allowed newcomers connect each second.

Examples:
  weftline-lab attack
  weftline-lab attack --kinds handshakes --sources 1,1000 --rates 10000";

/// Flood a server that has good sessions, and measure what they and newcomers still get
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct AttackArgs {
    /// What strangers send
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<Kind>,
    /// From how many addresses, 1 to 60000
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 1000],
        value_parser = clap::value_parser!(u16).range(1..=60_000))]
    sources: Vec<u16>,
    /// Packets, or handshakes, a second
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1000, 10_000])]
    rates: Vec<u32>,
    /// Good sessions, 1 to 200
    #[arg(long, value_name = "N", default_value_t = 100,
        value_parser = clap::value_parser!(u16).range(1..=200))]
    sessions: u16,
    /// Seconds of each flood; half as many before and after
    #[arg(long, value_name = "SECS", default_value_t = 6.0)]
    secs: f64,
    /// The program to attack [default: `weftline` beside this program]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

pub(crate) fn run(args: AttackArgs, output: OutputOptions) -> Result<Exit> {
    let options = Options {
        program: program(args.program)?,
        sessions: usize::from(args.sessions),
        secs: args.secs,
        rates: args.rates,
        kinds: match args.kinds.is_empty() {
            true => Kind::value_variants().to_vec(),
            false => args.kinds,
        },
        sources: args.sources.into_iter().map(usize::from).collect(),
    };
    if !output.json {
        output::print(
            "| flood | addresses | each second: asked, sent | answered before, during, after | kept | \
             processor before, during | memory before, most | lines | newcomers: median, p99 |",
        );
        output::print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    }
    let rows = attack::run(&options, |row| {
        if !output.json {
            print(row);
        }
    })?;
    if output.json {
        output::print(serde_json::json!({ "rows": rows }));
    }
    Ok(Exit::Ok)
}

fn print(row: &Row) {
    let [before, during, after] = row.answered.map(|share| format!("{:.1}", 100.0 * share));
    let [idle, busy] = row.processor.map(|share| format!("{share:.2}"));
    let [least, most] = row.memory.map(|bytes| format!("{:.0}", bytes as f64 / 1e6));
    let newcomer = |share| {
        row.newcomer(share)
            .map_or("-".to_owned(), |s| format!("{:.0} ms", 1e3 * s))
    };
    output::print(format_args!(
        "| {} | {} | {}, {:.0} | {before}, {during}, {after} % | {:.2} | {idle}, {busy} | {least}, {most} MB | {} | {}, {} |",
        row.flood,
        row.sources,
        row.rate,
        row.sent,
        row.kept(),
        row.lines,
        newcomer(0.5),
        newcomer(0.99),
    ));
}
