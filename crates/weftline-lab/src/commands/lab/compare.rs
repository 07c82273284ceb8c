//! `weftline-lab compare`.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use crate::commands::links::{pairs, several};
use crate::compare::{
    Ended, LinkText, Peer, Progress, Record, Results, RunError, Runs, Scale, SessionError, Suite,
    Tools, markdown, page, session, suites,
};
use crate::recordings::{self, GENERATED, Recording};
use anyhow::{Context, Result, anyhow, bail};
use weftline_cli::ui::{Exit, OutputOptions, output};
use weftline_emulator::{PathError, Stop};

use super::CompareArgs;
use super::signals::Signals;

/// Runs a suite, or lists them.
pub(super) fn run(args: &CompareArgs, output: OutputOptions) -> Result<ExitCode> {
    if args.suite == "list" {
        list(args);
        return Ok(ExitCode::SUCCESS);
    }
    let (folder, _kept) = match &args.out {
        Some(folder) => (folder.clone(), None),
        None if output.json && !args.report_only => {
            let kept = tempfile::tempdir().context("no folder for the runs")?;
            (kept.path().to_owned(), Some(kept))
        }
        None => bail!("--out DIR is needed: the folder for the runs and the report"),
    };
    let folder = folder.as_path();
    if args.report_only {
        report(&Runs::read(folder)?, folder, true, output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let scale = Scale {
        quick: args.quick,
        secs: args.secs,
    };
    let suite = suite(args, scale, folder)?;
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let tools = Tools::new(program, args.ext.clone(), folder);
    let suite = with_cases(suite, args)?;
    let suite = with_peers(suite, args, &tools, output)?;
    let seeds = args.seeds.unwrap_or(suite.seeds);
    // From here on a signal must not end the process before everything is removed.
    let signals = Signals::listen()?;
    let mut runs = Runs::open(folder)?;
    if !output.quiet {
        let minutes = suite.about_secs(seeds) / 60.0;
        output::line(&format!(
            "suite {} ({}): {} cases, {seeds} seeds, about {minutes:.0} min in all; {}",
            suite.name,
            suite.title,
            suite.cases.len(),
            match &args.out {
                Some(folder) => format!("runs are kept in {}", folder.join(Runs::NAME).display()),
                None => "runs are not kept".to_owned(),
            }
        ));
    }
    let mut stopped = None;
    let mut stop = || {
        stopped = stopped.or_else(|| signals.received());
        stopped.is_some()
    };
    let mut tell = |progress: &Progress<'_>| {
        if !output.quiet {
            tell(progress);
        }
    };
    let ended = session(&suite, seeds, &tools, &mut runs, &mut stop, &mut tell);
    report(runs.records(), folder, args.out.is_some(), output)?;
    let ended = ended.map_err(|error| match error {
        SessionError::Run(RunError::Path(
            error @ (PathError::NotRoot | PathError::NoTun { .. }),
        )) => {
            anyhow!("{error}; `weftline demo` shows a lossy path without any of this")
        }
        error => error.into(),
    })?;
    if ended == Ended::Stopped {
        output::line("stopped: run the same command again to continue");
    }
    Ok(match (ended, stopped) {
        (Ended::Complete, _) => ExitCode::SUCCESS,
        (_, Some(Stop::Terminate)) => Exit::Terminated.into(),
        (_, _) => Exit::Interrupted.into(),
    })
}

/// Writes the report of all kept runs, and prints it as JSON.
fn report(records: &[Record], folder: &Path, is_kept: bool, output: OutputOptions) -> Result<()> {
    let results = Results::of(records);
    if results.suites.is_empty() {
        output::line("there are no runs: no report was written");
        return Ok(());
    }
    let json = serde_json::to_string(&results)?;
    let files = [
        (
            "report.html",
            page(&results, &output::quoted_command("weftline-lab", "")),
        ),
        ("table.md", markdown(&results)),
        ("results.json", format!("{json}\n")),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        // A reader of the report must see the old or the new one, so it is replaced as a whole.
        let new = folder.join(format!("{name}.new"));
        let write = || std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path));
        write().with_context(|| path.display().to_string())?;
    }
    if output.json {
        output::print(json);
    }
    if !output.quiet && is_kept {
        let place = folder.join("report.html");
        output::line(&format!(
            "report: {}, with table.md and results.json beside it",
            place.display()
        ));
    }
    Ok(())
}

