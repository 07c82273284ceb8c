//! Horizontal bars, one below the other.

use super::STYLES;
use super::axis::Axis;
use super::chart::{FONT, escape, put};
use super::text;

/// Size of a chart, in its own units; the page scales it.
const WIDTH: f64 = 720.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 60.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 44.0;
/// Height of a bar and the space below it.
const ROW: f64 = 22.0;

/// A bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// The number of its colour.
    pub style: usize,
    /// Its length.
    pub value: f64,
    /// The smallest and the largest value, drawn as a line over its end.
    pub range: (f64, f64),
}

/// Bars over an axis from 0, as an `svg` element.
pub fn bars(title: &str, label: &str, bars: &[Bar]) -> String {
    let mut svg = String::new();
    let height = TOP + BOTTOM + ROW * bars.len() as f64;
    let (title, label) = (escape(title), escape(label));
    put(
        &mut svg,
        format_args!(
            r#"<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}"><title>{title}</title>"#
        ),
    );
    let max = bars
        .iter()
        .map(|bar| bar.value.max(bar.range.1))
        .fold(1e-9, f64::max);
    let axis = Axis {
        label: String::new(),
        log: false,
        range: (0.0, max * 1.02),
    };
    let (right, bottom) = (WIDTH - RIGHT, height - BOTTOM);
    let place = |value: f64| axis.place(value, LEFT, right);
    for tick in axis.ticks(right - LEFT, |text| text::width(text, FONT) + 10.0) {
        let (at, text) = (place(tick.value), tick.text);
        put(
            &mut svg,
            format_args!(r#"<path class="grid" d="M{at:.1} {TOP}V{bottom}"/>"#),
        );
        put(
            &mut svg,
            format_args!(
                r#"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{text}</text>"#,
                bottom + 16.0
            ),
        );
    }
    for (index, bar) in bars.iter().enumerate() {
        let y = TOP + ROW * index as f64;
        let (end, style) = (place(bar.value), bar.style % STYLES);
        let (name, middle) = (escape(&bar.name), y + ROW / 2.0);
        put(
            &mut svg,
            format_args!(
                r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{name}</text>"#,
                LEFT - 6.0,
                middle + 4.0
            ),
        );
        put(
            &mut svg,
            format_args!(
                r#"<rect class="bar c{style}" x="{LEFT}" y="{:.1}" width="{:.1}" height="{:.1}"/>"#,
                y + 3.0,
                end - LEFT,
                ROW - 6.0
            ),
        );
        let (low, high) = (place(bar.range.0), place(bar.range.1));
        if high - low > 0.5 {
            put(
                &mut svg,
                format_args!(
                    r#"<path class="range" d="M{low:.1} {middle:.1}H{high:.1}M{low:.1} {:.1}v8M{high:.1} {:.1}v8"/>"#,
                    middle - 4.0,
                    middle - 4.0
                ),
            );
        }
        let text = short(bar.value);
        put(
            &mut svg,
            format_args!(
                r#"<text x="{:.1}" y="{:.1}">{text}</text>"#,
                high.max(end) + 5.0,
                middle + 4.0
            ),
        );
    }
    put(
        &mut svg,
        format_args!(
            r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{label}</text>"#,
            (LEFT + right) / 2.0,
            height - 8.0
        ),
    );
    svg + "</svg>"
}

/// Three significant digits.
fn short(value: f64) -> String {
    let decimals = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(name: &str, value: f64) -> Bar {
        Bar {
            name: name.into(),
            style: 0,
            value,
            range: (value, value),
        }
    }

    #[test]
    fn a_bar_is_as_long_as_its_value() {
        let svg = bars("t", "x", &[bar("one", 1.0), bar("<two>", 2.0)]);
        let widths: Vec<f64> = svg
            .lines()
            .filter(|l| l.starts_with("<rect"))
            .map(|l| {
                l.split("width=\"")
                    .nth(1)
                    .unwrap()
                    .split('"')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap()
            })
            .collect();
        assert!((widths[1] / widths[0] - 2.0).abs() < 0.01, "{widths:?}");
        assert!(svg.contains("&lt;two&gt;") && !svg.contains("class=\"range\""));
    }

    #[test]
    fn an_empty_chart_is_valid() {
        assert!(bars("t", "x", &[]).ends_with("</svg>"));
        assert!(bars("t", "x", &[bar("none", 0.0)]).ends_with("</svg>"));
    }

    #[test]
    fn values_keep_three_digits() {
        assert_eq!(
            [short(1234.5), short(12.34), short(1.5), short(0.0)],
            ["1234", "12.3", "1.5", "0"]
        );
    }
}
