//! A free drawing: boxes, arrows, words.

use super::STYLES;
use super::chart::{escape, put, short};

/// How a shape is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The faint line of a grid.
    Faint,
    /// The line of an axis or a box.
    Axis,
    /// One of the colours of series.
    Colour(usize),
    /// The same, as a dashed line.
    Dashed(usize),
}

/// Which end of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

/// A drawing with its own coordinates: x to the right, y down, from 0.
#[derive(Clone, Debug)]
pub struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

impl Canvas {
    /// An empty drawing of this size. A width of 720 makes a text as large as that of a chart.
    pub fn new(width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            body: String::new(),
        }
    }

    /// A line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) {
        self.path(&[from, to], ink);
    }

    /// A line through these points.
    pub fn path(&mut self, points: &[(f64, f64)], ink: Ink) {
        let (style, points) = (ink.stroke(), joined(points));
        put(
            &mut self.body,
            format_args!(r#"<polyline {style} points="{points}"/>"#),
        );
    }

    /// A line with a head at its end.
    pub fn arrow(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) {
        self.line(from, to, ink);
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy).max(1e-9);
        let (ux, uy) = (dx / length, dy / length);
        let foot = (to.0 - 8.0 * ux, to.1 - 8.0 * uy);
        let (left, right) = (
            (foot.0 - 4.0 * uy, foot.1 + 4.0 * ux),
            (foot.0 + 4.0 * uy, foot.1 - 4.0 * ux),
        );
        self.area(&[to, left, right], ink);
    }

    /// A filled area with these corners.
    pub fn area(&mut self, points: &[(f64, f64)], ink: Ink) {
        let (style, points) = (ink.fill(), joined(points));
        put(
            &mut self.body,
            format_args!(r#"<polygon {style} points="{points}"/>"#),
        );
    }

    /// The frame of a box; `at` is its upper left corner.
    pub fn frame(&mut self, at: (f64, f64), size: (f64, f64), ink: Ink) {
        self.rect(at, size, &ink.stroke());
    }

    /// A filled box; `at` is its upper left corner.
    pub fn block(&mut self, at: (f64, f64), size: (f64, f64), ink: Ink) {
        self.rect(at, size, &ink.fill());
    }

    fn rect(&mut self, at: (f64, f64), size: (f64, f64), style: &str) {
        let ((x, y), (w, h)) = (at, size);
        put(
            &mut self.body,
            format_args!(r#"<rect {style} x="{x:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}"/>"#),
        );
    }

    /// A filled disc.
    pub fn disc(&mut self, at: (f64, f64), radius: f64, ink: Ink) {
        let (x, y) = at;
        put(
            &mut self.body,
            format_args!(
                r#"<circle {} cx="{x:.1}" cy="{y:.1}" r="{radius:.1}"/>"#,
                ink.fill()
            ),
        );
    }

    /// A cross: something is lost here.
    pub fn cross(&mut self, at: (f64, f64), ink: Ink) {
        let (x, y) = at;
        self.line((x - 5.0, y - 5.0), (x + 5.0, y + 5.0), ink);
        self.line((x - 5.0, y + 5.0), (x + 5.0, y - 5.0), ink);
    }

    /// A text on one line, whose foot is at `at`.
    pub fn text(&mut self, at: (f64, f64), text: &str, anchor: Anchor) {
        let (x, y) = at;
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        put(
            &mut self.body,
            format_args!(r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#),
        );
    }

    /// The drawing as an `svg` element with this title.
    pub fn svg(&self, title: &str) -> String {
        let (width, height, title) = (self.width, self.height, escape(title));
        // On a phone a wide drawing scrolls, with texts that can be read.
        let (least, most) = (short(0.8 * width), short(1.3 * width));
        format!(
            "<svg class=\"drawing\" style=\"min-width:{least}px;max-width:{most}px\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>\n{}</svg>",
            self.body
        )
    }
}

/// The points as SVG lists them.
fn joined(points: &[(f64, f64)]) -> String {
    let points = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
    points.collect::<Vec<_>>().join(" ")
}

impl Ink {
    fn stroke(self) -> String {
        match self {
            Ink::Faint => r#"class="grid""#.to_owned(),
            Ink::Axis => r#"class="axis""#.to_owned(),
            Ink::Colour(n) => format!(r#"class="drawn" style="stroke:var(--s{})""#, n % STYLES),
            Ink::Dashed(n) => format!(
                r#"class="drawn dashed" style="stroke:var(--s{})""#,
                n % STYLES
            ),
        }
    }

    fn fill(self) -> String {
        match self {
            Ink::Faint => r#"style="fill:var(--rule)""#.to_owned(),
            Ink::Axis => r#"style="fill:var(--faint)""#.to_owned(),
            Ink::Colour(n) | Ink::Dashed(n) => format!(r#"style="fill:var(--s{})""#, n % STYLES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_is_one_element_and_its_words_are_escaped() {
        let mut canvas = Canvas::new(720.0, 100.0);
        canvas.arrow((0.0, 0.0), (10.0, 0.0), Ink::Colour(1));
        canvas.frame((0.0, 0.0), (5.0, 5.0), Ink::Axis);
        canvas.cross((3.0, 3.0), Ink::Dashed(2));
        canvas.text((1.0, 1.0), "a<b", Anchor::Middle);
        let svg = canvas.svg("t&u");
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
        assert!(svg.contains("a&lt;b") && svg.contains("t&amp;u"));
        assert_eq!(svg.matches("<polyline").count(), 3);
    }
}
