//! Values over two quantities, as a table of coloured cells.

use super::chart::{FONT, LINE, escape, label, put, short};
use super::text::{width, wrap};

/// Width and height of a cell.
const CELL: (f64, f64) = (56.0, 30.0);
/// Smallest width of the picture, for its labels.
const LEAST: f64 = 340.0;
/// Largest share of the cells' colour: the numbers must stay readable.
const FULL: f64 = 0.6;

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

/// A value of each pair of x and y, as an `svg` element: a stronger colour is a larger value, and each
/// cell has its number. `values[row][column]` belongs to `ys[row]` and `xs[column]`; a missing value
/// leaves its cell empty. The picture is as wide as its columns need.
pub fn surface(
    title: &str,
    labels: &SurfaceLabels,
    xs: &[f64],
    ys: &[f64],
    values: &[Vec<Option<f64>>],
) -> String {
    let shade = Shade::of(values.iter().flatten().flatten().copied());
    let (cell, row_height) = CELL;
    let rows: Vec<String> = ys.iter().map(|y| brief(*y)).collect();
    let widest = rows.iter().map(|text| width(text, FONT));
    let widest = widest.fold(0.0, f64::max);
    let beside = wrap(&labels.y, (row_height * ys.len() as f64).max(120.0), FONT);
    let left = 10.0 + LINE * beside.len() as f64 + widest + 8.0;
    let total = (left + cell * xs.len() as f64 + 10.0).max(LEAST);
    let above = wrap(&labels.z, total - 16.0, FONT);
    let top = LINE * above.len() as f64 + 10.0;
    let right = left + cell * xs.len() as f64;
    let bottom = top + row_height * ys.len() as f64;
    let below = wrap(&labels.x, total - 16.0, FONT);
    let middle = ((left + right) / 2.0, ((top + bottom) / 2.0).max(70.0));
    let height = (bottom + 22.0 + LINE * below.len() as f64 + 4.0).max(150.0);
    let (title, mut svg) = (escape(title), String::new());
    put(
        &mut svg,
        format_args!(
            r#"<svg class="table" style="min-width:{}px;max-width:{}px" viewBox="0 0 {} {}" role="img" aria-label="{title}"><title>{title}</title>"#,
            short(0.85 * total),
            short(1.2 * total),
            short(total),
            short(height)
        ),
    );
    for (line, text) in above.iter().enumerate() {
        label(&mut svg, (8.0, 14.0 + LINE * line as f64), "start", text);
    }
    for (line, text) in below.iter().enumerate() {
        // A label that is longer than the columns stays within the picture.
        let half = width(text, FONT) / 2.0;
        let centre = middle.0.min(total - half - 4.0).max(half + 4.0);
        let foot = bottom + 34.0 + LINE * line as f64;
        label(&mut svg, (centre, foot), "middle", text);
    }
    for (line, text) in beside.iter().enumerate() {
        put(
            &mut svg,
            format_args!(
                r#"<text transform="translate({} {}) rotate(-90)" text-anchor="middle">{}</text>"#,
                short(17.0 + LINE * line as f64),
                short(middle.1),
                escape(text)
            ),
        );
    }
    // The largest y is on top, as on an axis.
    for (place, (name, row)) in rows.iter().zip(values).rev().enumerate() {
        let upper = top + row_height * place as f64;
        let foot = upper + row_height / 2.0 + 4.5;
        label(&mut svg, (left - 6.0, foot), "end", name);
        for (column, value) in row.iter().enumerate() {
            let Some(value) = *value else { continue };
            let from = left + cell * column as f64;
            put(
                &mut svg,
                format_args!(
                    r#"<rect class="cell" style="fill-opacity:{:.2}" x="{}" y="{}" width="{}" height="{}"/>"#,
                    0.04 + (FULL - 0.04) * shade.share(value),
                    short(from),
                    short(upper),
                    short(cell - 1.0),
                    short(row_height - 1.0)
                ),
            );
            let text = fitting(value, cell - 4.0);
            label(&mut svg, (from + cell / 2.0, foot), "middle", &text);
        }
    }
    for (column, x) in xs.iter().enumerate() {
        let centre = left + cell * (column as f64 + 0.5);
        let text = fitting_name(*x, cell - 4.0);
        label(&mut svg, (centre, bottom + 16.0), "middle", &text);
    }
    svg + "</svg>"
}

/// The shades of values: logarithmic if they differ by much.
struct Shade {
    low: f64,
    high: f64,
    log: bool,
}

impl Shade {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let log = low > 0.0 && high / low > 50.0;
        Self { low, high, log }
    }

    fn share(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.log { value.ln() } else { value };
        let [low, high, value] = [self.low, self.high, value].map(scale);
        if high > low {
            (value - low) / (high - low)
        } else {
            0.0
        }
    }
}

/// At most this many significant digits.
fn digits(value: f64, digits: i32) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e6).contains(&size) {
        return format!("{value:.*e}", (digits - 1).clamp(0, 1) as usize);
    }
    let decimals = (digits - 1 - size.log10().floor() as i32).clamp(0, 6);
    format!("{value:.*}", decimals as usize)
}

/// The value with three significant digits, or fewer if they have no room.
fn fitting(value: f64, room: f64) -> String {
    let texts = [3, 2, 1].map(|count| digits(value, count));
    let fits = texts.iter().find(|text| width(text, FONT) <= room);
    fits.unwrap_or(&texts[2]).clone()
}

/// A column's or row's own number: no zeros at its end.
fn brief(value: f64) -> String {
    trimmed(&digits(value, 5))
}

fn fitting_name(value: f64, room: f64) -> String {
    let texts = [5, 4, 3, 2].map(|count| trimmed(&digits(value, count)));
    let fits = texts.iter().find(|text| width(text, FONT) <= room);
    fits.unwrap_or(&texts[3]).clone()
}

fn trimmed(text: &str) -> String {
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    }
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

    #[test]
    fn twelve_columns_have_room_for_their_numbers() {
        let labels = SurfaceLabels {
            x: "x".into(),
            y: "y".into(),
            z: "z".into(),
        };
        let all: Vec<f64> = (1..=12).map(|n| f64::from(n) * 1234.5).collect();
        let values = vec![vec![Some(0.000_123_4); 12]; 12];
        let svg = surface("t", &labels, &all, &all, &values);
        assert_eq!(svg.matches("class=\"cell\"").count(), 144);
        for value in [1.0, 123_456.0, 0.000_123_4, 1e-9, -1234.5, 98_765.4] {
            for text in [fitting(value, 52.0), fitting_name(value, 52.0)] {
                assert!(width(&text, FONT) <= 52.0, "{text}");
            }
        }
        // Few columns make a narrow picture.
        let few = surface(
            "t",
            &labels,
            &all[..2],
            &all[..2],
            &[vec![None; 2], vec![None; 2]],
        );
        assert!(few.contains("viewBox=\"0 0 340 "), "{few}");
    }

    #[test]
    fn shades_follow_the_values_or_their_logarithms() {
        let share = |values: &[f64], value| Shade::of(values.iter().copied()).share(value);
        assert_eq!(share(&[0.0, 10.0], 5.0), 0.5);
        assert!((share(&[1.0, 10_000.0], 100.0) - 0.5).abs() < 1e-9);
        assert_eq!(share(&[3.0], 3.0), 0.0);
    }
}
