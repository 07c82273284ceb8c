//! `weftline-lab bench`: measures the speed of this machine, beside other libraries.

mod codec;

use anyhow::Result;
use clap::{Args, Subcommand};
use weftline_cli::ui::{Exit, OutputOptions};

/// Measure the speed of this machine, beside other libraries
#[derive(Args, Clone, Debug)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    Codec(codec::CodecArgs),
}

/// Runs the command.
///
/// # Errors
/// As the benchmark says.
pub(crate) fn run(args: &BenchArgs, output: OutputOptions) -> Result<Exit> {
    match &args.what {
        What::Codec(args) => codec::run(args, output),
    }
}
