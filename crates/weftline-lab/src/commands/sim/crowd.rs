//! `weftline-lab sim crowd`: several flows of the real engine over one bottleneck.

use anyhow::Result;
use clap::Args;
use serde_json::json;
use weftline_cli::ui::{Exit, Failure, OutputOptions, output};

use super::common::seconds;
use crate::commands::links::links;
use crate::compare::Spread;
use weftline_sim::crowd::{Crowd, CrowdOutcome, Flows, Member};
use weftline_sim::engine::{Application, check_paths};
use weftline_sim::schemes;

const HELP: &str = "\
Settings are those of `weftline-lab sim engine`.

All flows share the link, its queue and the return path. Flow n joins at a random time of the n-th
interval of --join, the first of which begins after --after; models of TCP and flows of --also join in
an interval from 0 on. Jain's index is 1 if all shares are equal. `jain` is that of the second half of
the time after the last flow joined or left; `fair after` is when it stays at 0.95 or more, in each
second to the end; `worst second` is the lowest of those that begin 10 s after the last flow joined or
left.

The models of CUBIC (RFC 9438) and BBR (its first version) get ideal acknowledgements and send nothing
again: they are for a quick look. `weftline-lab compare D` has the kernel's.

Examples:
  weftline-lab sim crowd --flows 8 --link 'rate=25mbit delay=30ms queue=200ms'
  weftline-lab sim crowd --flows 32 --link 'rate=100mbit delay=10ms queue=200ms loss=iid:1%' --seeds 5
  weftline-lab sim crowd --flows 8 --link 'rate=100mbit delay=10ms queue=200ms' --spread 100
  weftline-lab sim crowd --flows 8 --join 2 --leave 30 --secs 60
  weftline-lab sim crowd --flows 4 --also cbr:2mbit,1200 --cubic 1 --json";

/// Run several flows of the real engine over one bottleneck
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct CrowdArgs {
    /// Settings of the engine, for all flows
    #[arg(value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// The shared forward path, in the form of `weftline-lab run`
    #[arg(
        long,
        value_name = "LINK",
        default_value = "rate=25mbit delay=30ms queue=200ms"
    )]
    link: String,
    /// The shared return path [default: the same rate, delay, queue, outages and MTU, without loss]
    #[arg(long, value_name = "LINK")]
    back: Option<String>,
    /// Bytes that IP, UDP and the carrier add to each datagram: 64 is QUIC over IPv4, 36 plain UDP
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    overhead: u16,
    /// Number of flows of the engine
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=256))]
    flows: u32,
    /// Their application's traffic, in the form of `sim engine`
    #[arg(long, value_name = "APP", default_value = "bulk")]
    app: Application,
    /// One more flow of the engine with this application, there from the start (may be repeated)
    #[arg(long, value_name = "APP")]
    also: Vec<Application>,
    /// Round trips differ: the last flow has this many ms more than the first, the others are between
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    spread: f64,
    /// Paths of the first flow, all of them through the bottleneck
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    paths: u8,
    /// Seconds between two flows that join
    #[arg(long, value_name = "SECS", default_value_t = 0.1)]
    join: f64,
    /// Seconds before the first interval of --join: a head start for what is beside the flows
    #[arg(long, value_name = "SECS", default_value_t = 0.0)]
    after: f64,
    /// Every second flow leaves at this time, in seconds
    #[arg(long, value_name = "SECS")]
    leave: Option<f64>,
    /// Number of models of TCP CUBIC beside them
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=256))]
    cubic: u32,
    /// Number of models of TCP BBR beside them
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=256))]
    bbr: u32,
    /// Seconds of the run
    #[arg(long, value_name = "SECS", default_value_t = 30.0)]
    secs: f64,
    /// Exclude the first seconds from goodputs and the queue
    #[arg(long, value_name = "SECS", default_value_t = 1.0)]
    skip: f64,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Number of runs, each with the next seed; the median and the worst are printed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
}

impl CrowdArgs {
    fn crowd(&self) -> Result<Crowd, Failure> {
        let mut config =
            schemes::read(&self.settings).map_err(|e| Failure::usage(e.to_string()))?;
        config.datagram_overhead = self.overhead;
        check_paths(&config, self.paths.into()).map_err(|e| Failure::usage(e.to_string()))?;
        let links = links(&self.link, self.back.as_deref())?;
        let members = self.members()?;
        if members.is_empty() {
            return Err(Failure::usage(
                "there are no flows: give --flows 2 or more".to_owned(),
            ));
        }
        Ok(Crowd {
            config,
            forward: links.forward,
            back: links.back,
            members,
            duration: seconds("secs", self.secs)?,
            skip: seconds("skip", self.skip)?,
        })
    }

