//! Pictures of a figure, and the same numbers as CSV.

use std::fmt::Write;

use weftline_plot::{
    Axis, Curve, DASHES, Look, Mark, STYLES, Shape, Stroke, SurfaceLabels, Width, chart_of, clip,
    distinct, sample, surface,
};

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

    /// How its lines are drawn if nothing else is asked for.
    fn drawn(self) -> Drawn {
        match self {
            Source::Theory => Drawn::Line,
            Source::Simulation | Source::Engine => Drawn::Both,
            Source::Paper | Source::Measured => Drawn::Marks,
        }
    }

    /// The look of a line: the source gives the kind of line and mark, and `rank`, the number of the
    /// quantity among those of the same kind, the dash of lines without marks, or the mark's shape.
    fn look(self, drawn: Drawn, colour: usize, rank: usize) -> Look {
        let (family, open, dash) = match self {
            Source::Paper => (&Shape::DIAMONDS[..], false, 3),
            Source::Theory => (&Shape::ROUND[..], true, 0),
            Source::Simulation => (&Shape::ROUND[..], false, 0),
            Source::Engine => (&Shape::ROUND[..], true, 1),
            Source::Measured => (&Shape::SQUARES[..], false, 2),
        };
        let dash = match drawn {
            Drawn::Line => (dash + rank) % DASHES,
            _ => dash,
        };
        let thin = self == Source::Theory;
        Look {
            colour: colour % STYLES,
            stroke: (drawn != Drawn::Marks).then_some(Stroke { dash, thin }),
            mark: (drawn != Drawn::Line).then_some(Mark {
                shape: family[rank % family.len()],
                open,
            }),
        }
    }

    /// A small picture of a line of this source.
    pub(super) fn sample(self) -> String {
        sample(self.look(self.drawn(), 1, 0))
    }
}

/// What is drawn of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    Line,
    Marks,
    Both,
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
    drawn: Drawn,
}

impl Line {
    /// A line.
    pub fn new(name: impl Into<String>, source: Source, colour: usize, dots: Vec<Dot>) -> Self {
        Self {
            name: name.into(),
            source,
            colour,
            dots,
            drawn: source.drawn(),
        }
    }

    /// In another colour.
    pub fn coloured(mut self, colour: usize) -> Self {
        self.colour = colour;
        self
    }

