//! The look of a curve: colour, dash and mark, each for itself.

use std::collections::HashSet;

use super::STYLES;

/// Number of dashes; the first one is a solid line.
pub const DASHES: usize = 8;

/// A line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stroke {
    /// Its dash: 0 is solid, all below [`DASHES`] differ.
    pub dash: usize,
    /// Drawn thin.
    pub thin: bool,
}

/// A shape of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A disc.
    #[default]
    Disc,
    /// A triangle that points up.
    Up,
    /// A triangle that points down.
    Down,
    /// An upright cross.
    Plus,
    /// An oblique cross.
    Cross,
    /// A triangle that points to the right.
    Right,
    /// A triangle that points to the left.
    Left,
    /// A diamond.
    Diamond,
    /// A narrow diamond.
    Tall,
    /// A low diamond.
    Flat,
    /// Two triangles that touch.
    Bow,
    /// A square.
    Square,
    /// A narrow rectangle.
    Post,
    /// A low rectangle.
    Bar,
    /// A square with a roof.
    House,
}

impl Shape {
    /// Round marks, triangles and crosses.
    pub const ROUND: [Shape; 7] = [
        Shape::Disc,
        Shape::Up,
        Shape::Down,
        Shape::Plus,
        Shape::Cross,
        Shape::Right,
        Shape::Left,
    ];
    /// Diamonds.
    pub const DIAMONDS: [Shape; 4] = [Shape::Diamond, Shape::Tall, Shape::Flat, Shape::Bow];
    /// Squares.
    pub const SQUARES: [Shape; 4] = [Shape::Square, Shape::Post, Shape::Bar, Shape::House];

    /// The shapes that replace it where it is taken.
    pub fn family(self) -> &'static [Shape] {
        [&Self::ROUND[..], &Self::DIAMONDS, &Self::SQUARES]
            .into_iter()
            .find(|family| family.contains(&self))
            .unwrap_or(&Self::ROUND)
    }

    /// Its outline around the current point, as commands of an SVG path.
    pub(super) fn outline(self) -> &'static str {
        match self {
            Shape::Disc => "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
            Shape::Up => "m0-5.2l4.8 8.4h-9.6z",
            Shape::Down => "m0 5.2l4.8-8.4h-9.6z",
            Shape::Plus => "m-1.6-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
            Shape::Cross => {
                "m0-2.2l2.6-2.6 2.2 2.2-2.6 2.6 2.6 2.6-2.2 2.2-2.6-2.6-2.6 2.6-2.2-2.2 2.6-2.6-2.6-2.6 2.2-2.2z"
            }
            Shape::Right => "m5.2 0l-8.4 4.8v-9.6z",
            Shape::Left => "m-5.2 0l8.4 4.8v-9.6z",
            Shape::Diamond => "m0-6.5l6.5 6.5-6.5 6.5-6.5-6.5z",
            Shape::Tall => "m0-8l3.8 8-3.8 8-3.8-8z",
            Shape::Flat => "m-8 0l8-3.8 8 3.8-8 3.8z",
            Shape::Bow => "m-6-5v10l12-10v10z",
            Shape::Square => "m-4.5-4.5h9v9h-9z",
            Shape::Post => "m-2.5-6h5v12h-5z",
            Shape::Bar => "m-6-2.5h12v5h-12z",
            Shape::House => "m0-6.5l5 4.5v6.5h-10v-6.5z",
        }
    }
}

/// A mark at each point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Its shape.
    pub shape: Shape,
    /// Only its outline is drawn.
    pub open: bool,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Look {
    /// Its colour; colours repeat after [`STYLES`].
    pub colour: usize,
    /// The line through its points, if there is one.
    pub stroke: Option<Stroke>,
    /// The mark at its points, if there is one.
    pub mark: Option<Mark>,
}

/// What remains of a look without colour.
type Grey = (Option<usize>, Option<Mark>);

impl Look {
    /// The look without its colour and width: what tells curves apart on a printer without colours.
    pub fn grey(self) -> Grey {
        (self.stroke.map(|stroke| stroke.dash), self.mark)
    }

    /// Whether two curves with these looks cannot be told apart.
    pub fn is_like(self, other: Look) -> bool {
        self.colour % STYLES == other.colour % STYLES && self.grey() == other.grey()
    }

