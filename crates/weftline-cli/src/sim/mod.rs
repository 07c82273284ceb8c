//! `weftline sim`: experiments in virtual time.

mod engine;
mod fecframe;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::options::OutputOptions;

/// Run experiments in virtual time: deterministic, and faster than the clock
#[derive(Args, Debug)]
pub struct SimArgs {
    #[command(subcommand)]
    model: Model,
}

#[derive(Debug, Subcommand)]
enum Model {
    Engine(engine::EngineArgs),
    Fecframe(Box<fecframe::FecframeArgs>),
}

/// Runs the command.
///
/// # Errors
/// What was asked for makes no sense; the message says what would.
pub fn run(args: &SimArgs, output: OutputOptions) -> Result<Exit> {
    match &args.model {
        Model::Engine(args) => engine::run(args, output),
        Model::Fecframe(args) => fecframe::run(args, output),
    }
}
