//! Lines and points over two axes.

use std::fmt::Write;

use super::axis::{Axis, Tick};
use super::legend::Legend;
use super::text::{width, wrap};
use super::thin;
use super::{Curve, Look, STYLES, Series};

/// The width that a chart is made for; the page scales it a little.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// A page.
    #[default]
    Page,
    /// A phone: the texts are as large, the label of the y axis is above it.
    Phone,
}

impl Width {
    pub(super) fn units(self) -> f64 {
        match self {
            Width::Page => 720.0,
            Width::Phone => 360.0,
        }
    }

    fn height(self) -> f64 {
        match self {
            Width::Page => 270.0,
            Width::Phone => 230.0,
        }
    }
}

/// Size of a text, as in the style sheet.
pub(super) const FONT: f64 = 13.0;
/// Height of a line of text.
pub(super) const LINE: f64 = 17.0;
const RIGHT: f64 = 14.0;
/// Shortest error bar that can be seen.
const SHORTEST: f64 = 1.0;

/// A chart with axes and a legend, as an `svg` element. Of two series that would look alike, the
/// second gets another dash or mark.
pub fn chart(title: &str, x: &Axis, y: &Axis, series: &[Series]) -> String {
    let mut curves: Vec<Curve> = series.iter().map(Curve::from).collect();
    let mut looks: Vec<Look> = curves.iter().map(|curve| curve.look).collect();
    super::distinct(&mut looks);
    for (curve, look) in curves.iter_mut().zip(looks) {
        curve.look = look;
    }
    draw(title, x, y, &curves, Width::Page)
}

/// A chart of curves with their own looks and error bars, for a page or a phone. The class of the
/// element is `broad` or `narrow`: the style sheet shows the one that fits.
pub fn chart_of(title: &str, x: &Axis, y: &Axis, curves: &[Curve], width: Width) -> String {
    let class = match width {
        Width::Page => "broad",
        Width::Phone => "narrow",
    };
    let svg = draw(title, x, y, curves, width);
    svg.replacen("<svg ", &format!("<svg class=\"{class}\" "), 1)
}

/// The rectangle between the axes.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

fn draw(title: &str, x: &Axis, y: &Axis, curves: &[Curve], size: Width) -> String {
    let units = size.units();
    let legend = Legend::new(curves, 8.0, units - 8.0);
    let ticks = y.ticks(size.height(), |_| LINE);
    let widest = ticks.iter().map(|tick| width(&tick.text, FONT));
    let widest = widest.fold(0.0, f64::max);
    let (above, beside) = match size {
        Width::Page => (Vec::new(), wrap(&y.label, size.height() + 20.0, FONT)),
        Width::Phone => (wrap(&y.label, units - 16.0, FONT), Vec::new()),
    };
    let left = (8.0 + LINE * beside.len() as f64 + widest + 8.0).max(28.0);
    let top = legend.height + LINE * above.len() as f64 + 14.0;
    let frame = Frame {
        left,
        right: units - RIGHT,
        top,
        bottom: top + size.height(),
    };
    let below = wrap(&x.label, frame.right - frame.left, FONT);
    let height = frame.bottom + 20.0 + LINE * below.len() as f64 + 6.0;
    let title = escape(title);
    let mut svg = String::new();
    put(
        &mut svg,
        format_args!(
            r#"<svg viewBox="0 0 {units} {}" role="img" aria-label="{title}"><title>{title}</title>"#,
            short(height)
        ),
    );
    let at = |line: usize| LINE * line as f64;
    for (line, text) in above.iter().enumerate() {
        label(
            &mut svg,
            (8.0, legend.height + at(line) + 14.0),
            "start",
            text,
        );
    }
    for (line, text) in beside.iter().enumerate() {
        put(
            &mut svg,
            format_args!(
                r#"<text transform="translate({} {}) rotate(-90)" text-anchor="middle">{}</text>"#,
                short(17.0 + at(line)),
                short((frame.top + frame.bottom) / 2.0),
                escape(text)
            ),
        );
    }
    for (line, text) in below.iter().enumerate() {
        let foot = frame.bottom + 34.0 + at(line);
        label(
            &mut svg,
            ((frame.left + frame.right) / 2.0, foot),
            "middle",
            text,
        );
    }
    axes(&mut svg, &frame, x, y, &ticks);
    for curve in curves {
        draw_curve(&mut svg, &frame, x, y, curve);
    }
    legend.draw(&mut svg, curves);
    svg + "</svg>"
}

