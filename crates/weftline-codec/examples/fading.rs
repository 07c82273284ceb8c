//! What fading vectors cost in recovery: streams over a lossy path, with the
//! same losses for every kind of vector.
//!
//! ```sh
//! cargo run --release -p weftline-codec --example fading -- [PACKETS]
//! ```
//!
//! For each path and window: how many symbols of the window a repair includes,
//! the share of symbols never recovered, and the delay, in packets, until a
//! symbol can be delivered in order (0 when nothing before it is missing; a
//! symbol that is never recovered delays later ones until it leaves the
//! window).

use std::collections::VecDeque;

use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;
use weftline_codec::{DecodeError, DecoderConfig, WindowDecoder};

/// How packets are lost.
#[derive(Clone, Copy)]
enum Path {
    /// Each with the same probability.
    Independent(f64),
    /// In bursts: the share of packets lost, and the mean length of a burst.
    Bursts(f64, f64),
}

/// Paths, and the source symbols for each repair.
const CASES: [(&str, Path, u64); 9] = [
    ("1 % lost, one repair in 10", Path::Independent(0.01), 10),
    ("5 % lost, one in 10", Path::Independent(0.05), 10),
    ("8 % lost, one in 10", Path::Independent(0.08), 10),
    ("10 % lost, one in 10", Path::Independent(0.1), 10),
    ("15 % lost, one in 5", Path::Independent(0.15), 5),
    ("2 % lost, one in 20", Path::Independent(0.02), 20),
    ("1 % lost, one in 50", Path::Independent(0.01), 50),
    ("2 % in bursts of 4, one in 10", Path::Bursts(0.02, 4.0), 10),
    ("5 % in bursts of 4, one in 10", Path::Bursts(0.05, 4.0), 10),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let packets = match std::env::args().nth(1) {
        Some(count) => count.parse()?,
        None => 1_000_000,
    };
    for (name, path, spacing) in CASES {
        println!("{name}");
        println!("  window  vectors     terms  not recovered  mean delay   99 %  99.9 %");
        let enough = (3 * spacing).next_power_of_two() as u16;
        for window in [64, 128, 256, 1024] {
            for dense in [None, Some(enough), Some(enough / 2)] {
                let result = stream(path, spacing, window, dense, packets)?;
                let name = dense.map_or("non-zero".to_owned(), |n| format!("fading {n}"));
                println!("  {window:>6}  {name:<10} {result}");
            }
        }
    }
    Ok(())
}

/// The result of a stream.
struct Outcome {
    terms: f64,
    abandoned: f64,
    /// Symbols by delay.
    delays: Vec<u64>,
}

/// Sends a stream of empty symbols: recovery does not depend on their content.
/// Each repair includes the `dense` newest symbols in full, or all symbols
/// without a `dense`.
fn stream(
    path: Path,
    spacing: u64,
    window: u64,
    dense: Option<u16>,
    packets: u64,
) -> Result<Outcome, DecodeError> {
    let span = window as usize;
    let mut decoder = WindowDecoder::new(DecoderConfig::new(span + 1, 0, span + 1, span));
    let mut losses = Losses::new(path);
    let mut in_order = InOrder::default();
    let (mut terms, mut repairs) = (0, 0);
    let mut vector = vec![0; span];
    let sources = packets * spacing / (spacing + 1);
    for esi in 0..sources {
        let end = esi + 1;
        let start = end.saturating_sub(window);
        decoder.forget_before(start);
        in_order.sent();
        if !losses.next() {
            decoder.source(esi, &[])?;
        }
        in_order.look(&mut decoder);
        if !end.is_multiple_of(spacing) {
            continue;
        }
        in_order.packets += 1;
        if !losses.next() {
            let key = esi as u32;
            let coefficients = match dense {
                None => Coefficients::NonZero { key },
                Some(dense) => Coefficients::Fading { key, dense },
            };
            decoder.repair(start..end, coefficients, &[0, 0])?;
            if end >= window {
                let filled = coefficients.fill(Arithmetic::default(), &mut vector);
                filled.map_err(DecodeError::Coefficients)?;
                terms += vector.iter().filter(|c| **c != 0).count();
                repairs += 1;
            }
        }
        in_order.look(&mut decoder);
    }
    Ok(Outcome {
        terms: terms as f64 / f64::from(repairs),
        abandoned: decoder.stats().abandoned as f64 / sources as f64,
        delays: in_order.delays,
    })
}

/// When symbols can be delivered in order.
#[derive(Default)]
struct InOrder {
    packets: u64,
    /// When the symbols from `next` on were sent.
    waiting: VecDeque<u64>,
    next: u64,
    delays: Vec<u64>,
}

impl InOrder {
    fn sent(&mut self) {
        self.packets += 1;
        self.waiting.push_back(self.packets);
    }

    fn look(&mut self, decoder: &mut WindowDecoder) {
        while decoder.next_known().is_some() {}
        while self.next < decoder.contiguous() {
            self.next += 1;
            if let Some(sent) = self.waiting.pop_front() {
                let delay = (self.packets - sent) as usize;
                let longest = self.delays.len().max(delay + 1);
                self.delays.resize(longest, 0);
                self.delays[delay] += 1;
            }
        }
    }
}

impl Outcome {
    fn mean(&self) -> f64 {
        let delays = self.delays.iter().enumerate();
        let sum: f64 = delays.map(|(delay, n)| delay as f64 * *n as f64).sum();
        sum / self.delays.iter().sum::<u64>() as f64
    }

    /// The delay that this share of symbols does not exceed.
    fn quantile(&self, share: f64) -> usize {
        let mut left = share * self.delays.iter().sum::<u64>() as f64;
        let exceeds = |count: &u64| {
            left -= *count as f64;
            left <= 0.0
        };
        self.delays.iter().position(exceeds).unwrap_or(0)
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (terms, abandoned) = (self.terms, self.abandoned);
        let (mean, p99, p999) = (self.mean(), self.quantile(0.99), self.quantile(0.999));
        write!(
            f,
            "{terms:>6.0}  {abandoned:>13.2e}  {mean:>10.3}  {p99:>5}  {p999:>6}"
        )
    }
}

/// Which packets are lost, the same ones every time.
struct Losses {
    path: Path,
    state: u64,
    /// In a burst.
    bad: bool,
}

impl Losses {
    fn new(path: Path) -> Self {
        Self {
            path,
            state: 77,
            bad: false,
        }
    }

    fn next(&mut self) -> bool {
        let draw = self.draw();
        match self.path {
            Path::Independent(share) => draw < share,
            Path::Bursts(share, length) => {
                let begins = share / (1.0 - share) / length;
                self.bad = draw < if self.bad { 1.0 - 1.0 / length } else { begins };
                self.bad
            }
        }
    }

    /// A number from 0 to 1 (xorshift64*).
    fn draw(&mut self) -> f64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let word = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D);
        (word >> 11) as f64 / (1_u64 << 53) as f64
    }
}
