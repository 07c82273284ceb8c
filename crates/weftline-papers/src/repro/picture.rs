//! Pictures of a figure, and the same numbers as CSV.

use std::fmt::Write;

use weftline_plot::{Axis, Marks, STYLES, Series, SurfaceLabels, Whisker, chart_with, surface};

/// The source of a line's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Printed in the paper.
    Paper,
    /// A formula.
    Theory,
    /// A simulation of the paper's model.
    Simulation,
    /// The engine in virtual time.
    Engine,
    /// Measured on this machine, in the lab.
    Measured,
}

impl Source {
    /// Its name in CSV files.
    pub fn name(self) -> &'static str {
        match self {
            Source::Paper => "paper",
            Source::Theory => "theory",
            Source::Simulation => "simulation",
            Source::Engine => "engine",
            Source::Measured => "measured",
        }
    }

    fn marks(self) -> Marks {
        match self {
            Source::Paper => Marks::Diamonds,
            Source::Theory => Marks::Line,
            Source::Simulation | Source::Engine => Marks::Both,
            Source::Measured => Marks::Squares,
        }
    }
}

/// A value with its standard error, or 0 if it has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Its x.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// Its standard error.
    pub stderr: f64,
}

impl Dot {
    /// An exact value.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, stderr: 0.0 }
    }
}

/// A series of values.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// The source of its numbers.
    pub source: Source,
    /// Its colour: lines about the same quantity share one.
    pub colour: usize,
    /// Its values, in order of x.
    pub dots: Vec<Dot>,
    marks: Marks,
}

impl Line {
    /// A line.
    pub fn new(name: impl Into<String>, source: Source, colour: usize, dots: Vec<Dot>) -> Self {
        Self {
            name: name.into(),
            source,
            colour,
            dots,
            marks: source.marks(),
        }
    }

    /// In another colour.
    pub fn coloured(mut self, colour: usize) -> Self {
        self.colour = colour;
        self
    }

    /// Draws a line without dots, for any source: for distributions.
    pub fn smooth(mut self) -> Self {
        self.marks = Marks::Line;
        self
    }

    /// Draws a line of steps, each value up to the next x: for distributions of few values,
    /// histograms, and what changes at some times only.
    pub fn steps(mut self) -> Self {
        let mut dots: Vec<Dot> = Vec::with_capacity(2 * self.dots.len());
        for dot in &self.dots {
            if let Some(before) = dots.last().copied() {
                dots.push(Dot { x: dot.x, ..before });
            }
            dots.push(*dot);
        }
        self.dots = dots;
        self.smooth()
    }

    /// Draws dots without a line.
    pub fn apart(mut self) -> Self {
        if self.marks == Marks::Both {
            self.marks = Marks::Points;
        }
        self
    }
}

/// From, to.
type Range = (f64, f64);

/// A chart.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Its caption.
    pub caption: String,
    /// The axes' labels, with units.
    pub labels: (String, String),
    /// Its lines.
    pub lines: Vec<Line>,
    log: (bool, bool),
    range: (Option<Range>, Option<Range>),
}

impl Plot {
    /// A chart over two linear axes that begin at 0.
    pub fn new(caption: impl Into<String>, x: impl Into<String>, y: impl Into<String>) -> Self {
        Self {
            caption: caption.into(),
            labels: (x.into(), y.into()),
            lines: Vec::new(),
            log: (false, false),
            range: (None, None),
        }
    }

    /// Adds these lines.
    pub fn with(mut self, lines: impl IntoIterator<Item = Line>) -> Self {
        self.lines.extend(lines);
        self
    }

    /// A logarithmic x axis: values of 0 or less are not drawn.
    pub fn log_x(mut self) -> Self {
        self.log.0 = true;
        self
    }

    /// A logarithmic y axis.
    pub fn log_y(mut self) -> Self {
        self.log.1 = true;
        self
    }

    /// Shows this range of x only.
    pub fn x_range(mut self, from: f64, to: f64) -> Self {
        self.range.0 = Some((from, to));
        self
    }

