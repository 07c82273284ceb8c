//! Figs 6, 7 and 8: overhead and mean packet delay over the window and another quantity.

use super::super::Rule;
use super::super::picture::{Dot, Line, Picture, Plot, Source, Surface};
use super::runs::{Loss, Mean, Options, engine, model};
use super::{Check, Figure, Missing, Paper, Point, Scale, Shown, Values};

const OVERHEAD: (&str, &str) = ("overhead", "overhead, %");
const DELAY: (&str, &str) = ("mean_delay_s", "mean packet delay, s");
const WINDOW: &str = "window size W, packets";

/// The points of one source: for each value of the second quantity, by window.
struct Table {
    source: Source,
    rows: Vec<(f64, Vec<(u32, Point)>)>,
}

/// A grid of streams: each value of the second quantity with each window.
struct Grid {
    /// The second quantity, with its unit.
    axis: (&'static str, &'static str),
    model: Table,
    /// Some rows and columns of the same.
    engine: Table,
}

impl Table {
    fn points(&self) -> impl Iterator<Item = Point> {
        let rows = self.rows.iter();
        rows.flat_map(|(_, row)| row.iter().map(|(_, point)| point.clone()))
    }

    fn read(&self, values: &Values, point: &Point, key: &str) -> Result<Mean, Missing> {
        match self.source {
            Source::Engine => engine(values, point, key),
            _ => model(values, point, key),
        }
    }

    /// The key in each row at the windows that `wanted` selects.
    fn cells(
        &self,
        values: &Values,
        key: &str,
        row: usize,
        wanted: impl Fn(u32) -> bool,
    ) -> Result<Vec<Mean>, Missing> {
        let row = self.rows.get(row).map_or(&[][..], |(_, row)| &row[..]);
        let cells = row.iter().filter(|(window, _)| wanted(*window));
        cells
            .map(|(_, point)| self.read(values, point, key))
            .collect()
    }

    /// For each row: the key at the largest window, times that at the smallest.
    fn last_over_first(&self, values: &Values, key: &str) -> Result<Vec<(f64, Mean)>, Missing> {
        let of = |(place, (x, _)): (usize, &(f64, Vec<_>))| {
            let all = self.cells(values, key, place, |_| true)?;
            Ok((*x, ends(&all).1.over(ends(&all).0)))
        };
        self.rows.iter().enumerate().map(of).collect()
    }

    /// For each window: the key in the last row, times that in the first.
    fn bottom_over_top(&self, values: &Values, key: &str) -> Result<Vec<Mean>, Missing> {
        let first = self.cells(values, key, 0, |_| true)?;
        let last = self.cells(values, key, self.rows.len() - 1, |_| true)?;
        Ok(last
            .into_iter()
            .zip(first)
            .map(|(a, b)| a.over(b))
            .collect())
    }
}

/// The first and the last.
fn ends(all: &[Mean]) -> (Mean, Mean) {
    let one = |found: Option<&Mean>| found.copied().unwrap_or(NOTHING);
    (one(all.first()), one(all.last()))
}

impl Grid {
    /// `of` makes the options of a value, and `shown` its number on the axis.
    fn new(
        axis: (&'static str, &'static str),
        [values, engine_values]: [&[u32]; 2],
        scale: Scale,
        shown: fn(u32) -> f64,
        of: fn(u32) -> Options,
    ) -> Self {
        let with = |value: u32, window: u32| Options {
            window: Some(window),
            ..of(value)
        };
        let table = |source, values: &[u32], windows: &[u32]| {
            let row = |value: &u32| {
                let point = |w: &u32| {
                    let options = with(*value, *w);
                    let point = match source {
                        Source::Engine => options.engine(scale.pick(8, 20), scale.seed),
                        _ => options.model(scale.pick(20, 100), scale.seed),
                    };
                    (*w, point)
                };
                (shown(*value), windows.iter().map(point).collect())
            };
            let rows = values.iter().map(row).collect();
            Table { source, rows }
        };
        let (windows, some): (&[u32], &[u32]) = scale.pick(
            (&[20, 40, 80, 120, 200], &[20, 80, 200]),
            (
                &[10, 20, 30, 40, 60, 80, 100, 120, 160, 200, 300],
                &[10, 20, 40, 80, 120, 200, 300],
            ),
        );
        Self {
            axis,
            model: table(Source::Simulation, values, windows),
            engine: table(Source::Engine, engine_values, some),
        }
    }

