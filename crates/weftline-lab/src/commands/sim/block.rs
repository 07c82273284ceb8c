//! `weftline-lab sim block`.

use anyhow::Result;
use clap::Args;
use weftline_cli::ui::{Exit, OutputOptions};
use weftline_papers::sim::slots::block::Block;
use weftline_papers::theory::SlotLoss;

use super::common::{AnswerName, RunOptions, delays};
use crate::commands::theory::show::Computed;

const HELP: &str = "\
Examples:
  weftline-lab sim block --loss 0.05 --k 32 --n 40                open loop
  weftline-lab sim block --loss 0.2 --k 32 --n 40 --rtt 126       and ARQ for packets still missing";

/// A block code in slots: k source packets, then n-k combinations of them
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct BlockArgs {
    /// Erasures: iid:P or markov:SHARE,MEAN_RUN
    #[arg(long, value_name = "LOSS")]
    loss: SlotLoss,
    /// Source packets of a block
    #[arg(long, value_name = "K")]
    k: u32,
    /// All packets of a block
    #[arg(long, value_name = "N", required_unless_present = "share")]
    n: Option<u32>,
    /// Repairs for each source packet, instead of --n: fractions are carried from block to block
    #[arg(long, value_name = "S", conflicts_with = "n")]
    share: Option<f64>,
    /// Slots from the end of a block until its missing packets can be sent again [default: never;
    /// packets not recovered by the end of a block are given up]
    #[arg(long, value_name = "SLOTS")]
    rtt: Option<u32>,
    /// Repairs for what is missing then
    #[arg(long, value_enum, default_value_t = AnswerName::Missing)]
    answer: AnswerName,
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

pub(super) fn run(args: &BlockArgs, output: OutputOptions) -> Result<Exit> {
    let k = f64::from(args.k);
    let repairs = match (args.n, args.share) {
        (Some(n), _) => f64::from(n) - k,
        (None, share) => share.unwrap_or_default() * k,
    };
    let model = Block {
        loss: args.loss,
        k: args.k,
        repairs,
        rtt: args.rtt,
        answer: args.answer.into(),
        slots: args.slots,
        bin: args.bin,
        seed: args.run.seed(),
    };
    let (outcome, _) = args
        .run
        .run(output, |threads, progress| model.run(threads, progress))?;
    let mut out = Computed::default();
    out.hidden("loss", args.loss.to_string())
        .hidden("k", args.k)
        .hidden("n", k + repairs)
        .hidden("rtt_slots", args.rtt)
        .hidden("seed", args.run.seed())
        .all(&outcome);
    if args.percentiles {
        out.hidden(
            "delay_percentiles_slots",
            outcome.delivered.delay_percentiles.clone(),
        );
    }
    let delivered = &outcome.delivered;
    delays(
        &mut out,
        delivered.mean_delay_slots,
        delivered.stderr,
        &delivered.delay_slots,
    );
    out.tell(delivered.undelayed, "share of packets not delayed")
        .tell(delivered.throughput, "packets delivered for each slot")
        .tell(outcome.residual_loss, "share of packets never recovered")
        .tell(outcome.extra, "packets sent beyond n for each block")
        .tell(
            outcome.effective_rate,
            "source packets for all packets sent",
        );
    out.print(output);
    Ok(Exit::Ok)
}
