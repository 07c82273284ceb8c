//! `weftline-lab bench`: measures the speed of this machine, beside other libraries, and the cost of monitoring.

mod codec;
#[cfg(target_os = "linux")]
mod monitoring;

use anyhow::Result;
use clap::{Args, Subcommand};
use weftline_cli::ui::{Exit, OutputOptions};

/// Measure the speed of this machine, beside other libraries, and the cost of monitoring
#[derive(Args, Clone, Debug)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    Codec(codec::CodecArgs),
    #[cfg(target_os = "linux")]
    Monitoring(monitoring::MonitoringArgs),
}

/// Runs the command.
///
/// # Errors
/// As the benchmark says.
pub(crate) fn run(args: &BenchArgs, output: OutputOptions) -> Result<Exit> {
    match &args.what {
        What::Codec(args) => codec::run(args, output),
        #[cfg(target_os = "linux")]
        What::Monitoring(args) => monitoring::run(args, output),
    }
}