    fn points(&self) -> Vec<Point> {
        self.model.points().chain(self.engine.points()).collect()
    }

    fn pictures(&self, values: &Values) -> Result<Vec<Picture>, Missing> {
        let mut pictures: Vec<Picture> = Vec::new();
        for (part, (key, label)) in [("(a)", OVERHEAD), ("(b)", DELAY)] {
            let factor = if key == OVERHEAD.0 { 100.0 } else { 1.0 };
            let caption = format!("{part} {label}: the slot model.");
            let (name, unit) = self.axis;
            let axis = format!("{name}, {unit}");
            let mut surface = Surface::new(caption, [WINDOW, &axis, label], Source::Simulation);
            for (x, row) in &self.model.rows {
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
        let (name, unit) = self.axis;
        let mut lines = Vec::new();
        for (place, (x, _)) in self.engine.rows.iter().enumerate() {
            for (who, table, colour) in [
                ("slot model", &self.model, 2 * place),
                ("engine", &self.engine, 2 * place + 1),
            ] {
                let Some((_, row)) = table.rows.iter().find(|(at, _)| at == x) else {
                    continue;
                };
                let dot = |(window, point): &(u32, Point)| {
                    let got = table.read(values, point, key)?;
                    Ok(Dot {
                        x: f64::from(*window),
                        y: factor * got.mean,
                        stderr: factor * got.stderr,
                    })
                };
                let dots = row.iter().map(dot).collect::<Result<_, _>>()?;
                let name = format!("{who}, {name} {x} {unit}");
                lines.push(Line::new(name, table.source, colour, dots));
            }
        }
        let caption = format!("{part} {label}: the engine beside the slot model.");
        Ok(Plot::new(caption, WINDOW, label).with(lines).log_x())
    }

    /// A claim about a quantity of each source.
    fn claim(
        &self,
        what: &str,
        words: &str,
        rule: Rule,
        of: impl Fn(&Table) -> Result<Mean, Missing>,
    ) -> Result<Check, Missing> {
        let check = Check::of(what).claims(words, rule);
        Ok(check.both(of(&self.model)?, of(&self.engine)?))
    }
}

fn largest(all: impl IntoIterator<Item = Mean>) -> Mean {
    let by = |a: &Mean, b: &Mean| a.mean.total_cmp(&b.mean);
    all.into_iter().max_by(by).unwrap_or(NOTHING)
}

fn smallest(all: impl IntoIterator<Item = Mean>) -> Mean {
    let by = |a: &Mean, b: &Mean| a.mean.total_cmp(&b.mean);
    all.into_iter().min_by(by).unwrap_or(NOTHING)
}

const NOTHING: Mean = Mean {
    mean: f64::NAN,
    stderr: 0.0,
};
const ONE: Mean = Mean {
    mean: 1.0,
    stderr: 0.0,
};
/// Why a quantity of the engine differs from the model's in these figures.
const ENGINE: &str = "After the last data the model's sender repairs until it hears that everything \
    arrived, which is useless for the most part; the engine repairs only what a report shows missing. \
    Without those repairs the model has the engine's overhead (RTT 300 ms; ACK intervals of 0.1, 0.2, \
    0.5 and 1 s: 0.094, 0.059, 0.041 and 0.040 with W 120, the engine 0.094, 0.061, 0.044 and 0.041).";

/// Fig. 6.
pub(super) fn round_trips(scale: Scale) -> Figure {
    let (values, engine): (&[u32], &[u32]) = scale.pick(
        (&[20, 100, 300, 500], &[20, 500]),
        (
            &[20, 50, 100, 200, 300, 400, 500, 700],
            &[20, 300, 500, 700],
        ),
    );
    let grid = Grid::new(
        ("RTT", "ms"),
        [values, engine],
        scale,
        f64::from,
        |rtt_ms| Options {
            rtt_ms,
            ..Options::BURSTY
        },
    );
    let points = grid.points();
    Figure {
        id: "rest-6",
        paper: Paper::Rest,
        title: "overhead and mean packet delay over RTT and window size",
        shows: "Bursty losses, adaptive R: (a) overhead, (b) mean packet delay. Overhead is useless \
                repairs and acknowledgements, of all packets of both directions.",
        points,
        show: Box::new(move |values| {
            let checks = vec![
                grid.claim(
                    "overhead with the largest window, times that with the smallest (the RTT with the largest ratio)",
                    "a large W limits overhead",
                    Rule::AtMost(1.0),
                    |table| {
                        let all = table.last_over_first(values, OVERHEAD.0)?;
                        Ok(largest(all.into_iter().map(|(_, ratio)| ratio)))
                    },
                )?
                .explained("", ENGINE),
                grid.claim(
                    "overhead at the shortest RTT, times that at the longest (the window with the largest ratio)",
                    "a low RTT limits overhead",
                    Rule::AtMost(1.0),
                    |table| {
                        let all = table.bottom_over_top(values, OVERHEAD.0)?;
                        Ok(largest(all.into_iter().map(|ratio| ONE.over(ratio))))
                    },
                )?
                .explained("", ENGINE),
                grid.claim(
                    "RTT 500 ms: largest mean delay with W of 120 or more, times the smallest below",
                    "least delay from W = 120 on",
                    Rule::AtMost(1.0),
                    |table| {
                        let at_500 = table.rows.iter().position(|(rtt, _)| *rtt == 500.0);
                        let cells = |wanted: fn(u32) -> bool| {
                            table.cells(values, DELAY.0, at_500.unwrap_or(0), wanted)
                        };
                        Ok(largest(cells(|w| w >= 120)?).over(smallest(cells(|w| w < 120)?)))
                    },
                )?
                .explained("", ENGINE),
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

/// Why frequent acknowledgements do not cost the same at each W.
const ACKS: &str = "The acknowledgements alone are 7 % of all packets at each W; the useless repairs \
    beside them depend on W (19 % of the sender's packets with W 10, 3 % with W 300). Most of them are \
    sent after the last data: the next line leaves them out.";

/// Fig. 7.
pub(super) fn acknowledgements(scale: Scale) -> Figure {
    let (values, engine): (&[u32], &[u32]) = scale.pick(
        (&[100, 200, 500, 1000], &[100, 500, 1000]),
        (
            &[100, 200, 300, 400, 500, 600, 700, 800, 1000],
            &[100, 200, 500, 1000],
        ),
    );
    let seconds = |ms| f64::from(ms) / 1e3;
    let grid = Grid::new(
        ("ACK interval", "s"),
        [values, engine],
        scale,
        seconds,
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
            let checks = vec![
                grid.claim(
                    "least overhead of the intervals between 0.1 and 1 s, times the lesser of these two (the W above 30 with the largest ratio)",
                    "an optimal frequency exists for W > 30",
                    Rule::AtMost(1.0),
                    |table| {
                        let rows = (0..table.rows.len())
                            .map(|row| table.cells(values, OVERHEAD.0, row, |w| w > 30));
                        let rows = rows.collect::<Result<Vec<_>, _>>()?;
                        let ratio = |column: usize| {
                            let cells: Vec<Mean> = rows.iter().map(|row| row[column]).collect();
                            let (first, last) = ends(&cells);
                            let inner = smallest(cells[1..cells.len() - 1].iter().copied());
                            inner.over(smallest([first, last]))
                        };
                        Ok(largest((0..rows[0].len()).map(ratio)))
                    },
                )?
                .explained(OPTIMUM, ENGINE),
                Check::of("overhead with an acknowledgement each 0.1 s (the window furthest from the paper's)")
                    .about(0.1)
                    .both(
                        furthest(&grid.model, OVERHEAD.0, values)?,
                        furthest(&grid.engine, OVERHEAD.0, values)?,
                    )
                    .explained(ACKS, ENGINE),
                Check::of("the same without the model's repairs after the last data packet")
                    .both(
                        furthest(&grid.model, "inline_overhead", values)?,
                        furthest(&grid.engine, OVERHEAD.0, values)?,
                    )
                    .explained("", SMALL),
                grid.claim(
                    "mean delay with an acknowledgement each 1 s, times that each 0.1 s, at the same W (the least ratio)",
                    "rarer acknowledgements need a larger W for the same delay",
                    Rule::AtLeast(1.0),
                    |table| Ok(smallest(table.bottom_over_top(values, DELAY.0)?)),
                )?
                .explained("", ENGINE),
            ];
            Ok(Shown {
                pictures: grid.pictures(values)?,
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// The overhead of frequent acknowledgements that is furthest from the paper's 10 %.
fn furthest(table: &Table, key: &str, values: &Values) -> Result<Mean, Missing> {
    let apart = |mean: &Mean| (mean.mean / 0.1).ln().abs();
    let all = table.cells(values, key, 0, |_| true)?;
    let by = |a: &Mean, b: &Mean| apart(a).total_cmp(&apart(b));
    Ok(all.into_iter().max_by(by).unwrap_or(NOTHING))
}

/// Why the engine's overhead at the smallest windows is less than the model's.
const SMALL: &str = "The window furthest from 10 % is not the same one: overheads of the engine are lower \
    than 10 % with a large W, those of the model higher with a small one.";

/// Why the engine has no optimum.
const OPTIMUM: &str = "The model's optimum comes from useless repairs after the last data, more of them \
    the rarer the acknowledgements. The engine leaves them out. Without them the overhead of the model \
    falls with the interval too, as the engine's does: 0.105, 0.070, 0.052, 0.052 for 0.1, 0.2, 0.5 and \
    1 s with W 40 (the engine 0.103, 0.071, 0.053, 0.053), and 0.087 to 0.027 with W 300 (the engine \
    0.087 to 0.029).";

/// Why the engine's delay rises less where bursts are longer than the window.
const AGAIN: &str = "Where a burst is longer than the window, the engine sends what lies beyond the \
    window again, uncoded: 0.30 of the packets with bursts up to 100 and W 10, 0.0008 with W 300. The \
    model, as the paper, has repairs over the window alone.";

/// Fig. 8.
pub(super) fn bursts(scale: Scale) -> Figure {
    let (values, engine): (&[u32], &[u32]) = scale.pick(
        (&[10, 20, 40, 100], &[10, 100]),
        (&[1, 5, 10, 20, 30, 40, 60, 80, 100], &[10, 40, 100]),
    );
    let axis = ("largest burst", "packets");
    let grid = Grid::new(axis, [values, engine], scale, f64::from, |longest| {
        Options {
            loss: Loss::Bursts(longest),
            ..Options::BURSTY
        }
    });
    let points = grid.points();
    Figure {
        id: "rest-8",
        paper: Paper::Rest,
        title: "overhead and mean packet delay over the largest burst and window size",
        shows: "Bursts of 1 to N packets with a chance of 1 % after each packet that arrived, whatever \
                N; adaptive R, RTT 300 ms: (a) overhead, (b) mean packet delay.",
        points,
        show: Box::new(move |values| {
            // Ratios of bursts of 30 and more, or of the others.
            let ratios = |table: &Table, key: &str, long: bool| {
                let all = table.last_over_first(values, key)?;
                let wanted = all.into_iter().filter(|(x, _)| (*x >= 30.0) == long);
                Ok(wanted.map(|(_, ratio)| ratio).collect::<Vec<Mean>>())
            };
            let fallen = ratios(&grid.model, DELAY.0, true)?;
            let fallen: Vec<String> = fallen.iter().map(|r| format!("{:.2}", r.mean)).collect();
            let fallen = format!(
                "The delay falls with W for each of these bursts, to {} of that with the smallest W, and \
                 the engine's too: repairs over few packets reach a loss only when those before it are \
                 acknowledged.",
                fallen.join(", ")
            );
            let checks = vec![
                grid.claim(
                    "bursts of 30 and more: overhead with the largest W, times that with the smallest (the largest ratio)",
                    "a larger W absorbs larger bursts",
                    Rule::AtMost(1.0),
                    |table| Ok(largest(ratios(table, OVERHEAD.0, true)?)),
                )?
                .explained("", ENGINE),
                grid.claim(
                    "the same for the mean delay (the smallest ratio)",
                    "for more delay",
                    Rule::AtLeast(1.0),
                    |table| Ok(smallest(ratios(table, DELAY.0, true)?)),
                )?
                .explained(&fallen, AGAIN),
                grid.claim(
                    "the smallest such ratio of overheads below bursts of 30, times that from 30 on",
                    "little to gain below bursts of 30",
                    Rule::AtLeast(1.0),
                    |table| {
                        let short = smallest(ratios(table, OVERHEAD.0, false)?);
                        Ok(short.over(smallest(ratios(table, OVERHEAD.0, true)?)))
                    },
                )?
                .explained("", ENGINE),
            ];
            Ok(Shown {
                pictures: grid.pictures(values)?,
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
