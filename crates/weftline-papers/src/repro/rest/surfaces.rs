//! Figs 6, 7 and 8: overhead and mean packet delay over the window and another quantity.

use super::super::Rule;
use super::super::picture::{Dot, Line, Picture, Plot, Source, Surface};
use super::runs::{Loss, Mean, Options, engine, model};
use super::{Check, Figure, Missing, Paper, Point, Scale, Shown, Values};

const OVERHEAD: (&str, &str) = ("overhead", "overhead, %");
const DELAY: (&str, &str) = ("mean_delay_s", "mean packet delay, s");
const WINDOW: &str = "window size W, packets";

/// A grid of streams: each value of the second quantity with each window.
struct Grid {
    /// The second quantity, with its unit.
    axis: &'static str,
    /// Its values as drawn, its values as an option, and the points by window.
    rows: Vec<(f64, Vec<(u32, Point)>)>,
    /// The engine's points: value of the second quantity, window, point.
    engine: Vec<(f64, u32, Point)>,
}

impl Grid {
    /// `of` makes the options of a value; `shown` is the value on the axis for an option.
    fn new(
        axis: &'static str,
        values: &[u32],
        engine_values: &[u32],
        scale: Scale,
        shown: fn(u32) -> f64,
        of: fn(u32) -> Options,
    ) -> Self {
        let windows: &[u32] = scale.pick(
            &[20, 40, 80, 120, 200],
            &[10, 20, 30, 40, 60, 80, 100, 120, 160, 200, 300],
        );
        let with = |value: u32, window: u32| Options {
            window: Some(window),
            ..of(value)
        };
        let rows = values.iter().map(|value| {
            let point = |w: &u32| (*w, with(*value, *w).model(scale.pick(20, 100), scale.seed));
            (shown(*value), windows.iter().map(point).collect())
        });
        let engine_windows: &[u32] = scale.pick(&[40, 200], &[10, 20, 40, 80, 120, 200, 300]);
        let engine = engine_values.iter().flat_map(|value| {
            engine_windows.iter().map(move |w| {
                let point = with(*value, *w).engine(scale.pick(3, 10), scale.seed);
                (shown(*value), *w, point)
            })
        });
        Self {
            axis,
            rows: rows.collect(),
            engine: engine.collect(),
        }
    }

    fn points(&self) -> Vec<Point> {
        let models = self
            .rows
            .iter()
            .flat_map(|(_, row)| row.iter().map(|(_, p)| p.clone()));
        models
            .chain(self.engine.iter().map(|(_, _, p)| p.clone()))
            .collect()
    }

    /// The surfaces (a) and (b), and the engine beside them.
    fn pictures(&self, values: &Values) -> Result<Vec<Picture>, Missing> {
        let mut pictures: Vec<Picture> = Vec::new();
        for (part, (key, label)) in [("(a)", OVERHEAD), ("(b)", DELAY)] {
            let factor = if key == OVERHEAD.0 { 100.0 } else { 1.0 };
            let caption = format!("{part} {label}: the slot model.");
            let mut surface = Surface::new(caption, [WINDOW, self.axis, label], Source::Simulation);
            for (x, row) in &self.rows {
                for (window, point) in row {
                    let got = model(values, point, key)?;
                    surface.add(
                        f64::from(*window),
                        *x,
                        factor * got.mean,
                        factor * got.stderr,
                    );
                }
            }
            pictures.push(surface.into());
            pictures.push(self.beside(values, (key, label), factor, part)?.into());
        }
        Ok(pictures)
    }

    /// Rows of a surface that the engine has too.
    fn beside(
        &self,
        values: &Values,
        (key, label): (&str, &str),
        factor: f64,
        part: &str,
    ) -> Result<Plot, Missing> {
        let scaled = |got: Mean, window: u32| Dot {
            x: f64::from(window),
            y: factor * got.mean,
            stderr: factor * got.stderr,
        };
        let mut lines = Vec::new();
        let mut colour = 0;
        for (x, row) in &self.rows {
            let engines: Vec<_> = self.engine.iter().filter(|(at, _, _)| at == x).collect();
            if engines.is_empty() {
                continue;
            }
            let dots = row
                .iter()
                .map(|(w, point)| Ok(scaled(model(values, point, key)?, *w)));
            let dots: Vec<Dot> = dots.collect::<Result<_, _>>()?;
            let name = format!("{} {x}", self.axis);
            lines.push(Line::new(
                format!("slot model, {name}"),
                Source::Simulation,
                colour,
                dots,
            ));
            let dots = engines
                .iter()
                .map(|(_, w, point)| Ok(scaled(engine(values, point, key)?, *w)));
            let dots: Vec<Dot> = dots.collect::<Result<_, _>>()?;
            lines.push(Line::new(
                format!("engine, {name}"),
                Source::Engine,
                colour + 1,
                dots,
            ));
            colour += 2;
        }
        Ok(Plot::new(
            format!("{part} {label}: the engine beside the slot model."),
            WINDOW,
            label,
        )
        .with(lines)
        .log_x())
    }

