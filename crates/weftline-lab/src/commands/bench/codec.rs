//! `weftline-lab bench codec`

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use weftline_bench::{Case, Contest, Error, Machine, Plan, Runner, Scope, Timing, Visitor, report};
use weftline_bench::{Kernel, selection, workloads};
use weftline_cli::ui::{Exit, Failure, OutputOptions, output};

const EXAMPLES: &str = "\
Examples:
  weftline-lab bench codec                             the cases of goals and published figures: 2 min
  weftline-lab bench codec --quick                     a few telling cases: less than 20 s
  weftline-lab bench codec --full --json > codec.json  every size, window, block and loss
  weftline-lab bench codec --filter stream/decode      one workload
  weftline-lab bench codec --filter window=128         all cases with such a window
  weftline-lab bench codec --kernel avx2               everything with one kernel
  weftline-lab bench codec --list                      the cases, without running them

Every contender of a case checks its result once. Then they are measured in turn, so that a slow
phase of the machine affects all of them, and the median counts. A contender that cannot do a case
is listed with the reason. Figures are GB (10^9 bytes) of source symbols a second, on one thread;
each case says what is counted. For ISA-L install its library (Debian: libisal2). Close other
programs.";

/// Measure encoding, decoding and the inner loops, beside other erasure codes, memcpy and XOR
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct CodecArgs {
    /// Only cases whose name contains TEXT; may be repeated
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Use one SIMD kernel for everything of Weftline's [default: the best, and each one for its
    /// own speed]
    #[arg(long, value_name = "NAME", value_parser = kernel)]
    kernel: Option<Kernel>,
    /// Few cases, short samples
    #[arg(long)]
    quick: bool,
    /// Every combination of sizes, windows, blocks, repair shares and losses
    #[arg(long, conflicts_with = "quick")]
    full: bool,
    /// List the cases and run none
    #[arg(long)]
    list: bool,
}

/// A kernel of this machine, by its name.
fn kernel(name: &str) -> Result<Kernel, String> {
    let kernels: Vec<Kernel> = Kernel::available().collect();
    let found = kernels.iter().find(|kernel| kernel.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name()).collect();
        format!(
            "not a kernel of this machine; its kernels are {}",
            names.join(", ")
        )
    })
}

/// Runs the command.
///
/// # Errors
/// No case has this name, or a contender's result is wrong.
pub(super) fn run(args: &CodecArgs, output: OutputOptions) -> Result<Exit> {
    if let Some(kernel) = args.kernel
        && kernel != selection().active
    {
        return again_with(kernel);
    }
    let plan = plan(args);
    let mut names = Names::of(&plan)?;
    if names.0.is_empty() {
        let message = "--filter: no case has this name; --list shows all names";
        return Err(Failure::usage(message).into());
    }
    if args.list {
        list(&mut names, output);
        return Ok(Exit::Ok);
    }
    measure(&plan, names.0.len(), output)
}

fn plan(args: &CodecArgs) -> Plan {
    let scope = match (args.quick, args.full) {
        (true, _) => Scope::Quick,
        (_, true) => Scope::Full,
        _ => Scope::Default,
    };
    let mut plan = Plan::new(scope);
    plan.filter.clone_from(&args.filter);
    if let Some(kernel) = args.kernel {
        plan.kernels = vec![kernel];
    }
    plan
}

fn list(names: &mut Names, output: OutputOptions) {
    if output.json {
        output::print(serde_json::json!({ "cases": names.0 }));
    } else {
        names.0.iter().for_each(output::print);
    }
}

