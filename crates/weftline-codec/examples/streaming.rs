//! How fast a stream is encoded and decoded, in GB/s of source: one repair for
//! each ten source symbols over a sliding window, and losses of 0 to 20 %.
//!
//! ```sh
//! cargo run --release -p weftline-codec --example streaming -- [SYMBOL_BYTES]
//! ```

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use weftline_codec::kernel::Kernel;
use weftline_codec::{DecoderConfig, EncodingWindow, WindowDecoder, WindowEncoder};

/// The number of different payloads; the stream repeats them.
const PAYLOADS: usize = 256;
const SOURCES: usize = 20_000;
/// Source symbols for each repair.
const SPACING: usize = 10;
const HEADER: usize = 16;
const RUNS: usize = 5;

type Run<T> = Result<T, Box<dyn Error>>;

fn main() -> Run<()> {
    let sizes = match std::env::args().nth(1) {
        Some(size) => vec![size.parse()?],
        None => vec![64, 256, 1280, 8192],
    };
    println!("kernel {}, one repair in {SPACING}", Kernel::active());
    for size in sizes {
        let payloads: Vec<Vec<u8>> = (0..PAYLOADS)
            .map(|i| (0..size).map(|at| (at * 7 + i * 31) as u8).collect())
            .collect();
        for window in [64, 128, 256] {
            stream(&payloads, window)?;
        }
    }
    Ok(())
}

fn stream(payloads: &[Vec<u8>], window: usize) -> Run<()> {
    let size = payloads[0].len();
    let copy = median(|| Ok(copy(payloads, window)))?;
    let owned = median(|| in_order(payloads, window))?;
    let mut repairs = Vec::new();
    let encode = median(|| encode(payloads, window, &mut repairs))?;
    println!("{size} bytes, window {window}: GB/s of source (ns per symbol)");
    let show = |what: &str, seconds: f64, note: &str| {
        let rate = (SOURCES * size) as f64 / seconds / 1e9;
        let each = seconds / SOURCES as f64 * 1e9;
        println!("  {what:<24} {rate:>6.2} ({each:>6.1}){note}");
    };
    show("copied into a ring", copy, "");
    show("received in order, owned", owned, "");
    show("encoded", encode, "");
    for loss in [0, 1, 5, 10, 20] {
        let mut lost = 0;
        let decode = median(|| decode(payloads, window, &repairs, loss, &mut lost))?;
        let note = format!(", {lost} of {SOURCES} not recovered");
        show(&format!("decoded, {loss} % loss"), decode, &note);
    }
    Ok(())
}

fn median(mut run: impl FnMut() -> Run<f64>) -> Run<f64> {
    let mut seconds = (0..RUNS).map(|_| run()).collect::<Run<Vec<f64>>>()?;
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[RUNS / 2])
}

/// The cost of only copying the stream.
fn copy(payloads: &[Vec<u8>], window: usize) -> f64 {
    let mut ring: Vec<Vec<u8>> = vec![payloads[0].clone(); window + 1];
    let start = Instant::now();
    let mut slot = 0;
    for i in 0..SOURCES {
        black_box(&mut ring[slot]).copy_from_slice(black_box(&payloads[i % PAYLOADS]));
        slot = if slot == window { 0 } else { slot + 1 };
    }
    start.elapsed().as_secs_f64()
}

/// A stream without loss whose packets the decoder keeps instead of copying
/// them. Writing the packets is not measured.
fn in_order(payloads: &[Vec<u8>], window: usize) -> Run<f64> {
    let size = payloads[0].len();
    let config = DecoderConfig::new(window + SPACING, size, window, window);
    let mut decoder = WindowDecoder::new(config);
    let mut spare: Vec<Vec<u8>> = vec![vec![0; HEADER + size]; window + SPACING];
    let start = Instant::now();
    for esi in 0..SOURCES as u64 {
        let packet = decoder.reclaim().or_else(|| spare.pop());
        let packet = black_box(packet).ok_or("buffers come back")?;
        decoder.source_owned(esi, packet, HEADER..HEADER + size)?;
        while let Some(known) = decoder.next_known() {
            black_box(known);
        }
        decoder.forget_before((esi + 1).saturating_sub(window as u64));
    }
    Ok(start.elapsed().as_secs_f64())
}

fn encode(payloads: &[Vec<u8>], window: usize, repairs: &mut Vec<Vec<u8>>) -> Run<f64> {
    let size = payloads[0].len();
    let mut encoder = WindowEncoder::new(window, size);
    repairs.resize_with(SOURCES / SPACING, Vec::new);
    for repair in repairs.iter_mut() {
        // Touch the memory before the clock starts.
        repair.resize(size + 2, 1);
        repair.clear();
    }
    let start = Instant::now();
    for i in 0..SOURCES {
        if encoder.is_full() {
            encoder.discard_before(encoder.first() + 1);
        }
        let esi = encoder.push(&payloads[i % PAYLOADS])?;
        if i % SPACING == SPACING - 1 {
            let covered = EncodingWindow::Fixed(window).range(0, encoder.held());
            encoder.repair(covered, esi as u32, &mut repairs[i / SPACING])?;
        }
    }
    Ok(start.elapsed().as_secs_f64())
}

/// `lost` becomes the number of symbols neither received nor recovered in time.
fn decode(
    payloads: &[Vec<u8>],
    window: usize,
    repairs: &[Vec<u8>],
    loss: u64,
    lost: &mut u64,
) -> Run<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut arrives = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) % 100 >= loss
    };
    let sources: Vec<bool> = (0..SOURCES).map(|_| arrives()).collect();
    let helps: Vec<bool> = repairs.iter().map(|_| arrives()).collect();
    let span = window + SPACING;
    let config = DecoderConfig::new(span, payloads[0].len(), span, window);
    let mut decoder = WindowDecoder::new(config);
    let mut known = 0;
    let start = Instant::now();
    for i in 0..SOURCES {
        let next = i as u64 + 1;
        let oldest = next.saturating_sub(window as u64);
        if sources[i] {
            decoder.source(i as u64, &payloads[i % PAYLOADS])?;
        }
        if i % SPACING == SPACING - 1 && helps[i / SPACING] {
            decoder.repair(oldest..next, i as u32, &repairs[i / SPACING])?;
        }
        while let Some(esi) = decoder.next_known() {
            black_box(esi);
            known += 1;
        }
        decoder.forget_before(oldest);
    }
    let seconds = start.elapsed().as_secs_f64();
    *lost = SOURCES as u64 - known;
    Ok(seconds)
}