    /// Shows this range of y only.
    pub fn y_range(mut self, from: f64, to: f64) -> Self {
        self.range.1 = Some((from, to));
        self
    }

    /// The chart as an `svg` element.
    pub fn svg(&self) -> String {
        let shown = |dot: &&Dot| {
            let fits = |value: f64, log: bool, range: Option<(f64, f64)>| {
                value.is_finite()
                    && (!log || value > 0.0)
                    && range.is_none_or(|(from, to)| (from..=to).contains(&value))
            };
            fits(dot.x, self.log.0, self.range.0) && fits(dot.y, self.log.1, self.range.1)
        };
        let (mut series, mut whiskers) = (Vec::new(), Vec::new());
        let mut spots = (Vec::new(), Vec::new());
        for line in &self.lines {
            let style = line.colour % STYLES;
            let dots: Vec<&Dot> = line.dots.iter().filter(shown).collect();
            for dot in &dots {
                spots.0.push(dot.x);
                spots.1.push(dot.y + dot.stderr);
                spots.1.push(dot.y);
                whiskers.extend((dot.stderr > 0.0).then_some(Whisker {
                    style,
                    x: dot.x,
                    low: dot.y - dot.stderr,
                    high: dot.y + dot.stderr,
                }));
            }
            series.push(Series {
                name: line.name.clone(),
                style,
                points: dots.iter().map(|dot| (dot.x, dot.y)).collect(),
                marks: line.marks,
            });
        }
        let x = axis(&self.labels.0, self.log.0, self.range.0, &spots.0);
        let y = axis(&self.labels.1, self.log.1, self.range.1, &spots.1);
        chart_with(&self.caption, &x, &y, &series, &whiskers)
    }

    /// Lines of CSV: chart, line, source, x, y, standard error. `place` distinguishes the charts
    /// of a figure.
    pub fn csv(&self, place: usize) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut text = String::new();
        for line in &self.lines {
            for dot in &line.dots {
                // Writing to a string cannot fail.
                let _ = writeln!(
                    text,
                    "{place},{},{},{},{},{},{},{}",
                    quoted(&line.name),
                    line.source.name(),
                    quoted(&self.labels.0),
                    dot.x,
                    quoted(&self.labels.1),
                    dot.y,
                    dot.stderr
                );
            }
        }
        text
    }
}

/// A value over two quantities.
#[derive(Clone, Debug)]
pub struct Surface {
    /// Its caption.
    pub caption: String,
    /// Labels of the columns, the rows and the values, with units.
    pub labels: (String, String, String),
    /// The source of its numbers.
    pub source: Source,
    /// Its values: x, y, and the value with its error.
    pub cells: Vec<(f64, f64, Dot)>,
}

impl Surface {
    /// An empty surface. Labels are those of the columns, the rows and the values.
    pub fn new(caption: impl Into<String>, labels: [&str; 3], source: Source) -> Self {
        let [x, y, z] = labels.map(str::to_owned);
        Self {
            caption: caption.into(),
            labels: (x, y, z),
            source,
            cells: Vec::new(),
        }
    }

    /// Adds the value at (x, y), with its standard error.
    pub fn add(&mut self, x: f64, y: f64, value: f64, stderr: f64) {
        let value = Dot {
            x,
            y: value,
            stderr,
        };
        self.cells.push((x, y, value));
    }

    fn svg(&self) -> String {
        let sorted = |values: Vec<f64>| {
            let mut values = values;
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let xs = sorted(self.cells.iter().map(|cell| cell.0).collect());
        let ys = sorted(self.cells.iter().map(|cell| cell.1).collect());
        let value = |x: f64, y: f64| {
            let cell = self.cells.iter().find(|cell| cell.0 == x && cell.1 == y);
            cell.map(|cell| cell.2.y).filter(|value| value.is_finite())
        };
        let rows: Vec<Vec<Option<f64>>> = ys
            .iter()
            .map(|y| xs.iter().map(|x| value(*x, *y)).collect())
            .collect();
        let (x, y, z) = self.labels.clone();
        surface(&self.caption, &SurfaceLabels { x, y, z }, &xs, &ys, &rows)
    }

    fn csv(&self, place: usize) -> String {
        let mut text = String::new();
        for (x, y, value) in &self.cells {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{place},\"{} {y}\",{},\"{}\",{x},\"{}\",{},{}",
                self.labels.1,
                self.source.name(),
                self.labels.0,
                self.labels.2,
                value.y,
                value.stderr
            );
        }
        text
    }
}

