//! Lines and points over two axes.

use std::fmt::Write;

/// Size of a chart, in its own units; the page scales it.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 68.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 48.0;

/// Height of a line of the legend.
const LEGEND: f64 = 18.0;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marks {
    /// A line.
    #[default]
    Line,
    /// A dot for each point.
    Points,
    /// Both.
    Both,
    /// A diamond for each point: published by others.
    Diamonds,
    /// A square for each point: measured elsewhere.
    Squares,
}

/// An error bar.
#[derive(Clone, Copy, Debug)]
pub struct Whisker {
    /// The style of the series it belongs to.
    pub style: usize,
    /// Its x.
    pub x: f64,
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// A series of points.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its class in the style sheet is `s` and this number.
    pub style: usize,
    /// Its points, by rising x if a line joins them.
    pub points: Vec<(f64, f64)>,
    /// Its marks.
    pub marks: Marks,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its label, with the unit.
    pub label: String,
    /// Logarithmic rather than linear.
    pub log: bool,
    /// Smallest and largest value shown; both above 0 if logarithmic.
    pub range: (f64, f64),
}

/// A chart with axes and a legend, as an `svg` element.
pub fn chart(title: &str, x: &Axis, y: &Axis, series: &[Series]) -> String {
    chart_with(title, x, y, series, &[])
}