    /// Draws a line without dots, for any source: for distributions.
    pub fn smooth(mut self) -> Self {
        self.drawn = Drawn::Line;
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
        if self.drawn == Drawn::Both {
            self.drawn = Drawn::Marks;
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

    /// The chart as an `svg` element, as wide as a page.
    pub fn svg(&self) -> String {
        self.drawn(&[Width::Page])
    }

    /// The chart for a page, and again for a phone: the style sheet shows the one that fits.
    pub fn html(&self) -> String {
        self.drawn(&[Width::Page, Width::Phone])
    }

    fn drawn(&self, widths: &[Width]) -> String {
        let (mut curves, mut spots) = (Vec::new(), (Vec::new(), Vec::new()));
        for (line, look) in self.lines.iter().zip(self.looks()) {
            let points: Vec<(f64, f64)> = line.dots.iter().map(|dot| (dot.x, dot.y)).collect();
            let points = clip(&points, self.range, self.log);
            let error =
                |index: Option<usize>| index.map_or(0.0f64, |index| line.dots[index].stderr);
            for ((x, y), index) in points.iter().filter(|((x, _), _)| x.is_finite()) {
                spots.0.push(*x);
                spots.1.extend([*y, *y + error(*index).max(0.0)]);
            }
            curves.push(Curve {
                name: line.name.clone(),
                look,
                points: points.iter().map(|(point, _)| *point).collect(),
                errors: points.iter().map(|(_, index)| error(*index)).collect(),
                // Where a line is cut there is no mark.
                unmarked: (0..points.len())
                    .filter(|n| points[*n].1.is_none())
                    .collect(),
            });
        }
        let x = axis(&self.labels.0, self.log.0, self.range.0, &spots.0);
        let y = axis(&self.labels.1, self.log.1, self.range.1, &spots.1);
        let one = |width: &Width| chart_of(&self.caption, &x, &y, &curves, *width);
        widths.iter().map(one).collect()
    }

    /// The looks of its lines: no two are alike, also without colours while there are enough dashes
    /// and marks.
    fn looks(&self) -> Vec<Look> {
        let kind = |source: Source| match source {
            Source::Engine => Source::Simulation,
            other => other,
        };
        let mut colours: Vec<(Source, usize)> = Vec::new();
        let look = |line: &Line| {
            let own = (kind(line.source), line.colour);
            let of_kind = |colours: &[(Source, usize)]| {
                let same = colours.iter().filter(|other| other.0 == own.0);
                same.map(|other| other.1).collect::<Vec<usize>>()
            };
            if !colours.contains(&own) {
                colours.push(own);
            }
            let rank = of_kind(&colours).iter().position(|c| *c == own.1);
            // A line of one value would not be seen.
            let drawn = match (line.drawn, line.dots.len()) {
                (Drawn::Line, 1) => Drawn::Marks,
                (drawn, _) => drawn,
            };
            line.source.look(drawn, line.colour, rank.unwrap_or(0))
        };
        let mut looks: Vec<Look> = self.lines.iter().map(look).collect();
        distinct(&mut looks);
        looks
    }

    /// The names of lines that look alike: in colour, dash and mark.
    pub fn twins(&self) -> Vec<(String, String)> {
        self.alike(Look::is_like)
    }

    /// The names of lines that look alike on a printer without colours.
    pub fn grey_twins(&self) -> Vec<(String, String)> {
        self.alike(|a, b| a.grey() == b.grey())
    }

    fn alike(&self, is_like: impl Fn(Look, Look) -> bool) -> Vec<(String, String)> {
        let looks = self.looks();
        let mut pairs = Vec::new();
        for (index, one) in looks.iter().enumerate() {
            for (before, other) in looks[..index].iter().enumerate() {
                if is_like(*one, *other) {
                    let name = |index: usize| self.lines[index].name.clone();
                    pairs.push((name(before), name(index)));
                }
            }
        }
        pairs
    }

    /// What a reader would stumble over: lines that look alike or share a name, axes without a label, a
    /// chart or a line without values, a logarithmic axis that begins at 0.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (a, b) in self.twins() {
            faults.push(format!("the lines `{a}` and `{b}` look alike"));
        }
        for (index, line) in self.lines.iter().enumerate() {
            if self.lines[..index]
                .iter()
                .any(|other| other.name == line.name)
            {
                faults.push(format!("two lines are called `{}`", line.name));
            }
            if !line
                .dots
                .iter()
                .any(|dot| dot.x.is_finite() && dot.y.is_finite())
            {
                faults.push(format!("the line `{}` has no values", line.name));
            }
        }
        if self.lines.is_empty() {
            faults.push("a chart has no lines".to_owned());
        }
        let axes = [
            ("x", &self.labels.0, self.log.0, self.range.0),
            ("y", &self.labels.1, self.log.1, self.range.1),
        ];
        for (name, label, log, range) in axes {
            if label.trim().is_empty() {
                faults.push(format!("the {name} axis has no label"));
            }
            if range.is_some_and(|(from, to)| from >= to || (log && from <= 0.0)) {
                faults.push(format!("the {name} axis cannot show its range"));
            }
        }
        faults
    }

