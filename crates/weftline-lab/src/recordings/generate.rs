//! Recordings for those who have none: seeded, always the same.

use std::fmt::Write;
use std::path::Path;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::NoRecordings;

/// A link whose rate is a bounded random walk.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// The lowest and the highest rate in Mbit/s.
    pub mbit: (f64, f64),
    /// Outages: how many in a second on average, and the longest in ms.
    pub gaps: (f64, f64),
    /// What could leave within this many ms leaves at their end; a bunch takes up to that time.
    pub bunch: f64,
}

/// A walk, one with outages as in a car, and one in bunches as over Wi-Fi.
pub const SHAPES: [Shape; 3] = [
    Shape {
        name: "walk",
        mbit: (3.0, 24.0),
        gaps: (0.0, 0.0),
        bunch: 0.0,
    },
    Shape {
        name: "gaps",
        mbit: (1.0, 8.0),
        gaps: (0.3, 800.0),
        bunch: 0.0,
    },
    Shape {
        name: "bunches",
        mbit: (10.0, 50.0),
        gaps: (0.05, 200.0),
        bunch: 30.0,
    },
];

/// Bytes of an opportunity.
const OPPORTUNITY: f64 = 1500.0;
/// How often the rate changes, in ms.
const STEP: u64 = 100;

/// `ms` milliseconds of such a link, in mahimahi's format.
pub fn trace(shape: Shape, ms: u64, seed: u64) -> String {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut draw = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let (low, high) = shape.mbit;
    let mut rate = (low * high).sqrt();
    let (mut gap_until, mut bunch_until) = (0.0, 0.0);
    let (mut bytes, mut text) = (0.0, String::new());
    for now in 1..=ms {
        let time = now as f64;
        if now % STEP == 0 {
            rate = (rate * (0.5 * (draw() - 0.5)).exp()).clamp(low, high);
        }
        if time >= gap_until && draw() < shape.gaps.0 / 1000.0 {
            gap_until = time + draw() * shape.gaps.1;
        }
        if time >= gap_until {
            bytes += rate * 1e6 / 8.0 / 1000.0;
        }
        if time < bunch_until || time < gap_until {
            continue;
        }
        bunch_until = time + draw() * shape.bunch;
        while bytes >= OPPORTUNITY {
            bytes -= OPPORTUNITY;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{now}");
        }
    }
    text
}

/// Writes a minute of each of [`SHAPES`] into a folder.
///
/// # Errors
/// A file cannot be written.
pub fn write(folder: &Path) -> Result<(), NoRecordings> {
    let wrong = |path: &Path, cause| NoRecordings::File {
        path: path.to_owned(),
        cause,
    };
    std::fs::create_dir_all(folder).map_err(|cause| wrong(folder, cause))?;
    for (seed, shape) in (1..).zip(SHAPES) {
        let path = folder.join(format!("{}.trace", shape.name));
        std::fs::write(&path, trace(shape, 60_000, seed)).map_err(|cause| wrong(&path, cause))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(shape: Shape) -> Vec<u64> {
        let text = trace(shape, 60_000, 7);
        assert_eq!(text, trace(shape, 60_000, 7), "always the same");
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    #[test]
    fn each_shape_has_what_its_name_says() {
        for shape in SHAPES {
            let times = times(shape);
            assert!(times.is_sorted());
            let mbit = times.len() as f64 * 1500.0 * 8.0 / 60e6;
            assert!(
                mbit > shape.mbit.0 && mbit < shape.mbit.1,
                "{}: {mbit}",
                shape.name
            );
            let longest = times
                .windows(2)
                .map(|pair| pair[1] - pair[0])
                .max()
                .unwrap();
            let at_once = times
                .chunk_by(|a, b| a == b)
                .map(<[u64]>::len)
                .max()
                .unwrap();
            match shape.name {
                "walk" => assert!(longest <= 5 && at_once <= 3, "{longest} {at_once}"),
                "gaps" => assert!(longest > 300, "{longest}"),
                _ => assert!(at_once > 30, "{at_once}"),
            }
        }
    }
}
