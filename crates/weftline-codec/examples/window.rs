//! Sends fifteen symbols with a repair after every third, loses four packets of
//! twenty, and recovers what was lost without asking for anything.
//!
//! ```sh
//! cargo run -p weftline-codec --example window
//! ```

use std::error::Error;

use weftline_codec::{DecoderConfig, Outcome, WindowDecoder, WindowEncoder};

fn main() -> Result<(), Box<dyn Error>> {
    // At most 64 symbols are held at a time, none longer than 1200 bytes.
    let mut encoder = WindowEncoder::new(64, 1200);
    let mut decoder = WindowDecoder::new(DecoderConfig::new(64, 1200, 32, 64));

    let lost_sources = [2, 6, 7];
    let lost_repairs = [2];

    for number in 0..15 {
        // A source symbol is the payload itself; its ESI travels with it.
        let payload = format!("payload number {number}");
        let esi = encoder.push(payload.as_bytes())?;
        if lost_sources.contains(&esi) {
            println!("source {esi:<11} lost");
        } else {
            decoder.source(esi, payload.as_bytes())?;
            println!("source {esi:<11} arrives");
        }

        if esi % 3 == 2 {
            // A repair covers what the sender still holds. Its window and key
            // travel with it; the key stands for the coefficients.
            let window = encoder.first()..encoder.next();
            let covered = format!("{window:?}");
            let key = (esi / 3) as u32;
            let mut repair = Vec::new();
            encoder.repair(window.clone(), key, &mut repair)?;
            if lost_repairs.contains(&key) {
                println!("repair over {covered:<6} lost");
            } else {
                let outcome = decoder.repair(window.clone(), key, &repair)?;
                let verdict = match outcome {
                    Outcome::Innovative => "arrives and is innovative",
                    Outcome::Redundant => "arrives and is redundant",
                };
                println!("repair over {covered:<6} {verdict}");
            }
        }

        // Known symbols are reported at once, received and recovered alike.
        while let Some(known) = decoder.next_known() {
            if lost_sources.contains(&known) {
                let bytes = decoder.symbol(known).unwrap_or_default();
                let text = String::from_utf8_lossy(bytes);
                println!("                   -> recovered {known}: {text:?}");
            }
        }

        // The receiver reports its in-order edge. Both sides drop the symbols
        // below, and later repairs cover less.
        let edge = decoder.contiguous();
        encoder.discard_before(edge);
        decoder.forget_before(edge);
    }

    println!(
        "in order up to {}, {} recovered, {} missing",
        decoder.contiguous(),
        decoder.stats().recovered,
        decoder.unknowns()
    );
    Ok(())
}
