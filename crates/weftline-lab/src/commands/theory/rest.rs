//! `weftline-lab theory rest`.

use clap::Args;
use serde_json::{Value, json};
use weftline_papers::theory::floor::Stream;
use weftline_papers::theory::{SlotLoss, TheoryError, rest};

use super::show::Computed;

const HELP: &str = "\
Floors are the delays of an ideal code, in which every repair replaces one loss, for comparison with
real systems. A delay is the time from when a packet is due until it is delivered in order, with the
packet's own time on the link, without the path's delay.

Examples:
  weftline-lab theory rest --loss 0.15
  weftline-lab theory rest --loss 0.1 --share 0.3                      10 Mbit/s over 25 Mbit/s, RTT 60 ms
  weftline-lab theory rest --loss markov:0.1,4 --share 0.3 --json";

/// Redundancy from a loss rate (REST), and the delay floors of an ideal code
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct RestArgs {
    /// Packet error rate: a probability, or markov:SHARE,MEAN_RUN
    #[arg(long, value_name = "P")]
    loss: SlotLoss,
    /// Repairs for each source packet [default: 1.5 times the redundancy R]
    #[arg(long, value_name = "S")]
    share: Option<f64>,
    /// Time between two source packets, ms
    #[arg(long, value_name = "MS", default_value_t = 0.96)]
    period_ms: f64,
    /// Time of a packet on the link, ms
    #[arg(long, value_name = "MS", default_value_t = 0.41)]
    packet_ms: f64,
    /// Round-trip time, ms
    #[arg(long, value_name = "MS", default_value_t = 60.0)]
    rtt_ms: f64,
}

pub(super) fn compute(args: &RestArgs) -> Result<Computed, TheoryError> {
    let redundancy = rest::redundancy(args.loss.rate())?;
    let spacing = rest::spacing(redundancy)?;
    let mut out = Computed::default();
    out.hidden("loss", args.loss.to_string());
    out.value(
        "redundancy",
        redundancy,
        "least repairs for each data packet, R",
    )
    .value(
        "spacing",
        spacing,
        "data packets between repairs, k (100: never)",
    );
    let share = args.share.unwrap_or(1.5 * redundancy);
    let stream = Stream {
        loss: args.loss,
        share,
        period_ms: args.period_ms,
        packet_ms: args.packet_ms,
    };
    if share > 0.0 || args.share.is_some() {
        let delays = stream.without_feedback()?;
        let floor = json!({
            "mean_ms": delays.mean(),
            "p50_ms": delays.quantile(0.5),
            "p95_ms": delays.quantile(0.95),
            "p99_ms": delays.quantile(0.99),
            "p999_ms": delays.quantile(0.999),
            "tail_ms": stream.tail_ms(),
        });
        let what = "repairs for each source packet in the lines below";
        out.value("share", share, what)
            .value(
                "mean_delay_floor_ms",
                delays.mean(),
                "ms, mean delay without feedback",
            )
            .value(
                "p99_delay_floor_ms",
                delays.quantile(0.99),
                "ms, its 99th percentile",
            )
            .value(
                "tail_ms",
                stream.tail_ms(),
                "ms in which the tail falls by a factor of e, at best",
            )
            .hidden("without_feedback", floor);
    }
    let immediate = stream.immediate_feedback()?;
    out.value(
        "mean_delay_immediate_feedback_ms",
        immediate.map(|(mean, _)| mean),
        "ms, mean delay if each loss were known at once",
    )
    .hidden(
        "tail_immediate_feedback_ms",
        immediate.map_or(Value::Null, |(_, tail)| tail.into()),
    )
    .value(
        "retransmission_added_ms",
        stream.retransmission(args.rtt_ms)?,
        "ms, least mean delay that losses add with retransmission alone",
    );
    Ok(out)
}