    /// Looks that say nearly the same, the nearest first: other shapes of the same family, then other
    /// dashes, then outlines of diamonds and squares.
    fn near(self) -> Vec<Look> {
        let marks: Vec<Option<Mark>> = match self.mark {
            None => vec![None],
            Some(mark) => {
                let family = mark.shape.family();
                let first = family.iter().position(|s| *s == mark.shape).unwrap_or(0);
                let turned = family.iter().cycle().skip(first).take(family.len());
                let shapes = |open| turned.clone().map(move |&shape| Some(Mark { shape, open }));
                // Round marks are filled or open for a reason.
                let is_round = Shape::ROUND.contains(&mark.shape);
                let other = (!is_round).then(|| shapes(!mark.open));
                shapes(mark.open)
                    .chain(other.into_iter().flatten())
                    .collect()
            }
        };
        let strokes: Vec<Option<Stroke>> = match self.stroke {
            None => vec![None],
            Some(stroke) => (0..DASHES)
                .map(|more| (stroke.dash + more) % DASHES)
                .map(|dash| Some(Stroke { dash, ..stroke }))
                .collect(),
        };
        let mut all = Vec::with_capacity(marks.len() * strokes.len());
        for stroke in strokes {
            for mark in &marks {
                all.push(Look {
                    stroke,
                    mark: *mark,
                    ..self
                });
            }
        }
        all
    }
}

/// Changes looks so that no two are alike, and, while there are enough dashes and marks, so that no
/// two are alike without colours either. A look changes only if an earlier one has it.
pub fn distinct(looks: &mut [Look]) {
    let (mut greys, mut all) = (HashSet::new(), HashSet::new());
    for look in looks {
        let near = look.near();
        let full = |look: &Look| (look.colour % STYLES, look.grey());
        let free = near.iter().find(|look| !greys.contains(&look.grey()));
        let free = free.or_else(|| near.iter().find(|look| !all.contains(&full(look))));
        let recoloured = || {
            let colours = (1..STYLES).map(|more| (look.colour + more) % STYLES);
            let mut looks =
                colours.flat_map(|colour| near.iter().map(move |l| Look { colour, ..*l }));
            looks.find(|look| !all.contains(&full(look)))
        };
        if let Some(free) = free.copied().or_else(recoloured) {
            *look = free;
        }
        greys.insert(look.grey());
        all.insert(full(look));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twins(looks: &[Look]) -> usize {
        let pairs = looks.iter().enumerate();
        pairs
            .map(|(i, a)| looks[..i].iter().filter(|b| a.is_like(**b)).count())
            .sum()
    }

    #[test]
    fn many_equal_looks_become_different_ones() {
        let line = Look {
            colour: 3,
            stroke: Some(Stroke::default()),
            mark: None,
        };
        let mark = Some(Mark::default());
        for (look, most) in [
            (line, DASHES * STYLES),
            (Look { mark, ..line }, 200),
            (
                Look {
                    stroke: None,
                    mark,
                    colour: 0,
                },
                7 * STYLES,
            ),
        ] {
            let mut looks = vec![look; most];
            distinct(&mut looks);
            assert_eq!(looks[0], look, "the first one stays");
            assert_eq!(twins(&looks), 0, "{look:?}");
        }
    }

    #[test]
    fn curves_of_different_colours_differ_in_grey_too() {
        let mut looks: Vec<Look> = (0..8)
            .map(|colour| Look {
                colour,
                stroke: Some(Stroke::default()),
                mark: None,
            })
            .collect();
        distinct(&mut looks);
        let greys: HashSet<_> = looks.iter().map(|look| look.grey()).collect();
        assert_eq!(greys.len(), 8);
        assert!(looks.iter().enumerate().all(|(i, l)| l.colour == i));
    }

    #[test]
    fn a_filled_round_mark_stays_filled_and_a_diamond_a_diamond() {
        let of = |shape| Look {
            colour: 0,
            stroke: None,
            mark: Some(Mark { shape, open: false }),
        };
        let mut looks = vec![of(Shape::Disc); 7];
        looks.extend(vec![of(Shape::Diamond); 8]);
        distinct(&mut looks);
        assert_eq!(twins(&looks), 0);
        let (round, diamonds) = looks.split_at(7);
        assert!(round.iter().all(|l| l.mark.is_some_and(|m| !m.open)));
        let is_diamond = |l: &Look| l.mark.is_some_and(|m| Shape::DIAMONDS.contains(&m.shape));
        assert!(diamonds.iter().all(is_diamond));
    }
}
