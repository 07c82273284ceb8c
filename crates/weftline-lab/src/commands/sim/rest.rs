//! `weftline-lab sim rest`.

use anyhow::Result;
use clap::Args;
use weftline_cli::ui::{Exit, OutputOptions};
use weftline_papers::sim::slots::rest::{Loss, Redundancy, Rest};
use weftline_papers::theory::SlotLoss;

use super::common::{CodeName, RunOptions};
use crate::commands::theory::show::{Computed, short};

const HELP: &str = "\
The defaults are Table III's: 2^20 bytes in 450-byte packets, RTT 300 ms, 15 % lost.

Examples:
  weftline-lab sim rest --redundancy 0.2
  weftline-lab sim rest --adaptive --packets 8000
  weftline-lab sim rest --adaptive --loss sine:0,0.2,10 --runs 1 --series --json
  weftline-lab sim rest --loss burst:0.01,20 --window 100 --redundancy 0.3 --runs 20";

/// REST in slots (Brulatout et al.): a repair after each k packets, and repairs at the end
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct RestArgs {
    /// Losses: iid:P, markov:SHARE,MEAN_RUN, burst:P,N (after a packet that arrived, with
    /// probability P, 1 to N packets are lost), or sine:LOWEST,HIGHEST,PERIOD_S (a loss rate that
    /// swings)
    #[arg(long, value_name = "LOSS", default_value = "iid:0.15", value_parser = loss)]
    loss: Loss,
    /// Repairs for each data packet, R; 0: none before the end
    #[arg(
        long,
        value_name = "R",
        default_value_t = 0.0,
        conflicts_with = "adaptive"
    )]
    redundancy: f64,
    /// Redundancy as the receiver's estimate of the packet error rate requires
    #[arg(long)]
    adaptive: bool,
    /// Data packets of a stream
    #[arg(long, value_name = "N", default_value_t = 2331)]
    packets: u32,
    /// Time of a packet, ms
    #[arg(long, value_name = "MS", default_value_t = 8.0)]
    packet_ms: f64,
    /// Round-trip time, ms
    #[arg(long, value_name = "MS", default_value_t = 300.0)]
    rtt_ms: f64,
    /// Time between two acknowledgements, ms
    #[arg(long, value_name = "MS", default_value_t = 200.0)]
    ack_ms: f64,
    /// A repair covers at most this many packets, the oldest unacknowledged ones [default: all]
    #[arg(long, value_name = "W")]
    window: Option<u32>,
    /// Ideal, or coded in GF(2^8); with --window always coded
    #[arg(long, value_enum, default_value_t = CodeName::Genie)]
    code: CodeName,
    /// Weight of the newest value in the estimate
    #[arg(long, value_name = "A", default_value_t = 0.8)]
    alpha: f64,
    /// The sliding window of the estimate's values, s
    #[arg(long, value_name = "S", default_value_t = 3.0)]
    estimate_s: f64,
    /// Add the first stream over time to the JSON: acknowledgements, estimates, k, decodings
    #[arg(long)]
    series: bool,
    /// Number of streams
    #[arg(long, value_name = "N", default_value_t = 400)]
    runs: u64,
    #[command(flatten)]
    run: RunOptions,
}

fn loss(text: &str) -> Result<Loss, String> {
    let numbers = |values: &str| {
        let all = values.split(',').map(|value| value.trim().parse().ok());
        all.collect::<Option<Vec<f64>>>()
    };
    let parsed = if let Some(burst) = text.strip_prefix("burst:") {
        burst.split_once(',').and_then(|(chance, longest)| {
            let (chance, longest) = (chance.trim().parse().ok()?, longest.trim().parse().ok()?);
            Some(Loss::Bursts { chance, longest })
        })
    } else if let Some(sine) = text.strip_prefix("sine:") {
        numbers(sine).and_then(|all| match all[..] {
            [lowest, highest, period_s] => Some(Loss::Sine {
                lowest,
                highest,
                period_s,
            }),
            _ => None,
        })
    } else {
        return text.parse::<SlotLoss>().map(Loss::Slots);
    };
    parsed.ok_or_else(|| {
        format!(
            "`{text}` is not a loss: give burst:0.01,20, sine:0,0.2,10, iid:0.15 or markov:0.1,4"
        )
    })
}

pub(super) fn run(args: &RestArgs, output: OutputOptions) -> Result<Exit> {
    let model = Rest {
        loss: args.loss,
        redundancy: match args.adaptive {
            true => Redundancy::Adaptive,
            false => Redundancy::Fixed(args.redundancy),
        },
        packets: args.packets,
        packet_s: args.packet_ms / 1e3,
        rtt_s: args.rtt_ms / 1e3,
        ack_s: args.ack_ms / 1e3,
        window: args.window,
        code: args.code.into(),
        alpha: args.alpha,
        estimate_s: args.estimate_s,
        series: args.series,
        runs: args.runs,
        seed: args.run.seed(),
    };
    let (outcome, _) = args
        .run
        .run(output, |threads, progress| model.run(threads, progress))?;
    let mut out = Computed::default();
    out.hidden("packets", args.packets)
        .hidden("window", args.window)
        .hidden("seed", args.run.seed())
        .all(&outcome);
    for (value, what) in [
        (outcome.duration_s, "s until the receiver has everything"),
        (outcome.mean_delay_s, "s, mean delay"),
        (outcome.std_delay_s, "s, standard deviation of delays"),
        (
            outcome.overhead,
            "overhead: useless repairs and acknowledgements, of all packets",
        ),
        (
            outcome.useless_share,
            "useless repairs, of the sender's packets",
        ),
        (outcome.repairs, "repairs for each data packet"),
        (
            outcome.inline_repairs,
            "repairs for each data packet before the end",
        ),
        (
            outcome.estimated_loss,
            "packet error rate as estimated at the end",
        ),
        (outcome.mean_matrix, "packets that a decoding gives"),
        (
            outcome.largest_matrix,
            "packets that the largest decoding gives",
        ),
        (
            outcome.largest_system,
            "most packets missing at the receiver at a time",
        ),
    ] {
        let (mean, spread) = (short(value.mean), short(value.spread));
        out.line(format!("{mean:>14}  {what} (spread of a run {spread})"));
    }
    out.print(output);
    Ok(Exit::Ok)
}
