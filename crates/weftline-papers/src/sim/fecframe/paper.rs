//! Numbers that Roca et al. print, for comparison.

/// Share of symbols on time at 30 % loss with ew 83, dw 167, code rate 2/3, by ls; the last is the
/// limit for larger systems.
pub const ON_TIME_AT_30_PERCENT: [(u32, f64); 3] = [(167, 0.7143), (400, 0.9342), (800, 0.9602)];

/// Losses of Table II.
pub const TABLE_LOSSES: [f64; 3] = [0.01, 0.05, 0.24];

/// Table II: decoding speed of RLC with ew 83 and dw 167, by ls, in Mbit/s at each of these losses.
pub const TABLE_SPEEDS: [(u32, [f64; 3]); 3] = [
    (200, [1713.9, 725.9, 187.5]),
    (400, [1634.8, 608.3, 155.3]),
    (800, [1358.3, 490.4, 101.3]),
];

/// Its row of ls 200, by loss.
pub(super) const RLC_SPEED: [(f64, f64); 3] = [
    (TABLE_LOSSES[0], TABLE_SPEEDS[0].1[0]),
    (TABLE_LOSSES[1], TABLE_SPEEDS[0].1[1]),
    (TABLE_LOSSES[2], TABLE_SPEEDS[0].1[2]),
];

/// The mean added latency the paper gives for blocks of 167 at any loss, in ticks.
pub const BLOCK_LATENCY: f64 = 83.5;