/// A drawing made from a run's events: [`Canvas`](weftline_plot::Canvas) makes its `svg` element.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Its caption.
    pub caption: String,
    /// The `svg` element.
    pub svg: String,
}

/// A picture of a figure.
#[derive(Clone, Debug)]
pub enum Picture {
    /// Lines and dots over two axes.
    Plot(Plot),
    /// Values over two quantities.
    Surface(Surface),
    /// A drawing.
    Drawing(Drawing),
}

impl Picture {
    /// Its caption.
    pub fn caption(&self) -> &str {
        match self {
            Picture::Plot(plot) => &plot.caption,
            Picture::Surface(surface) => &surface.caption,
            Picture::Drawing(drawing) => &drawing.caption,
        }
    }

    /// The picture as an `svg` element.
    pub fn svg(&self) -> String {
        match self {
            Picture::Plot(plot) => plot.svg(),
            Picture::Surface(surface) => surface.svg(),
            Picture::Drawing(drawing) => drawing.svg.clone(),
        }
    }

    /// Its numbers as lines of CSV: picture, line, source, x, y, standard error. `place`
    /// distinguishes the pictures of a figure.
    pub fn csv(&self, place: usize) -> String {
        match self {
            Picture::Plot(plot) => plot.csv(place),
            Picture::Surface(surface) => surface.csv(place),
            Picture::Drawing(_) => String::new(),
        }
    }
}

impl From<Plot> for Picture {
    fn from(plot: Plot) -> Self {
        Picture::Plot(plot)
    }
}

impl From<Surface> for Picture {
    fn from(surface: Surface) -> Self {
        Picture::Surface(surface)
    }
}

impl From<Drawing> for Picture {
    fn from(drawing: Drawing) -> Self {
        Picture::Drawing(drawing)
    }
}

/// The first line of CSV files.
pub(super) const CSV_HEAD: &str = "chart,line,source,x_label,x,y_label,y,stderr\n";

fn axis(label: &str, log: bool, range: Option<(f64, f64)>, values: &[f64]) -> Axis {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values {
        (low, high) = (low.min(*value), high.max(*value));
    }
    if !(low.is_finite() && high.is_finite()) {
        (low, high) = (0.1, 1.0);
    }
    let fitting = match log {
        true => (low * 0.8, (high * 1.25).max(low * 2.0)),
        false => {
            let from = low.min(0.0);
            (from, from + ((high - from) * 1.06).max(1e-9))
        }
    };
    Axis {
        label: label.to_owned(),
        log,
        range: range.unwrap_or(fitting),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_and_its_csv_have_every_value_that_can_be_drawn() {
        let dots = vec![
            Dot::new(1.0, 0.0),
            Dot {
                x: 10.0,
                y: 2.0,
                stderr: 0.5,
            },
        ];
        let line = Line::new("a \"b\"", Source::Simulation, 3, dots);
        let plot = Plot::new("c", "x", "y, ms").with([line]).log_y();
        let svg = plot.svg();
        assert_eq!(svg.matches("<circle").count(), 1 + 1, "a dot, the legend's");
        assert_eq!(svg.matches("class=\"range e3\"").count(), 1, "{svg}");
        let csv = plot.csv(1);
        assert_eq!(csv.lines().count(), 2);
        assert!(csv.ends_with("1,\"a \"\"b\"\"\",simulation,\"x\",10,\"y, ms\",2,0.5\n"));
    }

    #[test]
    fn an_empty_chart_is_valid() {
        assert!(Plot::new("c", "x", "y").log_x().svg().ends_with("</svg>"));
    }
}
