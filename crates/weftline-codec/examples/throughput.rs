//! How fast this machine codes: every kernel, then the encoder and the decoder
//! with the kernel in use.
//!
//! ```sh
//! cargo run --release -p weftline-codec --example throughput
//! ```

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use weftline_codec::kernel::Kernel;
use weftline_codec::{DecoderConfig, WindowDecoder, WindowEncoder};

const SYMBOL: usize = 1140;
const WINDOW: usize = 64;

/// Seconds for one run: the best of a few batches.
fn seconds(mut run: impl FnMut()) -> f64 {
    let batch = Duration::from_millis(30);
    let mut best = f64::INFINITY;
    for _ in 0..8 {
        let (start, mut runs) = (Instant::now(), 0);
        while start.elapsed() < batch {
            for _ in 0..50 {
                run();
            }
            runs += 50;
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(runs));
    }
    best
}

fn main() -> Result<(), Box<dyn Error>> {
    let symbols: Vec<Vec<u8>> = (0..WINDOW).map(|i| vec![i as u8 + 3; SYMBOL]).collect();
    let terms: Vec<(u8, &[u8])> = symbols.iter().map(|s| (s[0] | 2, s.as_slice())).collect();
    let bytes = (WINDOW * SYMBOL) as f64;
    let mut sum = vec![0; SYMBOL];

    println!("GB/s of sources, {WINDOW} x {SYMBOL} bytes:");
    println!("kernel     mul_add   mul_add_multi");
    for ops in Kernel::available().filter_map(Kernel::ops) {
        let one_by_one = seconds(|| {
            for (c, source) in black_box(&terms) {
                ops.mul_add(black_box(&mut sum), source, *c);
            }
        });
        let fused = seconds(|| ops.mul_add_multi(black_box(&mut sum), black_box(&terms)));
        let name = ops.kernel().name();
        let (one_by_one, fused) = (bytes / one_by_one / 1e9, bytes / fused / 1e9);
        println!("{name:<10} {one_by_one:>7.1}   {fused:>13.1}");
    }

    let mut encoder = WindowEncoder::new(WINDOW, SYMBOL);
    for symbol in &symbols {
        encoder.push(symbol)?;
    }
    let window = 0..WINDOW as u64;
    let mut repair = Vec::new();
    encoder.repair(window.clone(), 1, &mut repair)?;
    let mut out = Vec::new();
    let encode = seconds(|| {
        out.clear();
        // The window is held.
        let _ = encoder.repair(window.clone(), black_box(1), &mut out);
    });

    let mut whole = WindowDecoder::new(DecoderConfig::new(WINDOW, SYMBOL, WINDOW, WINDOW));
    for (esi, symbol) in symbols.iter().enumerate() {
        whole.source(esi as u64, symbol)?;
    }
    let redundant = seconds(|| {
        let _ = black_box(whole.repair(window.clone(), 1, black_box(&repair)));
    });

    println!("with {}, over a window of {WINDOW}:", Kernel::active());
    let rate = bytes / encode / 1e9;
    println!(
        "repair made         {:>7.2} us, {rate:.1} GB/s",
        encode * 1e6
    );
    println!("redundant repair    {:>7.3} us", redundant * 1e6);
    for lost in [1, 8, 32] {
        let mut decoder = WindowDecoder::new(DecoderConfig::new(4096, SYMBOL, WINDOW, WINDOW));
        let mut first = 0;
        let mut repairs = Vec::new();
        for key in 0..lost + 4 {
            let mut repair = Vec::new();
            encoder.repair(window.clone(), key, &mut repair)?;
            repairs.push(repair);
        }
        // The same payloads each time, at higher ESIs.
        let mut spent = Duration::ZERO;
        let rounds = 400;
        for _ in 0..rounds {
            for (esi, symbol) in symbols.iter().enumerate().skip(lost as usize) {
                decoder.source(first + esi as u64, symbol)?;
            }
            let start = Instant::now();
            for (key, repair) in repairs.iter().enumerate() {
                decoder.repair(first..first + WINDOW as u64, key as u32, repair)?;
            }
            spent += start.elapsed();
            assert_eq!(decoder.unknowns(), 0);
            first += WINDOW as u64;
            decoder.forget_before(first);
        }
        let each = spent.as_secs_f64() / f64::from(rounds) / f64::from(lost);
        println!("recovery of {lost:>2} lost {:>7.2} us each", each * 1e6);
    }
    Ok(())
}
