//! `weftline-lab sim fecframe recommend`: parameters of `weftline cast` by simulation.

use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use weftline_cli::ui::{Exit, Failure, OutputOptions, output};
use weftline_netem::{LossModel, units};
use weftline_papers::sim::fecframe::{Left, Recommendation, Wish, WishError, recommend};

use super::{Progress, failure, jobs, text};

const HELP: &str = "\
Each latency is tried with each rate and each loss. The result is the highest of the code rates
19/20, 9/10, 6/7, 4/5, 3/4, 2/3, 3/5 and 1/2 that leaves no more loss than --residual, with the best
of ew = dw/4, dw/2, 3/4 dw and dw; `!` marks rows in which even 1/2 is not enough. Columns:

  dw        the latency in symbols
  left %    share of datagrams never recovered, over GF(2^8), dense, with this ew
  dw/2 ...  the same with these windows
  gf2       the recommended code, but over GF(2) (--encoding-id 9)
  DT        the lowest of the density thresholds 1, 3, 7 that is enough
  rs        Reed-Solomon blocks of 3/4 dw at the same code rate (--encoding-id 8)
  2/3       with code rate 2/3 and ew = dw/2
  delay     mean added in-order latency of the recommended code

--json prints an array of {max_latency_ms, rate, symbol_size, loss, residual_wished, found
{decoding_window, enough, code_rate, encoding_window, left {residual_loss, stderr, latency (ticks)},
windows [{encoding_window, left}], usual, binary,
sparsest, block}}.";

/// Find code rate and window for a latency budget, a bit rate and a loss
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct RecommendArgs {
    /// How late a datagram may be recovered, as --max-latency of `cast send`; may be repeated
    #[arg(long = "max-latency", value_name = "TIME", default_values = ["50ms", "100ms", "200ms"], value_parser = units::parse_duration)]
    latencies: Vec<Duration>,
    /// Bit rate of the flows; may be repeated
    #[arg(long = "rate", value_name = "RATE", default_values = ["1mbit", "4mbit", "16mbit"], value_parser = units::parse_rate)]
    rates: Vec<u64>,
    /// Loss of the path, as in links; may be repeated
    #[arg(long = "loss", value_name = "LOSS", default_values = ["iid:1%", "iid:5%", "iid:10%", "iid:20%", "ge:1%,4", "ge:5%,4", "ge:10%,4", "ge:5%,10"])]
    losses: Vec<LossModel>,
    /// The share of datagrams that may stay lost
    #[arg(long, value_name = "SHARE", default_value = "0.1%", value_parser = units::parse_probability)]
    residual: f64,
    /// Bytes of a symbol: a datagram plus 3
    #[arg(long, value_name = "BYTES", default_value_t = 1400)]
    symbol_size: u16,
    /// Source symbols of each simulation
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    symbols: u64,
    /// Seed of losses and data
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Searches at a time [default: one for each processor]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print the table as Markdown
    #[arg(long)]
    markdown: bool,
}

pub(super) fn run(args: &RecommendArgs, output: OutputOptions) -> Result<Exit> {
    let mut wishes = Vec::new();
    for latency in &args.latencies {
        for rate in &args.rates {
            wishes.extend(args.losses.iter().map(|loss| Wish {
                latency: *latency,
                rate: *rate,
                symbol_size: args.symbol_size,
                loss: loss.clone(),
                residual: args.residual,
            }));
        }
    }
    let progress = Progress::new(output);
    let tell = |done, all| progress.tell(done, all);
    let found = recommend(&wishes, args.symbols, args.seed, jobs(args.jobs), tell);
    progress.end();
    let found = found.map_err(|error| match error {
        WishError::Study(error) => failure(error),
        error => Failure::usage(error.to_string()).into(),
    })?;
    let both = wishes.iter().zip(&found);
    if output.json {
        let all: Vec<_> = both
            .map(|(wish, found)| {
                json!({
                    "max_latency_ms": wish.latency.as_secs_f64() * 1e3,
                    "rate": wish.rate,
                    "symbol_size": wish.symbol_size,
                    "loss": wish.loss.to_string(),
                    "residual_wished": wish.residual,
                    "found": found,
                })
            })
            .collect();
        output::print(json!(all));
        return Ok(Exit::Ok);
    }
    let head = [
        "latency",
        "rate",
        "loss",
        "dw",
        "code rate",
        "ew",
        "left %",
        "dw/2",
        "3/4 dw",
        "dw",
        "gf2",
        "DT",
        "rs",
        "2/3",
        "delay ms",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(both.map(|(wish, found)| row(wish, found)));
    match args.markdown {
        true => text::print_markdown(&rows),
        false => text::print(&rows),
    }
    Ok(Exit::Ok)
}

fn row(wish: &Wish, found: &Recommendation) -> Vec<String> {
    let percent = |left: &Left| match left.residual_loss {
        0.0 => "0".to_owned(),
        share => format!("{:.3}", 100.0 * share),
    };
    let window = |quarters: u32| {
        let ew = found.decoding_window * quarters / 4;
        let tried = found
            .windows
            .iter()
            .find(|w| u32::from(w.encoding_window) == ew);
        tried.map_or_else(|| "-".to_owned(), |tried| percent(&tried.left))
    };
    let mark = if found.enough { "" } else { "!" };
    let tick = wish.latency.as_secs_f64() * 1e3 / f64::from(found.decoding_window);
    vec![
        units::duration(wish.latency).to_string(),
        units::rate(wish.rate).to_string(),
        wish.loss.to_string(),
        found.decoding_window.to_string(),
        format!("{}{mark}", found.code_rate),
        found.encoding_window.to_string(),
        percent(&found.left),
        window(2),
        window(3),
        window(4),
        percent(&found.binary),
        match found.sparsest {
            Some(density) => density.to_string(),
            None if found.enough => "15".to_owned(),
            None => "-".to_owned(),
        },
        found.block.as_ref().map_or_else(|| "-".to_owned(), percent),
        percent(&found.usual),
        format!("{:.2}", found.left.latency * tick),
    ]
}
