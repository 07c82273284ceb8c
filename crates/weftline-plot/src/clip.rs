//! The part of a curve within ranges.

/// A range of an axis: from, to.
type Range = (f64, f64);

/// The part of a line within the ranges of x and y, cut at their ends, with a point that is not a
/// number at each gap. `log` says which axes are logarithmic: a value of 0 or less is outside.
/// Beside each point is the index of the given point, unless it is a cut.
pub fn clip(
    points: &[(f64, f64)],
    range: (Option<Range>, Option<Range>),
    log: (bool, bool),
) -> Vec<((f64, f64), Option<usize>)> {
    const GAP: ((f64, f64), Option<usize>) = ((f64::NAN, f64::NAN), None);
    let is_point = |&(x, y): &(f64, f64)| {
        let fits = |value: f64, log: bool| value.is_finite() && (!log || value > 0.0);
        fits(x, log.0) && fits(y, log.1)
    };
    let within =
        |value: f64, range: Option<Range>| range.is_none_or(|(a, b)| (a..=b).contains(&value));
    let is_inside = |point: &(f64, f64)| within(point.0, range.0) && within(point.1, range.1);
    let mut cut: Vec<((f64, f64), Option<usize>)> = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for (index, point) in points.iter().enumerate() {
        if !is_point(point) {
            cut.push(GAP);
            before = None;
            continue;
        }
        if let Some(from) = before
            && let Some((enter, leave)) = part(from, *point, range, log)
        {
            if !is_inside(&from) {
                cut.extend([GAP, (enter, None)]);
            }
            if !is_inside(point) {
                cut.extend([(leave, None), GAP]);
            }
        }
        if is_inside(point) {
            cut.push((*point, Some(index)));
        }
        before = Some(*point);
    }
    cut
}

/// The part of the line between two points that is inside, after Liang and Barsky.
fn part(
    from: (f64, f64),
    to: (f64, f64),
    range: (Option<Range>, Option<Range>),
    log: (bool, bool),
) -> Option<((f64, f64), (f64, f64))> {
    let scale = |value: f64, log: bool| if log { value.ln() } else { value };
    let (mut enter, mut leave) = (0.0f64, 1.0f64);
    for (a, b, range, log) in [
        (from.0, to.0, range.0, log.0),
        (from.1, to.1, range.1, log.1),
    ] {
        let Some((low, high)) = range else { continue };
        let [a, b, low, high] = [a, b, low, high].map(|value| scale(value, log));
        let step = b - a;
        if step == 0.0 {
            if a < low || a > high {
                return None;
            }
            continue;
        }
        let (first, last) = ((low - a) / step, (high - a) / step);
        enter = enter.max(first.min(last));
        leave = leave.min(first.max(last));
    }
    if enter >= leave {
        return None;
    }
    let at = |share: f64| {
        let between = |a: f64, b: f64, log: bool| match log {
            true => (a.ln() + share * (b.ln() - a.ln())).exp(),
            false => a + share * (b - a),
        };
        (between(from.0, to.0, log.0), between(from.1, to.1, log.1))
    };
    Some((at(enter), at(leave)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_it_leaves_and_comes_back() {
        let points = [(0.0, 1.0), (2.0, 3.0), (4.0, 1.0)];
        let cut = clip(&points, (None, Some((0.0, 2.0))), (false, false));
        let shown: Vec<(f64, f64)> = cut
            .iter()
            .map(|c| c.0)
            .filter(|p| p.0.is_finite())
            .collect();
        assert_eq!(shown, [(0.0, 1.0), (1.0, 2.0), (3.0, 2.0), (4.0, 1.0)]);
        let gaps = cut.iter().filter(|c| c.0.0.is_nan()).count();
        assert!(gaps >= 1 && cut[2].0.0.is_nan(), "{cut:?}");
        assert_eq!((cut[0].1, cut[1].1), (Some(0), None));
    }

    #[test]
    fn a_line_that_passes_through_is_shown_and_one_beside_is_not() {
        let range = (Some((1.0, 2.0)), Some((0.0, 10.0)));
        let through = clip(&[(0.0, 5.0), (3.0, 5.0)], range, (false, false));
        let shown: Vec<_> = through
            .iter()
            .map(|c| c.0)
            .filter(|p| p.0.is_finite())
            .collect();
        assert_eq!(shown, [(1.0, 5.0), (2.0, 5.0)]);
        assert!(clip(&[(0.0, 11.0), (3.0, 11.0)], range, (false, false)).is_empty());
    }

    #[test]
    fn what_a_logarithmic_axis_cannot_show_is_a_gap() {
        let cut = clip(
            &[(1.0, 0.0), (2.0, 1.0), (3.0, f64::NAN)],
            (None, None),
            (false, true),
        );
        assert_eq!(cut.len(), 3);
        assert!(cut[0].0.0.is_nan() && cut[1].1 == Some(1) && cut[2].0.0.is_nan());
        let cut = clip(
            &[(1.0, 1.0), (100.0, 100.0)],
            (Some((1.0, 10.0)), None),
            (true, true),
        );
        let end = cut[1].0;
        assert!(
            (end.0 - 10.0).abs() < 1e-9 && (end.1 - 10.0).abs() < 1e-9,
            "{end:?}"
        );
    }
}
