//! The code itself: decoding from k and a few symbols.

use super::super::picture::{Dot, Line, Plot, Source};
use super::super::{Check, Figure, Paper, Point, Scale, Shown};

/// Symbols of a message.
const K: u32 = 100;
/// Share of lost packets.
const LOSS: f64 = 0.1;
/// The paper's symbols beyond k.
const EXTRA: u32 = 10;

/// Probability that k + `excess` received symbols decode a message of k, of which each was lost with
/// probability `loss`: all m missing ones are found by m + `excess` combinations uniform over GF(2).
fn decoded(k: u32, loss: f64, excess: u32) -> f64 {
    // Of m missing symbols: the product of 1 - 2^-j, j from excess + 1 to excess + m.
    let (mut sum, mut full) = (0.0, 1.0);
    let mut share = (1.0 - loss).powi(k as i32);
    for missing in 0..=k {
        sum += share * full;
        full *= 1.0 - (-f64::from(excess + missing + 1)).exp2();
        share *= f64::from(k - missing) / f64::from(missing + 1) * loss / (1.0 - loss);
    }
    sum
}

/// Mean number of symbols received beyond k until a message is decoded.
fn mean_excess(k: u32, loss: f64) -> f64 {
    (0..64).map(|excess| 1.0 - decoded(k, loss, excess)).sum()
}

/// The decoding probability.
pub(super) fn figure(scale: Scale) -> Figure {
    let trials = scale.pick(20_000, 400_000);
    let point = Point::lab(&format!(
        "sim udp-rc --k {K} --loss {LOSS} --extra {EXTRA} --trials {trials} --seed {}",
        scale.seed
    ))
    .about_secs(f64::from(trials) * 4e-6);
    Figure {
        id: "udp-rc-decoding",
        paper: Paper::UdpRc,
        title: "decoding from k + 10 symbols",
        shows: "No figure of the paper, which says that k + 10 received symbols decode with 99.9 %. Here: \
                the probability over the symbols received beyond k, k 100 and 10 % loss, as a formula and \
                counted.",
        points: vec![point.clone()],
        show: Box::new(move |values| {
            let shares = values.numbers(&point, "decode_probability_by_excess")?;
            let error = |share: f64| (share * (1.0 - share) / f64::from(trials)).sqrt();
            let counted = shares.iter().zip(0u32..).map(|(share, excess)| Dot {
                x: f64::from(excess),
                y: *share,
                stderr: error(*share),
            });
            let theory =
                (0..=EXTRA).map(|excess| Dot::new(f64::from(excess), decoded(K, LOSS, excess)));
            let plot = Plot::new(
                "Share of messages decoded, over the symbols received beyond k.",
                "symbols received beyond k",
                "share decoded",
            )
            .with([
                Line::new("GF(2), formula", Source::Theory, 0, theory.collect()),
                Line::new("GF(2), counted", Source::Simulation, 1, counted.collect()).apart(),
                Line::new(
                    "paper: 99.9 %",
                    Source::Paper,
                    3,
                    vec![Dot::new(f64::from(EXTRA), 0.999)],
                ),
            ]);
            let share = values.number(&point, "decode_probability")?;
            let all = shares.iter().zip(0u32..).map(|(share, excess)| {
                Check::of(format!("decoded from k + {excess}"))
                    .theory(decoded(K, LOSS, excess))
                    .simulated(*share, error(*share))
            });
            let mut checks = vec![
                Check::of("decoded from k + 10 received, k 100, 10 % loss")
                    .equals(0.999, 0.001)
                    .theory(decoded(K, LOSS, EXTRA))
                    .simulated(share, error(share)),
                Check::of("symbols received beyond k until decoded, mean")
                    .theory(mean_excess(K, LOSS))
                    .simulated(
                        values.number(&point, "excess/mean")?,
                        values.number(&point, "excess/stderr")?,
                    ),
            ];
            checks.extend(Check::worst(all.collect()));
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_gives_the_reference_simulation() {
        for (k, excess, expected, stderr) in [
            (100, 10, 0.99894, 0.00007),
            (100, 0, 0.29080, 0.00102),
            (200, 5, 0.96930, 0.00039),
            (10, 10, 0.99958, 0.00005),
        ] {
            let got = decoded(k, 0.1, excess);
            assert!(
                (got - expected).abs() < 4.0 * stderr,
                "k {k} + {excess}: {got}"
            );
        }
        // Nothing is missing without losses, and many missing need 1.6067 more.
        assert_eq!(decoded(50, 0.0, 0), 1.0);
        assert!((mean_excess(400, 0.5) - 1.6067).abs() < 1e-4);
    }
}
