//! `weftline top`

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::Value;

use super::{local, table};
use crate::options::stats;
use crate::ui::stop::stop;
use crate::ui::{Exit, OutputOptions, output};

/// Clears the terminal from the top left corner on.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Show what the running commands of this host do, again and again
#[derive(Args, Clone, Debug)]
#[command(after_help = "Ctrl-C ends it. With --json it prints a line for each command each time.")]
pub(crate) struct TopArgs {
    /// Time between two looks
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = stats)]
    every: Duration,
}

/// Runs the command.
///
/// # Errors
/// None.
pub(crate) async fn run(args: TopArgs, output: OutputOptions) -> Result<Exit> {
    let mut ticks = tokio::time::interval(args.every);
    let mut before: Vec<Value> = Vec::new();
    let looking = async {
        loop {
            ticks.tick().await;
            let Ok(now) = tokio::task::spawn_blocking(local::running).await else {
                return;
            };
            if output.json {
                now.iter().for_each(output::print);
            } else {
                let table = table::table(&now, &before);
                let mut out = std::io::stdout().lock();
                // A reader that has closed the pipe wants no more output.
                if write!(out, "{CLEAR}{table}")
                    .and_then(|()| out.flush())
                    .is_err()
                {
                    return;
                }
            }
            before = now;
        }
    };
    tokio::select! {
        () = looking => {}
        _ = stop() => {}
    }
    Ok(Exit::Ok)
}