    fn members(&self) -> Result<Vec<Member>, Failure> {
        let flows = Flows {
            count: self.flows,
            application: self.app,
            also: self.also.clone(),
            spread: seconds("spread", self.spread / 1e3)?,
            paths: self.paths.into(),
            join: seconds("join", self.join)?,
            after: seconds("after", self.after)?,
            leave: self.leave.map(|at| seconds("leave", at)).transpose()?,
            cubic: self.cubic,
            bbr: self.bbr,
        };
        Ok(flows.members())
    }
}

pub(super) fn run(args: &CrowdArgs, output: OutputOptions) -> Result<Exit> {
    let crowd = args.crowd()?;
    let outcomes: Vec<CrowdOutcome> = (0..args.seeds)
        .map(|n| crowd.run(args.seed.wrapping_add(n)))
        .collect();
    if output.json {
        let runs: Vec<_> = outcomes
            .iter()
            .enumerate()
            .map(|(n, outcome)| json!({ "seed": args.seed.wrapping_add(n as u64), "result": outcome }))
            .collect();
        output::print(format_args!(
            "{}",
            json!({ "settings": args.settings, "link": args.link, "runs": runs })
        ));
    } else {
        if let [outcome] = &outcomes[..] {
            flows(outcome);
        }
        summary(&outcomes);
    }
    Ok(Exit::Ok)
}

fn flows(outcome: &CrowdOutcome) {
    output::print("flow  sender           rtt, ms  joins, s  leaves, s    Mbit/s    at the end");
    for (n, flow) in outcome.flows.iter().enumerate() {
        let leaves = flow.leave_s.map_or_else(String::new, |s| format!("{s:.1}"));
        let delay = flow.delay.and_then(|delay| delay.p50.zip(delay.p99));
        let delay = delay.map_or_else(String::new, |(p50, p99)| {
            format!("   delay {p50:.1} ms, 99 % {p99:.1} ms")
        });
        output::print(format_args!(
            "{n:>4}  {:<15} {:>8.1}  {:>8.1}  {leaves:>9}  {:>8.3}  {:>12.3}{delay}",
            flow.sender, flow.rtt_ms, flow.join_s, flow.goodput_mbit, flow.last_mbit
        ));
    }
    output::print("");
}

/// A value of each run; `None` if it has none, which is the worst.
type Value<'a> = &'a dyn Fn(&CrowdOutcome) -> Option<f64>;

/// Prints a value, of several runs the median and the worst.
fn show(outcomes: &[CrowdOutcome], name: &str, unit: &str, more_is_worse: bool, value: Value<'_>) {
    let Some(spread) = Spread::of(outcomes.iter().filter_map(value)) else {
        output::print(format_args!("{name:<22} {:>10}", "never"));
        return;
    };
    let missing = outcomes.len() - spread.n;
    let worst = match more_is_worse {
        _ if outcomes.len() < 2 => String::new(),
        _ if missing > 0 => format!(" never in {missing} of {}", outcomes.len()),
        true => format!(" worst {:.3}", spread.max),
        false => format!(" worst {:.3}", spread.min),
    };
    let median = spread.median;
    output::print(format_args!("{name:<22} {median:>10.3} {unit:<7}{worst}"));
}

fn summary(outcomes: &[CrowdOutcome]) {
    let less = |name, unit, value: Value<'_>| show(outcomes, name, unit, true, value);
    let more = |name, unit, value: Value<'_>| show(outcomes, name, unit, false, value);
    more("jain", "", &|o| Some(o.jain));
    less("fair after", "s", &|o| o.fair_after_s);
    if outcomes.iter().any(|o| o.worst_jain.is_some()) {
        more("jain, worst second", "", &|o| o.worst_jain);
    }
    less("queue, median", "ms", &|o| Some(o.queue_ms[0]));
    less("queue, 95 %", "ms", &|o| Some(o.queue_ms[1]));
    less("queue, longest", "ms", &|o| Some(o.queue_ms[2]));
    if outcomes.iter().any(|o| o.utilisation.is_some()) {
        more("utilisation", "", &|o| o.utilisation);
    }
    more("goodput, all flows", "Mbit/s", &|o| Some(o.goodput_mbit));
    less("queue drops", "", &|o| Some(o.queue_drops as f64));
    less("queue drops, share", "", &|o| Some(o.queue_drop_share));
}
