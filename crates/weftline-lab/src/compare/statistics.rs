//! Statistics of several values.

use serde::Serialize;

/// The median and the range of several values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Number of values.
    pub n: usize,
}

impl Spread {
    /// `None` when there are no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Spread {
            median: (low + high) / 2.0,
            min,
            max,
            n: values.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_of_odd_and_even_numbers_of_values() {
        let odd = Spread::of([9.0, 1.0, 4.0]).unwrap();
        assert_eq!((odd.median, odd.min, odd.max, odd.n), (4.0, 1.0, 9.0, 3));
        assert_eq!(Spread::of([1.0, 2.0, 4.0, 9.0]).unwrap().median, 3.0);
        assert_eq!(Spread::of([7.0]).unwrap().median, 7.0);
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([f64::NAN, 3.0]).unwrap().n, 1);
    }
}
