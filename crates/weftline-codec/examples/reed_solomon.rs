//! Reed-Solomon blocks: encodes, loses as many shards as the code can repair,
//! reconstructs them, and measures the speed of each step for both
//! constructions.
//!
//! ```sh
//! cargo run --release -p weftline-codec --example reed_solomon
//! ```

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use weftline_codec::kernel::Kernel;
use weftline_codec::reed_solomon::{Code, Construction, Decoder};

const SHARD: usize = 1280;

/// GB of source bytes per second: the median of several batches.
fn speed(sources: usize, mut run: impl FnMut()) -> f64 {
    let batch = Duration::from_millis(10);
    let mut batches: Vec<f64> = (0..9)
        .map(|_| {
            let (start, mut runs) = (Instant::now(), 0);
            while start.elapsed() < batch {
                run();
                runs += 1;
            }
            start.elapsed().as_secs_f64() / f64::from(runs)
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    (sources * SHARD) as f64 / batches[batches.len() / 2] / 1e9
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "GB/s of source bytes, {SHARD}-byte shards, kernel {}",
        Kernel::active()
    );
    println!("construction    k    m   encode   decode 1   decode m");
    for construction in [Construction::Cauchy, Construction::Rfc5510] {
        for (k, m) in [(32, 4), (64, 7), (167, 17), (200, 40)] {
            let code = Code::new(construction, k, m)?;
            let sources: Vec<Vec<u8>> = (0..k).map(|i| vec![i as u8 ^ 0x5A; SHARD]).collect();
            let sources: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
            let mut repairs = vec![vec![0; SHARD]; m];
            let mut repairs: Vec<&mut [u8]> = repairs.iter_mut().map(Vec::as_mut_slice).collect();
            let encode = speed(k, || {
                // The shards fit the code.
                let _ = code.encode(black_box(&sources), black_box(&mut repairs));
            });

            // Lost shards are spread over the block.
            let shard = |i: usize| if i < k { sources[i] } else { &*repairs[i - k] };
            let mut decoder = Decoder::new(code.clone());
            let mut decode = |losses: usize| -> Result<f64, Box<dyn Error>> {
                let lost: Vec<usize> = (0..losses).map(|i| i * k / losses).collect();
                let received: Vec<(usize, &[u8])> = (0..k + losses)
                    .filter(|i| !lost.contains(i))
                    .map(|i| (i, shard(i)))
                    .collect();
                let mut out = vec![vec![0; SHARD]; losses];
                let mut out: Vec<&mut [u8]> = out.iter_mut().map(Vec::as_mut_slice).collect();
                decoder.reconstruct(received.iter().copied(), &lost, &mut out)?;
                for (index, shard) in lost.iter().zip(&out) {
                    assert_eq!(*shard, sources[*index], "shard {index} came out wrong");
                }
                Ok(speed(k, || {
                    let received = black_box(&received).iter().copied();
                    let _ = decoder.reconstruct(received, &lost, black_box(&mut out));
                }))
            };
            let (one, all) = (decode(1)?, decode(m)?);
            let name = format!("{construction:?}");
            println!("{name:<12} {k:>4} {m:>4} {encode:>8.1} {one:>10.1} {all:>10.1}");
        }
    }
    Ok(())
}