/// A chart with error bars.
pub fn chart_with(
    title: &str,
    x: &Axis,
    y: &Axis,
    series: &[Series],
    whiskers: &[Whisker],
) -> String {
    let mut svg = String::new();
    let places = legend(series);
    let more = places.last().map_or(0.0, |place| place.1);
    let (top, height) = (TOP + more, HEIGHT + more);
    let (title, label) = (escape(title), escape(title));
    put(
        &mut svg,
        format_args!(
            r#"<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}"><title>{title}</title>"#
        ),
    );
    let (right, bottom) = (WIDTH - RIGHT, height - BOTTOM);
    for tick in x.ticks() {
        let at = x.place(tick, LEFT, right);
        put(
            &mut svg,
            format_args!(r#"<path class="grid" d="M{at:.1} {top}V{bottom}"/>"#),
        );
        let text = tick_text(tick);
        put(
            &mut svg,
            format_args!(
                r#"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{text}</text>"#,
                bottom + 16.0
            ),
        );
    }
    for tick in y.ticks() {
        let at = y.place(tick, bottom, top);
        put(
            &mut svg,
            format_args!(r#"<path class="grid" d="M{LEFT} {at:.1}H{right}"/>"#),
        );
        let text = tick_text(tick);
        put(
            &mut svg,
            format_args!(
                r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{text}</text>"#,
                LEFT - 6.0,
                at + 4.0
            ),
        );
    }
    put(
        &mut svg,
        format_args!(r#"<path class="axis" d="M{LEFT} {top}V{bottom}H{right}"/>"#),
    );
    let (middle, centre) = ((LEFT + right) / 2.0, (top + bottom) / 2.0);
    let (xl, yl) = (escape(&x.label), escape(&y.label));
    put(
        &mut svg,
        format_args!(
            r#"<text x="{middle:.1}" y="{:.1}" text-anchor="middle">{xl}</text>"#,
            height - 10.0
        ),
    );
    put(
        &mut svg,
        format_args!(
            r#"<text transform="translate(14 {centre:.1}) rotate(-90)" text-anchor="middle">{yl}</text>"#
        ),
    );
    for bar in whiskers {
        let (style, at) = (bar.style, x.place(bar.x, LEFT, right));
        let (low, high) = (
            y.place(bar.low, bottom, top),
            y.place(bar.high, bottom, top),
        );
        if low - high > 1.0 {
            put(
                &mut svg,
                format_args!(
                    r#"<path class="range e{style}" d="M{at:.1} {low:.1}V{high:.1}M{:.1} {low:.1}h8M{:.1} {high:.1}h8"/>"#,
                    at - 4.0,
                    at - 4.0
                ),
            );
        }
    }
    for (line, (at, down)) in series.iter().zip(places) {
        let style = line.style;
        let points = line.points.iter();
        let points: Vec<(f64, f64)> = points
            .map(|&(px, py)| (x.place(px, LEFT, right), y.place(py, bottom, top)))
            .collect();
        if matches!(line.marks, Marks::Line | Marks::Both) {
            let joined: Vec<String> = points
                .iter()
                .map(|(px, py)| format!("{px:.1},{py:.1}"))
                .collect();
            put(
                &mut svg,
                format_args!(
                    r#"<polyline class="s{style}" points="{}"/>"#,
                    joined.join(" ")
                ),
            );
            put(
                &mut svg,
                format_args!(
                    r#"<path class="s{style}" d="M{at:.1} {:.1}h28"/>"#,
                    14.0 + down
                ),
            );
        }
        let sample = (at + 14.0, 14.0 + down);
        if line.marks == Marks::Diamonds {
            for (px, py) in points.iter().chain([&sample]) {
                put(
                    &mut svg,
                    format_args!(
                        r#"<path class="m{style} paper" d="M{px:.1} {:.1}l7 7l-7 7l-7 -7z"/>"#,
                        py - 7.0
                    ),
                );
            }
        } else if line.marks == Marks::Squares {
            for (px, py) in points.iter().chain([&sample]) {
                put(
                    &mut svg,
                    format_args!(
                        r#"<rect class="m{style} paper" x="{:.1}" y="{:.1}" width="10" height="10"/>"#,
                        px - 5.0,
                        py - 5.0
                    ),
                );
            }
        } else if line.marks != Marks::Line {
            for (px, py) in points.iter().chain([&sample]) {
                put(
                    &mut svg,
                    format_args!(r#"<circle class="m{style}" cx="{px:.1}" cy="{py:.1}" r="4.5"/>"#),
                );
            }
        }
        let name = escape(&line.name);
        put(
            &mut svg,
            format_args!(
                r#"<text x="{:.1}" y="{:.1}">{name}</text>"#,
                at + 34.0,
                18.0 + down
            ),
        );
    }
    svg + "</svg>"
}

/// Position of each entry of the legend: from the left, and from the top.
fn legend(series: &[Series]) -> Vec<(f64, f64)> {
    let (mut at, mut down) = (LEFT + 8.0, 0.0);
    let place = |line: &Series| {
        let width = 50.0 + 8.0 * line.name.chars().count() as f64;
        if at + width > WIDTH && at > LEFT + 8.0 {
            (at, down) = (LEFT + 8.0, down + LEGEND);
        }
        let here = (at, down);
        at += width;
        here
    };
    series.iter().map(place).collect()
}

impl Axis {
    /// A linear axis from 0 that holds these values, or a logarithmic one if they differ by much.
    pub fn fitting(label: &str, values: impl Iterator<Item = f64> + Clone) -> Axis {
        let max = values.clone().fold(0.0, f64::max).max(1e-3);
        let min = values
            .filter(|v| *v > 0.0)
            .fold(max, f64::min)
            .max(max / 1e5);
        let log = max / min > 20.0;
        Axis {
            label: label.to_owned(),
            log,
            range: if log {
                (min * 0.8, max * 1.25)
            } else {
                (0.0, max * 1.08)
            },
        }
    }

    pub(super) fn place(&self, value: f64, from: f64, to: f64) -> f64 {
        let (low, high) = self.range;
        let value = value.clamp(low, high);
        let share = if self.log {
            (value / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low)
        };
        from + share * (to - from)
    }

    pub(super) fn ticks(&self) -> Vec<f64> {
        let (low, high) = self.range;
        let within = |tick: &f64| (low * 0.999..=high * 1.001).contains(tick);
        if self.log {
            let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
            // 1, 2, 5 unless that is too dense.
            let few = high / low > 3e3;
            let steps: &[f64] = if few { &[1.0] } else { &[1.0, 2.0, 5.0] };
            exponents
                .flat_map(|e| steps.iter().map(move |s| s * 10f64.powi(e)))
                .filter(within)
                .collect()
        } else {
            let step = nice((high - low) / 6.0);
            let first = (low / step).ceil() as i64;
            (0..20)
                .map(|i| (first + i) as f64 * step)
                .filter(within)
                .collect()
        }
    }
}

/// `text` for use in HTML and SVG, in content and in quoted attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The next 1, 2 or 5 times a power of ten.
fn nice(step: f64) -> f64 {
    let base = 10f64.powf(step.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * base)
        .find(|s| *s >= step * 0.999)
        .unwrap_or(base)
}

/// A tick's number: a power of ten if three decimals are not enough.
fn tick_text(value: f64) -> String {
    match value.abs() {
        1e-9..9.9e-4 | 1e6.. => format!("{value:.0e}"),
        _ => number(value),
    }
}

/// A number without trailing zeros, with three decimals at most.
pub fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(super) fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(log: bool, low: f64, high: f64) -> Axis {
        Axis {
            label: "x".into(),
            log,
            range: (low, high),
        }
    }

    #[test]
    fn ticks_are_round_numbers_within_the_range() {
        assert_eq!(
            axis(false, 0.0, 6.0).ticks(),
            [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        );
        assert_eq!(axis(true, 0.1, 10.0).ticks().len(), 7);
        assert_eq!(
            axis(true, 0.1, 1000.0).ticks(),
            [0.1, 1.0, 10.0, 100.0, 1000.0]
        );
    }

    #[test]
    fn values_are_placed_in_proportion() {
        assert_eq!(axis(false, 0.0, 10.0).place(5.0, 0.0, 100.0), 50.0);
        assert_eq!(axis(false, 0.0, 10.0).place(50.0, 0.0, 100.0), 100.0);
        assert!((axis(true, 1.0, 100.0).place(10.0, 0.0, 100.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn names_cannot_break_out_of_the_markup() {
        let series = Series {
            name: "<script>&\"".into(),
            style: 0,
            points: vec![(0.0, 0.0)],
            marks: Marks::Both,
        };
        let svg = chart(
            "a<b",
            &axis(false, 0.0, 1.0),
            &axis(false, 0.0, 1.0),
            &[series],
        );
        assert!(
            !svg.contains("<script")
                && svg.contains("&lt;script&gt;&amp;&quot;")
                && svg.contains("a&lt;b")
        );
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
    }

    #[test]
    fn error_bars_are_drawn_where_they_are_long_enough_to_see() {
        let (x, y) = (axis(false, 0.0, 1.0), axis(false, 0.0, 1.0));
        let bar = |low, high| Whisker {
            style: 2,
            x: 0.5,
            low,
            high,
        };
        let svg = chart_with("t", &x, &y, &[], &[bar(0.2, 0.6), bar(0.5, 0.5001)]);
        assert_eq!(svg.matches("range e2").count(), 1);
        assert_eq!(tick_text(1e-5), "1e-5");
        assert_eq!(tick_text(0.001), "0.001");
    }

    #[test]
    fn a_long_legend_takes_several_lines_and_the_chart_grows() {
        let line = |length: usize| Series {
            name: "x".repeat(length),
            style: 0,
            points: Vec::new(),
            marks: Marks::Line,
        };
        let one = legend(&[line(10), line(10)]);
        assert!(one[0].1 == 0.0 && one[1].1 == 0.0 && one[1].0 > one[0].0);
        let several = legend(&[line(40), line(40), line(100), line(3)]);
        let lines: Vec<f64> = several.iter().map(|place| place.1 / LEGEND).collect();
        assert_eq!(lines, [0.0, 1.0, 2.0, 3.0]);
    }

    #[test]
    fn an_axis_is_logarithmic_when_values_differ_by_much() {
        let fit = |values: &[f64]| Axis::fitting("x", values.iter().copied());
        assert!(!fit(&[1.0, 5.0, 0.0]).log);
        let wide = fit(&[0.0, 0.5, 500.0]);
        assert!(wide.log && wide.range.0 > 0.0 && wide.range.1 >= 500.0);
        assert!(fit(&[]).range.1 > 0.0);
    }
}
