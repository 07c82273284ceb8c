//! Values over two quantities, as a table of coloured cells.

use super::chart::{escape, number, put};

const WIDTH: f64 = 720.0;
const LEFT: f64 = 84.0;
const TOP: f64 = 34.0;
const CELL: f64 = 34.0;
const BOTTOM: f64 = 46.0;

/// Names of a surface's axes, with units.
#[derive(Clone, Debug)]
pub struct SurfaceLabels {
    /// Of the columns.
    pub x: String,
    /// Of the rows.
    pub y: String,
    /// Of the values.
    pub z: String,
}

/// A value of each pair of x and y, as an `svg` element: a darker cell is a larger value, and each
/// cell has its number. `values[row][column]` belongs to `ys[row]` and `xs[column]`; a missing value
/// leaves its cell empty.
pub fn surface(
    title: &str,
    labels: &SurfaceLabels,
    xs: &[f64],
    ys: &[f64],
    values: &[Vec<Option<f64>>],
) -> String {
    let all = || values.iter().flatten().flatten().copied();
    let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let width = (WIDTH - LEFT - 14.0) / xs.len().max(1) as f64;
    let bottom = TOP + CELL * ys.len() as f64;
    let height = bottom + BOTTOM;
    let (title, mut svg) = (escape(title), String::new());
    put(
        &mut svg,
        format_args!(
            r#"<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}"><title>{title}</title>"#
        ),
    );
    let z = escape(&labels.z);
    put(
        &mut svg,
        format_args!(r#"<text x="{LEFT}" y="18">{z}</text>"#),
    );
    // The largest y is on top, as on an axis.
    for (place, (y, row)) in ys.iter().zip(values).rev().enumerate() {
        let top = TOP + CELL * place as f64;
        let middle = top + CELL / 2.0 + 4.5;
        put(
            &mut svg,
            format_args!(
                r#"<text x="{:.1}" y="{middle:.1}" text-anchor="end">{}</text>"#,
                LEFT - 6.0,
                number(*y)
            ),
        );
        for (column, value) in row.iter().enumerate() {
            let Some(value) = value else { continue };
            let left = LEFT + width * column as f64;
            let share = if high > low {
                (value - low) / (high - low)
            } else {
                0.0
            };
            put(
                &mut svg,
                format_args!(
                    r#"<rect class="cell" style="fill-opacity:{:.2}" x="{left:.1}" y="{top:.1}" width="{:.1}" height="{:.1}"/>"#,
                    0.04 + 0.56 * share,
                    width - 1.0,
                    CELL - 1.0
                ),
            );
            put(
                &mut svg,
                format_args!(
                    r#"<text x="{:.1}" y="{middle:.1}" text-anchor="middle">{}</text>"#,
                    left + width / 2.0,
                    short(*value)
                ),
            );
        }
    }
    for (column, x) in xs.iter().enumerate() {
        let middle = LEFT + width * (column as f64 + 0.5);
        put(
            &mut svg,
            format_args!(
                r#"<text x="{middle:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                bottom + 16.0,
                number(*x)
            ),
        );
    }
    let (x, y) = (escape(&labels.x), escape(&labels.y));
    put(
        &mut svg,
        format_args!(
            r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{x}</text>"#,
            (LEFT + WIDTH) / 2.0,
            height - 8.0
        ),
    );
    put(
        &mut svg,
        format_args!(
            r#"<text transform="translate(14 {:.1}) rotate(-90)" text-anchor="middle">{y}</text>"#,
            (TOP + bottom) / 2.0
        ),
    );
    svg + "</svg>"
}

/// Three significant digits.
fn short(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        100.0.. => 0,
        10.0..100.0 => 1,
        1.0..10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_cell_and_its_number() {
        let labels = SurfaceLabels {
            x: "W, packets".into(),
            y: "RTT, ms".into(),
            z: "overhead, %".into(),
        };
        let values = vec![vec![Some(1.25), None], vec![Some(25.0), Some(0.5)]];
        let svg = surface("t", &labels, &[25.0, 50.0], &[100.0, 200.0], &values);
        assert_eq!(svg.matches("class=\"cell\"").count(), 3);
        for text in [
            ">1.25<",
            ">25.0<",
            ">0.500<",
            ">200<",
            "W, packets",
            "RTT, ms",
        ] {
            assert!(svg.contains(text), "{text}");
        }
    }
}
