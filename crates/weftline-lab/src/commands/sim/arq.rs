//! `weftline-lab sim arq`.

use anyhow::Result;
use clap::Args;
use weftline_cli::ui::{Exit, OutputOptions};
use weftline_papers::sim::slots::arq::Arq;
use weftline_papers::theory::SlotLoss;

use super::common::{RunOptions, delays};
use crate::commands::theory::show::Computed;

const HELP: &str = "\
Example:
  weftline-lab sim arq --loss 0.2 --rtt 126      Karzand et al., Fig. 1a: 25 Mbit/s, RTT 60 ms, 1488 bytes";

/// Selective-repeat ARQ in slots: a packet is sent again as soon as the sender knows of its loss
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct ArqArgs {
    /// Erasures: iid:P or markov:SHARE,MEAN_RUN
    #[arg(long, value_name = "LOSS")]
    loss: SlotLoss,
    /// Slots from sending a packet until it can be sent again
    #[arg(long, value_name = "SLOTS")]
    rtt: u32,
    /// Slots to run
    #[arg(long, value_name = "N", default_value_t = 20_000_000)]
    slots: u64,
    /// With --json: the delays' percentiles 0 to 100, as `delay_percentiles_slots`
    #[arg(long)]
    percentiles: bool,
    /// With --json: a `histogram` of the delays in bins of this many slots, each share with its error
    #[arg(long, value_name = "SLOTS")]
    bin: Option<f64>,
    #[command(flatten)]
    run: RunOptions,
}

pub(super) fn run(args: &ArqArgs, output: OutputOptions) -> Result<Exit> {
    let model = Arq {
        loss: args.loss,
        rtt: args.rtt,
        slots: args.slots,
        bin: args.bin,
        seed: args.run.seed(),
    };
    let (outcome, _) = args
        .run
        .run(output, |threads, progress| model.run(threads, progress))?;
    let mut out = Computed::default();
    out.hidden("loss", args.loss.to_string())
        .hidden("rtt_slots", args.rtt)
        .hidden("seed", args.run.seed())
        .all(&outcome);
    if args.percentiles {
        out.hidden("delay_percentiles_slots", outcome.delay_percentiles.clone());
    }
    delays(
        &mut out,
        outcome.mean_delay_slots,
        outcome.stderr,
        &outcome.delay_slots,
    );
    out.tell(outcome.undelayed, "share of packets not delayed")
        .tell(outcome.throughput, "packets delivered for each slot");
    out.print(output);
    Ok(Exit::Ok)
}
