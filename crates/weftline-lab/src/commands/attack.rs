//! `weftline-lab attack`: floods from strangers against a server with good sessions.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use weftline_cli::ui::{Exit, OutputOptions, output};

use super::program;
use crate::attack::{self, Kind, Options, Row, quantile};

const HELP: &str = "\
Strangers send from loopback, each address in a network (/24) of its own. For handshakes a rate counts
handshakes, not packets. Good sessions are clients of `weftline serve`: a third each has a UDP flow or a
TCP connection of 20 messages a second, or sends a file each three seconds. The server has a processor of
its own. During a flood 20 allowed newcomers connect each second.

Examples:
  weftline-lab attack
  weftline-lab attack --kinds handshakes --sources 1,1000 --rates 10000
  weftline-lab attack --rates 1000000   # as many as strangers can";

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
    /// Packets, or handshakes, a second; strangers send no more than they can
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1000, 10_000, 1_000_000])]
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
            "| flood | addresses | each second: asked, sent, proved | answered before, during, after | kept | \
             answer: p99 before, during | processor before, during | memory before, most | \
             lines each second before, during | newcomers: median, p99 |",
        );
        output::print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
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
    let [usual, many] = row.lines;
    let time =
        |seconds: Option<f64>| seconds.map_or("-".to_owned(), |s| format!("{:.0} ms", 1e3 * s));
    let newcomer = |share| time(quantile(&row.newcomers, share));
    let [early, late] = row.delays.map(|[_, p99]| time(p99));
    output::print(format_args!(
        "| {} | {} | {}, {:.0}, {:.0} | {before}, {during}, {after} % | {:.2} | {early}, {late} | {idle}, {busy} | {least}, {most} MB | {usual:.1}, {many:.1} | {}, {} |",
        row.flood,
        row.sources,
        row.rate,
        row.sent,
        row.proved,
        row.kept(),
        newcomer(0.5),
        newcomer(0.99),
    ));
}
