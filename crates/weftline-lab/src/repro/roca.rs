//! Roca et al.: block against sliding-window codes.

use super::picture::{Dot, Line, Plot, Source};
use super::{Check, Figure, Missing, Paper, Point, Scale, Shown, Values};
use crate::sim::fecframe::{BLOCK_LATENCY, ON_TIME_AT_30_PERCENT, RLC_SPEED};

/// Independent losses of the figures, percent.
fn losses(scale: Scale) -> &'static [u32] {
    scale.pick(&[5, 15, 25, 30], &[1, 5, 10, 15, 20, 25, 30, 33, 35])
}

/// A code of the paper, for its decoding window of 167 or 38.
#[derive(Clone, Copy)]
enum Code {
    /// RLC: ew, dw, ls, and whether the decoder discards equations.
    Rlc(u32, u32, u32, bool),
    /// Reed-Solomon: k.
    Rs(u32),
}

const RLC_LONG: Code = Code::Rlc(83, 167, 400, false);
const RLC_SHORT: Code = Code::Rlc(19, 38, 200, false);

impl Code {
    fn options(self) -> String {
        match self {
            Code::Rlc(ew, dw, ls, discarding) => {
                let decoder = if discarding { "discarding" } else { "keeping" };
                format!("--ew {ew} --dw {dw} --ls {ls} --decoder {decoder}")
            }
            Code::Rs(k) => format!("--code rs --k {k}"),
        }
    }

    fn name(self) -> String {
        match self {
            Code::Rlc(_, dw, _, true) => format!("RLC, dw {dw}, discarding"),
            Code::Rlc(_, dw, _, false) => format!("RLC, dw {dw}"),
            Code::Rs(k) => format!("RS, k {k}"),
        }
    }

    /// At this independent loss in percent; real codecs, 100,000 symbols a run.
    fn at(self, loss: u32, scale: Scale) -> Point {
        let (symbols, runs) = scale.pick((40_000, 1), (100_000, 10));
        let (options, seed) = (self.options(), scale.seed);
        Point::weftline(&format!(
            "sim fecframe {options} --loss iid:{loss}% --symbols {symbols} --seeds {runs} --symbol-size 16 \
             --seed {seed}"
        ))
        .about_secs(f64::from(symbols * runs) * 2.5e-6)
    }
}

/// Mean added latency of blocks that all decode.
fn block_theory(k: u32, loss: u32) -> Point {
    let loss = f64::from(loss) / 100.0;
    Point::weftline(&format!(
        "theory fecframe --max-latency-ms {k} --bitrate 8mbit --symbol-size 1000 --code-rate 2/3 --loss {loss}"
    ))
}

/// Codes over losses: a point for each.
struct Sweep(Vec<(Code, Vec<(u32, Point)>)>);

impl Sweep {
    fn new(codes: &[Code], losses: &[u32], scale: Scale) -> Self {
        let over = |code: &Code| {
            let points = losses.iter().map(|loss| (*loss, code.at(*loss, scale)));
            (*code, points.collect())
        };
        Self(codes.iter().map(over).collect())
    }

    fn points(&self) -> Vec<Point> {
        let all = self.0.iter().flat_map(|(_, points)| points);
        all.map(|(_, point)| point.clone()).collect()
    }

    /// A line for each code: `value` over the loss.
    fn lines(
        &self,
        values: &Values,
        suffix: &str,
        value: impl Fn(&Values, &Point) -> Result<(f64, f64), Missing>,
    ) -> Result<Vec<Line>, Missing> {
        let line = |(colour, (code, points)): (usize, &(Code, Vec<(u32, Point)>))| {
            let dots = points.iter().map(|(loss, point)| {
                let (y, stderr) = value(values, point)?;
                let x = f64::from(*loss);
                Ok(Dot { x, y, stderr })
            });
            let dots = dots.collect::<Result<Vec<_>, _>>()?;
            let name = code.name() + suffix;
            Ok(Line::new(name, Source::Simulation, colour, dots))
        };
        self.0.iter().enumerate().map(line).collect()
    }
}

