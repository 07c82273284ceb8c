//! Figs 3 and 4, and equation 1: the code alone.

use super::{FIELDS, model, sizes, slots};
use crate::repro::picture::{Dot, Line, Plot, Source, Surface};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values};

fn rlnc(q: u32, k: u32, more: &str) -> Point {
    Point::lab(&format!("theory rlnc --q {q} --symbols {k}{more}")).about_secs(0.02)
}

/// Fig. 3.
pub(super) fn headers(scale: Scale) -> Figure {
    let ks: &'static [u32] = scale.pick(
        &[4, 5, 16, 32, 33, 64, 256],
        &[1, 2, 4, 5, 6, 8, 12, 16, 24, 32, 33, 48, 64, 128, 256],
    );
    let of = |q: u32| ks.iter().map(move |k| (*k, q, rlnc(q, *k, "")));
    let cells: Vec<(u32, u32, Point)> = (1..=8).flat_map(of).collect();
    let points = cells.iter().map(|(.., point)| point.clone()).collect();
    Figure {
        id: "garrido-3",
        paper: Paper::Garrido,
        title: "block sizes and fields for which the short header is smaller",
        shows: "The region of (K, q) in which a header with a seed (9 + 4 bytes) is smaller than one with the \
                coding vector (9 + ceil(K q / 8) bytes). The paper says: for K greater than 32, for every q.",
        points,
        show: Box::new(move |values| {
            let mut saved = Surface::new(
                "Bytes that the short header saves; below 0 the long one is smaller.",
                [
                    "K, packets of a block",
                    "q, bits of a coefficient",
                    "bytes saved",
                ],
                Source::Theory,
            );
            let mut edge: Vec<Dot> = Vec::new();
            for (k, q, point) in &cells {
                let long = values.number(point, "vector_header_bytes")?;
                let short = values.number(point, "seed_header_bytes")?;
                saved.add(f64::from(*k), f64::from(*q), long - short, 0.0);
                if *k == ks[0] {
                    let first = values.number(point, "header_crossover_symbols")?;
                    edge.push(Dot::new(first, f64::from(*q)));
                }
            }
            let smallest = |q: f64| edge.iter().find(|dot| dot.y == q).map_or(f64::NAN, |d| d.x);
            let largest = edge.iter().map(|dot| dot.x).fold(0.0, f64::max);
            let stated = (1..=8).map(|q| Dot::new(33.0, f64::from(q))).collect();
            let plot = Plot::new(
                "The short header is smaller to the right of each.",
                "smallest K, packets of a block",
                "q, bits of a coefficient",
            )
            .with([
                Line::new("K q > 32", Source::Theory, 2, edge.clone()).apart(),
                Line::new("the paper: K > 32", Source::Paper, 6, stated),
            ])
            .log_x()
            .x_range(1.0, 256.0)
            .y_range(0.0, 9.0);
            let checks = vec![
                Check::of("K from which on the short header is smaller for every q")
                    .claims("smaller for K > 32, for every q", Rule::AtMost(33.0))
                    .theory(largest),
                Check::of("the same for q 1").theory(smallest(1.0)),
                Check::of("the same for q 8").theory(smallest(8.0)),
            ];
            let notes = vec![
                "The condition is K q > 32. The paper's K > 32 is enough for every q, and necessary only for q 1: \
                 for q 8 the short header is smaller from K 5 on."
                    .to_owned(),
            ];
            Ok(Shown {
                pictures: vec![plot.into(), saved.into()],
                checks,
                notes,
            })
        }),
    }
}

/// A block size with the formulas' point and the simulation's.
type Pair = (u32, Point, Point);

