//! `weftline-lab sim`: experiments in virtual time.

mod arq;
mod block;
mod common;
mod crowd;
mod engine;
mod fecframe;
mod paths;
mod rest;
mod rlc_block;
mod streaming;
mod traces;
mod udp_rc;

use anyhow::Result;
use clap::{Args, Subcommand};
use weftline_cli::ui::{Exit, OutputOptions};

/// Run experiments in virtual time: deterministic, and faster than the clock
///
/// `engine`, `paths` and `traces` run the real engine over links, `crowd` several flows of it over one; the
/// others are the papers' own models, with a packet in each slot (docs/reference/sim.md).
#[derive(Args, Debug)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    model: Model,
}

#[derive(Debug, Subcommand)]
enum Model {
    Engine(engine::EngineArgs),
    Crowd(crowd::CrowdArgs),
    Paths(paths::PathsArgs),
    Traces(traces::TracesArgs),
    Streaming(streaming::StreamingArgs),
    Block(block::BlockArgs),
    Arq(arq::ArqArgs),
    Rest(rest::RestArgs),
    #[command(name = "udp-rc")]
    UdpRc(udp_rc::UdpRcArgs),
    #[command(name = "rlc-block")]
    RlcBlock(rlc_block::RlcBlockArgs),
    Fecframe(Box<fecframe::FecframeArgs>),
}

/// Runs the command.
///
/// # Errors
/// The options are invalid; the message says which values are allowed.
pub(crate) fn run(args: &SimArgs, output: OutputOptions) -> Result<Exit> {
    match &args.model {
        Model::Engine(args) => engine::run(args, output),
        Model::Crowd(args) => crowd::run(args, output),
        Model::Paths(args) => paths::run(args, output),
        Model::Traces(args) => traces::run(args, output),
        Model::Streaming(args) => streaming::run(args, output),
        Model::Block(args) => block::run(args, output),
        Model::Arq(args) => arq::run(args, output),
        Model::Rest(args) => rest::run(args, output),
        Model::UdpRc(args) => udp_rc::run(args, output),
        Model::RlcBlock(args) => rlc_block::run(args, output),
        Model::Fecframe(args) => fecframe::run(args, output),
    }
}
