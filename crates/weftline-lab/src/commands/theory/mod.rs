//! `weftline-lab theory`: the papers' formulas.

mod bianchi;
mod block;
mod fecframe;
mod rest;
mod rlnc;
pub(crate) mod show;
mod streaming;

use anyhow::Result;
use clap::{Args, Subcommand};
use weftline_cli::ui::{Exit, Failure, OutputOptions};
use weftline_papers::theory::TheoryError;

/// Compute the papers' formulas, with their errors corrected
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "docs/reference/theory.md gives each formula in words, and the papers' version where it differs."
)]
pub(crate) struct TheoryArgs {
    #[command(subcommand)]
    formula: Formula,
}

#[derive(Clone, Debug, Subcommand)]
enum Formula {
    Streaming(streaming::StreamingArgs),
    Block(block::BlockArgs),
    Rlnc(rlnc::RlncArgs),
    Bianchi(bianchi::BianchiArgs),
    Fecframe(fecframe::FecframeArgs),
    Rest(rest::RestArgs),
}

/// Runs the command.
///
/// # Errors
/// The options have no result; the message gives the reason.
pub(crate) fn run(args: &TheoryArgs, output: OutputOptions) -> Result<Exit> {
    let computed = match &args.formula {
        Formula::Streaming(args) => streaming::compute(args),
        Formula::Block(args) => block::compute(args),
        Formula::Rlnc(args) => rlnc::compute(args),
        Formula::Bianchi(args) => bianchi::compute(args),
        Formula::Fecframe(args) => fecframe::compute(args),
        Formula::Rest(args) => rest::compute(args),
    };
    computed.map_err(refused)?.print(output);
    Ok(Exit::Ok)
}

fn refused(error: TheoryError) -> Failure {
    Failure::usage(error.to_string())
}
