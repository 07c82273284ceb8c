//! `weftline-lab sim udp-rc`.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use weftline_cli::ui::{Exit, Failure, OutputOptions};
use weftline_netem::units;
use weftline_papers::sim::slots::udp_rc::UdpRc;
use weftline_papers::theory::SlotLoss;

use super::common::{CodeName, RunOptions};
use crate::commands::theory::show::{Computed, short};

const HELP: &str = "\
Examples:
  weftline-lab sim udp-rc --k 100 --loss 0.1                               decoding over GF(2)
  weftline-lab sim udp-rc --message 500kB --rate 1mbit --rtt 50ms --loss 1%
  weftline-lab sim udp-rc --message 2MB --rate 100mbit --rtt 200ms --loss 0.013%
  weftline-lab sim udp-rc --message 100kB --rate 2mbit --rtt 20ms --loss 1.06% --q 8";

/// UDP-RC in slots (Chong et al.): k symbols, then random combinations of them
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct UdpRcArgs {
    /// Losses: iid:P or markov:SHARE,MEAN_RUN
    #[arg(long, value_name = "LOSS")]
    loss: SlotLoss,
    /// Symbols of a message
    #[arg(
        long,
        value_name = "K",
        required_unless_present = "message",
        conflicts_with = "message"
    )]
    k: Option<u32>,
    /// Size of a message, for example 500kB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    message: Option<usize>,
    /// Bytes of a message in each packet
    #[arg(long, value_name = "BYTES", default_value_t = 1400, value_parser = clap::value_parser!(u32).range(1..=65_000))]
    symbol: u32,
    /// Bytes of headers in each packet
    #[arg(long, value_name = "BYTES", default_value_t = 48, value_parser = clap::value_parser!(u32).range(0..=65_000))]
    headers: u32,
    /// Full rate of the link
    #[arg(long, value_name = "RATE", default_value = "100mbit", value_parser = rate)]
    rate: u64,
    /// Round-trip time
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = time)]
    rtt: Duration,
    /// Coefficients are in GF(2^Q)
    #[arg(long, value_name = "Q", default_value_t = 1)]
    q: u32,
    /// Symbols beyond k sent at full rate
    #[arg(long, value_name = "N", default_value_t = 10)]
    extra: u32,
    /// Share of the full rate for all later symbols
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pace: f64,
    /// Ideal, or coded and compared
    #[arg(long, value_enum, default_value_t = CodeName::Genie)]
    code: CodeName,
    /// Number of messages
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    trials: u64,
    #[command(flatten)]
    run: RunOptions,
}

fn size(text: &str) -> Result<usize, String> {
    let size = units::parse_size(text).map_err(|e| e.to_string())?;
    if size == 0 {
        return Err("a message needs at least 1 byte".into());
    }
    Ok(size)
}

fn rate(text: &str) -> Result<u64, String> {
    let rate = units::parse_rate(text).map_err(|e| e.to_string())?;
    if rate < 1000 {
        return Err("give 1kbit or more".into());
    }
    Ok(rate)
}

fn time(text: &str) -> Result<Duration, String> {
    units::parse_duration(text).map_err(|e| e.to_string())
}

pub(super) fn run(args: &UdpRcArgs, output: OutputOptions) -> Result<Exit> {
    let symbols = |bytes: usize| u32::try_from(bytes.div_ceil(args.symbol as usize)).ok();
    let k = args.k.or_else(|| symbols(args.message?)).ok_or_else(|| {
        Failure::usage("the message has too many packets: make it smaller, or --symbol larger")
    })?;
    let model = UdpRc {
        loss: args.loss,
        k,
        q: args.q,
        code: args.code.into(),
        extra: args.extra,
        pace: args.pace,
        packet_s: 8.0 * f64::from(args.symbol + args.headers) / args.rate as f64,
        rtt_s: args.rtt.as_secs_f64(),
        trials: args.trials,
        seed: args.run.seed(),
    };
    let (outcome, _) = args
        .run
        .run(output, |threads, progress| model.run(threads, progress))?;
    let bytes = args
        .message
        .map_or(u64::from(k) * u64::from(args.symbol), |bytes| bytes as u64);
    let goodput = bytes as f64 / outcome.transfer_s.mean.max(1e-12);
    let mut out = Computed::default();
    out.hidden("loss", args.loss.to_string())
        .hidden("k", k)
        .hidden("q", args.q)
        .hidden("message_bytes", bytes)
        .hidden("goodput_bytes_per_s", goodput)
        .hidden("seed", args.run.seed())
        .all(&outcome);
    out.line(format!(
        "{:>14}  decoded from k+{} received (k = {k}), +- {}",
        short(outcome.decode_probability),
        args.extra,
        short(outcome.decode_probability_stderr)
    ));
    for (value, what) in [
        (outcome.excess, "symbols received in excess of k"),
        (outcome.sent, "symbols sent"),
        (outcome.transfer_s, "s until the receiver has the message"),
    ] {
        let (mean, stderr) = (short(value.mean), short(value.stderr));
        out.line(format!("{mean:>14}  {what}, +- {stderr}"));
    }
    out.tell(outcome.transfer_p99_s, "s, the longest of 100")
        .tell(goodput / 1e3, "kB/s");
    out.print(output);
    Ok(Exit::Ok)
}