    fn cell(&self, values: &Values, row: usize, column: usize, key: &str) -> Result<Mean, Missing> {
        model(values, &self.rows[row].1[column].1, key)
    }

    fn columns(&self) -> usize {
        self.rows[0].1.len()
    }

    fn window(&self, column: usize) -> u32 {
        self.rows[0].1[column].0
    }

    /// For each row: the key at the largest window, times that at the smallest.
    fn last_over_first(&self, values: &Values, key: &str) -> Result<Vec<Mean>, Missing> {
        let last = self.columns() - 1;
        let of = |row| {
            let (last, first) = (
                self.cell(values, row, last, key)?,
                self.cell(values, row, 0, key)?,
            );
            Ok(last.over(first))
        };
        (0..self.rows.len()).map(of).collect()
    }

    /// For each window: the key in the last row, times that in the first.
    fn bottom_over_top(&self, values: &Values, key: &str) -> Result<Vec<Mean>, Missing> {
        let last = self.rows.len() - 1;
        let of = |column| {
            let (last, first) = (
                self.cell(values, last, column, key)?,
                self.cell(values, 0, column, key)?,
            );
            Ok(last.over(first))
        };
        (0..self.columns()).map(of).collect()
    }
}

fn largest(all: &[Mean]) -> Mean {
    let by = |a: &&Mean, b: &&Mean| a.mean.total_cmp(&b.mean);
    all.iter().max_by(by).copied().unwrap_or(NOTHING)
}

fn smallest(all: &[Mean]) -> Mean {
    let by = |a: &&Mean, b: &&Mean| a.mean.total_cmp(&b.mean);
    all.iter().min_by(by).copied().unwrap_or(NOTHING)
}

const NOTHING: Mean = Mean {
    mean: f64::NAN,
    stderr: 0.0,
};

fn check(what: impl Into<String>, words: &str, rule: Rule, got: Mean) -> Check {
    Check::of(what)
        .claims(words, rule)
        .simulated(got.mean, got.stderr)
}

/// Fig. 6.
pub(super) fn round_trips(scale: Scale) -> Figure {
    let values: &[u32] = scale.pick(
        &[20, 100, 300, 500],
        &[20, 50, 100, 200, 300, 400, 500, 700],
    );
    let grid = Grid::new(
        "RTT, ms",
        values,
        scale.pick(&[100, 300], &[100, 300, 500]),
        scale,
        f64::from,
        |rtt_ms| Options {
            rtt_ms,
            ..Options::BURSTY
        },
    );
    let points = grid.points();
    let at_500 = values.iter().position(|rtt| *rtt == 500).unwrap_or(0);
    Figure {
        id: "rest-6",
        paper: Paper::Rest,
        title: "overhead and mean packet delay over RTT and window size",
        shows: "Bursty losses, adaptive R: (a) overhead, (b) mean packet delay. Overhead is useless \
                repairs and acknowledgements, of all packets of both directions.",
        points,
        show: Box::new(move |values| {
            let slope = grid.last_over_first(values, OVERHEAD.0)?;
            let rise = grid.bottom_over_top(values, OVERHEAD.0)?;
            let (mut from, mut below) = (Vec::new(), Vec::new());
            for column in 0..grid.columns() {
                let delay = grid.cell(values, at_500, column, DELAY.0)?;
                let side = if grid.window(column) >= 120 {
                    &mut from
                } else {
                    &mut below
                };
                side.push(delay);
            }
            let checks = vec![
                check(
                    "overhead with the largest window, times that with the smallest (the RTT with the largest ratio)",
                    "a large W limits overhead",
                    Rule::AtMost(1.0),
                    largest(&slope),
                ),
                check(
                    "overhead at the shortest RTT, times that at the longest (the window with the largest ratio)",
                    "a low RTT limits overhead",
                    Rule::AtMost(1.0),
                    largest(&inverses(&rise)),
                ),
                check(
                    "RTT 500 ms: largest mean delay with W of 120 or more, times the smallest below",
                    "least delay from W = 120 on",
                    Rule::AtMost(1.0),
                    largest(&from).over(smallest(&below)),
                ),
            ];
            Ok(Shown {
                pictures: grid.pictures(values)?,
                checks,
                notes: vec![FLIGHT.to_owned()],
            })
        }),
    }
}

const FLIGHT: &str = "The paper's threshold is where W holds all packets of a round trip and of an \
                      acknowledgement's interval: 38 and 25 packets at 300 ms and 0.2 s. Repairs over \
                      fewer packets cover many that have arrived.";

fn inverses(all: &[Mean]) -> Vec<Mean> {
    let one = Mean {
        mean: 1.0,
        stderr: 0.0,
    };
    all.iter().map(|mean| one.over(*mean)).collect()
}

/// Why frequent acknowledgements do not cost the same at each W.
const ACKS: &str = "The acknowledgements alone are 7 % of all packets at each W. The useless repairs \
    beside them are not the same: with W of 10 they are 19 % of the sender's packets, with W of 300 \
    they are 3 %, because a repair over the oldest few packets brings nothing while an \
    acknowledgement of them is on its way.";