/// Fig. 4.
pub(super) fn penalties(scale: Scale) -> Figure {
    let of = |q: u32| -> Vec<Pair> {
        let ks = sizes(scale).iter();
        ks.map(|k| {
            (
                *k,
                model(*k, q, "seed", 0.0),
                slots(*k, q, "seed", 0.0, scale),
            )
        })
        .collect()
    };
    let all = FIELDS.map(|q| (q, of(q)));
    let points = all
        .iter()
        .flat_map(|(_, pairs)| pairs.iter().flat_map(|(_, a, b)| [a.clone(), b.clone()]))
        .collect();
    Figure {
        id: "garrido-4",
        paper: Paper::Garrido,
        title: "the two penalties over the block size and the field",
        shows: "(a) epsilon, the share of packets received in vain because they depend on others (equation 4); (b) \
                epsilon_ack, the share of time for a block's acknowledgement (equation 5). Here: the formulas, and \
                simulated blocks on one hop of 802.11b whose acknowledgement is an IP packet of 40 bytes.",
        points,
        show: Box::new(move |values| {
            let curves = |key: Key| -> Result<Vec<Line>, Missing> {
                let mut lines = Vec::new();
                for (colour, (q, pairs)) in all.iter().enumerate() {
                    let (mut theory, mut simulated) = (Vec::new(), Vec::new());
                    for pair in pairs {
                        theory.push(key.theory(values, pair)?);
                        simulated.push(key.simulated(values, pair)?);
                    }
                    let (name, slots) = (format!("q {q}"), format!("q {q}, simulated"));
                    lines.push(Line::new(name, Source::Theory, colour, theory));
                    lines.push(Line::new(slots, Source::Simulation, colour, simulated).apart());
                }
                Ok(lines)
            };
            let (excess, waits) = (curves(Key::Excess)?, curves(Key::Ack)?);
            let theory = |lines: &[Line]| -> Vec<Vec<f64>> {
                let lines = lines.iter().filter(|line| line.source == Source::Theory);
                lines
                    .map(|line| line.dots.iter().map(|dot| dot.y).collect())
                    .collect()
            };
            let (a, b) = (theory(&excess), theory(&waits));
            let by_field = a.windows(2).flat_map(|two| two[1].iter().zip(&two[0]));
            let by_field = by_field.map(|(more, less)| more / less).fold(0.0, f64::max);
            let by_size = a.iter().flat_map(|line| line.windows(2));
            let by_size = by_size.map(|two| two[1] / two[0]).fold(0.0, f64::max);
            // The smallest block depends most on the field.
            let (first, last) = (&all[0].1[0], &all[all.len() - 1].1[0]);
            let (one, eight) = (
                Key::Ack.simulated(values, first)?,
                Key::Ack.simulated(values, last)?,
            );
            let apart = super::stations::ratio(one, eight);
            let printed = |pair: &Pair| values.number(&pair.1, "printed_ack_penalty");
            let k = first.0;
            let mut checks = vec![
                Check::of("epsilon of a larger q as a share of a smaller one's, the largest of all K and q")
                    .claims("larger q: fewer dependent", Rule::AtMost(1.0))
                    .theory(by_field),
                Check::of("epsilon of a larger K as a share of a smaller one's, the largest of all K and q")
                    .claims("larger K: fewer dependent", Rule::AtMost(1.0))
                    .theory(by_size),
                Check::of(format!("epsilon_ack of q 1 over that of q 8 at K {k}, where they differ most"))
                    .claims("depends on K alone", Rule::About(1.0))
                    .theory(b[0][0] / b[3][0])
                    .simulated(apart.y, apart.stderr),
                Check::of("the same by equation 5 as printed")
                    .claims("depends on K alone", Rule::About(1.0))
                    .theory(printed(first)? / printed(last)?),
            ];
            for key in [Key::Excess, Key::Ack] {
                let mut each = Vec::new();
                for (q, pairs) in &all {
                    for pair in pairs {
                        each.push(key.check(values, *q, pair)?);
                    }
                }
                checks.extend(Check::worst(each));
            }
            let plot = |caption: &str, label: &str, lines: Vec<Line>| {
                Plot::new(caption, "K, packets of a block", label)
                    .with(lines)
                    .log_x()
                    .log_y()
            };
            let pictures = vec![
                plot("(a) Packets received in vain.", "epsilon, %", excess).into(),
                plot("(b) Time for acknowledgements.", "epsilon_ack, %", waits).into(),
            ];
            let notes = vec![
                "Equation 5 as printed adds the ratio epsilon to K where packets, E N - K, must be added. With the \
                 ratio epsilon_ack hardly depends on q; with packets it does for small blocks in GF(2)."
                    .to_owned(),
            ];
            Ok(Shown {
                pictures,
                checks,
                notes,
            })
        }),
    }
}

/// A penalty.
#[derive(Clone, Copy, Debug)]
enum Key {
    Excess,
    Ack,
}

impl Key {
    /// By the formula, in percent.
    fn theory(self, values: &Values, (k, model, _): &Pair) -> Result<Dot, Missing> {
        let key = match self {
            Key::Excess => "excess_ratio",
            Key::Ack => "ack_penalty",
        };
        Ok(Dot::new(f64::from(*k), 100.0 * values.number(model, key)?))
    }

