//! Points of the ns-3 model (`ns3/`, `docs/reference/ns3.md`): runs with consecutive seeds.

use crate::repro::picture::Dot;
use crate::repro::{Missing, Point, Scale, Values, over_runs, quotient};

/// Runs of a scenario.
#[derive(Clone, Copy, Debug)]
pub(in crate::repro) struct Runs {
    /// Runs of a point.
    pub(in crate::repro) runs: u32,
    /// Seconds of traffic in each.
    pub(in crate::repro) seconds: u32,
    /// Seconds of one core for a second of traffic.
    pub(in crate::repro) pace: f64,
}

impl Runs {
    /// A point of these runs.
    pub(in crate::repro) fn of(self, arguments: &str, scale: Scale) -> Point {
        let Self {
            runs,
            seconds,
            pace,
        } = self;
        let seed = scale.seed;
        Point::ns3(&format!(
            "{arguments} --seconds={seconds} --seed={seed} --runs={runs}"
        ))
        .about_secs(f64::from(runs) * (0.05 + f64::from(seconds) * pace))
    }
}

/// A number of each run. Where nothing was delivered there is no index of fairness: such runs
/// count as runs in which one flow gets everything.
pub(in crate::repro) fn each(
    values: &Values,
    point: &Point,
    key: &str,
) -> Result<Vec<f64>, Missing> {
    let object = values.object(point)?;
    let missing = || Missing::Key {
        point: point.to_string(),
        key: format!("runs/N/{key}"),
    };
    let runs = object.get("runs").and_then(|runs| runs.as_array());
    let path = format!("/{key}");
    let numbers = runs.into_iter().flatten().map(|run| {
        let found = run.pointer(&path).ok_or_else(missing)?;
        match found.as_f64() {
            None if found.is_null() && key == "jain" => Ok(0.5),
            number => number.ok_or_else(missing),
        }
    });
    let numbers: Vec<f64> = numbers.collect::<Result<_, _>>()?;
    if numbers.is_empty() {
        return Err(missing());
    }
    Ok(numbers)
}

/// Mean of a number over a point's runs, with its standard error.
pub(in crate::repro) fn mean(
    values: &Values,
    point: &Point,
    x: f64,
    key: &str,
) -> Result<Dot, Missing> {
    let (y, stderr) = over_runs(&each(values, point, key)?);
    Ok(Dot { x, y, stderr })
}

/// The same for an optional point: `None` if it has not been run, because ns-3 is not here.
pub(in crate::repro) fn maybe(
    values: &Values,
    point: &Point,
    x: f64,
    key: &str,
) -> Result<Option<Dot>, Missing> {
    match values.has(point) {
        true => mean(values, point, x, key).map(Some),
        false => Ok(None),
    }
}

/// The quotient of two independent values, with its standard error.
pub(in crate::repro) fn ratio(a: Dot, b: Dot) -> Dot {
    let (y, stderr) = quotient((a.y, a.stderr), (b.y, b.stderr));
    Dot {
        x: a.x,
        y,
        stderr: if stderr.is_finite() { stderr } else { 0.0 },
    }
}

/// The least of these.
pub(in crate::repro) fn least(dots: impl IntoIterator<Item = Dot>) -> Option<Dot> {
    dots.into_iter().min_by(|a, b| a.y.total_cmp(&b.y))
}

/// The greatest of these.
pub(in crate::repro) fn greatest(dots: impl IntoIterator<Item = Dot>) -> Option<Dot> {
    dots.into_iter().max_by(|a, b| a.y.total_cmp(&b.y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mean_is_over_runs_and_nothing_delivered_is_unfair() {
        let runs = Runs {
            runs: 2,
            seconds: 5,
            pace: 0.1,
        };
        let scale = Scale {
            quick: true,
            seed: 3,
        };
        let (point, other) = (runs.of("hop", scale), runs.of("cross", scale));
        assert_eq!(
            point.to_string(),
            "weftline-ns3 hop --seconds=5 --seed=3 --runs=2"
        );
        let mut values = Values::default();
        let object = json!({ "runs": [{ "jain": null, "a": { "b": 1.0 } }, { "jain": 1.0, "a": { "b": 3.0 } }] });
        values.insert(point.to_string(), object);
        assert_eq!(each(&values, &point, "jain"), Ok(vec![0.5, 1.0]));
        let found = mean(&values, &point, 0.3, "a/b").unwrap();
        assert_eq!((found.x, found.y, found.stderr), (0.3, 2.0, 1.0));
        assert_eq!(maybe(&values, &other, 0.0, "a/b"), Ok(None));
        assert!(mean(&values, &point, 0.0, "a/c").is_err());
    }

    #[test]
    fn a_quotient_has_the_errors_of_both() {
        let dot = |y, stderr| Dot { x: 1.0, y, stderr };
        let got = ratio(dot(3.0, 0.3), dot(2.0, 0.0));
        assert!((got.y - 1.5).abs() < 1e-12 && (got.stderr - 0.15).abs() < 1e-12);
    }
}