/// The recordings of `--traces`, if it is given; those that are generated are written into `folder`.
fn recordings(args: &CompareArgs, folder: &Path) -> Result<Option<Vec<Recording>>> {
    let traces = match &args.traces {
        Some(name) if name == Path::new(GENERATED) => {
            let folder = folder.join("traces");
            recordings::generate::write(&folder)?;
            folder
        }
        Some(folder) => folder.clone(),
        None => return Ok(None),
    };
    Ok(Some(recordings::open(&traces)?))
}

/// The suite that needs recordings.
fn recorded(args: &CompareArgs, scale: Scale, folder: &Path) -> Result<Suite> {
    match recordings(args, folder)? {
        Some(recordings) => Ok(suites::recorded(&recordings, scale)),
        None => bail!(
            "{} needs --traces FOLDER: recorded links, NAME.trace each in mahimahi's format (with NAME.delay, \
             a one-way delay in ms for each 10 ms), or --traces generated",
            suites::RECORDED
        ),
    }
}

/// The named suite, or that of the user's own path.
fn suite(args: &CompareArgs, scale: Scale, folder: &Path) -> Result<Suite> {
    if args.suite.eq_ignore_ascii_case(suites::RECORDED) && args.link.is_empty() {
        return recorded(args, scale, folder);
    }
    if args.suite.eq_ignore_ascii_case(suites::PATHS) && args.link.is_empty() {
        let recordings = recordings(args, folder)?.unwrap_or_default();
        return Ok(suites::paths(&recordings, scale));
    }
    if args.traces.is_some() {
        bail!("--traces is for `compare R` and `compare M`");
    }
    // What cannot be read is told before anything runs.
    several(None, &args.link, &args.back)?;
    match (args.suite == suites::OWN, &args.link[..], &args.load) {
        (true, [_, ..], Some(load)) => {
            let links: Vec<LinkText> = pairs(&args.link, &args.back)
                .map(|(link, back)| LinkText {
                    link: link.to_owned(),
                    back: back.map(str::to_owned),
                })
                .collect();
            Ok(suites::own(&links, load)?)
        }
        (true, ..) => bail!("own needs --link LINK and --load WORKLOAD"),
        (false, [], None) => suites::by_name(&args.suite, scale).ok_or_else(|| {
            anyhow!(
                "there is no suite `{}`: use one of {}, {}, {}, own, or list",
                args.suite,
                suites::NAMES.join(", "),
                suites::RECORDED,
                suites::PATHS
            )
        }),
        (false, ..) => bail!("--link and --load are for `compare own`"),
    }
}

/// The chosen cases.
fn with_cases(suite: Suite, args: &CompareArgs) -> Result<Suite> {
    if args.cases.is_empty() {
        return Ok(suite);
    }
    let suite = suite.keep_cases(&args.cases);
    if suite.cases.is_empty() {
        bail!(
            "--cases: suite {} has no case with `{}` in its name: `weftline-lab compare list` shows them",
            suite.name,
            args.cases.join("` or `")
        );
    }
    Ok(suite)
}

