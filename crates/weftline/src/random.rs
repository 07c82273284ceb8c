//! Random bytes of the system.

use std::io;

/// Fills `bytes` with random numbers that nobody can guess.
pub(crate) fn fill(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes)
        .map_err(|error| io::Error::other(format!("the system gives no random numbers: {error}")))
}

/// A random number of 64 bits.
///
/// # Panics
///
/// The system gives no random numbers: nothing works without them.
pub(crate) fn number() -> u64 {
    let mut bytes = [0; 8];
    fill(&mut bytes).expect("the system's random source works");
    u64::from_ne_bytes(bytes)
}

/// A random number from 0 to 1.
///
/// # Panics
///
/// As [`number`].
pub(crate) fn share() -> f64 {
    number() as f64 / u64::MAX as f64
}
