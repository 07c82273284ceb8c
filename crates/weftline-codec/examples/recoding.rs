//! Two links in a row, each of which loses every fifth packet on average, and a
//! relay between them. One relay forwards packets; another sends new
//! combinations of what it has received.
//!
//! ```sh
//! cargo run -p weftline-codec --example recoding
//! ```

use std::error::Error;

use weftline_codec::coefficients::Coefficients;
use weftline_codec::{BlockDecoder, BlockEncoder, Recoder};

const SYMBOLS: usize = 64;
const SIZE: usize = 1000;
const LOSS: u32 = 20;

/// Sends a block of `SYMBOLS` symbols and returns how many packets the sender
/// needed.
fn packets(seed: u32, recode: bool) -> Result<u32, Box<dyn Error>> {
    let payloads: Vec<Vec<u8>> = (0..SYMBOLS).map(|i| vec![i as u8; SIZE]).collect();
    let sender = BlockEncoder::from_slices(&payloads)?;
    let mut relay = Recoder::new(SYMBOLS, SYMBOLS, SIZE);
    let mut receiver = BlockDecoder::new(SYMBOLS, SIZE);

    let mut dice = seed;
    let mut is_lost = move || {
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (dice >> 16) % 100 < LOSS
    };
    let (mut packet, mut vector, mut data) = (Vec::new(), Vec::new(), Vec::new());
    for key in 0.. {
        packet.clear();
        sender.repair(key, &mut packet)?;
        let (first, second) = (!is_lost(), !is_lost());
        if first {
            relay.repair(0..SYMBOLS as u64, key, &packet)?;
        }
        if recode && second && relay.rank() > 0 {
            // A new combination. Its coding vector travels with it, for the
            // part of the block that it covers.
            vector.clear();
            data.clear();
            let window = relay.recode(key, &mut vector, &mut data)?;
            let mut whole = [0; SYMBOLS];
            whole[window.start as usize..window.end as usize].copy_from_slice(&vector);
            receiver.repair(Coefficients::Explicit(&whole), &data)?;
        } else if !recode && first && second {
            receiver.repair(key, &packet)?;
        }
        if receiver.is_complete() {
            assert!(receiver.symbols().is_some_and(|known| known.eq(&payloads)));
            return Ok(key + 1);
        }
    }
    Err("out of keys".into())
}

fn main() -> Result<(), Box<dyn Error>> {
    const RUNS: u32 = 20;
    println!("{SYMBOLS} symbols over two links that lose {LOSS} % each, mean of {RUNS} runs:");
    for (what, recode) in [("forwards", false), ("recodes", true)] {
        let mut sum = 0;
        for seed in 0..RUNS {
            sum += packets(seed * 999_983, recode)?;
        }
        let mean = f64::from(sum) / f64::from(RUNS);
        println!("  a relay that {what:<9} {mean:>6.1} packets");
    }
    let symbols = SYMBOLS as f64;
    let kept = 1.0 - f64::from(LOSS) / 100.0;
    println!("  what one link needs    {:>6.1} packets", symbols / kept);
    println!(
        "  what both lose of one  {:>6.1} packets",
        symbols / (kept * kept)
    );
    Ok(())
}
