//! `weftline-lab theory block`.

use clap::Args;
use serde_json::json;
use weftline_papers::theory::block::{constant_residual, for_residual, open_block};
use weftline_papers::theory::{SlotLoss, TheoryError};

use super::show::{Computed, short};

const HELP: &str = "\
Slots: K source packets, then N-K repairs. Packets that the block does not recover are given up at its
end. A delay is the number of slots from when a packet is sent until it is delivered in order.

Examples:
  weftline-lab theory block --loss 0.1 --k 32 --n 40
  weftline-lab theory block --loss 0.05 --k 32 --residual 1e-4             with the fewest repairs
  weftline-lab theory block --loss markov:0.1,4 --residual 1e-4 --longest 200     the smallest for each rate";

/// Residual losses and delays of block codes without feedback (Karzand et al., Fig. 7)
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct BlockArgs {
    /// Erasures: a probability, or markov:SHARE,MEAN_RUN
    #[arg(long, value_name = "E")]
    loss: SlotLoss,
    /// Source packets of a block
    #[arg(long, value_name = "K", required_unless_present = "longest")]
    k: Option<u32>,
    /// All packets of a block
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "residual",
        required_unless_present = "residual"
    )]
    n: Option<u32>,
    /// Largest share of packets that may remain unrecovered
    #[arg(long, value_name = "SHARE")]
    residual: Option<f64>,
    /// For each rate the smallest block, of at most this many source packets
    #[arg(long, value_name = "K", conflicts_with_all = ["k", "n"], requires = "residual")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    longest: Option<u32>,
}

pub(super) fn compute(args: &BlockArgs) -> Result<Computed, TheoryError> {
    let mut out = Computed::default();
    out.hidden("loss", args.loss.to_string());
    if let (Some(longest), Some(residual)) = (args.longest, args.residual) {
        let codes = constant_residual(args.loss, residual, longest)?;
        out.line("   k    n     rate      mean delay, slots");
        for code in &codes {
            let (rate, delay) = (code.rate, short(code.mean_delay_slots));
            out.line(format!(
                "{:>4} {:>4}  {rate:.4}  {delay:>14}",
                code.k, code.n
            ));
        }
        out.hidden("residual", residual)
            .hidden("codes", json!(codes));
        return Ok(out);
    }
    let k = args.k.unwrap_or_default();
    let code = match (args.n, args.residual) {
        (None, Some(residual)) => for_residual(args.loss, k, residual)?,
        (n, _) => Some(open_block(args.loss, k, n.unwrap_or(k))?),
    };
    let Some(code) = code else {
        out.line("no number of repairs up to k + 4096 suffices");
        out.hidden("n", json!(null));
        return Ok(out);
    };
    out.hidden("k", code.k)
        .value("n", code.n, "packets of a block")
        .value("rate", code.rate, "code rate")
        .value(
            "residual_loss",
            code.residual_loss,
            "share of packets never recovered",
        )
        .value(
            "mean_delay_slots",
            code.mean_delay_slots,
            "slots of mean in-order delay of the others",
        );
    Ok(out)
}
