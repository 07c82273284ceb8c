//! Fewer points that look the same: a chart's size is bounded by its pixels, not by its values.

use std::collections::HashSet;

/// A place on the chart.
pub(super) type Spot = (f64, f64);

/// How far a left-out point of a line may be from it.
const NEAR: f64 = 0.25;
/// Distance of marks on a line that has very many.
const APART: f64 = 24.0;
/// A line with more marks than this has marks at a distance.
const MANY: usize = 60;

/// The points of a line that change what is seen: the first, the last, the lowest and the highest of
/// neighbours within a pixel's width, without those on a straight line between others.
pub(super) fn line(points: &[Spot]) -> Vec<Spot> {
    let mut kept: Vec<Spot> = Vec::new();
    let mut rest = points;
    while let Some(first) = rest.first() {
        let column = first.0.floor();
        let same = rest.iter().take_while(|p| p.0.floor() == column).count();
        let (these, others) = rest.split_at(same);
        rest = others;
        if same <= 4 {
            kept.extend_from_slice(these);
            continue;
        }
        let (mut low, mut high) = (0, 0);
        for (index, point) in these.iter().enumerate() {
            if point.1 < these[low].1 {
                low = index;
            }
            if point.1 > these[high].1 {
                high = index;
            }
        }
        let mut few = vec![0, low, high, same - 1];
        few.sort_unstable();
        few.dedup();
        kept.extend(few.into_iter().map(|index| these[index]));
    }
    straight(&kept)
}

/// Leaves out points on a straight line between others.
fn straight(points: &[Spot]) -> Vec<Spot> {
    let mut kept: Vec<Spot> = Vec::new();
    // The last kept point is `from`; those after `start` wait for a point that they are not in line with.
    let mut start = 0;
    for (index, point) in points.iter().enumerate() {
        let Some(from) = kept.last().copied() else {
            kept.push(*point);
            continue;
        };
        let waiting = &points[start + 1..index];
        // A long wait would cost time that grows with its square.
        if waiting.len() > 64 || !waiting.iter().all(|spot| is_between(*spot, from, *point)) {
            kept.push(points[index - 1]);
            start = index - 1;
        }
    }
    kept.extend(points.last().filter(|_| points.len() > 1));
    kept
}

fn is_between(spot: Spot, from: Spot, to: Spot) -> bool {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (sx, sy) = (spot.0 - from.0, spot.1 - from.1);
    let length = dx.hypot(dy);
    if length < 1e-9 {
        return sx.hypot(sy) <= NEAR;
    }
    let along = (sx * dx + sy * dy) / length;
    let aside = (sx * dy - sy * dx).abs() / length;
    aside <= NEAR && (-NEAR..=length + NEAR).contains(&along)
}

/// The marks that can be told apart: one for each half pixel, or pixels if there are very many. With
/// `joined`, a line shows the rest, and marks of a long line are at a distance.
pub(super) fn marks(points: &[Spot], joined: bool) -> Vec<usize> {
    if joined && points.len() > MANY {
        let mut last: Option<Spot> = None;
        let mut kept = Vec::new();
        for (index, point) in points.iter().enumerate() {
            let far = last.is_none_or(|last| (point.0 - last.0).hypot(point.1 - last.1) >= APART);
            if far {
                kept.push(index);
                last = Some(*point);
            }
        }
        return kept;
    }
    let mut grain = 0.5;
    loop {
        let mut seen = HashSet::new();
        let new = |point: &Spot| {
            let cell = |at: f64| (at / grain).round() as i64;
            seen.insert((cell(point.0), cell(point.1)))
        };
        let mut new = new;
        let kept: Vec<usize> = (0..points.len()).filter(|i| new(&points[*i])).collect();
        if kept.len() <= 3000 || grain > 8.0 {
            return kept;
        }
        grain *= 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_becomes_short_and_keeps_its_extremes() {
        let wave = |i: u32| {
            let x = f64::from(i) * 0.006;
            let spike = if i == 54_321 { 90.0 } else { 0.0 };
            (x, 100.0 + 40.0 * (x * 0.8).sin() + spike)
        };
        let points: Vec<Spot> = (0..100_000).map(wave).collect();
        let few = line(&points);
        assert!(few.len() < 2600, "{}", few.len());
        assert_eq!((few.first(), few.last()), (points.first(), points.last()));
        let high = |points: &[Spot]| points.iter().fold(0.0, |most: f64, p| most.max(p.1));
        assert_eq!(high(&few), high(&points));
    }

    #[test]
    fn points_on_a_straight_line_are_left_out_and_corners_stay() {
        let flat: Vec<Spot> = (0..200).map(|i| (f64::from(i) * 3.0, 5.0)).collect();
        assert!(line(&flat).len() <= 5);
        let step = [(0.0, 0.0), (10.0, 0.0), (10.0, 8.0), (20.0, 8.0)];
        assert_eq!(line(&step), step);
        // A line that turns back on itself keeps its end.
        let back = [(0.0, 0.0), (10.0, 0.0), (4.0, 0.0)];
        assert_eq!(line(&back), back);
        assert_eq!(line(&[(1.0, 1.0)]), [(1.0, 1.0)]);
        assert_eq!(line(&[]), []);
    }

    #[test]
    fn marks_at_one_place_are_drawn_once() {
        assert_eq!(marks(&[(1.0, 1.0), (1.1, 1.0), (9.0, 1.0)], false), [0, 2]);
        let many: Vec<Spot> = (0..100_000)
            .map(|i| (f64::from(i % 631), f64::from(i / 631)))
            .collect();
        assert!(marks(&many, false).len() <= 3000);
        let long: Vec<Spot> = (0..600).map(|i| (f64::from(i), 0.0)).collect();
        assert_eq!(marks(&long, true).len(), 25);
    }
}
