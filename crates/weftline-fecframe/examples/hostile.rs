//! What a receiver does with hostile packets: random ones, mutated honest ones, jumps
//! of the ESI, windows as long as they can be.
//!
//! ```sh
//! cargo run --release -p weftline-fecframe --example hostile -- 1000000
//! ```
//!
//! prints what was counted, the memory held at most, and the slowest packet.

mod attack;

use std::time::Instant;

use attack::{Attack, Target};

#[allow(
    clippy::disallowed_methods,
    reason = "to time packets is what this is for"
)]
fn main() {
    let packets = std::env::args().nth(1).map_or(Ok(1_000_000), |n| n.parse());
    let Ok(packets) = packets else {
        eprintln!("usage: hostile [PACKETS]");
        std::process::exit(2);
    };
    for target in Target::ALL {
        let mut attack = Attack::new(target, 1);
        let start = Instant::now();
        let (mut slowest, mut memory, mut total) = (std::time::Duration::ZERO, 0, 0_u64);
        for i in 0..packets {
            attack.prepare();
            let before = Instant::now();
            attack.deliver();
            let took = before.elapsed();
            total += took.as_nanos() as u64;
            slowest = slowest.max(took);
            if i % 4096 == 0 {
                memory = memory.max(attack.memory());
            }
        }
        println!("{target:?}: {packets} packets in {:.1?}", start.elapsed());
        println!(
            "  slowest packet {slowest:.1?}, mean {} ns",
            total / packets.max(1)
        );
        println!("  at most {:.1} MB held", memory as f64 / 1e6);
        println!("  ADUs handed over that nobody sent: {}", attack.altered());
        println!("  {:?}\n", attack.stats());
    }
}
