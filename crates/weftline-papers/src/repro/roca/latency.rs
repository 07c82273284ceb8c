//! Figs 5 to 8: added latency.

use super::{Code, RLC_LONG, RLC_SHORT, Sweep, block_theory, losses, with_error};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Scale, Shown};
use crate::sim::fecframe::BLOCK_LATENCY;

/// Figs 5 and 8.
pub(super) fn latency(
    id: &'static str,
    title: &'static str,
    rlc: Code,
    k: u32,
    scale: Scale,
) -> Figure {
    let losses = losses(scale);
    let sweep = Sweep::new(&[rlc, Code::Rs(k)], losses, scale);
    let theory: Vec<(u32, Point)> = losses
        .iter()
        .map(|loss| (*loss, block_theory(k, *loss)))
        .collect();
    let mut points = sweep.points();
    points.extend(theory.iter().map(|(_, point)| point.clone()));
    Figure {
        id,
        paper: Paper::Roca,
        title,
        shows: if k == 167 {
            "Minimum, mean and maximum added latency of in-order delivery: the paper gives 83.5 \
             ticks for blocks of 167 at any loss, and for RLC a mean that rises slowly. Here: real \
             codecs; the closed form for blocks that are all decoded, for comparison. Minima are 0 \
             for every code and loss."
        } else {
            "The same with the shorter windows (ew 19, dw 38, ls 200) and blocks of 38. The \
             paper's curve is not given as numbers."
        },
        points,
        show: Box::new(move |values| {
            let mut lines = sweep.lines(values, ", mean", |v, p| with_error(v, p, "latency"))?;
            let largest = sweep.lines(values, ", largest", |v, p| {
                Ok((v.number(p, "results/0/latency_quantiles/5")?, 0.0))
            })?;
            let exact = theory.iter().map(|(loss, point)| {
                Ok(Dot::new(
                    f64::from(*loss),
                    values.number(point, "block_latency_ticks")?,
                ))
            });
            let exact = exact.collect::<Result<Vec<_>, Missing>>()?;
            let mut checks = Vec::new();
            for (own, exact) in lines[1]
                .dots
                .iter()
                .zip(&exact)
                .filter(|(own, _)| own.x <= 15.0)
            {
                let check = Check::of(format!(
                    "blocks of {k} at {} % loss, mean added latency, ticks",
                    own.x
                ))
                .theory(exact.y)
                .simulated(own.y, own.stderr);
                checks.push(match k {
                    167 => check.stated(BLOCK_LATENCY, 0.07).because(
                        "83.5 is k/2, the latency of blocks that have all lost their first symbol; with few \
                         losses the symbols before the first lost one do not wait",
                    ),
                    _ => check,
                });
            }
            let window = &lines[0].dots;
            let at_15 = window
                .iter()
                .find(|dot| dot.x == 15.0)
                .map_or(f64::NAN, |dot| dot.y);
            let block_at_15 = lines[1]
                .dots
                .iter()
                .find(|dot| dot.x == 15.0)
                .map_or(f64::NAN, |dot| dot.y);
            checks.insert(
                0,
                Check::of(format!(
                    "RLC's mean added latency at 15 % loss, ticks (RS {block_at_15:.1})"
                ))
                .holding(
                    "an order of magnitude less than RS",
                    at_15 * 10.0 <= block_at_15,
                )
                .simulated(
                    at_15,
                    window
                        .iter()
                        .find(|dot| dot.x == 15.0)
                        .map_or(0.0, |dot| dot.stderr),
                ),
            );
            for (colour, line) in largest.into_iter().enumerate() {
                lines.push(line.apart().coloured(colour + 3));
            }
            lines.push(Line::new(
                format!("RS, k {k}, closed form"),
                Source::Theory,
                1,
                exact,
            ));
            if k == 167 {
                let flat = losses
                    .iter()
                    .map(|loss| Dot::new(f64::from(*loss), BLOCK_LATENCY))
                    .collect();
                lines.push(Line::new("the paper's RS", Source::Paper, 6, flat));
            }
            let plot = Plot::new(
                "Added latency by loss: means with error bars; single dots are the largest values.",
                "independent loss, %",
                "added latency, ticks",
            )
            .with(lines)
            .log_y();
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Figs 6 and 7.
pub(super) fn distribution(
    id: &'static str,
    title: &'static str,
    cumulative: bool,
    scale: Scale,
) -> Figure {
    const LOSS: u32 = 15;
    let codes = [RLC_LONG, Code::Rs(167), RLC_SHORT, Code::Rs(38)];
    let sweep = Sweep::new(&codes, &[LOSS], scale);
    Figure {
        id,
        paper: Paper::Roca,
        title,
        shows: "Figs 6 and 7 are assumed to show the distribution of added latency at one loss, as \
                a histogram and cumulative. The loss of 15 % is assumed; the paper's curve is not \
                given as numbers.",
        points: sweep.points(),
        show: Box::new(move |values| {
            let (mut lines, mut checks) = (Vec::new(), Vec::new());
            for (colour, (code, points)) in sweep.0.iter().enumerate() {
                let Some((_, point)) = points.first() else {
                    continue;
                };
                let counts = values.numbers(point, "results/0/histogram")?;
                let total: f64 = counts.iter().sum::<f64>().max(1.0);
                let mut sum = 0.0;
                let mut dots = Vec::new();
                for (ticks, count) in counts.iter().enumerate() {
                    sum += count;
                    let share = 100.0 * if cumulative { sum } else { *count } / total;
                    if share > 0.0 {
                        dots.push(Dot::new(ticks as f64, share));
                    }
                }
                let within = counts.iter().take(10).sum::<f64>() / total;
                if let Code::Rlc(..) = code {
                    checks.push(
                        Check::of(format!("{}: share delivered within 10 ticks", code.name()))
                            .simulated(within, 0.0),
                    );
                }
                lines.push(Line::new(code.name(), Source::Simulation, colour, dots).smooth());
            }
            let (caption, label) = match cumulative {
                true => (
                    "Share of symbols delivered within a latency.",
                    "symbols delivered by then, %",
                ),
                false => ("Share of symbols with each added latency.", "symbols, %"),
            };
            let plot = Plot::new(caption, "added latency, ticks", label).with(lines);
            let plot = if cumulative { plot } else { plot.log_y() };
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
