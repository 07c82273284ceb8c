//! `weftline-lab sim streaming`.

use anyhow::{Result, bail};
use clap::Args;
use weftline_cli::ui::{Exit, OutputOptions};
use weftline_papers::sim::slots::answered::Answered;
use weftline_papers::sim::slots::coded;
use weftline_papers::sim::slots::streaming::Streaming;
use weftline_papers::theory::SlotLoss;

use super::common::{AnswerName, CodeName, RunOptions, delays};
use crate::commands::theory::show::Computed;

const HELP: &str = "\
Examples:
  weftline-lab sim streaming --loss iid:0.05 --spacing 10 --slots 100000000
  weftline-lab sim streaming --loss markov:0.1,4 --spacing 5 --json     runs of 4 lost slots on average
  weftline-lab sim streaming --loss 0.05 --spacing 10 --code real --rtt 63 --slots 5000000
  weftline-lab sim streaming --loss 0.1 --share 0.15 --answer missing --rtt 125     feedback adds coded packets";

/// The streaming code in slots (Karzand et al.): L-1 information packets, then one coded packet
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct StreamingArgs {
    /// Erasures: iid:P or markov:SHARE,MEAN_RUN
    #[arg(long, value_name = "LOSS")]
    loss: SlotLoss,
    /// Slots from one coded packet to the next (l)
    #[arg(long, value_name = "L")]
    #[arg(required_unless_present = "share")]
    spacing: Option<u32>,
    /// With --answer: coded packets for each information packet, 1/(L-1), instead of --spacing
    #[arg(
        long,
        value_name = "S",
        conflicts_with = "spacing",
        requires = "answer"
    )]
    share: Option<f64>,
    /// Closed loop: after --rtt slots, additional coded packets for what is missing (ideal code)
    #[arg(long, value_enum, requires = "rtt")]
    answer: Option<AnswerName>,
    /// Slots to run
    #[arg(long, value_name = "N", default_value_t = 20_000_000)]
    slots: u64,
    /// With --json: the delays' percentiles 0 to 100, as `delay_percentiles_slots`
    #[arg(long)]
    percentiles: bool,
    /// Ideal, or coded in GF(2^8)
    #[arg(long, value_enum, default_value_t = CodeName::Genie)]
    code: CodeName,
    /// With --json: P(S = s) for s from 0 up to this number less one, as `busy_time_pmf`
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1000))]
    terms: u32,
    /// Slots until the sender learns what is delivered and stops covering it (real code), or what is
    /// missing (--answer)
    #[arg(long, value_name = "SLOTS", default_value_t = 0)]
    rtt: u64,
    #[command(flatten)]
    run: RunOptions,
}

pub(super) fn run(args: &StreamingArgs, output: OutputOptions) -> Result<Exit> {
    if let Some(answer) = args.answer {
        return answered(args, answer, output);
    }
    let spacing = args.spacing.unwrap_or_default();
    let model = Streaming {
        loss: args.loss,
        spacing,
        slots: args.slots,
        seed: args.run.seed(),
    };
    let (outcome, took) = args.run.run(output, |threads, progress| match args.code {
        CodeName::Genie => model.run(threads, progress),
        CodeName::Real => coded::run(&model, args.rtt, threads, progress),
    })?;
    let mut out = Computed::default();
    out.hidden("loss", args.loss.to_string())
        .hidden("spacing", spacing)
        .hidden(
            "code",
            if args.code == CodeName::Real {
                "real"
            } else {
                "genie"
            },
        )
        .hidden("seed", args.run.seed())
        .all(&outcome);
    if args.percentiles {
        out.hidden("delay_percentiles_slots", outcome.delay_percentiles.clone());
    }
    if args.terms > 0 {
        let mut pmf = outcome.busy_time.clone();
        pmf.resize(args.terms as usize, 0.0);
        out.hidden("busy_time_pmf", pmf);
    }
    delays(
        &mut out,
        outcome.mean_delay_slots,
        outcome.stderr,
        &outcome.delay_slots,
    );
    out.tell(outcome.undelayed, "share of packets not delayed")
        .tell(outcome.mean_busy, "intervals in which delivery stalls, E S")
        .tell(outcome.second_moment_busy, "E S^2")
        .tell(outcome.third_moment_busy, "E S^3")
        .tell(outcome.mean_busy_plus, "E S+")
        .line(format!(
            "{} slots in {:.2} s: {:.1} million a second",
            outcome.slots,
            took.as_secs_f64(),
            outcome.slots as f64 / took.as_secs_f64().max(1e-9) / 1e6
        ));
    out.print(output);
    Ok(Exit::Ok)
}

/// The closed loop.
fn answered(args: &StreamingArgs, answer: AnswerName, output: OutputOptions) -> Result<Exit> {
    if args.code == CodeName::Real {
        bail!("--answer has an ideal code only: leave --code real out");
    }
    let share = match (args.share, args.spacing) {
        (None, Some(l)) if l >= 2 => 1.0 / f64::from(l - 1),
        (None, _) => bail!("--spacing must be at least 2"),
        (Some(share), _) => share,
    };
    let model = Answered {
        loss: args.loss,
        share,
        rtt: args.rtt.try_into()?,
        answer: answer.into(),
        slots: args.slots,
        bin: None,
        seed: args.run.seed(),
    };
    let (outcome, _) = args
        .run
        .run(output, |threads, progress| model.run(threads, progress))?;
    let delivered = &outcome.delivered;
    let mut out = Computed::default();
    out.hidden("loss", args.loss.to_string())
        .hidden("share", share)
        .hidden("rtt_slots", args.rtt)
        .hidden("seed", args.run.seed())
        .all(&outcome);
    if args.percentiles {
        out.hidden(
            "delay_percentiles_slots",
            delivered.delay_percentiles.clone(),
        );
    }
    delays(
        &mut out,
        delivered.mean_delay_slots,
        delivered.stderr,
        &delivered.delay_slots,
    );
    out.tell(delivered.undelayed, "share of packets not delayed")
        .tell(
            outcome.extra,
            "additional coded packets for each information packet",
        )
        .tell(
            outcome.effective_rate,
            "information packets for all packets sent",
        );
    out.print(output);
    Ok(Exit::Ok)
}
