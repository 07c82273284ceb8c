//! Fig. 3: decoding beyond the maximum latency.

use super::code::{Decoder, LONG, Sizes};
use super::sessions::{Sessions, means};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Scale, Shown, Values};
use crate::sim::fecframe::ON_TIME_AT_30_PERCENT;

/// Linear systems of the figure.
const SYSTEMS: [u32; 4] = [167, 200, 400, 800];
/// Source symbols of the paper's runs in its next figures.
const SYMBOLS: f64 = 100_000.0;
const LOSS: u32 = 30;

/// Fig. 3.
pub(super) fn on_time(scale: Scale) -> Figure {
    let sweep = |decoder| SYSTEMS.map(|ls| (ls, Sizes { ls, ..LONG }.at(decoder, LOSS, scale)));
    let (discarding, keeping) = (sweep(Decoder::Discarding), sweep(Decoder::Keeping));
    let all = discarding.iter().chain(&keeping);
    Figure {
        id: "roca-3",
        paper: Paper::Roca,
        title: "decoding beyond maximum latency: CDF of the latency at 30 % loss, by ls",
        shows: "The paper: RLC with ew 83, dw 167, code rate 2/3 at 30 % loss; the distribution of the latency \
                of received or decoded source packets, a curve for each linear system ls. On time are 71.43 % \
                with ls 167, 93.42 % with 400, and 96.02 % at most. Here: shares of all source symbols. (a) has \
                the decoder that discards each received equation with a symbol that leaves the linear system \
                (the column simulation), (b) Weftline's, which keeps what follows from them (the column engine).",
        points: all.map(|(_, point)| point.clone()).collect(),
        show: Box::new(move |values| {
            let lines = |source, points: &[(u32, Point)]| {
                let line = |(colour, (ls, point)): (usize, &(u32, Point))| {
                    line(values, source, *ls, COLOURS[colour], point)
                };
                points
                    .iter()
                    .enumerate()
                    .map(line)
                    .collect::<Result<Vec<_>, _>>()
            };
            let dots =
                ON_TIME_AT_30_PERCENT.map(|(_, share)| Dot::new(f64::from(LONG.dw), 100.0 * share));
            let paper = || {
                Line::new(
                    "paper, at dw: ls 167, 400, largest",
                    Source::Paper,
                    11,
                    dots.to_vec(),
                )
            };
            let plot = |caption: &str, mut lines: Vec<Line>| {
                lines.push(paper());
                Plot::new(
                    caption,
                    "latency, ticks",
                    "symbols received or decoded by then, %",
                )
                .with(lines)
                .y_range(65.0, 100.0)
            };
            let pictures = vec![
                plot(
                    "(a) Received or decoded within a latency, with a decoder that discards equations. A \
                     symbol is on time within 167 ticks.",
                    lines(Source::Simulation, &discarding)?,
                )
                .into(),
                plot(
                    "(b) The same with Weftline's decoder, which keeps equations.",
                    lines(Source::Engine, &keeping)?,
                )
                .into(),
            ];
            let mut checks = Vec::new();
            for ((ls, model), (_, engine)) in discarding.iter().zip(&keeping) {
                checks.push(check(values, *ls, model, engine)?);
            }
            Ok(Shown {
                pictures,
                checks,
                notes: vec![
                    "The paper does not print how many symbols it sent for this figure. Its next figures have \
                     100,000, and the comparison takes the spread of one such run from ours, because \
                     losses that cannot be recovered come in long runs here."
                        .to_owned(),
                ],
            })
        }),
    }
}

/// Colours that differ without marks.
const COLOURS: [usize; 4] = [0, 1, 2, 4];

fn line(
    values: &Values,
    source: Source,
    ls: u32,
    colour: usize,
    point: &Point,
) -> Result<Line, Missing> {
    let most = *SYSTEMS.last().unwrap_or(&0) as usize;
    let cdf = means(&Sessions::of(values, point)?.known(most)?);
    let dots = cdf.iter().enumerate().map(|(ticks, (share, stderr))| Dot {
        x: ticks as f64,
        y: 100.0 * share,
        stderr: 100.0 * stderr,
    });
    let mut dots: Vec<Dot> = dots.collect();
    // Bars at some places only, so that they can be told apart.
    for (ticks, dot) in dots.iter_mut().enumerate() {
        if !(ticks + 7 * colour).is_multiple_of(100) {
            dot.stderr = 0.0;
        }
    }
    Ok(Line::new(format!("ls {ls}"), source, colour, dots).smooth())
}

fn check(values: &Values, ls: u32, model: &Point, engine: &Point) -> Result<Check, Missing> {
    let (model, engine) = (Sessions::of(values, model)?, Sessions::of(values, engine)?);
    let percent = |(mean, stderr): (f64, f64)| (100.0 * mean, 100.0 * stderr);
    let (discards, keeps) = (
        percent(model.mean("on_time")?),
        percent(engine.mean("on_time")?),
    );
    let stated = ON_TIME_AT_30_PERCENT.iter().find(|(of, _)| *of == ls);
    let what = match (ls, stated) {
        (800, _) => "on time with the largest ls, here 800, %".to_owned(),
        _ => format!("on time with ls {ls}, %"),
    };
    let mut check = Check::of(what);
    if let Some((_, share)) = stated {
        let spread = 100.0 * model.spread("on_time", SYMBOLS)?;
        check = check.one_run(100.0 * share, 0.01, spread);
    }
    Ok(check
        .simulated(discards.0, discards.1)
        .engine(keeps.0, keeps.1)
        .because(
            "two decoders, the same losses: the simulation's drops every received equation that contains a \
             symbol leaving the linear system, and reproduces the paper's growth with ls; the engine's \
             eliminates the oldest unknown first, loses only that unknown's row, and has no growth left to \
             gain",
        )
        .engine_because(
            "the engine's decoder keeps what follows from equations with a symbol that leaves, and the \
             simulation's drops them; the difference shrinks as ls grows, because less is dropped",
        ))
}