fn with_error(values: &Values, point: &Point, key: &str) -> Result<(f64, f64), Missing> {
    Ok((
        values.number(point, &format!("results/0/{key}/mean"))?,
        values.number(point, &format!("results/0/{key}/stderr"))?,
    ))
}

/// All of the paper's figures that are run again.
pub(super) fn figures(scale: Scale) -> Vec<Figure> {
    vec![
        on_time(scale),
        residual(scale),
        latency(
            "roca-5",
            "added latency over the loss, windows and blocks of 167",
            RLC_LONG,
            167,
            scale,
        ),
        distribution(
            "roca-6",
            "distribution of added latency at 15 % loss",
            false,
            scale,
        ),
        distribution(
            "roca-7",
            "added latency at 15 % loss, cumulative",
            true,
            scale,
        ),
        latency(
            "roca-8",
            "added latency over the loss, windows and blocks of 38",
            RLC_SHORT,
            38,
            scale,
        ),
        speed(scale),
    ]
}

/// Fig. 3.
fn on_time(scale: Scale) -> Figure {
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
                96.02 % at most. Ours: the project's RFC 8681 codec, with a decoder that throws away each \
                equation that holds a symbol leaving the system, and with our own, which keeps what follows \
                from it.",
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
            let keeps = line("decoder that keeps (ours)", 2, &keeping)?;
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
                        .paper(dot.y, 0.05)
                        .simulated(ours.y, ours.stderr)
                        .because(
                            "the paper shows one run of 100,000 symbols, good to 0.5 to 2 %, and its rule for \
                             discarding may differ",
                        ),
                );
            }
            let gain =
                keeps.dots.last().map_or(0.0, |d| d.y) - keeps.dots.first().map_or(0.0, |d| d.y);
            checks.push(
                Check::of("gain from ls 167 to 800 with the decoder that keeps equations, %")
                    .claim("24.6", gain > 5.0)
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
                plots: vec![plot],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Fig. 4.
fn residual(scale: Scale) -> Figure {
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
        shows: "We take it to show what stays lost with both codes by the channel's loss, code rate 2/3. The \
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
                        "left by RLC with dw 167 at {loss} % loss, % (RS: {block:.3})"
                    ))
                    .simulated(window, 0.0),
                );
            }
            let plot = Plot::new(
                "Residual loss; where a line begins nothing was left below.",
                "independent loss, %",
                "residual loss, %",
            )
            .with(lines)
            .log_y();
            let notes = vec![
                "Above a third, where repairs cannot make up for the losses, blocks lose less: a lucky block \
                 comes back whole, but a window that has fallen behind stays behind."
                    .to_owned(),
            ];
            Ok(Shown {
                plots: vec![plot],
                checks,
                notes,
            })
        }),
    }
}

