//! `weftline-lab theory rlnc`.

use clap::Args;
use weftline_papers::theory::TheoryError;
use weftline_papers::theory::rlnc::{Rlnc, Vectors};

use super::show::Computed;

const HELP: &str = "\
Examples:
  weftline-lab theory rlnc --q 1 --symbols 64 --received 70
  weftline-lab theory rlnc --q 8 --symbols 256 --loss 0.1 --sent 290";

/// Decoding, overhead and headers of random linear block codes (Garrido et al.)
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct RlncArgs {
    /// Coefficients are in GF(2^Q), 1 to 8
    #[arg(long, value_name = "Q")]
    q: u32,
    /// Source packets of a block (K), at most 256
    #[arg(long, value_name = "K")]
    symbols: u32,
    /// Packets received [default: K]
    #[arg(long, value_name = "N")]
    received: Option<u32>,
    /// Share of packets lost, of those sent
    #[arg(long, value_name = "P", requires = "sent", conflicts_with = "received")]
    loss: Option<f64>,
    /// Packets sent
    #[arg(long, value_name = "N", requires = "loss")]
    sent: Option<u32>,
    /// Duration of a block's acknowledgement, in packets
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    ack: f64,
    /// The coding vector may be all zeros
    #[arg(long)]
    zero_vectors: bool,
}

pub(super) fn compute(args: &RlncArgs) -> Result<Computed, TheoryError> {
    let vectors = if args.zero_vectors {
        Vectors::Any
    } else {
        Vectors::NonZero
    };
    let code = Rlnc::new(args.q, args.symbols, vectors)?;
    if !(args.ack >= 0.0 && args.ack.is_finite()) {
        let (name, expected) = ("the wait for the ack", "0 or more packets");
        return Err(TheoryError::Range {
            name,
            expected,
            got: args.ack,
        });
    }
    let mut out = Computed::default();
    out.hidden("q", args.q).hidden("symbols", args.symbols);
    match (args.loss, args.sent) {
        (Some(loss), Some(sent)) => {
            let p = code.decode_probability_sent(sent, loss)?;
            let what =
                format!("probability to decode, {sent} sent and a share of {loss} lost (eq. 7)");
            out.hidden("loss", loss).hidden("sent", sent);
            out.value("decode_probability", p, &what);
        }
        _ => {
            let received = args.received.unwrap_or(args.symbols);
            let what = format!("probability to decode, {received} received (eqs 1, 2)");
            out.hidden("received", received);
            out.value(
                "decode_probability",
                code.decode_probability(received),
                &what,
            );
            out.hidden(
                "printed_decode_probability_excess_log10",
                code.printed_excess_log10(received),
            );
        }
    }
    out.value(
        "mean_receptions",
        code.mean_receptions(),
        "packets received until the block is decoded, E N (eq. 3)",
    )
    .value(
        "excess_packets",
        code.excess_packets(),
        "packets in excess, E N - K",
    )
    .value(
        "excess_ratio",
        code.excess_ratio(),
        "share of excess packets, epsilon (eq. 4)",
    )
    .value(
        "ack_penalty",
        code.ack_penalty(args.ack),
        "share of time spent waiting for the ack (eq. 5, packets)",
    )
    .hidden("printed_ack_penalty", code.printed_ack_penalty(args.ack))
    .value(
        "vector_header_bytes",
        code.vector_header(),
        "bytes of a header with the coding vector",
    )
    .value(
        "seed_header_bytes",
        code.seed_header(),
        "bytes of a header with a seed",
    )
    .value(
        "header_crossover_symbols",
        code.crossover(),
        "smallest K for which a header with a seed is shorter",
    );
    Ok(out)
}
