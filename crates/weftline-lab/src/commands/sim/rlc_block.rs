//! `weftline-lab sim rlc-block`.

use anyhow::Result;
use clap::{Args, ValueEnum};
use weftline_cli::ui::{Exit, Failure, OutputOptions};
use weftline_papers::sim::slots::rlc_block::{Header, RlcBlock};
use weftline_papers::sim::slots::rlc_example::RlcExample;
use weftline_papers::theory::dcf::Cell;

use super::common::{CodeName, RunOptions};
use crate::commands::theory::show::{Computed, short};

const HELP: &str = "\
One hop of 802.11b, 11 Mbit/s, 1500-byte packets, each sent once by the MAC.

Examples:
  weftline-lab sim rlc-block --k 256 --q 8
  weftline-lab sim rlc-block --k 128 --q 8 --header vector
  weftline-lab sim rlc-block --k 64 --q 1 --fer 0.3 --code real
  weftline-lab sim rlc-block --example --k 3 --q 8 --fer 0.3 --json";

/// Low-overhead block RLC in slots (Garrido et al.): combinations until the acknowledgement
/// arrives
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct RlcBlockArgs {
    /// Packets of a block (K), at most 256
    #[arg(long, value_name = "K", default_value_t = 64)]
    k: u32,
    /// Coefficients are in GF(2^Q)
    #[arg(long, value_name = "Q", default_value_t = 8)]
    q: u32,
    /// Frame error rate of packets and of acknowledgements
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    fer: f64,
    /// How a packet carries its coding vector
    #[arg(long, value_enum, default_value_t = HeaderName::Seed)]
    header: HeaderName,
    /// Bytes of other headers in a packet (IP and UDP: 28)
    #[arg(long, value_name = "BYTES", default_value_t = 28)]
    other_headers: u32,
    /// Bytes of an acknowledgement
    #[arg(long, value_name = "BYTES", default_value_t = 41)]
    ack_bytes: u32,
    /// Bytes of a packet
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    payload: u32,
    /// Ideal, or coded and compared
    #[arg(long, value_enum, default_value_t = CodeName::Genie)]
    code: CodeName,
    /// Blocks
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    blocks: u64,
    /// Show one block of at most 16 packets, packet by packet: coding vectors, combinations, and the
    /// receiver's equations after each (docs/reference/event-log.md)
    #[arg(long, conflicts_with_all = ["header", "other_headers", "ack_bytes", "payload", "code", "blocks", "threads"])]
    example: bool,
    #[command(flatten)]
    run: RunOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HeaderName {
    /// A seed of 4 bytes that determines the vector
    Seed,
    /// The vector: K q bits
    Vector,
}

pub(super) fn run(args: &RlcBlockArgs, output: OutputOptions) -> Result<Exit> {
    if args.example {
        return example(args, output);
    }
    let model = RlcBlock {
        cell: Cell {
            fer: args.fer,
            payload: args.payload,
            ..Cell::default()
        },
        k: args.k,
        q: args.q,
        code: args.code.into(),
        header: match args.header {
            HeaderName::Seed => Header::Seed,
            HeaderName::Vector => Header::Vector,
        },
        other_headers: args.other_headers,
        ack_bytes: args.ack_bytes,
        blocks: args.blocks,
        seed: args.run.seed(),
    };
    let (outcome, _) = args
        .run
        .run(output, |threads, progress| model.run(threads, progress))?;
    let mut out = Computed::default();
    out.hidden("k", args.k)
        .hidden("q", args.q)
        .hidden("fer", args.fer)
        .hidden("seed", args.run.seed())
        .all(&outcome);
    let (throughput, stderr) = (short(outcome.throughput_mbit), short(outcome.stderr));
    out.line(format!("{throughput:>14}  Mbit/s of payload, +- {stderr}"))
        .tell(
            outcome.limit_mbit,
            "Mbit/s of IP packets carried by the cell, S (1-FER)",
        )
        .line(format!(
            "{:>14}  ms from block to block (standard deviation {})",
            short(outcome.latency_ms.mean),
            short(outcome.latency_ms.spread)
        ))
        .tell(outcome.transmissions.mean, "packets sent for each block")
        .tell(
            outcome.receptions.mean,
            "packets received until the block is decoded",
        )
        .line(format!(
            "{:>14}  bytes of headers in a packet",
            outcome.header_bytes
        ));
    out.print(output);
    Ok(Exit::Ok)
}

/// Shows one block.
fn example(args: &RlcBlockArgs, output: OutputOptions) -> Result<Exit> {
    let example = RlcExample {
        k: args.k,
        q: args.q,
        fer: args.fer,
        seed: args.run.seed(),
    };
    let example = example
        .run()
        .map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    let mut out = Computed::default();
    out.hidden("fer", args.fer)
        .hidden("seed", args.run.seed())
        .all(&example);
    for (index, source) in example.sources.iter().enumerate() {
        out.line(format!("source {index}:  {source:02x?}"));
    }
    for packet in &example.packets {
        let fate = match packet.useful {
            None => "lost",
            Some(true) => "innovative",
            Some(false) => "redundant",
        };
        let (number, rank) = (packet.packet, packet.rank);
        let (vector, data) = (&packet.vector, &packet.data);
        out.line(format!(
            "packet {number}:  {vector:02x?} {data:02x?}  {fate}, rank {rank}"
        ));
        for equation in &packet.equations {
            let (vector, data) = (&equation.vector, &equation.data);
            out.line(format!("    holds  {vector:02x?} {data:02x?}"));
        }
        for symbol in &packet.decoded {
            out.line(format!("    decodes source {symbol}"));
        }
    }
    out.print(output);
    Ok(Exit::Ok)
}
