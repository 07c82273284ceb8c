//! A file, played in real time.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt, SeekFrom};
use tokio::time::{Instant, sleep_until};

use super::{CHUNK, Feed};
use crate::view::media::detect::Detect;
use crate::view::media::{Kind, Parse, Unit};
use crate::view::options::SourceOptions;

/// Microseconds from one picture to the next, where the file does not say.
const USUAL: u64 = 40_000;
/// A time stamp that is further ahead than this is not waited for.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Nor is one that is further behind late: pictures out of order, and sound beside them, are closer together.
const LONGEST_BACK: Duration = Duration::from_secs(2);

/// A file that is open.
pub(super) struct Reader(File);

/// Standard input, if it is a file.
pub(super) fn stdin() -> Option<Reader> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let input = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
        let input = std::fs::File::from(input);
        input
            .metadata()
            .ok()?
            .is_file()
            .then(|| Reader(input.into()))
    }
    #[cfg(not(unix))]
    None
}

impl Reader {
    pub(super) async fn open(path: &Path) -> io::Result<Self> {
        Ok(Reader(File::open(path).await?))
    }

    /// Plays the file, once or again and again.
    pub(super) async fn play(
        mut self,
        options: &SourceOptions,
        mut feed: Feed<'_>,
    ) -> io::Result<()> {
        let mut pace = Pace::new(Instant::now());
        loop {
            let mut parser = Detect::new(options.format);
            let mut buffer = vec![0; CHUNK];
            loop {
                let length = self.0.read(&mut buffer).await?;
                match length {
                    0 => parser.end(&mut feed.units),
                    length => parser.push(&buffer[..length], 0, &mut feed.units),
                }
                feed.tell(&mut parser);
                for unit in std::mem::take(&mut feed.units) {
                    let due = pace.due(&unit, parser.frame_time().unwrap_or(USUAL));
                    sleep_until(due).await;
                    let came = feed.hub.micros(due);
                    feed.hub.publish(
                        feed.source,
                        &Unit {
                            pts: Some(came),
                            came,
                            ..unit
                        },
                    );
                }
                if length == 0 {
                    break;
                }
            }
            if !options.repeat || pace.is_fresh() {
                return Ok(());
            }
            self.0.seek(SeekFrom::Start(0)).await?;
            pace.again();
        }
    }
}

/// When the frames of a file are due.
struct Pace {
    begin: Instant,
    /// The time stamp of the first frame.
    first: Option<u64>,
    /// Pictures without a time stamp so far.
    unstamped: u64,
    /// When the next frame is due at the earliest.
    next: Instant,
}

impl Pace {
    fn new(begin: Instant) -> Self {
        Pace {
            begin,
            first: None,
            unstamped: 0,
            next: begin,
        }
    }

    fn due(&mut self, unit: &Unit, frame_time: u64) -> Instant {
        let line = match (unit.pts, &unit.kind) {
            (Some(pts), _) => {
                // Of pictures out of order, and of sound beside them, the first may not be the earliest.
                pts.saturating_sub(*self.first.get_or_insert(pts))
            }
            (None, Kind::Key(_) | Kind::Delta) => {
                let line = self.unstamped * frame_time;
                self.unstamped += 1;
                line
            }
            (None, _) => self.unstamped * frame_time,
        };
        let mut due = self.begin + Duration::from_micros(line);
        if due > self.next + LONGEST_PAUSE || due + LONGEST_BACK < self.next {
            // The time stamps jump: they go on from here.
            self.unstamped = 1;
            self.first = unit.pts;
            self.begin = self.next;
            due = self.next;
        }
        self.next = self.next.max(due + Duration::from_micros(frame_time));
        due
    }

    /// There was no frame yet.
    fn is_fresh(&self) -> bool {
        self.next == self.begin
    }

    /// The file begins again.
    fn again(&mut self) {
        *self = Pace::new(self.next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(pts: Option<u64>) -> Unit {
        Unit {
            kind: Kind::Delta,
            pts,
            came: 0,
            data: Default::default(),
        }
    }

    #[test]
    fn frames_are_due_by_their_times_or_at_an_even_pace() {
        let begin = Instant::now();
        let after = |micros| begin + Duration::from_micros(micros);
        let mut pace = Pace::new(begin);
        assert!(pace.is_fresh());
        for (pts, due) in [(7_000_000, 0), (7_080_000, 80_000), (7_040_000, 40_000)] {
            assert_eq!(pace.due(&unit(Some(pts)), 40_000), after(due));
        }
        // The next round begins a frame behind the last one.
        pace.again();
        assert_eq!(pace.due(&unit(Some(7_000_000)), 40_000), after(120_000));
        let mut pace = Pace::new(begin);
        for frame in 0..3 {
            assert_eq!(pace.due(&unit(None), 33_333), after(33_333 * frame));
        }
    }

    #[test]
    fn a_jump_of_time_stamps_is_not_waited_for() {
        let begin = Instant::now();
        let mut pace = Pace::new(begin);
        pace.due(&unit(Some(0)), 40_000);
        let next = begin + Duration::from_micros(40_000);
        assert_eq!(pace.due(&unit(Some(3_600_000_000)), 40_000), next);
        let then = next + Duration::from_micros(40_000);
        assert_eq!(pace.due(&unit(Some(3_600_040_000)), 40_000), then);
    }

    #[test]
    fn time_stamps_that_jump_back_are_played_in_real_time() {
        let begin = Instant::now();
        let mut pace = Pace::new(begin);
        for frame in 0..200 {
            // Two recordings of four seconds, one behind the other.
            let pts = Some(7_000_000 + frame % 100 * 40_000);
            let due = begin + Duration::from_micros(frame * 40_000);
            assert_eq!(pace.due(&unit(pts), 40_000), due, "{frame}");
        }
    }
}