    /// Lines of CSV: chart, line, source, x, y, standard error. `place` distinguishes the charts
    /// of a figure. A line has at most 10 000 values: of a longer one, the smallest and the largest of
    /// each of 5 000 equal parts.
    pub fn csv(&self, place: usize) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut text = String::new();
        for line in &self.lines {
            for dot in &few(&line.dots) {
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

    /// The picture as a part of a page, for wide and narrow screens.
    pub fn html(&self) -> String {
        match self {
            Picture::Plot(plot) => plot.html(),
            other => other.svg(),
        }
    }

    /// Whether both show the same: equal captions, or equal axes and values.
    pub fn repeats(&self, other: &Picture) -> bool {
        let is_same = match (self, other) {
            (Picture::Plot(a), Picture::Plot(b)) => {
                let line = |line: &Line| (line.name.clone(), line.source, line.dots.clone());
                let lines = |plot: &Plot| plot.lines.iter().map(line).collect::<Vec<_>>();
                (&a.labels, a.log, a.range) == (&b.labels, b.log, b.range) && lines(a) == lines(b)
            }
            (Picture::Surface(a), Picture::Surface(b)) => {
                a.labels == b.labels && a.source == b.source && a.cells == b.cells
            }
            (Picture::Drawing(a), Picture::Drawing(b)) => a.svg == b.svg,
            _ => return false,
        };
        is_same || self.caption() == other.caption()
    }

    /// What a reader would stumble over.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = match self {
            Picture::Plot(plot) => plot.faults(),
            Picture::Surface(surface) if surface.cells.is_empty() => {
                vec!["a surface has no values".to_owned()]
            }
            Picture::Drawing(drawing) if !drawing.svg.starts_with("<svg") => {
                vec!["a drawing is no `svg` element".to_owned()]
            }
            _ => Vec::new(),
        };
        if self.caption().trim().is_empty() {
            faults.push("a picture has no caption".to_owned());
        }
        faults
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

/// Most values of a line in a CSV file.
const MOST: usize = 10_000;

/// The values, or of too many the smallest and the largest of each part.
fn few(dots: &[Dot]) -> Vec<Dot> {
    if dots.len() <= MOST {
        return dots.to_vec();
    }
    let part = dots.len().div_ceil(MOST / 2);
    let ends = |part: &[Dot]| {
        let by = |a: &(usize, &Dot), b: &(usize, &Dot)| a.1.y.total_cmp(&b.1.y);
        let (low, high) = (
            part.iter().enumerate().min_by(by),
            part.iter().enumerate().max_by(by),
        );
        let mut ends: Vec<(usize, Dot)> = [low, high]
            .into_iter()
            .flatten()
            .map(|(index, dot)| (index, *dot))
            .collect();
        ends.sort_by_key(|end| end.0);
        ends.dedup_by_key(|end| end.0);
        ends.into_iter().map(|end| end.1)
    };
    dots.chunks(part).flat_map(ends).collect()
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
    // A range that the axis cannot show is a fault of the plot, which `faults` names.
    let range = range.filter(|(from, to)| from < to && !(log && *from <= 0.0));
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
        let marks = svg
            .lines()
            .filter(|line| line.starts_with("<path class=\"m\""));
        let marks: Vec<usize> = marks.map(|line| line.matches('M').count()).collect();
        assert_eq!(marks, [1, 1], "a dot, the legend's");
        assert!(
            svg.contains("class=\"e\"") && svg.contains("class=\"c3\""),
            "{svg}"
        );
        let csv = plot.csv(1);
        assert_eq!(csv.lines().count(), 2);
        assert!(csv.ends_with("1,\"a \"\"b\"\"\",simulation,\"x\",10,\"y, ms\",2,0.5\n"));
    }

    #[test]
    fn an_empty_chart_is_valid() {
        assert!(Plot::new("c", "x", "y").log_x().svg().ends_with("</svg>"));
    }

    /// Lines of every source, drawn in every way.
    fn lines(count: usize, colour: impl Fn(usize) -> usize) -> Vec<Line> {
        let sources = [
            Source::Paper,
            Source::Theory,
            Source::Simulation,
            Source::Engine,
            Source::Measured,
        ];
        let one = |index: usize| {
            let dots = (0..5)
                .map(|x| Dot::new(f64::from(x), index as f64))
                .collect();
            let source = sources[index % sources.len()];
            let line = Line::new(format!("line {index}"), source, colour(index), dots);
            match index % 3 {
                0 => line.smooth(),
                1 => line.apart(),
                _ => line,
            }
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn no_two_of_many_lines_look_alike() {
        for count in [2, 12, 60] {
            for spread in [1, 3, 12, 40] {
                let plot = Plot::new("c", "x", "y").with(lines(count, |n| n % spread));
                assert_eq!(plot.twins(), [], "{count} lines in {spread} colours");
                assert_eq!(plot.faults(), Vec::<String>::new());
            }
        }
        // There are eight dashes for lines without marks.
        let plot = Plot::new("c", "x", "y").with(lines(12, |n| n));
        assert_eq!(plot.grey_twins(), [], "without colours");
    }

    #[test]
    fn lines_of_one_quantity_keep_their_source_s_look() {
        let of = |source| Line::new(source_name(source), source, 4, vec![Dot::new(0.0, 1.0); 2]);
        fn source_name(source: Source) -> &'static str {
            source.name()
        }
        let all = [
            Source::Paper,
            Source::Theory,
            Source::Simulation,
            Source::Engine,
            Source::Measured,
        ];
        let looks = Plot::new("c", "x", "y").with(all.map(of)).looks();
        for (source, look) in all.iter().zip(&looks) {
            assert_eq!(*look, source.look(source.drawn(), 4, 0), "{source:?}");
        }
        let shapes = [0, 4].map(|index: usize| looks[index].mark.map(|mark| mark.shape));
        assert_eq!(shapes, [Some(Shape::Diamond), Some(Shape::Square)]);
        assert!(looks[3].stroke.is_some_and(|stroke| stroke.dash > 0));
        assert!(looks[3].mark.is_some_and(|mark| mark.open));
    }

    #[test]
    fn faults_are_named() {
        let line = |name: &str| Line::new(name, Source::Theory, 0, vec![Dot::new(1.0, f64::NAN)]);
        let plot = Plot::new("c", "x", " ")
            .with([line("a"), line("a")])
            .log_x()
            .x_range(0.0, 1.0);
        let faults = plot.faults().join("; ");
        for part in [
            "two lines are called `a`",
            "the line `a` has no values",
            "y axis has no label",
            "x axis cannot show",
        ] {
            assert!(faults.contains(part), "{part}: {faults}");
        }
        assert!(plot.svg().ends_with("</svg>"));
        assert!(Plot::new("c", "x", "y").faults()[0].contains("no lines"));
    }

    #[test]
    fn a_long_series_is_short_in_the_chart_and_bounded_in_the_file() {
        let wave = |n: u32| {
            let x = f64::from(n) / 1000.0;
            Dot::new(x, if n == 77_777 { 9.0 } else { x.sin() })
        };
        let dots: Vec<Dot> = (0..100_000).map(wave).collect();
        let plot =
            Plot::new("c", "x", "y").with([Line::new("a", Source::Simulation, 0, dots).smooth()]);
        assert!(plot.svg().len() < 40_000, "{}", plot.svg().len());
        let csv = plot.csv(1);
        assert!(
            csv.lines().count() <= MOST && csv.contains(",77.777,"),
            "{}",
            csv.lines().count()
        );
    }

    #[test]
    fn a_line_that_leaves_the_range_is_cut_there_without_a_mark() {
        let dots = [(0.0, 1.0), (1.0, 1.0), (2.0, 5.0), (3.0, 1.0)];
        let dots = dots.map(|(x, y)| Dot::new(x, y)).to_vec();
        let plot = Plot::new("c", "x", "y")
            .with([Line::new("a", Source::Simulation, 0, dots)])
            .y_range(0.0, 2.0);
        let svg = plot.svg();
        let marks = svg
            .lines()
            .filter(|line| line.starts_with("<path class=\"m\""));
        let marks: Vec<usize> = marks.map(|line| line.matches('M').count()).collect();
        assert_eq!(marks, [3, 1], "the dots inside, the legend's");
        assert_eq!(
            svg.matches("<polyline").count(),
            2 + 1,
            "two parts, the legend's"
        );
    }

    #[test]
    fn pictures_that_show_the_same_repeat_each_other() {
        let plot = |caption: &str, y: f64| -> Picture {
            let line = Line::new(
                "a",
                Source::Theory,
                0,
                vec![Dot::new(0.0, y), Dot::new(1.0, y)],
            );
            Plot::new(caption, "x", "y").with([line]).into()
        };
        assert!(plot("a", 1.0).repeats(&plot("b", 1.0)));
        assert!(plot("a", 1.0).repeats(&plot("a", 2.0)));
        assert!(!plot("a", 1.0).repeats(&plot("b", 2.0)));
    }
}
