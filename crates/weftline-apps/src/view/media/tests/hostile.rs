//! What nobody should send: no parser may panic, or keep more than a frame.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::super::{LONGEST_FRAME, opus};
use super::*;

fn parsers() -> Vec<Box<dyn Parse>> {
    let mut all: Vec<Box<dyn Parse>> = Format::ALL.into_iter().map(Format::parser).collect();
    all.push(Box::new(Detect::new(None)));
    all.push(Box::new(Rtp::h264()));
    all.push(Box::new(Rtp::opus()));
    all
}

#[test]
fn random_bytes_do_no_harm() {
    let seed = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("SEED={seed}");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for round in 0..300 {
        for parser in &mut parsers() {
            let mut out = Vec::new();
            for _ in 0..8 {
                let mut bytes = vec![0; (random.next_u32() % 2000) as usize];
                random.fill_bytes(&mut bytes);
                // Few values: start codes and marks are frequent.
                if round % 2 == 0 {
                    bytes.iter_mut().for_each(|byte| {
                        *byte = [0, 0, 1, 0x47, 0x67, 0x65, 0x12, 0x80][usize::from(*byte % 8)]
                    });
                }
                parser.push(&bytes, 0, &mut out);
                parser.quiet(&mut out);
            }
            parser.end(&mut out);
            let _ = (parser.frame_time(), parser.trouble());
        }
        let mut payload = vec![0; 300];
        random.fill_bytes(&mut payload);
        payload[..2].copy_from_slice(&[0x7f, 0xfc]);
        opus::split(&payload);
    }
}

#[test]
fn real_streams_with_errors_do_no_harm() {
    let seed = u64::from(std::process::id());
    println!("SEED={seed}");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for format in Format::ALL {
        let Some(Clip { bytes, .. }) = clip(format) else {
            return;
        };
        for _ in 0..50 {
            let mut bytes = bytes.clone();
            for _ in 0..20 {
                let at = random.next_u64() as usize % bytes.len();
                bytes[at] = random.next_u32() as u8;
            }
            for unit in units(&mut *format.parser(), &bytes, 1316) {
                assert!(unit.kind == Kind::Gap || !unit.data.is_empty());
            }
        }
    }
}

#[test]
fn a_stream_without_marks_is_not_kept() {
    let chunk = [0xaa; 65536];
    for parser in &mut parsers() {
        let mut out = Vec::new();
        parser.push(&[0, 0, 1, 0x65], 0, &mut out);
        for _ in 0..3 * LONGEST_FRAME / chunk.len() {
            parser.push(&chunk, 0, &mut out);
        }
        parser.end(&mut out);
        let kept: usize = out.iter().map(|unit| unit.data.len()).sum();
        assert!(kept <= LONGEST_FRAME, "{kept}");
    }
}
