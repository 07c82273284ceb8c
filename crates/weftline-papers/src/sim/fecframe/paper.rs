//! Figures of Roca et al., for comparison.

/// Share of symbols on time at 30 % loss with ew 83, dw 167, code rate 2/3, by ls; the last is the
/// limit for larger systems.
pub const ON_TIME_AT_30_PERCENT: [(u32, f64); 3] = [(167, 0.7143), (400, 0.9342), (800, 0.9602)];

/// Table II: decoding speed of RLC with symbols of 256 octets and ls 200, in Mbit/s, by loss.
pub const RLC_SPEED: [(f64, f64); 3] = [(0.01, 1714.0), (0.05, 726.0), (0.24, 187.0)];

/// The mean added latency the paper gives for blocks of 167 at any loss, in ticks.
pub const BLOCK_LATENCY: f64 = 83.5;
