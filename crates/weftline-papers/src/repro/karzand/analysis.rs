//! Figs 6 to 8: the analysis and the decoder's cost.

use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Scale, Shown, Values};

/// A code on a channel, by theory and by simulation.
struct Pair {
    x: f64,
    theory: Point,
    simulation: Point,
}

impl Pair {
    fn new(x: f64, loss: &str, spacing: u32, scale: Scale) -> Self {
        let slots: u64 = scale.pick(4_000_000, 50_000_000);
        let seed = scale.seed;
        Self {
            x,
            theory: Point::lab(&format!(
                "theory streaming --loss {loss} --spacing {spacing} --terms 2 --delays 1"
            )),
            simulation: Point::lab(&format!(
                "sim streaming --loss {loss} --spacing {spacing} --slots {slots} --seed {seed}"
            ))
            .about_secs(slots as f64 / 8e7),
        }
    }

    fn points(pairs: &[Pair]) -> impl Iterator<Item = Point> + '_ {
        let both = |pair: &Pair| [pair.theory.clone(), pair.simulation.clone()];
        pairs.iter().flat_map(both)
    }

    fn theory(&self, values: &Values, key: &str) -> Result<Dot, Missing> {
        Ok(Dot::new(self.x, values.number(&self.theory, key)?))
    }

    fn simulated(&self, values: &Values) -> Result<Dot, Missing> {
        Ok(Dot {
            x: self.x,
            y: values.number(&self.simulation, "mean_delay_slots")?,
            stderr: values.number(&self.simulation, "stderr")?,
        })
    }

    fn check(&self, what: String, values: &Values) -> Result<Check, Missing> {
        let simulated = self.simulated(values)?;
        Ok(Check::of(what)
            .theory(self.theory(values, "mean_delay_slots")?.y)
            .simulated(simulated.y, simulated.stderr))
    }
}

fn theory_line(
    name: String,
    colour: usize,
    pairs: &[Pair],
    values: &Values,
    key: &str,
) -> Result<Line, Missing> {
    let dots = pairs.iter().map(|pair| pair.theory(values, key));
    Ok(Line::new(
        name,
        Source::Theory,
        colour,
        dots.collect::<Result<_, _>>()?,
    ))
}

fn simulated_line(
    name: String,
    colour: usize,
    pairs: &[Pair],
    values: &Values,
) -> Result<Line, Missing> {
    let dots = pairs.iter().map(|pair| pair.simulated(values));
    let dots = dots.collect::<Result<_, _>>()?;
    Ok(Line::new(name, Source::Simulation, colour, dots).apart())
}