fn measure(plan: &Plan, cases: usize, output: OutputOptions) -> Result<Exit> {
    let started = Instant::now();
    let machine = Machine::this();
    let mut done = 0;
    let tell = |outcome: &weftline_bench::Outcome| {
        done += 1;
        if !output.json {
            output::print(report::text(outcome));
        } else if !output.quiet {
            output::line(&format!("{done}/{cases} {}", outcome.case.id()));
        }
    };
    let mut runner = Runner::new(plan.clone(), Timing::of(plan.scope), tell);
    let timing = runner.timing();
    let no_cycles = runner.no_cycles().map(str::to_owned);
    if !output.json {
        output::print(report::heading(&machine, timing, no_cycles.as_deref()));
        output::print(format_args!("{}\n", report::legend()));
    }
    if let Some(ignored) = selection().ignored {
        output::line(&format!("warning: {ignored}"));
    }
    if !output.quiet {
        missing_peers().iter().for_each(|peer| output::line(peer));
    }
    workloads::visit(plan, &mut runner).map_err(|error| match error {
        Error::Wrong { .. } => Failure::new(Exit::Corrupt, error.to_string()),
        error => Failure::new(Exit::General, error.to_string()),
    })?;
    let outcomes = runner.outcomes();
    if output.json {
        let object = report::object(&machine, plan, timing, no_cycles.as_deref(), outcomes);
        output::print(object);
    }
    if !output.quiet {
        output::line(&format!("took {:.0} s", started.elapsed().as_secs_f64()));
    }
    Ok(Exit::Ok)
}

/// Lines about peers that are missing altogether.
fn missing_peers() -> Vec<String> {
    #[cfg(feature = "peers")]
    {
        let peers = weftline_bench::peers::all().into_iter();
        let missing = peers.filter(|peer| peer.missing.is_some());
        missing.map(|peer| peer.to_string()).collect()
    }
    #[cfg(not(feature = "peers"))]
    vec!["other libraries: not compiled in (the feature `peers` is off)".to_owned()]
}

/// Runs this program again, because a kernel is chosen once, at the start.
fn again_with(kernel: Kernel) -> Result<Exit> {
    let program = std::env::current_exe().context("finding this program's own file")?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1));
    command.env(weftline_bench::KERNEL_VARIABLE, kernel.name());
    let status = command.status().context("running this program again")?;
    Ok(match status.code() {
        Some(0) => Exit::Ok,
        Some(2) => Exit::Usage,
        Some(5) => Exit::Corrupt,
        Some(_) => Exit::General,
        None => Exit::Interrupted,
    })
}

/// The names of a plan's cases, in the order in which they are measured.
struct Names(Vec<String>);

impl Names {
    fn of(plan: &Plan) -> Result<Self> {
        struct Collector<'a>(&'a Plan, Vec<String>);

        impl Visitor for Collector<'_> {
            fn wants(&mut self, case: &Case) -> bool {
                let id = case.id();
                if self.0.includes(case) && !self.1.contains(&id) {
                    self.1.push(id);
                }
                false
            }

            fn contest(&mut self, _: Contest<'_>) -> Result<(), Error> {
                Ok(())
            }
        }

        let mut collector = Collector(plan, Vec::new());
        workloads::visit(plan, &mut collector)?;
        Ok(Self(collector.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Test {
        #[command(flatten)]
        codec: CodecArgs,
    }

    fn names(arguments: &[&str]) -> Vec<String> {
        let test = Test::try_parse_from([&["x"], arguments].concat());
        let args = test.unwrap_or_else(|e| panic!("{e}")).codec;
        Names::of(&plan(&args)).unwrap().0
    }

    #[test]
    fn each_scope_holds_the_cases_of_the_smaller_one_and_each_case_once() {
        let [quick, default, full] = [&["--quick"][..], &[], &["--full"]].map(names);
        assert!(quick.len() < default.len() && default.len() < full.len());
        for name in &quick {
            assert!(default.contains(name), "{name}");
        }
        for name in &default {
            assert!(full.contains(name), "{name}");
        }
        let mut once = full.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), full.len());
    }

    #[test]
    fn filters_add_up() {
        let both = names(&["--filter", "kernel/dot", "--filter", "window=128"]);
        assert!(both.contains(&"kernel/dot/k=16/size=1280".to_owned()));
        assert!(both.contains(&"window/repair/window=128/size=1280".to_owned()));
        assert!(!both.contains(&"window/repair/window=64/size=1280".to_owned()));
        assert!(names(&["--filter", "nonsense"]).is_empty());
    }

    #[test]
    fn only_kernels_of_this_machine_can_be_chosen() {
        assert_eq!(kernel("scalar"), Ok(Kernel::Scalar));
        assert!(kernel("abacus").unwrap_err().contains("scalar"));
        assert!(Test::try_parse_from(["x", "--quick", "--full"]).is_err());
    }
}
