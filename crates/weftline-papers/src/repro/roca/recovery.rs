//! Figs 3 and 4: recovered symbols.

use super::{Code, RLC_LONG, RLC_SHORT, Sweep, losses, with_error};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Scale, Shown};
use crate::sim::fecframe::ON_TIME_AT_30_PERCENT;

/// Fig. 3.
pub(super) fn on_time(scale: Scale) -> Figure {
    let systems = [167, 200, 400, 800];
    let sweep =
        |discarding| systems.map(|ls| (ls, Code::Rlc(83, 167, ls, discarding).at(30, scale)));
    let (discarding, keeping) = (sweep(true), sweep(false));
    let points = discarding
        .iter()
        .chain(&keeping)
        .map(|(_, point)| point.clone())
        .collect();
    Figure {
        id: "roca-3",
        paper: Paper::Roca,
        title: "decoding beyond maximum latency: symbols on time at 30 % loss",
        shows: "RLC with ew 83, dw 167, code rate 2/3 at 30 % loss: the share of symbols received or decoded \
                within dw ticks grows with the linear system ls from 71.43 % (ls = dw) to 93.42 % (ls 400) and \
                96.02 % at most. Here: Weftline's RFC 8681 codec, with a decoder that discards each \
                equation that contains a symbol leaving the system, and with its usual one, which keeps \
                equations.",
        points,
        show: Box::new(move |values| {
            let line = |name: &str, colour, points: &[(u32, Point)]| {
                let dots = points.iter().map(|(ls, point)| {
                    let (y, stderr) = with_error(values, point, "on_time")?;
                    Ok(Dot {
                        x: f64::from(*ls),
                        y: 100.0 * y,
                        stderr: 100.0 * stderr,
                    })
                });
                Ok(Line::new(
                    name,
                    Source::Simulation,
                    colour,
                    dots.collect::<Result<_, Missing>>()?,
                ))
            };
            let discards = line("decoder that discards", 0, &discarding)?;
            let keeps = line("decoder that keeps (Weftline)", 2, &keeping)?;
            let paper = [167.0, 400.0, 800.0].into_iter().zip(ON_TIME_AT_30_PERCENT);
            let paper: Vec<Dot> = paper
                .map(|(x, (_, share))| Dot::new(x, 100.0 * share))
                .collect();
            let mut checks = Vec::new();
            for dot in &paper {
                let ours = discards.dots.iter().find(|own| own.x == dot.x).copied();
                let ours = ours.unwrap_or(Dot::new(dot.x, f64::NAN));
                checks.push(
                    Check::of(format!("on time at ls {}, discarding decoder, %", dot.x))
                        .stated(dot.y, 0.05)
                        .simulated(ours.y, ours.stderr)
                        .because(
                            "the paper shows one run of 100,000 symbols, accurate to 0.5 to 2 %, \
                             and its rule for discarding may differ",
                        ),
                );
            }
            let gain =
                keeps.dots.last().map_or(0.0, |d| d.y) - keeps.dots.first().map_or(0.0, |d| d.y);
            checks.push(
                Check::of("gain from ls 167 to 800 with the decoder that keeps equations, %")
                    .holding("24.6", gain > 5.0)
                    .simulated(gain, 0.0)
                    .because(
                        "the gain belongs to a decoder that discards equations: one with its pivot on the \
                         oldest unknown loses only that unknown's row and needs no larger system",
                    ),
            );
            let plot = Plot::new(
                "Symbols on time by the size of the linear system.",
                "ls, symbols",
                "symbols on time, %",
            )
            .with([
                discards,
                keeps,
                Line::new("the paper (largest at 800)", Source::Paper, 6, paper),
            ])
            .y_range(60.0, 100.0);
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Fig. 4.
pub(super) fn residual(scale: Scale) -> Figure {
    let codes = [
        RLC_LONG,
        Code::Rlc(83, 167, 400, true),
        Code::Rs(167),
        RLC_SHORT,
        Code::Rs(38),
    ];
    let sweep = Sweep::new(&codes, losses(scale), scale);
    Figure {
        id: "roca-4",
        paper: Paper::Roca,
        title: "residual loss over the loss",
        shows: "Assumed to show the residual loss of both codes by the channel's loss, code rate 2/3. The \
                paper's curve is not given as numbers.",
        points: sweep.points(),
        show: Box::new(move |values| {
            let lines = sweep.lines(values, "", |values, point| {
                let left = values.number(point, "results/0/residual_loss")?;
                Ok((100.0 * left, 0.0))
            })?;
            let at = |code: usize, loss: f64| {
                let dots = lines
                    .get(code)
                    .map(|line| line.dots.as_slice())
                    .unwrap_or_default();
                dots.iter()
                    .find(|dot| dot.x == loss)
                    .map_or(f64::NAN, |dot| dot.y)
            };
            let mut checks = Vec::new();
            for loss in [15.0, 25.0] {
                let (window, block) = (at(0, loss), at(2, loss));
                checks.push(
                    Check::of(format!(
                        "residual loss of RLC with dw 167 at {loss} % loss, % (RS: {block:.3})"
                    ))
                    .simulated(window, 0.0),
                );
            }
            let plot = Plot::new(
                "Residual loss; to the left of a line, no loss was left.",
                "independent loss, %",
                "residual loss, %",
            )
            .with(lines)
            .log_y();
            let notes = vec![
                "Above a third, where losses exceed the repairs, blocks lose less: a lucky block \
                 is recovered completely, but a window that has fallen behind stays behind."
                    .to_owned(),
            ];
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes,
            })
        }),
    }
}