/// The chosen peers, which must all be available, or the suite's peers that are.
fn with_peers(
    suite: Suite,
    args: &CompareArgs,
    tools: &Tools,
    output: OutputOptions,
) -> Result<Suite> {
    if let Some(peers) = &args.peers {
        let suite = suite.with_peers(&Peer::list(peers)?);
        if args.skip_missing {
            return available(suite, tools, output);
        }
        for case in &suite.cases {
            for peer in &case.peers {
                tools
                    .check(case, peer)
                    .with_context(|| format!("--peers: {peer}"))?;
            }
        }
        return Ok(suite);
    }
    // A program of the user's is given in order to be compared.
    let mut suite = suite;
    for ext in &args.ext {
        let peer: Peer = ext.name.parse().context("--ext")?;
        for case in suite
            .cases
            .iter_mut()
            .filter(|case| !case.peers.contains(&peer))
        {
            case.peers.push(peer.clone());
        }
    }
    available(suite, tools, output)
}

/// The suite with the peers that can run here; the reasons of the others are told.
fn available(suite: Suite, tools: &Tools, output: OutputOptions) -> Result<Suite> {
    let mut told: Vec<String> = Vec::new();
    let suite = suite.keep_peers(|case, peer| match tools.check(case, peer) {
        Ok(()) => true,
        Err(missing) => {
            let line = format!("skipped: {peer}: {missing}");
            if !output.quiet && !told.contains(&line) {
                output::line(&line);
                told.push(line);
            }
            false
        }
    });
    if suite.cases.is_empty() {
        bail!("none of the suite's peers can run here: see the reasons above, or give --peers");
    }
    Ok(suite)
}

/// Prints the purpose of each suite, its links and its peers.
fn list(args: &CompareArgs) {
    let scale = Scale {
        quick: args.quick,
        secs: args.secs,
    };
    for suite in suites::NAMES
        .iter()
        .chain([&suites::RECORDED, &suites::PATHS])
        .filter_map(|name| suites::by_name(name, scale))
    {
        if suite.cases.is_empty() {
            output::print(format_args!(
                "{} - {} (--traces FOLDER)\n  {}\n",
                suite.name, suite.title, suite.about
            ));
            continue;
        }
        let minutes = suite.about_secs(suite.seeds) / 60.0;
        output::print(format_args!(
            "{} - {} ({} seeds, about {minutes:.0} min)\n  {}",
            suite.name, suite.title, suite.seeds, suite.about
        ));
        let mut links: Vec<String> = Vec::new();
        for case in &suite.cases {
            let more = case.more.iter().map(|more| &more.link);
            let texts: Vec<&str> = [&case.link]
                .into_iter()
                .chain(more)
                .map(String::as_str)
                .collect();
            let text = texts.join(" and ");
            if !links.contains(&text) {
                links.push(text);
            }
        }
        for link in links {
            output::print(format_args!("  link   {link}"));
        }
        for case in &suite.cases {
            output::print(format_args!(
                "  case   {}: {} {}",
                case.name,
                case.mode.name(),
                case.settings.join(" ")
            ));
        }
        let peers: Vec<String> = suite.peers().iter().map(Peer::to_string).collect();
        output::print(format_args!("  peers  {}\n", peers.join(" ")));
    }
}

/// Prints a line of progress.
fn tell(progress: &Progress<'_>) {
    let what = &progress.job.what;
    let name = format!(
        "[{}/{}] {}, {}, seed {}",
        progress.done, progress.all, what.case, what.peer, what.seed
    );
    match progress.record {
        Some(record) => {
            let again = if progress.again { "; repeated" } else { "" };
            output::line(&format!(
                "{name}: {}{again}; {} left",
                outcome(record),
                time(progress.left)
            ));
        }
        // Without a terminal, finished runs are enough.
        None if std::io::stderr().is_terminal() => output::line(&format!("{name} ...")),
        None => {}
    }
}

/// The result of a run in a few words.
fn outcome(record: &Record) -> String {
    if let Some(problem) = record.problem() {
        return format!("INVALID ({problem})");
    }
    format!("{:.1} s", record.seconds)
}

/// Seconds or minutes, for people.
fn time(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{seconds:.0} s"),
        _ => format!("{:.0} min", seconds / 60.0),
    }
}