/// Figs 5 and 8.
fn latency(id: &'static str, title: &'static str, rlc: Code, k: u32, scale: Scale) -> Figure {
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
            "Minimum, mean and maximum added latency of delivery in order: the paper gives 83.5 ticks for blocks \
             of 167 at any loss, and for RLC a mean that rises slowly. Ours: real codecs; the closed form for \
             blocks that all decode beside them. Minima are 0 for every code and loss."
        } else {
            "The same with the shorter windows (ew 19, dw 38, ls 200) and blocks of 38. The paper's curve is not \
             given as numbers."
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
                    167 => check.paper(BLOCK_LATENCY, 0.07).because(
                        "83.5 is k/2, what blocks add when every one has lost its first symbol; with few \
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
                .claim(
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
                "Added latency by loss: means with error bars; single dots are the largest seen.",
                "independent loss, %",
                "added latency, ticks",
            )
            .with(lines)
            .log_y();
            Ok(Shown {
                plots: vec![plot],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Figs 6 and 7.
fn distribution(id: &'static str, title: &'static str, cumulative: bool, scale: Scale) -> Figure {
    const LOSS: u32 = 15;
    let codes = [RLC_LONG, Code::Rs(167), RLC_SHORT, Code::Rs(38)];
    let sweep = Sweep::new(&codes, &[LOSS], scale);
    Figure {
        id,
        paper: Paper::Roca,
        title,
        shows: "We take Figs 6 and 7 to show the distribution of added latency at one loss, as a histogram and \
                cumulative. The loss of 15 % is our choice; the paper's curve is not given as numbers.",
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
                    "Symbols delivered within so many ticks.",
                    "symbols delivered by then, %",
                ),
                false => ("Share of symbols with each added latency.", "symbols, %"),
            };
            let plot = Plot::new(caption, "added latency, ticks", label).with(lines);
            let plot = if cumulative { plot } else { plot.log_y() };
            Ok(Shown {
                plots: vec![plot],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Table II.
fn speed(scale: Scale) -> Figure {
    let symbols = scale.pick(30_000, 100_000);
    let point = |code: &str, loss: u32| {
        Point::weftline(&format!(
            "sim fecframe {code} --loss iid:{loss}% --symbols {symbols} --seeds 3 --symbol-size 256 --seed {}",
            scale.seed
        ))
        .about_secs(f64::from(symbols) * 8e-6)
        .alone()
    };
    let losses = [1, 5, 24];
    let rlc = losses.map(|loss| point("--ew 83 --dw 167 --ls 200", loss));
    let rs = losses.map(|loss| point("--code rs --k 167", loss));
    let points = rlc.iter().chain(&rs).cloned().collect();
    Figure {
        id: "roca-table-2",
        paper: Paper::Roca,
        title: "speed of receivers, symbols of 256 octets, ls 200",
        shows: "The paper's RLC decoder gives 1714, 726 and 187 Mbit/s at 1, 5 and 24 % loss. Ours: everything a \
                receiver does, packets in and ADUs out, source bits for each second of processor time on the \
                machine at hand. Speeds of different machines and codecs do not compare; how they fall with \
                the loss does.",
        points,
        show: Box::new(move |values| {
            let speeds = |points: &[Point; 3]| {
                let speed = |(loss, point): (u32, &Point)| {
                    let y = values.number(point, "results/0/speed/decode_mbit")?;
                    Ok(Dot::new(f64::from(loss), y))
                };
                losses
                    .into_iter()
                    .zip(points)
                    .map(speed)
                    .collect::<Result<Vec<_>, Missing>>()
            };
            let (rlc, rs) = (speeds(&rlc)?, speeds(&rs)?);
            let paper: Vec<Dot> = RLC_SPEED
                .iter()
                .map(|(loss, y)| Dot::new(100.0 * loss, *y))
                .collect();
            let mut checks: Vec<Check> = rlc
                .iter()
                .zip(&paper)
                .map(|(own, paper)| {
                    Check::of(format!("RLC receiver at {} % loss, Mbit/s", own.x))
                        .claim(format!("{}", paper.y), own.y >= paper.y)
                        .lab(own.y)
                        .because("machines differ: only that ours is no slower is claimed")
                })
                .collect();
            let fall = |dots: &[Dot]| match (dots.first(), dots.last()) {
                (Some(first), Some(last)) => first.y / last.y,
                _ => f64::NAN,
            };
            checks.push(
                Check::of("RLC: speed at 1 % over that at 24 %")
                    .claim(format!("{:.1}", fall(&paper)), fall(&rlc) <= fall(&paper))
                    .lab(fall(&rlc))
                    .because("ours falls less: it eliminates with vector instructions"),
            );
            let plot = Plot::new("Receiver's speed by loss.", "independent loss, %", "Mbit/s")
                .with([
                    Line::new("RLC, this machine", Source::Measured, 0, rlc),
                    Line::new("RS, k 167, this machine", Source::Measured, 2, rs),
                    Line::new("RLC, the paper's machine", Source::Paper, 6, paper),
                ])
                .log_y();
            Ok(Shown {
                plots: vec![plot],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
