//! Line charts as SVG, small and without scripts. Colours are left to the page's style sheet.

use std::fmt::Write;

/// Size of a chart, in its own units; the page scales it.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 68.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 48.0;

/// A line.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its class in the style sheet is `s` and this number.
    pub style: usize,
    /// Its points, by rising x.
    pub points: Vec<(f64, f64)>,
}

/// An axis.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// Logarithmic rather than linear.
    pub log: bool,
    /// Smallest and largest value shown; both above 0 if logarithmic.
    pub range: (f64, f64),
}

/// A line chart with axes and a legend, as an `svg` element.
pub(super) fn chart(title: &str, x: &Axis, y: &Axis, series: &[Series]) -> String {
    let mut svg = String::new();
    let (title, label) = (escape(title), escape(title));
    put(
        &mut svg,
        format_args!(
            r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}"><title>{title}</title>"#
        ),
    );
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for tick in x.ticks() {
        let at = x.place(tick, LEFT, right);
        put(
            &mut svg,
            format_args!(r#"<path class="grid" d="M{at:.1} {TOP}V{bottom}"/>"#),
        );
        let text = number(tick);
        put(
            &mut svg,
            format_args!(
                r#"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{text}</text>"#,
                bottom + 16.0
            ),
        );
    }
    for tick in y.ticks() {
        let at = y.place(tick, bottom, TOP);
        put(
            &mut svg,
            format_args!(r#"<path class="grid" d="M{LEFT} {at:.1}H{right}"/>"#),
        );
        let text = number(tick);
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
        format_args!(r#"<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>"#),
    );
    let (middle, height) = ((LEFT + right) / 2.0, (TOP + bottom) / 2.0);
    let (xl, yl) = (escape(&x.label), escape(&y.label));
    put(
        &mut svg,
        format_args!(
            r#"<text x="{middle:.1}" y="{:.1}" text-anchor="middle">{xl}</text>"#,
            HEIGHT - 10.0
        ),
    );
    put(
        &mut svg,
        format_args!(
            r#"<text transform="translate(14 {height:.1}) rotate(-90)" text-anchor="middle">{yl}</text>"#
        ),
    );
    let mut legend = LEFT + 8.0;
    for line in series {
        let style = line.style;
        let points: Vec<String> = line
            .points
            .iter()
            .map(|&(px, py)| {
                format!(
                    "{:.1},{:.1}",
                    x.place(px, LEFT, right),
                    y.place(py, bottom, TOP)
                )
            })
            .collect();
        put(
            &mut svg,
            format_args!(
                r#"<polyline class="s{style}" points="{}"/>"#,
                points.join(" ")
            ),
        );
        let name = escape(&line.name);
        put(
            &mut svg,
            format_args!(r#"<path class="s{style}" d="M{legend:.1} 14h28"/>"#),
        );
        put(
            &mut svg,
            format_args!(r#"<text x="{:.1}" y="18">{name}</text>"#, legend + 34.0),
        );
        legend += 50.0 + 8.0 * line.name.chars().count() as f64;
    }
    svg + "</svg>"
}

impl Axis {
    fn place(&self, value: f64, from: f64, to: f64) -> f64 {
        let (low, high) = self.range;
        let value = value.clamp(low, high);
        let share = if self.log {
            (value / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low)
        };
        from + share * (to - from)
    }

    fn ticks(&self) -> Vec<f64> {
        let (low, high) = self.range;
        let within = |tick: &f64| (low * 0.999..=high * 1.001).contains(tick);
        if self.log {
            let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
            // 1, 2, 5 where that is not too dense.
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
pub(super) fn escape(text: &str) -> String {
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

fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
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
}
