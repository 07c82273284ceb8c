//! `weftline status`

use anyhow::Result;
use clap::Args;
use serde_json::Value;

use super::{local, table};
use crate::ui::{Exit, OutputOptions, output};

const HELP: &str = "\
It shows the commands of this user that stay: recv, relay, forward and others, with their sessions
and paths. With --json it prints what they count, a line for each command. Root sees the services
of the system.";

/// Show what the running commands of this host do
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(crate) struct StatusArgs {}

/// Runs the command.
///
/// # Errors
/// None: without a running command it says so.
pub(crate) fn run(_: &StatusArgs, output: OutputOptions) -> Result<Exit> {
    let running = local::running();
    if output.json {
        running.iter().for_each(output::print);
    } else {
        let nothing: Vec<Value> = Vec::new();
        output::print(table::table(&running, &nothing).trim_end());
    }
    Ok(Exit::Ok)
}
