//! Axes and their ticks.

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its label, with the unit.
    pub label: String,
    /// Logarithmic rather than linear.
    pub log: bool,
    /// Smallest and largest value shown; both above 0 if logarithmic.
    pub range: (f64, f64),
}

/// A tick and its text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) text: String,
}

/// Most ticks of a linear axis.
const MOST: u32 = 7;

impl Axis {
    /// A linear axis from 0 that holds these values, or a logarithmic one if they differ by much.
    pub fn fitting(label: &str, values: impl Iterator<Item = f64> + Clone) -> Axis {
        let max = values.clone().fold(0.0, f64::max).max(1e-3);
        let min = values
            .filter(|v| *v > 0.0)
            .fold(max, f64::min)
            .max(max / 1e5);
        let log = max / min > 20.0;
        Axis {
            label: label.to_owned(),
            log,
            range: if log {
                (min * 0.8, max * 1.25)
            } else {
                (0.0, max * 1.08)
            },
        }
    }

    /// The place of a value between two ends; a value beyond the range is at its end.
    pub(super) fn place(&self, value: f64, from: f64, to: f64) -> f64 {
        let (low, high) = self.range;
        let value = value.clamp(low, high);
        let share = if self.log {
            (value / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low)
        };
        from + share * (to - from)
    }

    /// As many round values as have room: `room` is the length of the axis, and `need` that of a
    /// text along it, with the space to the next.
    pub(super) fn ticks(&self, room: f64, need: impl Fn(&str) -> f64) -> Vec<Tick> {
        let fits = |ticks: &[Tick]| {
            ticks.windows(2).all(|pair| {
                let at = |tick: &Tick| self.place(tick.value, 0.0, room);
                let half = (need(&pair[0].text) + need(&pair[1].text)) / 2.0;
                at(&pair[1]) - at(&pair[0]) >= half
            })
        };
        let sets = if self.log { self.decades() } else { Vec::new() };
        let linear = (2..=MOST).rev().map(|count| self.linear(count));
        let mut ends = Vec::new();
        for ticks in sets.into_iter().chain(linear) {
            if ticks.len() >= 2 && fits(&ticks) {
                return ticks;
            }
            ends = ticks;
        }
        ends.truncate(1);
        ends
    }

    fn holds(&self, value: f64) -> bool {
        let (low, high) = self.range;
        let slack = 1e-9 * (high - low).abs();
        (low - slack..=high + slack).contains(&value)
    }

    fn linear(&self, count: u32) -> Vec<Tick> {
        let (low, high) = self.range;
        let step = nice((high - low) / f64::from(count));
        let first = (low / step).ceil();
        let values: Vec<f64> = (0..=2 * MOST)
            .map(|i| (first + f64::from(i)) * step)
            .filter(|value| self.holds(*value))
            .collect();
        let largest = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let tick = |value: f64| Tick {
            value,
            text: linear_text(value, step, largest),
        };
        values.into_iter().map(tick).collect()
    }

    /// Sets of ticks of a logarithmic axis, the densest first.
    fn decades(&self) -> Vec<Vec<Tick>> {
        let (low, high) = self.range;
        let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let set = |every: i32, digits: &'static [u8]| {
            let of = |e: i32| {
                digits.iter().map(move |digit| Tick {
                    value: f64::from(*digit) * 10f64.powi(e),
                    text: power_text(*digit, e),
                })
            };
            let chosen = exponents.clone().filter(|e| e.rem_euclid(every) == 0);
            let ticks = chosen.flat_map(of).filter(|tick| self.holds(tick.value));
            ticks.collect::<Vec<Tick>>()
        };
        let mut sets = vec![set(1, &[1, 2, 5]), set(1, &[1, 3]), set(1, &[1])];
        sets.extend([2, 3, 4, 6, 10].map(|every| set(every, &[1])));
        // Within one decade the round values of a linear axis are more.
        sets.retain(|ticks| ticks.len() >= 3 || high / low > 9.9);
        sets
    }
}

/// The next 1, 2 or 5 times a power of ten.
fn nice(step: f64) -> f64 {
    let base = 10f64.powf(step.max(1e-300).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * base)
        .find(|s| *s >= step * 0.999)
        .unwrap_or(base)
}

