//! Values of independent sessions, with errors from their differences.

use serde_json::Value;

use crate::repro::{Missing, Point, Values, over_runs};

/// The sessions of a point: runs with a seed each.
pub(super) struct Sessions<'a> {
    command: String,
    all: &'a [Value],
    /// Source symbols of each.
    symbols: f64,
}

/// A value, and its standard error.
pub(super) type Estimate = (f64, f64);

impl<'a> Sessions<'a> {
    /// # Errors
    /// The point has not been run.
    pub(super) fn of(values: &'a Values, point: &Point) -> Result<Self, Missing> {
        Self::at(values, point, 0)
    }

    /// The sessions of one of the point's results.
    ///
    /// # Errors
    /// As for [`of`](Self::of), or the point has no result of this number.
    pub(super) fn at(values: &'a Values, point: &Point, result: usize) -> Result<Self, Missing> {
        let command = point.to_string();
        let key = format!("results/{result}/sessions");
        let all = values
            .object(point)?
            .pointer(&format!("/{key}"))
            .and_then(Value::as_array)
            .ok_or_else(|| Missing::Key {
                point: command.clone(),
                key,
            })?;
        let symbols = values.number(point, &format!("results/{result}/symbols"))?;
        Ok(Self {
            command,
            all,
            symbols,
        })
    }

    /// A number of each.
    ///
    /// # Errors
    /// One has no such number.
    pub(super) fn each(&self, key: &str) -> Result<Vec<f64>, Missing> {
        let number = |session: &Value| session.pointer(&format!("/{key}"))?.as_f64();
        let numbers = self.all.iter().map(number).collect::<Option<Vec<_>>>();
        numbers.ok_or_else(|| self.missing(key))
    }

    /// Its mean.
    ///
    /// # Errors
    /// As for [`each`](Self::each).
    pub(super) fn mean(&self, key: &str) -> Result<Estimate, Missing> {
        Ok(over_runs(&self.each(key)?))
    }

    /// The standard deviation of a session of this many symbols.
    ///
    /// # Errors
    /// As for [`each`](Self::each).
    pub(super) fn spread(&self, key: &str, symbols: f64) -> Result<f64, Missing> {
        let each = self.each(key)?;
        let (_, stderr) = over_runs(&each);
        Ok(stderr * (each.len() as f64 * self.symbols / symbols).sqrt())
    }

    /// Share of all source symbols that were not on time, in each.
    ///
    /// # Errors
    /// As for [`each`](Self::each).
    pub(super) fn residual(&self) -> Result<Vec<f64>, Missing> {
        Ok(self
            .each("on_time")?
            .iter()
            .map(|share| 1.0 - share)
            .collect())
    }

    /// Shares of all source symbols with each added in-order latency: by session, by ticks.
    ///
    /// # Errors
    /// A session has no histogram.
    pub(super) fn histograms(&self) -> Result<Vec<Vec<f64>>, Missing> {
        self.shares("histogram")
    }

    /// Shares of all source symbols delivered in order within each number of ticks up to `most`.
    ///
    /// # Errors
    /// A session has no histogram.
    pub(super) fn in_order(&self, most: usize) -> Result<Vec<Vec<f64>>, Missing> {
        let sums = |shares: &Vec<f64>| running(0.0, shares, most);
        Ok(self.histograms()?.iter().map(sums).collect())
    }

    /// Shares of all source symbols received or decoded, in any order, within each number of ticks
    /// up to `most`.
    ///
    /// # Errors
    /// A session has no such numbers.
    pub(super) fn known(&self, most: usize) -> Result<Vec<Vec<f64>>, Missing> {
        let recovered = self.shares("recovered_after")?;
        let received = self.each("received")?;
        let both = received.iter().zip(&recovered);
        Ok(both
            .map(|(received, shares)| running(*received, shares, most))
            .collect())
    }

    fn shares(&self, key: &str) -> Result<Vec<Vec<f64>>, Missing> {
        let counts = |session: &Value| {
            let counts = session.get(key)?.as_array()?.iter();
            let share = |count: &Value| Some(count.as_f64()? / self.symbols);
            counts.map(share).collect::<Option<Vec<_>>>()
        };
        let all = self.all.iter().map(counts).collect::<Option<Vec<_>>>();
        all.ok_or_else(|| self.missing(key))
    }

