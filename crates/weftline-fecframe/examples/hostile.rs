//! What a receiver does with hostile packets: random ones, mutated honest ones, jumps
//! of the ESI, windows of the greatest length.
//!
//! ```sh
//! cargo run --release -p weftline-fecframe --example hostile -- 1000000
//! ```
//!
//! prints the counters, the most memory held, and the cost of packets. The same attack
//! runs several times, and each packet counts with its shortest time: the cost of a
//! packet is the same in each run, but the load of the system is not.

mod attack;

use std::time::Duration;

use attack::{Attack, Target};

/// How often the same attack runs.
const RUNS: u32 = 3;

fn main() {
    let packets = std::env::args().nth(1).map_or(Ok(1_000_000), |n| n.parse());
    let Ok(packets) = packets else {
        eprintln!("usage: hostile [PACKETS]");
        std::process::exit(2);
    };
    for target in Target::ALL {
        let mut times = vec![Duration::MAX; packets];
        let mut memory = 0;
        let mut last = None;
        for _ in 0..RUNS {
            let mut attack = Attack::new(target, 1);
            for (i, least) in times.iter_mut().enumerate() {
                attack.prepare();
                let before = clock::now();
                attack.deliver();
                *least = clock::now().saturating_sub(before).min(*least);
                if i % 4096 == 0 {
                    memory = memory.max(attack.memory());
                }
            }
            last = Some(attack);
        }
        let Some(attack) = last else { continue };
        times.sort_unstable();
        let at = |part: f64| times[((packets - 1) as f64 * part) as usize];
        let mean = times.iter().sum::<Duration>() / u32::try_from(packets).unwrap_or(u32::MAX);
        println!("{target:?}: {packets} packets, {RUNS} runs");
        println!(
            "  {}, shortest of {RUNS}: mean {mean:.1?}, 99.9 % below {:.1?}, slowest packet {:.1?}",
            clock::NAME,
            at(0.999),
            at(1.0)
        );
        println!("  at most {:.1} MB held", memory as f64 / 1e6);
        println!("  ADUs handed over that nobody sent: {}", attack.altered());
        println!("  {:?}\n", attack.stats());
    }
}

/// This thread's time on a processor.
#[cfg(unix)]
mod clock {
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    pub(super) const NAME: &str = "CPU time";

    pub(super) fn now() -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
}

/// Wall-clock time, where CPU time is not available.
#[cfg(not(unix))]
#[allow(clippy::disallowed_methods, reason = "this example measures packets")]
mod clock {
    use std::sync::LazyLock;
    use std::time::{Duration, Instant};

    pub(super) const NAME: &str = "time";

    pub(super) fn now() -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed()
    }
}
