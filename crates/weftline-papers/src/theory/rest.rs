//! REST's redundancy (Brulatout et al., "Reliable Streaming Protocol for Lossy Networks").

use super::{TheoryError, within};

/// Data packets between two repairs; this value means "never".
pub const LONGEST_SPACING: u32 = 100;

/// The redundancy for a packet error rate: R >= 1 / (1-p) - 1, repairs for each data packet.
///
/// # Errors
/// `per` is not from 0 to below 1.
pub fn redundancy(per: f64) -> Result<f64, TheoryError> {
    within(
        "the packet error rate",
        per,
        (0.0..1.0).contains(&per),
        "at least 0 and below 1",
    )?;
    Ok(per / (1.0 - per))
}

/// Data packets between two repairs for a redundancy: k = floor(1/R), which Table III confirms, at
/// least 1 and at most [`LONGEST_SPACING`].
///
/// # Errors
/// `redundancy` is not a number from 0 on.
pub fn spacing(redundancy: f64) -> Result<u32, TheoryError> {
    let fits = redundancy >= 0.0 && redundancy.is_finite();
    within("the redundancy", redundancy, fits, "0 or more")?;
    // A ratio such as 1 / 0.2 must not be rounded below its whole number.
    let k = (1.0 / redundancy + 1e-9).floor();
    Ok(k.clamp(1.0, f64::from(LONGEST_SPACING)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_3_has_these_spacings() {
        for (r, k) in [
            (0.15, 6),
            (0.2, 5),
            (0.3, 3),
            (0.0, 100),
            (2.0, 1),
            (0.001, 100),
        ] {
            assert_eq!(spacing(r), Ok(k), "{r}");
        }
    }

    #[test]
    fn repairs_replace_all_losses_including_lost_repairs() {
        for per in [0.0, 0.01, 0.15, 0.5, 0.9] {
            let r = redundancy(per).unwrap();
            assert!(((1.0 + r) * (1.0 - per) - 1.0).abs() < 1e-12, "{per}");
        }
        assert_eq!(spacing(redundancy(0.5).unwrap()), Ok(1));
        assert!(
            redundancy(1.0).is_err() && redundancy(f64::NAN).is_err() && spacing(-0.1).is_err()
        );
    }
}