/// Fig. 7.
pub(super) fn acknowledgements(scale: Scale) -> Figure {
    let grid = Grid::new(
        "ACK interval, s",
        scale.pick(
            &[100, 200, 500, 1000],
            &[100, 200, 300, 400, 500, 600, 700, 800, 1000],
        ),
        scale.pick(&[200], &[100, 200, 500, 1000]),
        scale,
        |ms| f64::from(ms) / 1e3,
        |ack_ms| Options {
            ack_ms,
            ..Options::BURSTY
        },
    );
    let points = grid.points();
    Figure {
        id: "rest-7",
        paper: Paper::Rest,
        title: "overhead and mean packet delay over ACK interval and window size",
        shows: "Bursty losses, adaptive R, RTT 300 ms: (a) overhead, (b) mean packet delay. Frequent \
                acknowledgements are packets themselves; with rare ones the window moves late and \
                repairs are useless.",
        points,
        show: Box::new(move |values| {
            let last = grid.rows.len() - 1;
            let (mut frequent, mut best) = (Vec::new(), Vec::new());
            for column in 0..grid.columns() {
                let cell = |row| grid.cell(values, row, column, OVERHEAD.0);
                frequent.push(cell(0)?);
                if grid.window(column) > 30 {
                    let inner = (1..last).map(cell).collect::<Result<Vec<_>, _>>()?;
                    best.push(smallest(&inner).over(smallest(&[cell(0)?, cell(last)?])));
                }
            }
            let apart = |mean: &&Mean| (mean.mean / 0.1).ln().abs();
            let worst = frequent
                .iter()
                .max_by(|a, b| apart(a).total_cmp(&apart(b)))
                .copied()
                .unwrap_or(NOTHING);
            let checks = vec![
                check(
                    "least overhead of the intervals between 0.1 and 1 s, times the lesser of these two (the W above 30 with the largest ratio)",
                    "an optimal frequency exists for W > 30",
                    Rule::AtMost(1.0),
                    largest(&best),
                ),
                Check::of("overhead with an acknowledgement each 0.1 s (the window furthest from the paper's)")
                    .about(0.1)
                    .simulated(worst.mean, worst.stderr)
                    .explained(ACKS, ""),
                check(
                    "mean delay with an acknowledgement each 1 s, times that each 0.1 s, at the same W (the least ratio)",
                    "rarer acknowledgements need a larger W for the same delay",
                    Rule::AtLeast(1.0),
                    smallest(&grid.bottom_over_top(values, DELAY.0)?),
                ),
            ];
            Ok(Shown {
                pictures: grid.pictures(values)?,
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Fig. 8.
pub(super) fn bursts(scale: Scale) -> Figure {
    let grid = Grid::new(
        "largest burst, packets",
        scale.pick(&[10, 20, 40, 100], &[1, 5, 10, 20, 30, 40, 60, 80, 100]),
        scale.pick(&[40], &[10, 40, 100]),
        scale,
        f64::from,
        |longest| Options {
            loss: Loss::Bursts(longest),
            ..Options::BURSTY
        },
    );
    let points = grid.points();
    Figure {
        id: "rest-8",
        paper: Paper::Rest,
        title: "overhead and mean packet delay over the largest burst and window size",
        shows: "Bursts of 1 to N packets with a chance of 1 % after each packet that arrived, whatever \
                N; adaptive R, RTT 300 ms: (a) overhead, (b) mean packet delay.",
        points,
        show: Box::new(move |values| {
            let long: Vec<usize> = (0..grid.rows.len())
                .filter(|row| grid.rows[*row].0 >= 30.0)
                .collect();
            let gains = grid.last_over_first(values, OVERHEAD.0)?;
            let delays = grid.last_over_first(values, DELAY.0)?;
            let of = |all: &[Mean]| long.iter().map(|row| all[*row]).collect::<Vec<_>>();
            let short: Vec<Mean> = (0..grid.rows.len())
                .filter(|row| grid.rows[*row].0 < 30.0)
                .map(|row| gains[row])
                .collect();
            let fallen = of(&delays)
                .iter()
                .map(|mean| format!("{:.2}", mean.mean))
                .collect::<Vec<_>>();
            let fallen = format!(
                "The delay falls with W for each of these bursts, to {} of that with the smallest W: \
                 repairs over few packets reach a loss only after those before it are acknowledged. \
                 The engine's delay falls with W too.",
                fallen.join(", ")
            );
            let checks = vec![
                check(
                    "bursts of 30 and more: overhead with the largest W, times that with the smallest (the largest ratio)",
                    "a larger W absorbs larger bursts",
                    Rule::AtMost(1.0),
                    largest(&of(&gains)),
                ),
                check(
                    "the same for the mean delay (the smallest ratio)",
                    "for more delay",
                    Rule::AtLeast(1.0),
                    smallest(&of(&delays)),
                )
                .explained(&fallen, ""),
                check(
                    "the smallest such ratio of overheads below bursts of 30, times that from 30 on",
                    "little to gain below bursts of 30",
                    Rule::AtLeast(1.0),
                    smallest(&short).over(smallest(&of(&gains))),
                ),
            ];
            Ok(Shown {
                pictures: grid.pictures(values)?,
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
