//! How fast an application writes, as long as what it writes soon leaves.

use core::time::Duration;

use crate::time::Time;

/// It is counted from a moment at which all had left, for at least this time, and anew after the longer one.
const LEAST: Duration = Duration::from_millis(60);
const ANEW: Duration = Duration::from_secs(1);
/// It says nothing this long after the last such moment.
const PATIENCE: Duration = Duration::from_millis(250);
/// An application that writes more than this part of it in so short a time has written all that it has.
const BURST: f64 = 0.5;
const BIN: Duration = Duration::from_millis(20);
/// The bytes on the wire for each byte that is written, without repairs.
const HEADERS: f64 = 1.05;

#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    /// When all had left, and the bytes written until then.
    from: (Time, u64),
    /// When all had left for the last time, and the most bytes that have waited since.
    left: Time,
    waited: u64,
    /// The bytes written until now, until the beginning of the bin, and in the bin that had most of them.
    written: u64,
    bin: (Time, u64),
    burst: u64,
    rate: f64,
}

impl Offer {
    /// All the bytes written until now have left.
    pub(super) fn new(now: Time, written: u64) -> Self {
        Offer {
            from: (now, written),
            left: now,
            waited: 0,
            written,
            bin: (now, written),
            burst: 0,
            rate: 0.0,
        }
    }

    /// Of the bytes written until now, `waiting` have not left.
    pub(super) fn on_written(&mut self, now: Time, written: u64, waiting: u64) {
        // Messages that expire are no longer counted as written.
        let written = written.max(self.written);
        if waiting == 0 {
            (self.left, self.waited) = (now, 0);
        }
        if now.since(self.bin.0) > BIN {
            self.bin = (now, self.written);
        }
        self.written = written;
        self.burst = self.burst.max(written - self.bin.1);
        let (since, total) = (now.since(self.from.0), written - self.from.1);
        // Where no more waits than before, the flow decides how fast the application can write.
        let is_free = waiting == 0 || waiting > self.waited && now.since(self.left) < PATIENCE;
        self.waited = self.waited.max(waiting);
        let is_even = total > 0 && self.burst as f64 <= BURST * total as f64;
        if since >= LEAST && is_free && is_even {
            self.rate = HEADERS * total as f64 / since.as_secs_f64();
        }
        if waiting == 0 && since > ANEW {
            *self = Offer {
                rate: self.rate,
                ..Offer::new(now, written)
            };
        }
    }

    /// Bytes a second on the wire; zero if the application's own rate is not known.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The application has written `written(ms)` bytes after `ms` milliseconds, and `left(ms)` of them have left.
    /// Returns the rate that the offer finds after `ms`.
    fn rate(ms: u64, written: impl Fn(u64) -> u64, left: impl Fn(u64) -> u64) -> f64 {
        let at = |ms| Time::from_micros(1000 * ms);
        let mut offer = Offer::new(at(0), 0);
        for ms in 1..=ms {
            let all = written(ms);
            offer.on_written(at(ms), all, all - left(ms).min(all));
        }
        offer.rate()
    }

    #[test]
    fn a_stream_or_a_video_is_known_after_a_moment_even_if_it_leaves_too_slowly() {
        let stream = |ms| 1000 * ms;
        assert_eq!(rate(59, stream, stream), 0.0);
        assert_eq!(rate(60, stream, stream), 1.05e6);
        assert_eq!(rate(3000, stream, stream), 1.05e6);
        assert_eq!(rate(200, stream, |ms| stream(ms.min(30))), 1.05e6);
        let video = |ms| 16_000 * (ms / 33);
        let found = rate(300, video, video);
        assert!((4.5e5..5.2e5).contains(&found), "{found}");
    }

    #[test]
    fn what_leaves_from_a_buffer_or_is_written_at_once_is_not_the_applications_rate() {
        let leaves = |ms| 10 * ms * ms;
        assert_eq!(rate(500, |ms| 64_000 + leaves(ms), leaves), 0.0);
        assert_eq!(rate(300, |ms| 1_000_000 * (ms / 200), leaves), 0.0);
    }
}
