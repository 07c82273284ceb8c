//! Many sessions on one endpoint: Weftline beside bare quinn with the same settings of TLS.
//!
//! `cargo bench -p weftline --bench crowd -- --sessions 1000 --rate 10 --bytes 100` connects that many
//! sessions from one process to another, leaves them idle, lets each send messages, and leaves them
//! idle again. It prints what set-ups, idle sessions and messages cost in time and memory.

#[path = "../common/arguments.rs"]
mod arguments;
mod bare;
mod child;
#[path = "../common/endpoint.rs"]
mod endpoint;
#[path = "../common/measure.rs"]
mod measure;
mod options;
mod pair;
#[path = "../common/process.rs"]
mod process;
mod report;
mod tls;
mod traffic;
mod weft;

use anyhow::{Context, Result};

use options::Options;

fn main() -> Result<()> {
    if let Some(task) = process::task()? {
        return child::run(task);
    }
    let Some(options) = Options::parse(std::env::args().skip(1))? else {
        println!("{}", options::HELP);
        return Ok(());
    };
    let mut report = report::Report::new(&options);
    for round in 1..=options.rounds {
        for &engine in &options.engines {
            let run = pair::run(engine, &options.crowd)
                .with_context(|| format!("{engine:?}, round {round}"))?;
            report.add(engine, &run);
        }
    }
    print!("{report}");
    Ok(())
}
