//! `weftline-lab sim rlc-block`.

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::json;
use weftline_cli::ui::{Exit, Failure, OutputOptions};
use weftline_papers::sim::slots::rlc_block::{Header, RlcBlock};
use weftline_papers::sim::slots::worked_example::{LARGEST, WorkedExample};
use weftline_papers::theory::dcf::Cell;

use super::common::{CodeName, RunOptions};
use crate::commands::theory::show::{Computed, short};
use weftline_sim::first_repair::first_repair;
use weftline_sim::schemes;

const HELP: &str = "\
One hop of 802.11b, 11 Mbit/s, 1500-byte packets, each sent once by the MAC.

Examples:
  weftline-lab sim rlc-block --k 256 --q 8
  weftline-lab sim rlc-block --k 128 --q 8 --header vector
  weftline-lab sim rlc-block --k 64 --q 1 --fer 0.3 --code real
  weftline-lab sim rlc-block --k 64 --q 1 --fer 0.3 --ack-fer 0
  weftline-lab sim rlc-block --k 3 --q 1 --fer 0.3 --example      one block, step by step
  weftline-lab sim rlc-block --k 64 --q 1 --datagrams             the headers that the engine sends";

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
    /// Frame error rate
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    fer: f64,
    /// Frame error rate of acknowledgements [default: that of packets]
    #[arg(long, value_name = "P")]
    ack_fer: Option<f64>,
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
    /// Rate of the MAC's acknowledgements, Mbit/s
    #[arg(long, value_name = "MBIT", default_value_t = 1.0)]
    basic_rate: f64,
    /// Ideal, or coded and compared
    #[arg(long, value_enum, default_value_t = CodeName::Genie)]
    code: CodeName,
    /// Blocks
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    blocks: u64,
    /// Code and decode one block of at most 16 packets of 4 bytes, and show every step
    #[arg(long)]
    example: bool,
    /// Show the headers of the first repairs that the engine sends with preset rlc-block
    #[arg(long, conflicts_with = "example")]
    datagrams: bool,
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
    if args.datagrams {
        return datagrams(args, output);
    }
    let model = RlcBlock {
        cell: Cell {
            fer: args.fer,
            payload: args.payload,
            basic_rate_mbit: args.basic_rate,
            ..Cell::default()
        },
        ack_fer: args.ack_fer.unwrap_or(args.fer),
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

/// Bytes of a packet of the example.
const EXAMPLE_BYTES: u32 = 4;

fn example(args: &RlcBlockArgs, output: OutputOptions) -> Result<Exit> {
    let example = WorkedExample {
        k: args.k,
        q: args.q,
        bytes: EXAMPLE_BYTES,
        fer: args.fer,
        seed: args.run.seed(),
    };
    let shown = example.run().map_err(|error| {
        let message = format!("{error}; an example has at most {LARGEST} packets");
        Failure::usage(message)
    })?;
    let mut out = Computed::default();
    out.hidden("k", args.k)
        .hidden("q", args.q)
        .hidden("fer", args.fer)
        .hidden("seed", args.run.seed())
        .all(&shown);
    for (index, source) in shown.source.iter().enumerate() {
        out.line(format!("packet {index} is {source}"));
    }
    for packet in &shown.packets {
        let fate = match (packet.received, packet.innovative) {
            (false, _) => "lost",
            (true, false) => "received, depends on the others",
            (true, true) => "received",
        };
        let (vector, coded) = (&packet.row.vector, &packet.row.coded);
        out.line(format!(
            "seed {:08x}: {vector:02x?} makes {coded}: {fate}; rank {}",
            packet.key, packet.rank
        ));
        for row in &packet.system {
            out.line(format!("    {:02x?} is {}", row.vector, row.coded));
        }
    }
    out.print(output);
    Ok(Exit::Ok)
}

fn datagrams(args: &RlcBlockArgs, output: OutputOptions) -> Result<Exit> {
    let mut out = Computed::default();
    out.hidden("k", args.k).hidden("q", args.q);
    for header in ["seed", "vector"] {
        let settings = [
            "preset=rlc-block".to_owned(),
            format!("k={}", args.k),
            format!("field={}", 1_u32 << args.q.min(31)),
            format!("header={header}"),
        ];
        let config = schemes::read(&settings).map_err(|e| Failure::usage(e.to_string()))?;
        let parts =
            first_repair(&config, args.run.seed()).map_err(|e| Failure::usage(e.to_string()))?;
        let parts = parts.ok_or_else(|| Failure::usage("the engine sent no repair".to_owned()))?;
        out.line(format!("header with the {header}:"));
        for part in &parts {
            out.line(format!("{:>6} {:<14} {}", part.bytes, part.name, part.hex));
        }
        out.hidden(header, json!(parts));
    }
    out.print(output);
    Ok(Exit::Ok)
}
