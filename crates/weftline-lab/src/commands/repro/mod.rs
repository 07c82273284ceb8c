//! `weftline-lab repro`: runs the papers' figures again.

mod progress;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use sha2::{Digest, Sha256};
use weftline_cli::ui::{Exit, Failure, OutputOptions, output};
use weftline_papers::repro::{self, Figure, Kept, Point, Program, Programs, Report, Scale};

use progress::Line;

const VERSION: &str = env!("CARGO_PKG_VERSION");

const HELP: &str = "\
FIGURE is a figure (karzand-6, roca-table-2) or a paper (karzand, roca, rest, udp-rc, garrido) for
all of its figures; without one, everything is run. Each point of a figure is a separate command,
which the report names. DIR keeps each point as soon as it has been run: the same command continues
a stopped run, and writes the report again when no points are left.

Output in DIR: report.html (one file, no scripts), table.md, data/FIGURE.csv, points.jsonl. See
docs/reference/repro.md. A measurement that cannot run here, such as one that needs root, is left out
and named; every other failure is an error.

Examples:
  weftline-lab repro --list
  weftline-lab repro --quick --out quick                everything, in less than three minutes
  weftline-lab repro karzand-6 roca --out figures
  weftline-lab repro --out full --json";

/// Run the papers' figures again and compare with the papers' numbers
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(crate) struct ReproArgs {
    /// Figures, or papers [default: all]
    #[arg(value_name = "FIGURE")]
    figures: Vec<String>,
    /// Folder for the report and the kept points
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    out: Option<PathBuf>,
    /// Fewer points and shorter runs
    #[arg(long)]
    quick: bool,
    /// List the figures and run none
    #[arg(long)]
    list: bool,
    /// Points to run at a time [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    jobs: Option<u64>,
    /// Seed of all simulations
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The ns-3 model [default: ns3/out/weftline-ns3 in this folder or beside this program, or on
    /// the PATH]
    #[arg(long, value_name = "PATH")]
    ns3: Option<PathBuf>,
    /// Discard the kept points
    #[arg(long)]
    fresh: bool,
}

/// Runs the command.
///
/// # Errors
/// No figure has this name, the folder cannot be written, or a point failed.
pub(crate) fn run(args: &ReproArgs, output: OutputOptions) -> Result<Exit> {
    let scale = Scale {
        quick: args.quick,
        seed: args.seed,
    };
    let figures = repro::figures(scale);
    let chosen = repro::select(&figures, &args.figures)
        .map_err(|error| Failure::usage(error.to_string()))?;
    if args.list {
        list(&chosen, output)?;
        return Ok(Exit::Ok);
    }
    let Some(folder) = &args.out else {
        bail!("--out DIR is needed: the folder for the points and the report");
    };
    let programs = Programs {
        lab: std::env::current_exe().context("cannot find this program's own file")?,
        ns3: ns3(args.ns3.as_deref()),
    };
    let build = build(&programs.lab)?;
    let kept = Kept::open(folder, VERSION, &build, args.fresh);
    let mut kept = kept.with_context(|| format!("cannot keep points in {}", folder.display()))?;
    if kept.from_other_builds() > 0 && !output.quiet {
        output::line(&format!(
            "{} points were run by another build of weftline-lab {VERSION}; --fresh runs them again",
            kept.from_other_builds()
        ));
    }
    let runnable = |point: &Point| programs.path(point.program()).is_ok();
    let points: Vec<Point> = chosen
        .iter()
        .flat_map(|figure| {
            figure
                .points
                .iter()
                .filter(|point| runnable(point))
                .cloned()
        })
        .collect();
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.map_or_else(available, |n| n as usize);
    let line = Line::new(output);
    let failed = repro::run(
        &points,
        jobs,
        &mut kept,
        &|point| programs.run(point),
        &|now| line.tell(now),
    );
    line.clear();
    let failed = failed.with_context(|| format!("cannot keep points in {}", folder.display()))?;
    let mut report = Report::new(&chosen, kept.values(), &failed, &programs);
    report.options = options(args);
    report.command = command(args);
    report.program = format!("weftline-lab {VERSION}, build {build}");
    report.effort = effort(&points, &kept);
    write(folder, &report).with_context(|| format!("cannot write to {}", folder.display()))?;
    tell(&report, folder, output);
    let optional = |failed: &repro::Failed| {
        let mut own = points.iter().filter(|p| p.to_string() == failed.command);
        own.all(Point::is_optional)
    };
    for failed in &failed {
        let kind = if optional(failed) {
            "not measured"
        } else {
            "failed"
        };
        output::line(&format!("{kind}: {}", failed.reason));
    }
    let summaries = report.summaries();
    for one in &summaries {
        for fault in &one.faults {
            output::line(&format!("{}, {fault}", one.figure));
        }
    }
    let all_shown = summaries.iter().all(|one| one.status != "failed");
    Ok(if all_shown { Exit::Ok } else { Exit::General })
}

/// Lists the figures. The JSON form has all that another program needs to run their points and to
/// keep them as `points.jsonl` does.
fn list(figures: &[&Figure], output: OutputOptions) -> Result<()> {
    if output.json {
        let point = |point: &Point| {
            json!({
                "command": point.to_string(),
                "program": point.program().name(),
                "arguments": point.arguments(),
                "about_s": point.cost(),
                "alone": point.is_alone(),
                "optional": point.is_optional(),
            })
        };
        let one = |figure: &&Figure| {
            let points: Vec<_> = figure.points.iter().map(point).collect();
            json!({
                "figure": figure.id,
                "number": figure.number(),
                "title": figure.title,
                "about_s": cost(figure),
                "points": points,
            })
        };
        let all: Vec<_> = figures.iter().map(one).collect();
        let build =
            build(&std::env::current_exe().context("cannot find this program's own file")?)?;
        let list = json!({ "version": VERSION, "build": build, "figures": all });
        output::print(list);
        return Ok(());
    }
    for figure in figures {
        let ns3 = if figure.needs(Program::Ns3) {
            " (ns-3)"
        } else {
            ""
        };
        output::print(format_args!(
            "{:<16} {}: {}; {} points, about {}{ns3}",
            figure.id,
            figure.number(),
            figure.title,
            figure.points.len(),
            progress::time(cost(figure))
        ));
    }
    // Figures share points, so the sum is of the points and not of the figures.
    let mut points: Vec<&Point> = figures.iter().flat_map(|f| &f.points).collect();
    points.sort_by_key(|point| point.to_string());
    points.dedup_by_key(|point| point.to_string());
    output::print(format_args!(
        "{} figures, {} points, about {} of one processor",
        figures.len(),
        points.len(),
        progress::time(points.iter().map(|point| point.cost()).sum())
    ));
    Ok(())
}

/// Estimated seconds of a figure's points, one after the other.
fn cost(figure: &Figure) -> f64 {
    figure.points.iter().map(Point::cost).sum()
}

/// The ns-3 model, or the reason why it is not used.
fn ns3(asked: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(path) = asked {
        let absolute = path.canonicalize();
        return absolute.map_err(|error| format!("{}: {error}", path.display()));
    }
    let name = Program::Ns3.name();
    let here = [PathBuf::from("ns3/out")];
    let program = std::env::current_exe().ok();
    let beside = program
        .as_deref()
        .and_then(Path::parent)
        .map(Path::to_path_buf);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = here
        .into_iter()
        .chain(beside)
        .chain(std::env::split_paths(&path));
    let found = folders
        .map(|folder| folder.join(name))
        .find(|file| file.is_file());
    found
        .and_then(|file| file.canonicalize().ok())
        .ok_or_else(|| "ns-3 program not built, build it with ns3/build".to_owned())
}

/// A short hash that distinguishes builds of this program.
fn build(program: &Path) -> Result<String> {
    let bytes = std::fs::read(program).context("cannot read this program's own file")?;
    let digest = Sha256::digest(&bytes);
    Ok(digest
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// The command without the name of the folder.
fn command(args: &ReproArgs) -> String {
    let mut words = vec!["weftline-lab repro".to_owned()];
    words.extend(args.figures.iter().map(|figure| output::quoted(figure)));
    words.join(" ") + &options(args) + " --out DIR"
}

/// The options that change numbers, each after a blank.
fn options(args: &ReproArgs) -> String {
    let quick = if args.quick { " --quick" } else { "" };
    format!("{quick} --seed {}", args.seed)
}

/// Number of points in the report, and the seconds that they took.
fn effort(points: &[Point], kept: &Kept) -> (usize, f64) {
    let mut commands: Vec<String> = points.iter().map(ToString::to_string).collect();
    commands.sort();
    commands.dedup();
    let seconds = commands.iter().map(|command| kept.seconds(command)).sum();
    (commands.len(), seconds)
}

fn write(folder: &Path, report: &Report<'_>) -> std::io::Result<()> {
    let data = folder.join("data");
    std::fs::create_dir_all(&data)?;
    for entry in &report.entries {
        if let Some(csv) = entry.csv() {
            std::fs::write(data.join(format!("{}.csv", entry.figure.id)), csv)?;
        }
    }
    std::fs::write(folder.join("table.md"), report.markdown())?;
    std::fs::write(folder.join("report.html"), repro::page(report))
}

fn tell(report: &Report<'_>, folder: &Path, output: OutputOptions) {
    let summaries = report.summaries();
    if output.json {
        output::print(json!({ "figures": summaries }));
    } else if !output.quiet {
        for one in &summaries {
            output::print(format_args!("{:<16} {}", one.figure, one.agreement));
        }
        output::print(format_args!(
            "report: {}",
            folder.join("report.html").display()
        ));
    }
}
