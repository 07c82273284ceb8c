//! How long calls of the codec take: the measure of its bindings (crates/weftline-python/bench/codec.py).
//!
//! Prints the name of each call, and the nanoseconds that it takes: the least of many short batches, since whatever
//! else the machine does can only add to it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use weftline_codec::reed_solomon::{Code, Construction, Decoder};
use weftline_codec::{BlockEncoder, Recoder, WindowEncoder};

const BATCH: Duration = Duration::from_micros(500);
const BATCHES: usize = 300;

fn measure(name: &str, mut call: impl FnMut()) {
    let start = Instant::now();
    let mut calls = 0_u32;
    while start.elapsed() < BATCH {
        call();
        calls += 1;
    }
    let least = (0..BATCHES)
        .map(|_| {
            let start = Instant::now();
            (0..calls).for_each(|_| call());
            start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
        })
        .fold(f64::INFINITY, f64::min);
    println!("{name} {least:.0}");
}

fn main() {
    for (symbols, size) in [(64, 1024), (256, 1200), (64, 16384)] {
        let mut window = WindowEncoder::new(symbols, size);
        let mut block = BlockEncoder::new(symbols, size);
        let mut relay = Recoder::new(symbols, symbols, size);
        for esi in 0..symbols {
            let payload = vec![esi as u8; size];
            window.push(&payload).expect("there is room");
            block.push(&payload).expect("there is room");
            relay.source(esi as u64, &payload).expect("it fits");
        }
        let mut key = 0;
        let mut repair = Vec::new();
        measure(&format!("window-repair-{symbols}x{size}"), || {
            key += 1;
            repair.clear();
            let made = window.repair(0..symbols as u64, key, &mut repair);
            made.expect("the window is held");
            black_box(&repair);
        });
        measure(&format!("block-repair-{symbols}x{size}"), || {
            key += 1;
            let mut repair = Vec::new();
            block.repair(key, &mut repair).expect("there are symbols");
            black_box(&repair);
        });
        measure(&format!("recode-{symbols}x{size}"), || {
            key += 1;
            let (mut vector, mut data) = (Vec::new(), Vec::new());
            let made = relay.recode(key, &mut vector, &mut data);
            black_box(made.expect("something is held"));
        });
    }
    let payload = vec![7; 65_535];
    let mut window = WindowEncoder::new(16, 65_535).evicting();
    measure("window-push-65535", || {
        black_box(window.push(&payload).expect("it evicts"));
    });
    for size in [8 << 10, 64 << 10, 1 << 20] {
        let code = Code::new(Construction::Cauchy, 10, 4).expect("there is such a code");
        let shards: Vec<Vec<u8>> = (0..10).map(|index| vec![index; size]).collect();
        let sources: Vec<&[u8]> = shards.iter().map(Vec::as_slice).collect();
        let mut repairs = vec![vec![0; size]; 4];
        measure(&format!("rs-encode-10+4x{size}"), || {
            let mut out: Vec<&mut [u8]> = repairs.iter_mut().map(Vec::as_mut_slice).collect();
            code.encode(&sources, &mut out).expect("lengths are equal");
        });
        let mut decoder = Decoder::new(code);
        let mut out = vec![vec![0; size]; 4];
        measure(&format!("rs-reconstruct-4of10x{size}"), || {
            let rest = sources.iter().enumerate().skip(4).map(|(i, s)| (i, *s));
            let repairs = repairs.iter().enumerate().map(|(i, s)| (10 + i, &s[..]));
            let mut out: Vec<&mut [u8]> = out.iter_mut().map(Vec::as_mut_slice).collect();
            let made = decoder.reconstruct(rest.chain(repairs), &[0, 1, 2, 3], &mut out);
            made.expect("ten shards are there");
        });
    }
}
