//! `weftline tun down`: lifts the kill switch, and removes what a killed tunnel left behind.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::system;
use crate::ui::{Exit, OutputOptions, output};

const EXAMPLES: &str = "\
Example:
  weftline tun down --name wl0

The tunnel must have ended. It removes rules and routes, puts the DNS servers of before back, and on
a server the settings for --masquerade.";

/// Lift the kill switch, and remove what a tunnel that was killed left behind
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DownArgs {
    /// Name of the tunnel's network device
    #[arg(long, value_name = "NAME", default_value = "wl0", value_parser = system::device_name)]
    name: String,
}

/// Runs the command.
///
/// # Errors
/// The tunnel is up, or the system refuses it.
pub(super) fn run(args: &DownArgs, options: OutputOptions) -> Result<Exit> {
    let removed = system::forget(&args.name)?;
    if options.json {
        let object = json!({
            "command": "tun",
            "end": "down",
            "event": "end",
            "ok": true,
            "exit": Exit::Ok.code(),
            "removed": removed,
        });
        output::print(object);
    } else if !options.quiet {
        output::line(match removed {
            true => "removed what the tunnel left",
            false => "there was nothing to remove",
        });
    }
    Ok(Exit::Ok)
}
