//! The highest speed of the instructions in our AVX2 kernel, and what can be
//! done during a copy: the figures in `docs/results/codec.md` under "What
//! limits the kernels". For x86-64 on Unix systems.
//!
//! ```sh
//! cargo run --release -p weftline-bench --example roof
//! ```

#[cfg(all(unix, target_arch = "x86_64"))]
mod roof {
    use std::arch::asm;
    use std::hint::black_box;
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    /// Bytes of a symbol, and the distance from one to the next.
    const SIZE: usize = 1280;
    const STRIDE: usize = SIZE + 64;
    /// Copies from this many symbols into as many others, as `stream/decode`
    /// does.
    const FROM: usize = 260;
    const TO: usize = 129;
    const COPIES: usize = 4 * FROM;

    /// CPU time of this thread.
    fn now() -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    /// Nanoseconds of one call: the lower quartile, because other programs can
    /// only make a call slower.
    fn nanos(mut work: impl FnMut()) -> f64 {
        let mut times: Vec<_> = (0..200)
            .map(|_| {
                let start = now();
                work();
                now() - start
            })
            .collect();
        times.sort();
        times[times.len() / 4].as_nanos() as f64
    }

    /// Nanoseconds of a cycle, from additions that each depend on the one
    /// before.
    fn cycle() -> f64 {
        const ADDITIONS: u64 = 400_000;
        let time = nanos(|| {
            // SAFETY: nothing but two registers is touched.
            unsafe {
                asm!("2:", "add {x}, 1", "add {x}, 1", "add {x}, 1", "add {x}, 1",
                    "sub {n}, 4", "jnz 2b",
                    x = inout(reg) 0_u64 => _, n = inout(reg) ADDITIONS => _);
            }
        });
        time / ADDITIONS as f64
    }

    /// Splits a register of 32 bytes and adds this many products, without loads
    /// or stores.
    macro_rules! mix {
        ($cycle:expr, $destinations:literal: $($sum:literal),*) => {{
            const REPEATS: u64 = 10_000;
            let time = nanos(|| {
                // SAFETY: nothing but registers is touched, which are named.
                unsafe {
                    asm!("2:",
                        "vpand ymm3, ymm2, ymm7",
                        "vpsrlq ymm4, ymm7, 4",
                        "vpand ymm4, ymm4, ymm2",
                        $(
                            "vpshufb ymm5, ymm0, ymm3",
                            "vpshufb ymm6, ymm1, ymm4",
                            concat!("vpxor ", $sum, ", ", $sum, ", ymm5"),
                            concat!("vpxor ", $sum, ", ", $sum, ", ymm6"),
                        )*
                        "sub {n}, 1", "jnz 2b",
                        n = inout(reg) REPEATS => _,
                        out("ymm3") _, out("ymm4") _, out("ymm5") _, out("ymm6") _,
                        out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _);
                }
            });
            let each = time / REPEATS as f64 / f64::from($destinations);
            println!(
                "products, {} destinations: {:5.1} GB/s, {:.2} cycles for 32 bytes",
                $destinations, 32.0 / each, each / $cycle
            );
        }};
    }

    /// Copies with some work after each.
    fn copies(what: &str, mut after: impl FnMut(usize)) {
        let from = vec![1_u8; FROM * STRIDE + 64];
        let mut to = vec![2_u8; TO * STRIDE + 64];
        let from = &from[from.as_ptr().align_offset(64)..];
        let aligned = to.as_ptr().align_offset(64);
        let to = &mut to[aligned..];
        let time = nanos(|| {
            let (mut source, mut destination) = (0, 0);
            for _ in 0..COPIES {
                let place = black_box(&mut to[destination * STRIDE..][..SIZE]);
                place.copy_from_slice(&from[source * STRIDE..][..SIZE]);
                after(destination);
                source = if source + 1 == FROM { 0 } else { source + 1 };
                destination = if destination + 1 == TO {
                    0
                } else {
                    destination + 1
                };
            }
        });
        println!("a copy{what}: {:.2} ns", time / COPIES as f64);
    }

    /// Loads, stores or loads and branches that are not taken, from a few lines.
    macro_rules! extra {
        ($name:literal, $count:literal, $($instruction:literal),*) => {{
            let mut words = [1_u64; 64];
            let words = words.as_mut_ptr();
            copies(concat!(" and ", $count, " ", $name), |_| {
                for place in 0..$count {
                    // SAFETY: the word is one of the 64.
                    unsafe {
                        asm!($($instruction,)* p = in(reg) words.add(place), out("rax") _);
                    }
                }
            });
        }};
    }

    pub(super) fn report() {
        if !std::is_x86_feature_detected!("avx2") {
            println!("this CPU does not have AVX2");
            return;
        }
        let cycle = cycle();
        println!("{:.2} GHz", 1.0 / cycle);
        mix!(cycle, 2: "ymm8", "ymm9");
        mix!(cycle, 3: "ymm8", "ymm9", "ymm10");
        mix!(cycle, 4: "ymm8", "ymm9", "ymm10", "ymm11");
        copies("", |_| {});
        extra!("loads", 16, "mov rax, [{p}]");
        extra!("loads", 32, "mov rax, [{p}]");
        extra!("loads", 48, "mov rax, [{p}]");
        extra!("stores", 12, "mov [{p}], rax");
        extra!("stores", 24, "mov [{p}], rax");
        extra!(
            "loads with a branch",
            16,
            "cmp qword ptr [{p}], 0",
            "je 2f",
            "2:"
        );
        extra!(
            "loads with a branch",
            32,
            "cmp qword ptr [{p}], 0",
            "je 2f",
            "2:"
        );
        let mut slots = vec![[0_u64; 4]; TO];
        copies(" and a slot of 32 bytes", |slot| {
            black_box(&mut slots[slot])[3] += 1;
        });
        let mut slots = vec![[0_u64; 8]; TO];
        copies(" and a slot of 64 bytes", |slot| {
            black_box(&mut slots[slot])[3] += 1;
        });
    }
}

fn main() {
    #[cfg(all(unix, target_arch = "x86_64"))]
    roof::report();
    #[cfg(not(all(unix, target_arch = "x86_64")))]
    println!("this example needs x86-64 and a Unix system");
}
