//! Figs 3 to 5: the code alone.

use super::sizes;
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Scale, Shown};

fn rlnc(q: u32, k: u32, more: &str) -> Point {
    Point::lab(&format!("theory rlnc --q {q} --symbols {k}{more}"))
}

/// Fig. 3.
pub(super) fn headers(scale: Scale) -> Figure {
    let ks: &'static [u32] = scale.pick(
        &[4, 5, 32, 33, 128, 256],
        &[1, 4, 5, 8, 16, 32, 33, 48, 64, 96, 128, 192, 256],
    );
    let of = |q: u32| ks.iter().map(|k| rlnc(q, *k, "")).collect::<Vec<_>>();
    let (one, eight) = (of(1), of(8));
    let points = one.iter().chain(&eight).cloned().collect();
    Figure {
        id: "garrido-3",
        paper: Paper::Garrido,
        title: "header lengths with the coding vector and with a seed",
        shows: "The long header carries the coding vector (9 + ceil(K q / 8) bytes), the short one a seed \
                (9 + 4): the paper says that the short one is the smaller one for K greater than 32.",
        points,
        show: Box::new(move |values| {
            let line = |name: &str, colour, points: &[Point], key: &str| {
                let dots = ks
                    .iter()
                    .zip(points)
                    .map(|(k, point)| Ok(Dot::new(f64::from(*k), values.number(point, key)?)));
                Ok(Line::new(
                    name,
                    Source::Theory,
                    colour,
                    dots.collect::<Result<_, Missing>>()?,
                ))
            };
            let crossover = |points: &[Point]| match points.first() {
                Some(point) => values.number(point, "header_crossover_symbols"),
                None => Ok(f64::NAN),
            };
            let checks = vec![
                Check::of("smallest K whose header is shorter with a seed, q 1")
                    .stated(33.0, 0.0)
                    .theory(crossover(&one)?),
                Check::of("smallest K whose header is shorter with a seed, q 8").stated(33.0, 0.0).theory(crossover(&eight)?).because(
                    "the short header is smaller when K q > 32: for K above 32 only with q = 1, \
                     for K above 4 with q = 8",
                ),
            ];
            let plot = Plot::new(
                "Bytes of the header by block size.",
                "K, packets of a block",
                "header, bytes",
            )
            .with([
                line("vector, q 1", 0, &one, "vector_header_bytes")?,
                line("vector, q 8", 2, &eight, "vector_header_bytes")?,
                line("seed", 3, &one, "seed_header_bytes")?,
            ])
            .log_y();
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Fig. 4.
pub(super) fn decoding(scale: Scale) -> Figure {
    let codes: [(u32, u32); 4] = [(1, 8), (1, 64), (4, 16), (8, 64)];
    let most = scale.pick(4, 10);
    let lines = codes.map(|(q, k)| {
        let points =
            (0..=most).map(|more| (more, rlnc(q, k, &format!(" --received {}", k + more))));
        (q, k, points.collect::<Vec<_>>())
    });
    let trials = scale.pick(20_000, 400_000);
    // No source symbol arrives: all of them are lost, so only combinations are received.
    let simulated = Point::lab(&format!(
        "sim rlc-block --k 8 --q 1 --blocks {trials} --seed {}",
        scale.seed
    ))
    .about_secs(f64::from(trials) * 4e-6);
    let mut points: Vec<Point> = lines
        .iter()
        .flat_map(|(_, _, points)| points.iter().map(|(_, point)| point.clone()))
        .collect();
    points.push(simulated.clone());
    Figure {
        id: "garrido-4",
        paper: Paper::Garrido,
        title: "probability of decoding by packets received",
        shows: "Assumed to show equations 1 and 2: the probability that N received packets of a \
                block of K decode it. Equation 1 as printed exceeds 1 for N > K; the formula here \
                has the missing factor. The paper's curve is not given as numbers; the mean of the \
                simulation's receptions is compared.",
        points,
        show: Box::new(move |values| {
            let mut drawn = Vec::new();
            for (colour, (q, k, points)) in lines.iter().enumerate() {
                let dots = points.iter().map(|(more, point)| {
                    Ok(Dot::new(
                        f64::from(*more),
                        values.number(point, "decode_probability")?,
                    ))
                });
                let dots = dots.collect::<Result<_, Missing>>()?;
                drawn.push(Line::new(
                    format!("q {q}, K {k}"),
                    Source::Theory,
                    colour,
                    dots,
                ));
            }
            let (_, _, first) = &lines[0];
            let (_, beyond) = &first[first.len() - 1];
            let over = values.number(beyond, "printed_decode_probability_excess_log10")?;
            let checks = vec![
                Check::of("mean packets received until a block decodes, q 1, K 8 (the shared notes: 9.565)")
                    .stated(9.565, 0.01)
                    .theory(values.number(beyond, "mean_receptions")?)
                    .simulated(
                        values.number(&simulated, "receptions/mean")?,
                        values.number(&simulated, "receptions/stderr")?,
                    ),
                Check::of(format!("equation 1 as printed at N = K + {}, q 1, K 8", first.len() - 1))
                    .holding("a probability", over <= 0.0)
                    .because(format!(
                        "it lacks the factor (Q^K - 1)^-(N-K) and gives 10^{over:.1} times the probability"
                    )),
            ];
            let plot = Plot::new(
                "Probability to decode.",
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

/// Fig. 5.
pub(super) fn excess(scale: Scale) -> Figure {
    let ks = sizes(scale);
    let fields: [u32; 4] = [1, 2, 4, 8];
    let theory = fields.map(|q| ks.iter().map(|k| rlnc(q, *k, "")).collect::<Vec<_>>());
    let blocks = scale.pick(2_000, 40_000);
    let simulated: [Vec<Point>; 2] = [1, 2].map(|q| {
        let of = |k: &u32| {
            Point::lab(&format!(
                "sim rlc-block --k {k} --q {q} --blocks {blocks} --seed {}",
                scale.seed
            ))
            .about_secs(f64::from(blocks) * f64::from(*k) * 5e-8)
        };
        ks.iter().map(of).collect()
    });
    let points = theory
        .iter()
        .flatten()
        .chain(simulated.iter().flatten())
        .cloned()
        .collect();
    Figure {
        id: "garrido-5",
        paper: Paper::Garrido,
        title: "excess of received packets by block size and field",
        shows: "Assumed to show equation 4, epsilon = (E N - K) / E N, by block size and field. Here: the \
                formula, and the mean of simulated blocks. The paper's curve is not given as numbers.",
        points,
        show: Box::new(move |values| {
            let (mut lines, mut checks) = (Vec::new(), Vec::new());
            for (colour, (q, points)) in fields.iter().zip(&theory).enumerate() {
                let dots = ks.iter().zip(points).map(|(k, point)| {
                    Ok(Dot::new(
                        f64::from(*k),
                        100.0 * values.number(point, "excess_ratio")?,
                    ))
                });
                let dots = dots.collect::<Result<_, Missing>>()?;
                lines.push(Line::new(format!("q {q}"), Source::Theory, colour, dots));
            }
            for (index, points) in simulated.iter().enumerate() {
                let mut dots = Vec::new();
                for ((k, point), theory) in ks.iter().zip(points).zip(&theory[index]) {
                    let mean = values.number(point, "receptions/mean")?;
                    let stderr = values.number(point, "receptions/stderr")?;
                    let (x, k) = (f64::from(*k), f64::from(*k));
                    dots.push(Dot {
                        x,
                        y: 100.0 * (1.0 - k / mean),
                        stderr: 100.0 * k * stderr / (mean * mean),
                    });
                    checks.push(
                        Check::of(format!("mean receptions, q {}, K {k}", fields[index]))
                            .theory(values.number(theory, "mean_receptions")?)
                            .simulated(mean, stderr),
                    );
                }
                let name = format!("q {}, simulated", fields[index]);
                lines.push(Line::new(name, Source::Simulation, index, dots).apart());
            }
            let plot = Plot::new(
                "Share of packets in excess.",
                "K, packets of a block",
                "epsilon, %",
            )
            .with(lines)
            .log_x()
            .log_y();
            let checks = Check::worst(checks).into_iter().collect();
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