/// A tick's number, with the decimals that its step needs.
fn linear_text(value: f64, step: f64, largest: f64) -> String {
    if value.abs() < step * 1e-6 {
        return "0".to_owned();
    }
    let last = (step * 1.0001).log10().floor() as i32;
    let first = largest.log10().floor() as i32;
    if last < -4 || first >= 6 {
        let decimals = (first - last).clamp(0, 9) as usize;
        let mantissa = value / 10f64.powi(first);
        return format!("{mantissa:.decimals$}·10{}", raised(first));
    }
    let decimals = (-last).max(0) as usize;
    format!("{value:.decimals$}")
}

fn power_text(digit: u8, exponent: i32) -> String {
    match (digit, exponent) {
        (_, 0..=4) => format!("{digit}{}", "0".repeat(exponent.unsigned_abs() as usize)),
        (_, -3..=-1) => number(f64::from(digit) * 10f64.powi(exponent)),
        (1, _) => format!("10{}", raised(exponent)),
        _ => format!("{digit}·10{}", raised(exponent)),
    }
}

/// An exponent in raised digits.
fn raised(exponent: i32) -> String {
    let raise = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    };
    exponent.to_string().chars().map(raise).collect()
}

/// A number without trailing zeros, with three decimals at most.
pub fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
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

    fn texts(axis: &Axis, room: f64) -> Vec<String> {
        let ticks = axis.ticks(room, |text| 8.0 * text.chars().count() as f64 + 8.0);
        ticks.into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn ticks_are_round_numbers_within_the_range() {
        assert_eq!(
            texts(&axis(false, 0.0, 6.0), 600.0),
            ["0", "1", "2", "3", "4", "5", "6"]
        );
        assert_eq!(
            texts(&axis(true, 0.1, 10.0), 600.0),
            ["0.1", "0.2", "0.5", "1", "2", "5", "10"]
        );
        assert_eq!(
            texts(&axis(true, 1e-6, 1e-2), 200.0),
            ["10⁻⁶", "10⁻⁵", "10⁻⁴", "0.001", "0.01"]
        );
        // A range below 0, and one whose steps have four decimals.
        assert_eq!(
            texts(&axis(false, -10.0, 10.0), 200.0),
            ["-10", "-5", "0", "5", "10"]
        );
        assert_eq!(
            texts(&axis(false, 0.0, 0.0021), 300.0),
            ["0", "0.0005", "0.0010", "0.0015", "0.0020"]
        );
        assert_eq!(
            texts(&axis(false, 0.0, 4e6), 400.0),
            ["0", "1·10⁶", "2·10⁶", "3·10⁶", "4·10⁶"]
        );
    }

    #[test]
    fn there_are_never_more_ticks_than_have_room() {
        for log in [false, true] {
            for (low, high) in [
                (1.0, 3.0),
                (30.0, 45.0),
                (0.001, 1e9),
                (1e-12, 1.0),
                (1234.0, 1235.0),
            ] {
                for room in [20.0, 60.0, 120.0, 300.0, 900.0] {
                    let axis = axis(log, low, high);
                    let need = |text: &str| 8.0 * text.chars().count() as f64 + 8.0;
                    let ticks = axis.ticks(room, need);
                    assert!(!ticks.is_empty() || room < 60.0, "{axis:?} {room}");
                    for pair in ticks.windows(2) {
                        let [a, b] = [&pair[0], &pair[1]].map(|t| axis.place(t.value, 0.0, room));
                        let half = (need(&pair[0].text) + need(&pair[1].text)) / 2.0;
                        assert!(b - a >= half - 1e-6, "{axis:?} {room} {ticks:?}");
                        assert_ne!(pair[0].text, pair[1].text);
                    }
                }
            }
        }
    }

    #[test]
    fn values_are_placed_in_proportion() {
        assert_eq!(axis(false, 0.0, 10.0).place(5.0, 0.0, 100.0), 50.0);
        assert_eq!(axis(false, 0.0, 10.0).place(50.0, 0.0, 100.0), 100.0);
        assert!((axis(true, 1.0, 100.0).place(10.0, 0.0, 100.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn an_axis_is_logarithmic_when_values_differ_by_much() {
        let fit = |values: &[f64]| Axis::fitting("x", values.iter().copied());
        assert!(!fit(&[1.0, 5.0, 0.0]).log);
        let wide = fit(&[0.0, 0.5, 500.0]);
        assert!(wide.log && wide.range.0 > 0.0 && wide.range.1 >= 500.0);
        assert!(fit(&[]).range.1 > 0.0);
    }
}