fn axes(svg: &mut String, frame: &Frame, x: &Axis, y: &Axis, ticks: &[Tick]) {
    let Frame {
        left,
        right,
        top,
        bottom,
    } = *frame;
    let mut grid = String::new();
    let across = x.ticks(right - left, |text| width(text, FONT) + 10.0);
    for tick in &across {
        let at = x.place(tick.value, left, right);
        let _ = write!(grid, "M{} {}V{}", short(at), short(top), short(bottom));
        // A text at the end stays within the picture.
        let half = width(&tick.text, FONT) / 2.0;
        let centre = at.min(right + RIGHT - half - 1.0).max(half + 1.0);
        label(svg, (centre, bottom + 16.0), "middle", &tick.text);
    }
    for tick in ticks {
        let at = y.place(tick.value, bottom, top);
        let _ = write!(grid, "M{} {}H{}", short(left), short(at), short(right));
        label(svg, (left - 6.0, at + 4.5), "end", &tick.text);
    }
    put(svg, format_args!(r#"<path class="grid" d="{grid}"/>"#));
    put(
        svg,
        format_args!(
            r#"<path class="axis" d="M{} {}V{}H{}"/>"#,
            short(left),
            short(top),
            short(bottom),
            short(right)
        ),
    );
}

fn draw_curve(svg: &mut String, frame: &Frame, x: &Axis, y: &Axis, curve: &Curve) {
    let place = |&(px, py): &(f64, f64)| {
        (
            x.place(px, frame.left, frame.right),
            y.place(py, frame.bottom, frame.top),
        )
    };
    let look = curve.look;
    put(
        svg,
        format_args!(r#"<g class="c{}">"#, look.colour % STYLES),
    );
    let finite = |&(px, py): &(f64, f64)| px.is_finite() && py.is_finite();
    let spots: Vec<(usize, (f64, f64))> = curve
        .points
        .iter()
        .enumerate()
        .filter(|(index, point)| finite(point) && curve.unmarked.binary_search(index).is_err())
        .map(|(index, point)| (index, place(point)))
        .collect();
    let only: Vec<(f64, f64)> = spots.iter().map(|(_, spot)| *spot).collect();
    let marked = thin::marks(&only, look.stroke.is_some());
    let mut bars = String::new();
    for &shown in &marked {
        let (index, (at, _)) = spots[shown];
        let error = curve.errors.get(index).copied().unwrap_or(0.0);
        let value = curve.points[index].1;
        // Of a logarithmic axis, the part above its end.
        let (low, high) = (
            y.place(value - error, frame.bottom, frame.top),
            y.place(value + error, frame.bottom, frame.top),
        );
        if error > 0.0 && low - high > SHORTEST {
            let (from, low, high) = (short(at - 3.0), short(low), short(high));
            let _ = write!(
                bars,
                "M{} {low}V{high}M{from} {low}h6M{from} {high}h6",
                short(at)
            );
        }
    }
    if !bars.is_empty() {
        put(svg, format_args!(r#"<path class="e" d="{bars}"/>"#));
    }
    if look.stroke.is_some() {
        for run in curve.points.split(|point| !finite(point)) {
            let run: Vec<(f64, f64)> = run.iter().map(place).collect();
            stroke(svg, look, &thin::line(&run));
        }
    }
    let marked: Vec<(f64, f64)> = marked.iter().map(|&shown| only[shown]).collect();
    marks(svg, look, &marked);
    svg.push_str("</g>\n");
}

/// The line of a look.
pub(super) fn stroke(svg: &mut String, look: Look, points: &[(f64, f64)]) {
    let (Some(stroke), true) = (look.stroke, points.len() > 1) else {
        return;
    };
    let thin = if stroke.thin { " thin" } else { "" };
    let dash = match stroke.dash {
        0 => String::new(),
        dash => format!(" d{dash}"),
    };
    let joined: Vec<String> = points
        .iter()
        .map(|(px, py)| format!("{},{}", short(*px), short(*py)))
        .collect();
    put(
        svg,
        format_args!(
            r#"<polyline class="l{dash}{thin}" points="{}"/>"#,
            joined.join(" ")
        ),
    );
}

/// The marks of a look, all in one path.
pub(super) fn marks(svg: &mut String, look: Look, points: &[(f64, f64)]) {
    let (Some(mark), false) = (look.mark, points.is_empty()) else {
        return;
    };
    let class = if mark.open { "o" } else { "m" };
    let outline = mark.shape.outline();
    let mut path = String::new();
    for (px, py) in points {
        let _ = write!(path, "M{} {}{outline}", short(*px), short(*py));
    }
    put(svg, format_args!(r#"<path class="{class}" d="{path}"/>"#));
}

/// A small picture of a look, for a text about it.
pub fn sample(look: Look) -> String {
    let mut svg = r#"<svg class="sample" viewBox="0 0 40 16" aria-hidden="true">"#.to_owned();
    let _ = write!(svg, r#"<g class="c{}">"#, look.colour % STYLES);
    stroke(&mut svg, look, &[(2.0, 8.0), (38.0, 8.0)]);
    marks(&mut svg, look, &[(20.0, 8.0)]);
    svg + "</g></svg>"
}

/// A coordinate with one decimal at most.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// A text on one line.
pub(super) fn label(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let (x, y, text) = (short(x), short(y), escape(text));
    match anchor {
        "start" => put(svg, format_args!(r#"<text x="{x}" y="{y}">{text}</text>"#)),
        _ => put(
            svg,
            format_args!(r#"<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>"#),
        ),
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

pub(super) fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mark, Marks, Stroke};

    fn axis(label: &str, low: f64, high: f64) -> Axis {
        Axis {
            label: label.into(),
            log: false,
            range: (low, high),
        }
    }

    fn unit() -> Axis {
        axis("x", 0.0, 1.0)
    }

    #[test]
    fn names_cannot_break_out_of_the_markup() {
        let series = Series {
            name: "<script>&\"".into(),
            style: 0,
            points: vec![(0.0, 0.0)],
            marks: Marks::Both,
        };
        let svg = chart("a<b", &unit(), &axis("'<y>", 0.0, 1.0), &[series]);
        assert!(
            !svg.contains("<script")
                && svg.contains("&lt;script&gt;&amp;&quot;")
                && svg.contains("a&lt;b")
                && svg.contains("&#39;&lt;y&gt;")
        );
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
    }

    #[test]
    fn error_bars_are_drawn_where_they_are_long_enough_to_see() {
        let curve = Curve {
            points: vec![(0.2, 0.4), (0.5, 0.5)],
            errors: vec![0.2, 0.0001],
            look: Look {
                colour: 2,
                mark: Some(Mark::default()),
                stroke: None,
            },
            ..Curve::default()
        };
        let svg = chart_of("t", &unit(), &unit(), &[curve], Width::Page);
        let bars = svg
            .lines()
            .find(|line| line.starts_with("<path class=\"e\""));
        assert_eq!(bars.unwrap().matches('V').count(), 1);
        assert!(svg.contains("class=\"c2\""));
    }

    #[test]
    fn series_of_one_style_do_not_look_alike() {
        let series = |n: usize| Series {
            name: n.to_string(),
            style: 1,
            points: vec![(0.0, 0.0), (1.0, 0.1 * n as f64)],
            marks: Marks::Line,
        };
        let all: Vec<Series> = (0..4).map(series).collect();
        let svg = chart("t", &unit(), &unit(), &all);
        for class in ["\"l d1\"", "\"l d2\"", "\"l d3\"", "\"l d4\""] {
            assert_eq!(svg.matches(class).count(), 2, "{class}: curve and legend");
        }
    }

    #[test]
    fn a_gap_divides_a_line() {
        let points = vec![
            (0.0, 0.1),
            (0.2, 0.5),
            (f64::NAN, 0.0),
            (0.6, 0.5),
            (0.8, 0.1),
        ];
        let curve = Curve {
            points,
            look: Look {
                stroke: Some(Stroke::default()),
                ..Look::default()
            },
            ..Curve::default()
        };
        let svg = chart_of("t", &unit(), &unit(), &[curve], Width::Phone);
        assert_eq!(svg.matches("<polyline").count(), 2 + 1, "and the legend's");
    }

    #[test]
    fn long_labels_and_legends_make_room_on_a_phone() {
        let long =
            "mean in-order delay over the round trip's quarter, in milliseconds, of all messages";
        let curve = Curve {
            name: long.repeat(2),
            points: vec![(0.5, 0.5)],
            look: Look {
                stroke: Some(Stroke::default()),
                ..Look::default()
            },
            ..Curve::default()
        };
        let height = |label: &str, size| {
            let (x, y) = (axis(label, 0.0, 1.0), axis(label, 0.0, 1.0));
            let svg = chart_of("t", &x, &y, std::slice::from_ref(&curve), size);
            let start = svg.find("viewBox=\"").unwrap() + 9;
            let size: Vec<&str> = svg[start..].split('"').next().unwrap().split(' ').collect();
            size[3].parse::<f64>().unwrap()
        };
        assert!(height(long, Width::Phone) >= height("x", Width::Phone) + 2.0 * LINE);
    }

    #[test]
    fn coordinates_have_a_decimal_at_most() {
        assert_eq!(
            [1.0, -0.04, 2.25, 7.94].map(short),
            ["1", "0", "2.2", "7.9"]
        );
    }
}
