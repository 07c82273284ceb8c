//! A file over loopback: Weftline beside a bare quinn stream and bare quinn datagrams.
//!
//! `cargo bench -p weftline --bench loopback -- --mib 1024 --loss 0,5 --rounds 3` runs the engines
//! in turns, each as two processes of this program, and prints medians. Where Linux lets it, each
//! run has a network namespace of its own: there nftables drops packets at random, in both
//! directions alike, and the interface's counters tell what the run put on the wire.

#[path = "../common/arguments.rs"]
mod arguments;
mod bare;
mod child;
#[path = "../common/endpoint.rs"]
mod endpoint;
mod engine;
#[path = "../common/measure.rs"]
mod measure;
mod options;
mod pair;
mod ping;
#[path = "../common/process.rs"]
mod process;
mod profile;
mod report;
mod side;
mod weft;

use anyhow::{Context, Result};

use arguments::Form;
use engine::Wire;
use options::Options;
use pair::Namespaces;
use profile::Profile;
use side::Task;

fn main() -> Result<()> {
    if let Some(task) = process::task()? {
        return child::run(task);
    }
    let Some(options) = Options::parse(std::env::args().skip(1))? else {
        println!("{}", options::HELP);
        return Ok(());
    };
    match options.form {
        Form::Full => {}
        Form::Short => eprintln!("{}", options::SHORT_FORM),
        Form::Smoke => eprintln!("{}", options::SMOKE_FORM),
    }
    let report = measure(&options)?;
    match options.json {
        true => println!("{}", report.json()?),
        false => print!("{report}"),
    }
    Ok(())
}

fn measure(options: &Options) -> Result<report::Report> {
    let folder = tempfile::tempdir().context("no folder for the file that is sent")?;
    let source = folder.path().join("source");
    let destination = folder.path().join("copy");
    side::make_file(&source, options.mib << 20)?;
    let digest = side::digest(&source)?;
    let samples = options.profile.then(|| folder.path().join("samples"));
    if options.profile {
        profile::check()?;
    }
    let mut report = report::Report::new(options);

    let namespaces = Namespaces::find();
    if let Namespaces::Missing(reason) = &namespaces {
        weftline_testkit::unable("namespaces", reason);
        report.note(format!(
            "no bytes on the wire, and the MTU of this host: {reason}"
        ));
    }
    for round in 1..=options.rounds {
        for path in options.paths() {
            let Wire { mtu, loss } = path;
            if let (Namespaces::Missing(reason), true) = (&namespaces, loss > 0) {
                report.note(format!("{loss} % loss skipped: {reason}"));
                continue;
            }
            for &engine in &options.engines {
                let task = Task {
                    engine,
                    source: source.clone(),
                    destination: destination.clone(),
                    limit: options.limit,
                    ping: options.ping,
                };
                if options.ping.is_none() {
                    side::blank(&destination, options.mib << 20)?;
                }
                let run = pair::run(&task, path, &namespaces, samples.as_deref())
                    .with_context(|| format!("{} at {loss} % loss", engine.name()))?;
                if let Some(samples) = &samples {
                    report.profile(engine, path, Profile::read(samples)?);
                }
                if options.ping.is_none() && engine.is_reliable() && run.complete(options.mib << 20)
                {
                    let copied = side::digest(&destination)?;
                    anyhow::ensure!(copied == digest, "{}: the copy differs", engine.name());
                }
                let result = match run.trips {
                    Some(trips) => format!("{:.0} us there and back", trips.median),
                    None => format!("{:.0} Mbit/s", run.mbit_per_second()),
                };
                eprintln!(
                    "round {round}, {mtu} bytes, {loss} % loss, {}: {result}",
                    engine.name()
                );
                report.add(engine, path, run);
            }
        }
    }
    report.finish();
    Ok(report)
}
