//! The legend above a chart.

use super::chart::{FONT, LINE, label, marks, put, stroke};
use super::text::{width, wrap};
use super::{Curve, STYLES};

/// Length of the sample of a curve.
const SAMPLE: f64 = 30.0;
/// Space between the sample and the name, and after the name.
const SPACE: f64 = 6.0;
const AFTER: f64 = 16.0;

/// Places of a legend's entries.
pub(super) struct Legend {
    entries: Vec<Entry>,
    /// Its height.
    pub(super) height: f64,
}

struct Entry {
    x: f64,
    y: f64,
    name: Vec<String>,
}

impl Legend {
    /// The entries one after the other, in lines of at most `from` to `to`. A longer name is broken.
    pub(super) fn new(curves: &[Curve], from: f64, to: f64) -> Self {
        let (mut x, mut y, mut lines) = (from, 0.0, 0usize);
        let mut entries = Vec::new();
        for curve in curves {
            let room = to - from - SAMPLE - SPACE;
            let name = wrap(&curve.name, room, FONT);
            let widest = name.iter().map(|line| width(line, FONT));
            let width = SAMPLE + SPACE + widest.fold(0.0, f64::max);
            if x > from && x + width > to {
                y += LINE * lines as f64;
                (x, lines) = (from, 0);
            }
            lines = lines.max(name.len()).max(1);
            entries.push(Entry { x, y, name });
            x += width + AFTER;
        }
        let height = y + LINE * lines as f64;
        Self { entries, height }
    }

    pub(super) fn draw(&self, svg: &mut String, curves: &[Curve]) {
        for (curve, entry) in curves.iter().zip(&self.entries) {
            let (x, y) = (entry.x, entry.y + LINE / 2.0);
            put(
                svg,
                format_args!(r#"<g class="c{}">"#, curve.look.colour % STYLES),
            );
            stroke(svg, curve.look, &[(x, y), (x + SAMPLE, y)]);
            marks(svg, curve.look, &[(x + SAMPLE / 2.0, y)]);
            svg.push_str("</g>\n");
            for (line, text) in entry.name.iter().enumerate() {
                let foot = entry.y + 13.0 + LINE * line as f64;
                label(svg, (x + SAMPLE + SPACE, foot), "start", text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(length: usize) -> Curve {
        Curve {
            name: "xylo ".repeat(length / 5 + 1)[..length].to_owned(),
            ..Curve::default()
        }
    }

    #[test]
    fn a_long_legend_takes_several_lines_within_its_room() {
        let one = Legend::new(&[curve(10), curve(10)], 8.0, 700.0);
        assert!(one.entries[0].y == 0.0 && one.entries[1].y == 0.0);
        assert!(one.entries[1].x > one.entries[0].x && one.height == LINE);
        for to in [200.0, 340.0, 700.0] {
            let curves = [
                curve(40),
                curve(3),
                curve(100),
                curve(250),
                curve(7),
                curve(7),
            ];
            let legend = Legend::new(&curves, 8.0, to);
            let ends = |entry: &Entry| {
                let widest = entry.name.iter().map(|line| width(line, FONT));
                entry.x + SAMPLE + SPACE + widest.fold(0.0, f64::max)
            };
            for (index, entry) in legend.entries.iter().enumerate() {
                assert!(ends(entry) <= to, "{to}");
                let low = entry.y + LINE * entry.name.len() as f64;
                assert!(low <= legend.height);
                // No entry lies on another.
                for other in &legend.entries[..index] {
                    let beside = ends(other) <= entry.x;
                    let above = other.y + LINE * other.name.len() as f64 <= entry.y;
                    assert!(beside || above, "{to}");
                }
            }
        }
    }
}
