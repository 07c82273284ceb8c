//! Sends the bytes of a file as one block over a link that loses three packets
//! of ten: first the payloads, then repair symbols until the receiver has
//! enough. The receiver never reports what was lost.
//!
//! ```sh
//! cargo run -p weftline-codec --example block
//! ```

use std::error::Error;

use weftline_codec::{BlockDecoder, BlockEncoder};

const SYMBOL: usize = 1200;

fn main() -> Result<(), Box<dyn Error>> {
    let file: Vec<u8> = (0..60_000_u32).map(|i| (i * i / 7) as u8).collect();
    let block = BlockEncoder::from_slices(file.chunks(SYMBOL))?;
    println!("{} bytes are {} source symbols", file.len(), block.len());

    // The receiver knows how many symbols the block has, but not which will
    // arrive.
    let mut decoder = BlockDecoder::new(block.len(), SYMBOL);
    let mut dice = 2026_u32;
    let mut is_lost = move || {
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        dice >> 16 & 0xFF < 77
    };

    let mut lost = Vec::new();
    for (index, payload) in file.chunks(SYMBOL).enumerate() {
        if is_lost() {
            lost.push(index);
        } else {
            decoder.source(index, payload)?;
        }
    }
    println!("lost source symbols: {lost:?}");

    let (mut sent, mut repair) = (0, Vec::new());
    while !decoder.is_complete() {
        // Each repair symbol has a key of its own, which travels with it.
        let key = sent;
        sent += 1;
        repair.clear();
        block.repair(key, &mut repair)?;
        if !is_lost() {
            let outcome = decoder.repair(key, &repair)?;
            let deficit = decoder.deficit();
            println!("repair {key:>2} arrives: {outcome:?}, {deficit} to go");
        }
    }

    let received: Vec<u8> = decoder
        .symbols()
        .into_iter()
        .flatten()
        .flatten()
        .copied()
        .collect();
    println!(
        "{sent} repair symbols sent, {} used, {} symbols recovered, {}",
        decoder.stats().repairs,
        decoder.stats().recovered,
        if received == file {
            "all bytes right"
        } else {
            "WRONG BYTES"
        }
    );
    Ok(())
}