/// Fig. 6.
pub(super) fn delay(scale: Scale) -> Figure {
    let codes: [(&'static str, &[u32], &[u32]); 4] = [
        ("0.01", &[20, 50], &[10, 20, 30, 40, 50, 60, 70, 80, 90]),
        ("0.05", &[4, 10], &[3, 4, 6, 8, 10, 12, 14, 15, 16, 17, 18]),
        ("0.1", &[5, 8], &[2, 3, 4, 5, 6, 7, 8, 9]),
        ("0.2", &[2, 3], &[2, 3, 4]),
    ];
    let all = codes.map(|(loss, few, many)| {
        let spacings = scale.pick(few, many);
        let rate = |l: u32| 1.0 - 1.0 / f64::from(l);
        let pairs = spacings
            .iter()
            .map(|l| Pair::new(rate(*l), loss, *l, scale));
        (loss, pairs.collect::<Vec<_>>())
    });
    let points = all
        .iter()
        .flat_map(|(_, pairs)| Pair::points(pairs))
        .collect();
    // For loss 0.1: l = 5 and l = 8, for which the shared notes have simulated values.
    let (five, eight) = (
        Pair::new(0.8, "0.1", 5, scale),
        Pair::new(0.875, "0.1", 8, scale),
    );
    Figure {
        id: "karzand-6",
        paper: Paper::Karzand,
        title: "mean in-order delay of the streaming code over its rate",
        shows: "Assumed to show Theorem 2's bound beside simulation: the mean in-order delay by code \
                rate (l-1)/l with independent losses. Here: the exact mean and the bound, and the genie \
                model in slots. Losses, rates and axes are assumed; the paper's curve is not given as \
                numbers.",
        points,
        show: Box::new(move |values| {
            let mut lines = Vec::new();
            let mut ratios = Vec::new();
            for (colour, (loss, pairs)) in all.iter().enumerate() {
                let name = format!("loss {loss}");
                lines.push(theory_line(
                    name.clone() + ", exact",
                    colour,
                    pairs,
                    values,
                    "mean_delay_slots",
                )?);
                lines.push(simulated_line(
                    name.clone() + ", simulated",
                    colour,
                    pairs,
                    values,
                )?);
                for (bound, key) in [
                    ("corrected", "delay_bound_slots"),
                    ("printed", "printed/delay_bound_slots"),
                ] {
                    let mut line =
                        theory_line(format!("{name}, {bound}"), ratios.len(), pairs, values, key)?;
                    for (dot, pair) in line.dots.iter_mut().zip(pairs) {
                        dot.y /= pair.theory(values, "mean_delay_slots")?.y;
                    }
                    ratios.push(line);
                }
            }
            let delays = Plot::new(
                "Mean in-order delay: lines exact, dots simulated.",
                "code rate, information packets for each packet",
                "mean in-order delay, slots",
            )
            .with(lines)
            .log_y()
            .x_range(0.45, 1.0);
            let bounds = Plot::new(
                "Theorem 2's bound over the exact mean: as printed it falls below 1, so it is not a bound.",
                "code rate, information packets for each packet",
                "bound / exact mean",
            )
            .with(ratios)
            .x_range(0.45, 1.0)
            .y_range(0.4, 2.2);
            let mut checks = Vec::new();
            for (pair, l) in [(&five, 5), (&eight, 8)] {
                let exact = pair.theory(values, "mean_delay_slots")?.y;
                let printed = pair.theory(values, "printed/delay_bound_slots")?.y;
                let bound = pair.theory(values, "delay_bound_slots")?.y;
                let simulated = pair.simulated(values)?;
                checks.push(
                    pair.check(
                        format!(
                            "mean delay at loss 0.1, l {l}, slots; Theorem 2's bound, corrected"
                        ),
                        values,
                    )?
                    .holding(
                        format!("at most {bound:.3}"),
                        exact <= bound && simulated.y <= bound,
                    ),
                );
                checks.push(
                    pair.check(
                        format!(
                            "mean delay at loss 0.1, l {l}, slots; Theorem 2's bound as printed"
                        ),
                        values,
                    )?
                    .holding(format!("at most {printed:.3}"), simulated.y <= printed)
                    .because(
                        "the proof divides the delay by all l slots of an interval, not by its l-1 \
                             information packets; corrected it is l E S^2 / (2 E S+)",
                    ),
                );
            }
            let mut every = Vec::new();
            for (loss, pairs) in &all {
                for pair in pairs {
                    every.push(pair.check(
                        format!("mean delay at loss {loss}, rate {:.4}, slots", pair.x),
                        values,
                    )?);
                }
            }
            checks.extend(Check::worst(every));
            let notes = vec![
                "The printed bound is a mean for each slot; it is violated wherever its curve in the second \
                 chart is below 1."
                    .to_owned(),
            ];
            Ok(Shown {
                pictures: vec![delays.into(), bounds.into()],
                checks,
                notes,
            })
        }),
    }
}

/// Fig. 7.
pub(super) fn bursts(scale: Scale) -> Figure {
    let codes: [(f64, u32); 3] = [(0.05, 10), (0.1, 5), (0.05, 5)];
    let runs: &[f64] = scale.pick(&[2.0, 4.0], &[1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0]);
    let all = codes.map(|(share, spacing)| {
        let pairs = runs
            .iter()
            .map(|run| Pair::new(*run, &format!("markov:{share},{run}"), spacing, scale));
        (share, spacing, pairs.collect::<Vec<_>>())
    });
    let independent = codes.map(|(share, spacing)| {
        // Independent losses come in runs of 1 / (1 - e) on average.
        Pair::new(1.0 / (1.0 - share), &share.to_string(), spacing, scale)
    });
    let mut points: Vec<Point> = all
        .iter()
        .flat_map(|(_, _, pairs)| Pair::points(pairs))
        .collect();
    points.extend(Pair::points(&independent));
    Figure {
        id: "karzand-7",
        paper: Paper::Karzand,
        title: "mean in-order delay when losses come in runs",
        shows: "Assumed to show the streaming code on the two-state channel of equation 9 (the bad state \
                always erases, the good one never): the mean in-order delay by the mean length of runs of \
                losses, at the same share of lost packets. The first point of each curve has independent \
                losses. Parameters are assumed; the paper's curve is not given as numbers. The exact \
                values are Weftline's: the paper has none for this channel.",
        points,
        show: Box::new(move |values| {
            let (mut lines, mut checks) = (Vec::new(), Vec::new());
            for (colour, ((share, spacing, pairs), alone)) in
                all.iter().zip(&independent).enumerate()
            {
                let name = format!("loss {share}, l {spacing}");
                let mut exact = theory_line(
                    name.clone() + ", exact",
                    colour,
                    pairs,
                    values,
                    "mean_delay_slots",
                )?;
                exact
                    .dots
                    .insert(0, alone.theory(values, "mean_delay_slots")?);
                let mut simulated =
                    simulated_line(name.clone() + ", simulated", colour, pairs, values)?;
                simulated.dots.insert(0, alone.simulated(values)?);
                lines.extend([exact, simulated]);
                for pair in pairs {
                    checks.push(pair.check(
                        format!("mean delay, {name}, runs of {}, slots", pair.x),
                        values,
                    )?);
                }
            }
            let plot = Plot::new(
                "Mean in-order delay by the mean run of losses.",
                "mean run of lost packets, slots",
                "mean in-order delay, slots",
            )
            .with(lines)
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

/// Fig. 8.
pub(super) fn speed(scale: Scale) -> Figure {
    let losses: &'static [u32] = scale.pick(&[1, 20], &[0, 1, 5, 10, 20]);
    let point = |loss: &u32| {
        let case = format!("stream/decode/window=64/repair=33/loss={loss}/size=1280");
        Point::lab(&format!("bench codec --full --filter {case}"))
            .about_secs(2.0)
            .alone()
    };
    let points: Vec<Point> = losses.iter().map(point).collect();
    let own = points.clone();
    Figure {
        id: "karzand-8",
        paper: Paper::Karzand,
        title: "speed of the decoder over the loss",
        shows: "Assumed to show the cost of the code: the paper reports 600 to 800 Mbit/s up to 20 % loss \
                with one 2006-class server for each end. Here: the codec's decoder on one core of the \
                machine at hand, 1280-byte symbols, windows of 64, a repair for every third symbol; no \
                network. Speeds of different machines are not comparable; their small decrease with the \
                loss is.",
        points,
        show: Box::new(move |values| {
            let mut dots = Vec::new();
            for (loss, point) in losses.iter().zip(&own) {
                let speed = 8e3 * values.number(point, "results/0/gbps")?;
                dots.push(Dot::new(f64::from(*loss), speed));
            }
            let last = dots.last().copied().unwrap_or(Dot::new(20.0, 0.0));
            let check = Check::of("decoder's speed at 20 % loss, Mbit/s")
                .holding("600 to 800, of 2006", last.y >= 600.0)
                .lab(last.y, 0.0)
                .because(
                    "the machine differs and has vector instructions: the comparison only shows that the speed suffices",
                );
            let range = |y| vec![Dot::new(0.0, y), Dot::new(20.0, y)];
            let plot = Plot::new(
                "Source data for each second of one core, receiver's codec only.",
                "independent loss, %",
                "Mbit/s",
            )
            .with([
                Line::new("decoder, this machine", Source::Measured, 2, dots),
                Line::new("the paper, 600", Source::Paper, 0, range(600.0)),
                Line::new("the paper, 800", Source::Paper, 3, range(800.0)),
            ])
            .log_y();
            Ok(Shown {
                pictures: vec![plot.into()],
                checks: vec![check],
                notes: Vec::new(),
            })
        }),
    }
}
