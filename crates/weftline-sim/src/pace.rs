//! When the messages of a stream are due.

use std::time::Duration;

/// Frames of a video in a second.
const FRAMES: u64 = 30;
/// Frames from one key frame to the next.
const GROUP: usize = 60;
/// Bits of a byte, in nanoseconds of a second.
const BIT_NANOS: u128 = 8_000_000_000;

/// Sums of the sizes of a group's frames, in parts of [`TOTAL`]: before each frame.
const BEFORE: [u64; GROUP] = before();
const TOTAL: u64 = BEFORE[GROUP - 1] + frame(GROUP - 1);

/// The size of a frame: a key frame is five times as long as the others are on average, and these
/// differ by up to a factor of three. `ext/contract.hpp` has the same numbers.
const fn frame(number: usize) -> u64 {
    match number {
        0 => 40,
        _ => 4 + (number as u64 * 7) % 9,
    }
}

const fn before() -> [u64; GROUP] {
    let (mut sums, mut at) = ([0; GROUP], 1);
    while at < GROUP {
        sums[at] = sums[at - 1] + frame(at - 1);
        at += 1;
    }
    sums
}

/// The due times of messages of one size with a mean rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Each is due one period after the one before.
    Constant,
    /// 30 frames in a second, of varying sizes, each in as many messages as it needs. All messages
    /// of a frame are due at the frame's time.
    Video,
}

impl Pace {
    /// From the first message to this one, at `rate` bit/s in messages of `size` bytes.
    pub fn due(self, rate: u64, size: usize, number: u64) -> Duration {
        let (rate, size) = (u128::from(rate.max(1)), size as u128);
        let nanos = match self {
            Pace::Constant => u128::from(number) * size * BIT_NANOS / rate,
            Pace::Video => {
                // The last frame whose first message has this number or a lower one.
                let parts =
                    (u128::from(number) + 1) * size * 8 * u128::from(TOTAL) * u128::from(FRAMES);
                let place = parts.div_ceil(rate * GROUP as u128).saturating_sub(1);
                let (group, rest) = (place / u128::from(TOTAL), place % u128::from(TOTAL));
                let inside = BEFORE.partition_point(|sum| u128::from(*sum) <= rest) - 1;
                (group * GROUP as u128 + inside as u128) * 1_000_000_000 / u128::from(FRAMES)
            }
        };
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Number of messages that are due less than `time` after the first.
    pub fn before(self, rate: u64, size: usize, time: Duration) -> u64 {
        let (rate, size, nanos) = (u128::from(rate), size as u128, time.as_nanos());
        let count = match self {
            Pace::Constant => (nanos * rate).div_ceil(size * BIT_NANOS),
            Pace::Video => {
                let frames = (nanos * u128::from(FRAMES)).div_ceil(1_000_000_000);
                let (groups, rest) = (frames / GROUP as u128, frames % GROUP as u128);
                let parts = groups * u128::from(TOTAL) + u128::from(BEFORE[rest as usize]);
                parts * rate * GROUP as u128 / (size * 8 * u128::from(TOTAL) * u128::from(FRAMES))
            }
        };
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_video_has_its_mean_rate_and_all_of_a_frame_is_due_at_once() {
        for (rate, size) in [(4_000_000, 1200), (430_000, 1200), (8_000_000, 500)] {
            let pace = Pace::Video;
            let bytes = pace.before(rate, size, Duration::from_secs(10)) * size as u64;
            let most = rate * 10 / 8;
            assert!(
                bytes <= most && bytes + size as u64 > most,
                "{bytes} of {most}"
            );
            let mut last = Duration::ZERO;
            for number in 0..3000 {
                let due = pace.due(rate, size, number);
                let frame = due.as_secs_f64() * 30.0;
                assert!(
                    (frame - frame.round()).abs() < 1e-6 && due >= last,
                    "{due:?}"
                );
                assert!(pace.before(rate, size, due) <= number);
                assert!(pace.before(rate, size, due + Duration::from_micros(1)) > number);
                last = due;
            }
        }
    }

    #[test]
    fn key_frames_are_five_times_as_long() {
        let at = |frame: u32| {
            let time = Duration::from_secs(1) * frame / 30;
            Pace::Video.before(4_000_000, 1000, time + Duration::from_nanos(1))
        };
        let sizes: Vec<u64> = (59..180).map(|frame| at(frame + 1) - at(frame)).collect();
        let key = sizes[0];
        assert_eq!(key, sizes[60]);
        let others = &sizes[1..60];
        let mean = others.iter().sum::<u64>() as f64 / others.len() as f64;
        assert!((4.7..5.3).contains(&(key as f64 / mean)), "{key} {mean}");
        let (least, most) = (others.iter().min().unwrap(), others.iter().max().unwrap());
        assert!(most > &(2 * least), "{least} {most}");
    }
}