    /// By the simulation, in percent.
    fn simulated(self, values: &Values, (k, _, slots): &Pair) -> Result<Dot, Missing> {
        let x = f64::from(*k);
        let (y, stderr) = match self {
            Key::Excess => {
                let mean = values.number(slots, "receptions/mean")?;
                let stderr = values.number(slots, "receptions/stderr")?;
                (1.0 - x / mean, x * stderr / (mean * mean))
            }
            Key::Ack => (
                values.number(slots, "ack_share")?,
                values.number(slots, "ack_share_stderr")?,
            ),
        };
        Ok(Dot {
            x,
            y: 100.0 * y,
            stderr: 100.0 * stderr,
        })
    }

    fn check(self, values: &Values, q: u32, pair: &Pair) -> Result<Check, Missing> {
        let k = pair.0;
        // Few or no packets in vain have no standard error: a mean of few rare events.
        let (what, theory, simulated) = match self {
            Key::Excess => {
                let mean = values.number(&pair.2, "receptions/mean")?;
                let stderr = values.number(&pair.2, "receptions/stderr")?;
                let blocks = values.number(&pair.2, "blocks")?;
                let excess = f64::from(k) * values.number(&pair.1, "excess_ratio")?
                    / (1.0 - values.number(&pair.1, "excess_ratio")?);
                let stderr = stderr.max((excess / blocks).sqrt());
                let simulated = Dot {
                    x: 0.0,
                    y: mean,
                    stderr,
                };
                (
                    "mean packets received for a block",
                    f64::from(k) + excess,
                    simulated,
                )
            }
            Key::Ack => (
                "epsilon_ack, %",
                self.theory(values, pair)?.y,
                self.simulated(values, pair)?,
            ),
        };
        Ok(Check::of(format!("{what}, q {q}, K {k}"))
            .theory(theory)
            .simulated(simulated.y, simulated.stderr))
    }
}

/// Equations 1 and 2.
pub(super) fn decoding(scale: Scale) -> Figure {
    let codes: [(u32, u32); 4] = [(1, 8), (1, 64), (4, 16), (8, 64)];
    let most = scale.pick(4, 10);
    let lines = codes.map(|(q, k)| {
        let points =
            (0..=most).map(|more| (more, rlnc(q, k, &format!(" --received {}", k + more))));
        (q, k, points.collect::<Vec<_>>())
    });
    let points = lines
        .iter()
        .flat_map(|(.., points)| points.iter().map(|(_, point)| point.clone()))
        .collect();
    Figure {
        id: "garrido-decoding",
        paper: Paper::Garrido,
        title: "probability of decoding by packets received",
        shows: "Equations 1 and 2: the probability that N received packets decode a block of K. Equation 1 as \
                printed lacks the factor (Q^K - 1)^-(N-K); the curves have it.",
        points,
        show: Box::new(move |values| {
            let mut drawn = Vec::new();
            for (colour, (q, k, points)) in lines.iter().enumerate() {
                let dots = points.iter().map(|(more, point)| {
                    let y = values.number(point, "decode_probability")?;
                    Ok(Dot::new(f64::from(*more), y))
                });
                let dots = dots.collect::<Result<_, Missing>>()?;
                let name = format!("q {q}, K {k}");
                drawn.push(Line::new(name, Source::Theory, colour, dots));
            }
            let (_, one_more) = &lines[0].2[1];
            let right = values.number(one_more, "decode_probability")?;
            let excess = values.number(one_more, "printed_decode_probability_excess_log10")?;
            let checks = vec![
                Check::of("equation 1 as printed at N = K + 1, q 1, K 8")
                    .claims("a probability", Rule::AtMost(1.0))
                    .theory(right * 10_f64.powf(excess))
                    .because(format!(
                        "it lacks the factor 1/(Q^K - 1) for each packet beyond K; with it the value is {right:.6}, \
                         which a count of all matrices of small blocks confirms \
                         (`cargo test -p weftline-papers probabilities_match`)"
                    )),
            ];
            let plot = Plot::new(
                "Probability to decode, equation 1 in its right form.",
                "packets received beyond K",
                "probability",
            )
            .with(drawn)
            .y_range(0.0, 1.02);
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