    fn missing(&self, key: &str) -> Missing {
        Missing::Key {
            point: self.command.clone(),
            key: format!("results/*/sessions/*/{key}"),
        }
    }
}

/// Sums up to each index, from 0 to `most`.
fn running(from: f64, shares: &[f64], most: usize) -> Vec<f64> {
    let mut sum = from;
    (0..=most)
        .map(|at| {
            sum += shares.get(at).copied().unwrap_or(0.0);
            sum
        })
        .collect()
}

/// Means over sessions of the values at each index; sessions may be of different lengths.
pub(super) fn means(all: &[Vec<f64>]) -> Vec<Estimate> {
    let longest = all.iter().map(Vec::len).max().unwrap_or(0);
    let at = |index: usize| {
        let values: Vec<f64> = all
            .iter()
            .map(|session| session.get(index).copied().unwrap_or(0.0))
            .collect();
        over_runs(&values)
    };
    (0..longest).map(at).collect()
}

/// The mean of the differences of two kinds of sessions with the same seeds.
pub(super) fn difference(one: &[f64], other: &[f64]) -> Estimate {
    let each: Vec<f64> = one.iter().zip(other).map(|(a, b)| a - b).collect();
    over_runs(&each)
}

/// The ratio of the means of two kinds of sessions with the same seeds.
pub(super) fn ratio(one: &[f64], other: &[f64]) -> Estimate {
    let (above, below) = (over_runs(one).0, over_runs(other).0);
    let ratio = above / below;
    let rest: Vec<f64> = one.iter().zip(other).map(|(a, b)| a - ratio * b).collect();
    (ratio, over_runs(&rest).1 / below)
}

/// The estimate that is least far above 0, in its own errors.
pub(super) fn least_above(all: impl IntoIterator<Item = Estimate>) -> Option<Estimate> {
    let errors = |(value, stderr): Estimate| value / stderr.max(1e-12);
    all.into_iter()
        .min_by(|a, b| errors(*a).total_cmp(&errors(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shares_are_of_all_symbols_and_sums_end_with_those_delivered() {
        let point = Point::lab("sim fecframe");
        let session = |on_time, histogram: &[u32]| {
            json!({
                "on_time": on_time, "received": 0.5, "histogram": histogram,
                "recovered_after": [0, 2],
            })
        };
        let sessions = [session(0.8, &[6, 2]), session(1.0, &[10])];
        let mut values = Values::default();
        let object = json!({ "results": [{ "symbols": 10, "sessions": sessions }] });
        values.insert(point.to_string(), object);
        let sessions = Sessions::of(&values, &point).unwrap();
        let (mean, stderr) = sessions.mean("on_time").unwrap();
        assert!((mean - 0.9).abs() < 1e-12 && (stderr - 0.1).abs() < 1e-12);
        let spread = sessions.spread("on_time", 40.0).unwrap();
        assert!((spread - 0.02f64.sqrt() / 2.0).abs() < 1e-12);
        let close = |one: &[Vec<f64>], other: &[[f64; 3]]| {
            let both = one.iter().flatten().zip(other.iter().flatten());
            both.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-12
        };
        let in_order = sessions.in_order(2).unwrap();
        assert!(close(&in_order, &[[0.6, 0.8, 0.8], [1.0, 1.0, 1.0]]));
        assert!(close(&sessions.known(2).unwrap(), &[[0.5, 0.7, 0.7]; 2]));
        assert!(sessions.each("nothing").is_err());
        assert!((means(&in_order)[0].0 - 0.8).abs() < 1e-12);
    }

    #[test]
    fn ratios_and_differences_are_paired() {
        let (one, two) = ([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]);
        assert_eq!(ratio(&one, &two), (0.5, 0.0));
        let (mean, stderr) = difference(&two, &one);
        assert!((mean - 2.0).abs() < 1e-12 && stderr > 0.5);
        let least = least_above([(5.0, 1.0), (0.1, 0.001), (2.0, 1.0)]);
        assert_eq!(least, Some((2.0, 1.0)));
    }
}
