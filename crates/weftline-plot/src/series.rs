//! What a chart shows: curves.

use super::{DASHES, Look, Mark, STYLES, Shape, Stroke};

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marks {
    /// A line.
    #[default]
    Line,
    /// A mark at each point.
    Points,
    /// Both.
    Both,
    /// A diamond at each point: published by others.
    Diamonds,
    /// A square at each point: measured elsewhere.
    Squares,
}

/// A series of points whose look is a number.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// The number of its look: colour, dash and shape of marks change with it.
    pub style: usize,
    /// Its points, by rising x if a line joins them.
    pub points: Vec<(f64, f64)>,
    /// Its marks.
    pub marks: Marks,
}

/// A curve with a look of its own.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Its look.
    pub look: Look,
    /// Its points; a line has a gap at a point that is not finite.
    pub points: Vec<(f64, f64)>,
    /// The standard error of each point: none, or one for each.
    pub errors: Vec<f64>,
    /// The indices of points without a mark, in order: where a line is cut.
    pub unmarked: Vec<usize>,
}

impl Look {
    /// The look of this number. No two of the first 96 lines are alike.
    pub fn numbered(style: usize, marks: Marks) -> Look {
        let round = style / STYLES;
        let dash = (style + round) % DASHES;
        let thin = false;
        let (stroke, family) = match marks {
            Marks::Line => (Some(Stroke { dash, thin }), None),
            Marks::Both => (Some(Stroke { dash, thin }), Some(&Shape::ROUND[..])),
            Marks::Points => (None, Some(&Shape::ROUND[..])),
            Marks::Diamonds => (None, Some(&Shape::DIAMONDS[..])),
            Marks::Squares => (None, Some(&Shape::SQUARES[..])),
        };
        let shape = |family: &[Shape]| family[(style + round) % family.len()];
        let mark = family.map(|family| Mark {
            shape: shape(family),
            open: false,
        });
        Look {
            colour: style % STYLES,
            stroke,
            mark,
        }
    }
}

impl From<&Series> for Curve {
    fn from(series: &Series) -> Self {
        Self {
            name: series.name.clone(),
            look: Look::numbered(series.style, series.marks),
            points: series.points.clone(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_lines_differ() {
        for marks in [Marks::Line, Marks::Both] {
            let looks: Vec<Look> = (0..96).map(|n| Look::numbered(n, marks)).collect();
            for (i, a) in looks.iter().enumerate() {
                assert!(looks[..i].iter().all(|b| !a.is_like(*b)), "{i}");
            }
        }
    }
}
