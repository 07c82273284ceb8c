//! What the dearest repair symbols of a block cost a session with the default limits, for each field: every
//! symbol of the window is missing, and every repair symbol is innovative.
//!
//! ```sh
//! cargo run --release -p weftline-proto --example hostile_repairs
//! ```

use std::error::Error;
use std::time::Instant;

use weftline_codec::field::Arithmetic;
use weftline_proto::wire::{Coded, CodingVector, FieldCode};
use weftline_proto::{Config, Role, Session, Time};

/// As many symbols as one repair symbol may cover.
const WINDOW: u16 = 1024;
const BLOCKS: u32 = 4;

#[allow(clippy::disallowed_methods, reason = "it measures")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("field     processor time for each datagram   refused");
    for bits in 1..=8 {
        let group = Arithmetic::with_bits(bits).ok_or("no such field")?.group();
        let mut session = Session::new(Role::Server, Config::default(), 1, Time::ZERO)?;
        let mut datagram = Vec::new();
        let start = Instant::now();
        let mut sent = 0;
        for block in 0..BLOCKS {
            for _ in 0..WINDOW - 16 {
                let coded = Coded {
                    transmission: sent,
                    timestamp: 0,
                    esi: block * u32::from(WINDOW),
                    span: 0,
                };
                let code = FieldCode {
                    bits: bits as u8,
                    vector: CodingVector::Seed(sent),
                };
                datagram.clear();
                coded.put_field_repair(WINDOW, &code, &mut datagram);
                datagram.resize(datagram.len() + 1502 / group * group, 0);
                session.handle_datagram(Time::ZERO, &datagram);
                sent += 1;
            }
        }
        let each = start.elapsed() / sent;
        let refused = session.stats().dropped.out_of_window * 100 / u64::from(sent);
        println!("GF(2^{bits})   {each:>12.1?}                     {refused:>9} %");
    }
    Ok(())
}
