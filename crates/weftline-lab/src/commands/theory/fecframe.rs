//! `weftline-lab theory fecframe`.

use clap::Args;
use weftline_fecframe::CodeRate;
use weftline_papers::theory::TheoryError;
use weftline_papers::theory::fecframe::{
    Application, block_latency, block_latency_cdf, block_recovered_after, block_residual, latency,
};

use super::show::Computed;

const HELP: &str = "\
Examples:
  weftline-lab theory fecframe --max-latency-ms 167 --bitrate 8mbit --symbol-size 1000 --code-rate 2/3
  weftline-lab theory fecframe --max-latency-ms 100 --bitrate 10000000 --symbol-size 1400 --code-rate 0.75 --json";

/// Block and window sizes for a latency (Roca et al.; RFC 8681, appendix C)
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct FecframeArgs {
    /// Latency that erasure coding may add, ms
    #[arg(long, value_name = "T")]
    max_latency_ms: f64,
    /// Rate of source data: bit/s, or with a unit such as 10mbit
    #[arg(long, value_name = "B", value_parser = bitrate)]
    bitrate: u64,
    /// Bytes of a symbol
    #[arg(long, value_name = "E", value_parser = clap::value_parser!(u16).range(1..))]
    symbol_size: u16,
    /// Source symbols as a share of all: 2/3 or 0.667
    #[arg(long, value_name = "C")]
    code_rate: CodeRate,
    /// Independent loss, for the latency and the residual loss of blocks
    #[arg(long, value_name = "P")]
    loss: Option<f64>,
}

fn bitrate(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(bits) if (1.0..1e15).contains(&bits) => Ok(bits.round() as u64),
        Ok(_) => Err("give at least 1 bit/s, and below 10^15".to_owned()),
        Err(_) => weftline_netem::units::parse_rate(text).map_err(|e| e.to_string()),
    }
}

pub(super) fn compute(args: &FecframeArgs) -> Result<Computed, TheoryError> {
    let application = Application {
        max_latency: latency(args.max_latency_ms)?,
        bitrate: args.bitrate,
        symbol_size: args.symbol_size,
        code_rate: args.code_rate,
    };
    let sizes = application.sizes()?;
    let mut out = Computed::default();
    out.value(
        "block_size",
        sizes.block_size,
        "source symbols of a block, k",
    )
    .value(
        "block_repairs",
        sizes.block_repairs,
        "repair symbols of a block",
    )
    .value(
        "decoding_window",
        sizes.decoding_window,
        "symbols in time, dw",
    )
    .value(
        "encoding_window",
        sizes.encoding_window,
        "best number of symbols covered by a repair, ew = dw / 2",
    )
    .value(
        "linear_system",
        sizes.linear_system,
        "symbols kept in equations, ls = 2 dw",
    )
    .value(
        "spacing",
        sizes.spacing,
        "source symbols between repairs, sl",
    )
    .value(
        "repairs_covering",
        sizes.repairs_covering,
        "repairs that cover a lost symbol, n2",
    )
    .value(
        "repairs_after",
        sizes.repairs_after,
        "further repairs in time, n1",
    )
    .value(
        "rfc8681_encoding_window",
        sizes.rfc8681_encoding_window,
        "ew by RFC 8681's ratio of 191/255",
    );
    if let Some(loss) = args.loss {
        out.value(
            "block_latency_ticks",
            block_latency(sizes.block_size, loss)?,
            "ticks of mean added latency, if all blocks are decoded",
        )
        .value(
            "block_recovered_after_ticks",
            block_recovered_after(sizes.block_size),
            "mean ticks until a lost symbol is known, if its block is decoded",
        )
        .value(
            "block_residual_loss",
            block_residual(sizes.block_size, sizes.block_repairs, loss)?,
            "share of source symbols that stay lost in blocks",
        )
        .value(
            "block_latency_cdf",
            block_latency_cdf(sizes.block_size, loss)?,
            "shares of symbols that wait at most 0, 1, ... ticks, if all blocks are decoded",
        );
    }
    Ok(out)
}
