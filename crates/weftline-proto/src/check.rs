//! Checks of configured values.

use core::fmt::Debug;
use core::ops::RangeInclusive;

/// A configuration that cannot be used. Values out of range are refused, never changed silently.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A field has a value outside its range.
    #[error("{field} = {value} is out of range: give {allowed}")]
    OutOfRange {
        /// The field, by its path in [`Config`](crate::Config).
        field: &'static str,
        /// The value given.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// Two fields contradict each other.
    #[error("{0}")]
    Contradiction(&'static str),
}

/// Accepts a value within its range; refuses NaN.
pub(crate) fn within<T: PartialOrd + Debug>(
    field: &'static str,
    value: T,
    allowed: RangeInclusive<T>,
) -> Result<(), ConfigError> {
    if allowed.contains(&value) {
        return Ok(());
    }
    Err(ConfigError::OutOfRange {
        field,
        value: format!("{value:?}"),
        allowed: format!("{:?} to {:?}", allowed.start(), allowed.end()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_out_of_range_is_refused_with_the_allowed_range() {
        assert_eq!(within("share", 0.5, 0.0..=4.0), Ok(()));
        let error = within("share", f64::NAN, 0.0..=4.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "share = NaN is out of range: give 0.0 to 4.0"
        );
    }
}
