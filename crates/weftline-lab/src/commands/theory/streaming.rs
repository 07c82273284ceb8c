//! `weftline-lab theory streaming`.

use clap::Args;
use serde_json::{Map, Value, json};
use weftline_papers::theory::markov::MarkovStreaming;
use weftline_papers::theory::streaming::Streaming;
use weftline_papers::theory::{SlotLoss, TheoryError};

use super::show::{Computed, short};

const HELP: &str = "\
Slots: L-1 information packets, then one coded packet. A delay is the number of slots from when a
packet is sent until it is delivered in order. With losses in runs, all printed values are exact
too.

Examples:
  weftline-lab theory streaming --loss 0.05 --spacing 10
  weftline-lab theory streaming --loss markov:0.1,4 --spacing 5     runs of 4 on average
  weftline-lab theory streaming --loss 0.00099 --spacing 1000 --json";

/// Delays that are examined for quantiles: some seconds' work, and too few only if l e is above
/// about 0.995 and l is long.
const MOST_DELAYS: u64 = 400_000_000;

/// Busy periods, delays and work of the streaming code (Karzand et al.)
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct StreamingArgs {
    /// Erasures: a probability, or markov:SHARE,MEAN_RUN
    #[arg(long, value_name = "E")]
    loss: SlotLoss,
    /// Slots from one coded packet to the next (l)
    #[arg(long, value_name = "L")]
    spacing: u32,
    /// Print this many values of the busy time's distribution, from s = 0 (losses in runs: at most
    /// 2000)
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    terms: u32,
    /// Print this many values of the delay's distribution, from 0 slots (independent losses only)
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    delays: u32,
}

pub(super) fn compute(args: &StreamingArgs) -> Result<Computed, TheoryError> {
    let mut out = Computed::default();
    out.hidden("loss", args.loss.to_string());
    out.hidden("spacing", args.spacing);
    match args.loss {
        SlotLoss::Iid { loss } => iid(args, &Streaming::new(loss, args.spacing)?, &mut out),
        SlotLoss::Markov { .. } => {
            let code = MarkovStreaming::new(args.loss, args.spacing)?;
            distribution(&mut out, code.busy_time(args.terms.min(2_000) as usize));
            out.value(
                "mean_busy",
                code.mean_busy(),
                "intervals in which in-order delivery stalls, E S",
            )
            .value("second_moment_busy", code.second_moment_busy(), "E S^2")
            .value("third_moment_busy", code.third_moment_busy(), "E S^3")
            .value(
                "mean_busy_plus",
                code.mean_busy_plus(),
                "E S+, S+ = max(S, 1)",
            )
            .value(
                "delay_bound_slots",
                code.delay_bound(),
                "slots, upper bound of the mean in-order delay",
            )
            .value(
                "mean_delay_slots",
                code.mean_delay(),
                "slots, exact mean in-order delay",
            )
            .value(
                "operations_per_packet",
                code.operations_per_packet(),
                "operations of elimination for each information packet",
            );
        }
    }
    Ok(out)
}

fn distribution(out: &mut Computed, busy: Vec<f64>) {
    let first: Vec<_> = busy.iter().take(6).map(|p| short(*p)).collect();
    out.line(format!("p(S = 0, 1, ...): {} ...", first.join("  ")));
    out.hidden("busy_time_pmf", busy);
}

fn iid(args: &StreamingArgs, code: &Streaming, out: &mut Computed) {
    distribution(
        out,
        (0..u64::from(args.terms))
            .map(|s| code.busy_time(s))
            .collect(),
    );
    let printed = code.printed();
    out.value(
        "mean_busy",
        code.mean_busy(),
        "intervals in which in-order delivery stalls, E S",
    )
    .value("second_moment_busy", code.second_moment_busy(), "E S^2")
    .value("third_moment_busy", code.third_moment_busy(), "E S^3")
    .value(
        "mean_busy_plus",
        code.mean_busy_plus(),
        "E S+, S+ = max(S, 1)",
    )
    .value(
        "delay_bound_slots",
        code.delay_bound(),
        "slots, upper bound of the mean in-order delay (Theorem 2)",
    )
    .value(
        "mean_delay_slots",
        code.mean_delay(),
        "slots, exact mean in-order delay",
    );
    let mut pmf = vec![0.0; args.delays as usize];
    let mut quantiles = Quantiles::default();
    let (mut sum, mut visited) = (0.0, 0_u64);
    code.delays(|delay, p| {
        if let Some(place) = usize::try_from(delay).ok().and_then(|at| pmf.get_mut(at)) {
            *place = p;
        }
        sum += p;
        quantiles.pass(delay, sum);
        visited += 1;
        delay < u64::from(args.delays) || (quantiles.open() && visited < MOST_DELAYS)
    });
    let quantiles = quantiles.finished();
    for (name, value) in &quantiles {
        out.line(format!(
            "{:>14}  slots of in-order delay, {name}",
            value.to_string()
        ));
    }
    out.hidden("delay_quantiles_slots", quantiles);
    out.hidden("delay_pmf", pmf);
    out.value(
        "operations_per_packet",
        code.operations_per_packet(),
        "operations of elimination for each information packet (Theorem 4)",
    )
    .value(
        "tail_exponent_per_slot",
        code.tail_exponent(),
        "exponent of delays, per slot: D(1/l || e)",
    )
    .value(
        "chernoff_exponent_per_slot",
        code.chernoff_exponent(),
        "the same by Theorem 3's bound, corrected",
    )
    .line(format!(
        "as printed: E S^3 {}, mean delay at most {} slots (per slot), {} operations (Table I)",
        short(printed.third_moment_busy),
        short(printed.delay_bound_slots),
        short(printed.operations_per_packet)
    ))
    .hidden("printed", json!(printed));
}

/// Finds quantiles as the distribution passes them.
#[derive(Default)]
struct Quantiles {
    found: Vec<(String, Value)>,
}

impl Quantiles {
    const WANTED: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];

    fn pass(&mut self, delay: u64, sum: f64) {
        while let Some((name, share)) = Self::WANTED.get(self.found.len()) {
            if sum < *share {
                break;
            }
            self.found.push(((*name).to_owned(), delay.into()));
        }
    }

    fn open(&self) -> bool {
        self.found.len() < Self::WANTED.len()
    }

    /// The quantiles found; null for the others.
    fn finished(self) -> Map<String, Value> {
        let found: Map<_, _> = self.found.into_iter().collect();
        let value = |name: &str| found.get(name).cloned().unwrap_or(Value::Null);
        let all = Self::WANTED.iter();
        all.map(|(name, _)| ((*name).to_owned(), value(name)))
            .collect()
    }
}
