//! `weftline-lab theory bianchi`.

use clap::{Args, ValueEnum};
use weftline_papers::theory::TheoryError;
use weftline_papers::theory::dcf::{Cell, block_ms, goodput};
use weftline_papers::theory::rlnc::{Rlnc, Vectors};

use super::show::Computed;

const HELP: &str = "\
Basic access (no RTS/CTS). A frame that is not acknowledged, after a collision or an error, occupies
the channel as long as an acknowledged one.

Examples:
  weftline-lab theory bianchi
  weftline-lab theory bianchi --stations 2 --transmissions 1 --fer 0.3
  weftline-lab theory bianchi --transmissions 1 --symbols 128 --q 8      goodput of the block code over it";

/// Saturation throughput of IEEE 802.11b's DCF (Bianchi), and a block code's goodput over it
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct BianchiArgs {
    /// Stations that always have a frame to send
    #[arg(long, value_name = "N", default_value_t = 1)]
    stations: u32,
    /// Bytes of the IP packet in a frame
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    payload: u32,
    /// Rate of frames, Mbit/s
    #[arg(long, value_name = "MBIT", default_value_t = 11.0)]
    rate: f64,
    /// Rate of acknowledgements, Mbit/s
    #[arg(long, value_name = "MBIT", default_value_t = 1.0)]
    basic_rate: f64,
    /// DSSS preamble and header: 192 us long, 96 us short
    #[arg(long, value_enum, default_value_t = Preamble::Long)]
    preamble: Preamble,
    /// Bytes around the packet: MAC header, check sequence, LLC/SNAP
    #[arg(long, value_name = "BYTES", default_value_t = 36)]
    mac_overhead: u32,
    /// Slots of the first contention window
    #[arg(long, value_name = "SLOTS", default_value_t = 32)]
    window: u32,
    /// Number of times the window doubles
    #[arg(long, value_name = "N", default_value_t = 5)]
    stages: u32,
    /// Most transmissions of a frame [default: until it arrives, as in Bianchi's model]
    #[arg(long, value_name = "N")]
    transmissions: Option<u32>,
    /// Frame error rate of the channel
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    fer: f64,
    /// Slot time, us
    #[arg(long, value_name = "US", default_value_t = 20.0)]
    slot: f64,
    /// SIFS, us
    #[arg(long, value_name = "US", default_value_t = 10.0)]
    sifs: f64,
    /// DIFS, us
    #[arg(long, value_name = "US", default_value_t = 50.0)]
    difs: f64,
    /// Propagation, us
    #[arg(long, value_name = "US", default_value_t = 1.0)]
    propagation: f64,
    /// Goodput of a block code: source packets of a block (K)
    #[arg(long, value_name = "K")]
    symbols: Option<u32>,
    /// Its coefficients are in GF(2^Q)
    #[arg(long, value_name = "Q", default_value_t = 8, requires = "symbols")]
    q: u32,
    /// The header of its packets
    #[arg(long, value_enum, default_value_t = Header::Seed, requires = "symbols")]
    header: Header,
    /// Bytes of IP, UDP and other headers in the packet, without its own
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "symbols")]
    other_headers: u32,
    /// Duration of a block's acknowledgement, in packets
    #[arg(long, value_name = "N", default_value_t = 1.0, requires = "symbols")]
    ack: f64,
    /// The same by the length of the acknowledgement, an IP packet of this many bytes
    #[arg(
        long,
        value_name = "BYTES",
        requires = "symbols",
        conflicts_with = "ack"
    )]
    ack_bytes: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Preamble {
    Long,
    Short,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Header {
    Seed,
    Vector,
}

pub(super) fn compute(args: &BianchiArgs) -> Result<Computed, TheoryError> {
    let cell = Cell {
        stations: args.stations,
        payload: args.payload,
        rate_mbit: args.rate,
        basic_rate_mbit: args.basic_rate,
        preamble_us: match args.preamble {
            Preamble::Long => 192.0,
            Preamble::Short => 96.0,
        },
        mac_overhead: args.mac_overhead,
        window: args.window,
        stages: args.stages,
        transmissions: args.transmissions,
        fer: args.fer,
        slot_us: args.slot,
        sifs_us: args.sifs,
        difs_us: args.difs,
        propagation_us: args.propagation,
        ..Cell::default()
    };
    let found = cell.saturation()?;
    let mut out = Computed::default();
    out.value(
        "throughput_mbit",
        found.throughput_mbit,
        "Mbit/s of IP packets, all stations together",
    )
    .value(
        "transmission_probability",
        found.transmission_probability,
        "probability that a station sends in a slot, tau",
    )
    .value(
        "collision_probability",
        found.collision_probability,
        "probability that a frame collides, p",
    )
    .value(
        "success_us",
        found.success_us,
        "us for a frame and its overhead",
    )
    .value(
        "collision_us",
        found.collision_us,
        "us for a frame without an acknowledgement",
    )
    .value("dropped", found.dropped, "share of packets given up");
    if let Some(symbols) = args.symbols {
        let code = Rlnc::new(args.q, symbols, Vectors::NonZero)?;
        let own = match args.header {
            Header::Seed => code.seed_header(),
            Header::Vector => code.vector_header(),
        };
        let header = own.saturating_add(args.other_headers);
        let ack = match args.ack_bytes {
            Some(bytes) => cell.packet_ms(bytes)? / cell.packet_ms(args.payload)?,
            None => args.ack,
        };
        let goodput = goodput(&cell, &code, header, ack)?;
        let block = block_ms(&cell, &code, ack)?;
        let payload = 8e-3 * f64::from(symbols) * f64::from(args.payload - header);
        out.value("header_bytes", header, "bytes of headers in each packet")
            .value(
                "goodput_mbit",
                goodput,
                "Mbit/s of the block code's payload (Garrido, eq. 6)",
            )
            .value("ack_packets", ack, "packets that an acknowledgement lasts")
            .value(
                "excess_ratio",
                code.excess_ratio(),
                "share of excess packets, epsilon (eq. 4)",
            )
            .value(
                "ack_penalty",
                code.ack_penalty(ack),
                "share of time spent waiting for the ack (eq. 5, packets)",
            )
            .hidden("printed_ack_penalty", code.printed_ack_penalty(ack))
            .value(
                "block_ms",
                block,
                "ms from block to block, acknowledgements not lost",
            )
            .value(
                "block_mbit",
                payload / block,
                "Mbit/s of payload at that pace",
            )
            .value(
                "block_bytes",
                symbols * (args.payload - header),
                "bytes of payload in a block",
            );
    }
    Ok(out)
}
