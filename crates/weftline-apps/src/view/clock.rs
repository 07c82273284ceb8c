//! From the source's time stamps to the server's clock.

/// A time stamp that is further from its arrival than this begins a new time line, in microseconds.
const JUMP: i64 = 2_000_000;
/// A source's clock that runs slow or fast is followed by one part in this of the difference per frame.
const FOLLOW: i64 = 512;
/// A time stamp this far away is none, and nothing overflows.
const FURTHEST: u64 = u64::MAX / 8;

/// Maps time stamps of one source to the server's clock. Both are in microseconds.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    offset: Option<i64>,
}

impl Timeline {
    /// When a frame is to be shown that came in at `came`.
    pub(super) fn show(&mut self, pts: Option<u64>, came: u64) -> u64 {
        let Some(pts) = pts.filter(|pts| *pts < FURTHEST) else {
            return came;
        };
        let pts = pts.cast_signed();
        let came = i64::try_from(came).unwrap_or(i64::MAX);
        let fresh = came - pts;
        let offset = match self.offset {
            Some(offset) if (fresh - offset).abs() <= JUMP => offset + (fresh - offset) / FOLLOW,
            _ => fresh,
        };
        self.offset = Some(offset);
        u64::try_from(pts + offset).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_keep_their_distance_and_slow_clocks_are_followed() {
        let mut line = Timeline::default();
        assert_eq!(line.show(Some(5_000_000), 1_000_000), 1_000_000);
        // It came in 10 ms late, and is shown in time.
        let second = line.show(Some(5_040_000), 1_050_000);
        assert!((1_040_000..1_040_100).contains(&second), "{second}");
        // A clock that is 0.1 % slow, for 100 s.
        let mut line = Timeline::default();
        for frame in 0..3000 {
            let came = frame * 33_333;
            let show = line.show(Some(came - came / 1000), came);
            assert!(show.abs_diff(came) < 30_000, "{frame}: {show}");
        }
    }

    #[test]
    fn a_jump_begins_a_new_time_line() {
        let mut line = Timeline::default();
        line.show(Some(100_000_000), 1000);
        assert_eq!(line.show(Some(0), 34_000), 34_000);
        assert_eq!(line.show(Some(33_000), 67_000), 67_000);
        assert_eq!(line.show(None, 80_000), 80_000);
        let far = [u64::MAX, i64::MAX as u64, FURTHEST - 1, 0];
        for (pts, came) in far.into_iter().zip(80_000..) {
            assert_eq!(line.show(Some(pts), came), came);
        }
    }
}
