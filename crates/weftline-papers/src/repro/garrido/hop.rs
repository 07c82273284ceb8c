//! Figs 5, 6 and 7: one hop of 802.11b.

mod latency;
mod lossy;
mod size;

pub(super) use latency::blocks;
pub(super) use lossy::over_fer;
pub(super) use size::over_size;

use super::stations::Runs;
use crate::repro::picture::Dot;
use crate::repro::{Missing, Point, Scale, Values, over_runs};

/// Bytes of an engine's IP packet: its symbols have at most 1400.
const PACKET: u32 = 1440;
/// Mbit/s of such packets that one hop of 802.11b carries: `theory bianchi --transmissions 1
/// --basic-rate 11 --payload 1440`. The engine's link has this rate.
const CARRIED: f64 = 6.262;
/// Bytes of the file that the engine carries.
const FILE: f64 = 5e6;
/// Bytes of headers in an engine's packet besides IP's and UDP's and the coding vector or seed: the
/// repair's (18, docs/protocol.md section 3.2) and a coded symbol's length (2).
const ENGINE: u32 = 20;

/// One hop in ns-3.
fn ns3(options: &str, fer: f64, runs: Runs, scale: Scale) -> Point {
    let fer = match fer {
        0.0 => String::new(),
        fer => format!(" --fer={fer}"),
    };
    runs.of(&format!("hop {options}{fer}"), scale).optional()
}

/// The paper's protocol in ns-3.
fn rlc(k: u32, q: u32, header: &str) -> String {
    format!("--protocol=rlc --q={q} --k={k} --header={header}")
}

/// Bytes of the coding vector, or of the seed in its place.
fn coefficients(k: u32, q: u32, header: &str) -> u32 {
    match header {
        "seed" => 4,
        _ => (k * q).div_ceil(8),
    }
}

/// The engine's setting for packets of this size: a datagram is 21 bytes longer than a symbol that it
/// agrees to, and its symbols are shorter where a header is longer.
const AGREED: u32 = PACKET - 28 - 21;

/// Bytes of an engine's symbol that fills a packet.
fn symbol(k: u32, q: u32, header: &str) -> u32 {
    PACKET - 28 - ENGINE - coefficients(k, q, header)
}

/// The engine with its preset on a link like the hop: packets at the pace of the MAC, and a way back
/// on which an acknowledgement takes as long as on air. It carries a file.
fn engine(k: u32, q: u32, header: &str, fer: f64, scale: Scale) -> Point {
    let (seeds, seed) = (scale.pick(2, 5), scale.seed);
    let loss = match fer {
        0.0 => String::new(),
        fer => format!(" loss=iid:{}%", (100.0 * fer).round()),
    };
    Point::lab(&format!(
        "sim engine preset=rlc-block k={k} field={} header={header} symbol={AGREED} send_buffer=1000000 \
         fixed_rate={CARRIED} --link 'rate={CARRIED}mbit delay=0.4ms queue=50ms{loss}' --back 'rate={CARRIED}mbit delay=0.4ms \
         queue=50ms' --app file:5MB --seeds {seeds} --seed {seed}",
        1_u32 << q
    ))
    .about_secs(0.12 * f64::from(seeds) + 0.02)
}

/// The model in slots with the engine's packets.
fn like_engine(k: u32, q: u32, header: &str, fer: f64, scale: Scale) -> Point {
    let (blocks, seed) = (scale.pick(4_000, 20_000), scale.seed);
    // The code's own header has 9 bytes and the vector or seed.
    let other = 28 + ENGINE - 9;
    Point::lab(&format!(
        "sim rlc-block --k {k} --q {q} --header {header} --payload {PACKET} --other-headers {other} --fer {fer} \
         --ack-fer 0 --basic-rate 11 --ack-bytes 40 --blocks {blocks} --seed {seed}"
    ))
    .about_secs(f64::from(blocks) * f64::from(k) * 4e-8 + 0.02)
}

/// The engine's throughput, Mbit/s.
fn carried(values: &Values, point: &Point, x: f64) -> Result<Dot, Missing> {
    let missing = || Missing::Key {
        point: point.to_string(),
        key: "runs/N/result/completion_s".to_owned(),
    };
    let object = values.object(point)?;
    let runs = object.get("runs").and_then(|runs| runs.as_array());
    let rates = runs.into_iter().flatten().map(|run| {
        let seconds = run.pointer("/result/completion_s").and_then(|s| s.as_f64());
        Ok(8e-6 * FILE / seconds.ok_or_else(missing)?)
    });
    let (y, stderr) = over_runs(&rates.collect::<Result<Vec<f64>, Missing>>()?);
    Ok(Dot { x, y, stderr })
}

/// A model's throughput, Mbit/s.
fn throughput(values: &Values, point: &Point, x: f64) -> Result<Dot, Missing> {
    Ok(Dot {
        x,
        y: values.number(point, "throughput_mbit")?,
        stderr: values.number(point, "stderr")?,
    })
}

/// Why the engine's throughput is not that of a model in slots: packets that each sends for a block,
/// and the engine's queue.
fn engine_reason(
    values: &Values,
    engine: &Point,
    slots: &Point,
    k: u32,
) -> Result<String, Missing> {
    let sent = f64::from(k) * values.number(engine, "runs/0/result/repair_share")?;
    let needed = values.number(slots, "transmissions/mean")?;
    let queue = values.number(engine, "runs/0/result/queue_ms/0")?;
    Ok(format!(
        "the engine sends {sent:.1} packets for a block of {k} where the model sends {needed:.1}: packets of a decoded \
         block wait at its link (median {queue:.1} ms) and leave while the acknowledgement is on its way, in whose time \
         the model sends nothing"
    ))
}
