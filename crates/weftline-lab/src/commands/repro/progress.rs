//! Progress of a run, on standard error.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use weftline_cli::ui::OutputOptions;
use weftline_papers::repro::Progress;

/// A line that is redrawn on terminals, and printed now and then elsewhere.
pub(super) struct Line {
    every: Option<Duration>,
    terminal: bool,
    last: Mutex<Instant>,
}

impl Line {
    pub(super) fn new(output: OutputOptions) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let every = if terminal { 250 } else { 20_000 };
        Self {
            every: (!output.quiet).then(|| Duration::from_millis(every)),
            terminal,
            last: Mutex::new(Instant::now()),
        }
    }

    pub(super) fn tell(&self, now: &Progress) {
        let Some(every) = self.every else { return };
        // One thread draws for all.
        let Ok(mut last) = self.last.try_lock() else {
            return;
        };
        if last.elapsed() < every {
            return;
        }
        *last = Instant::now();
        let text = text(now);
        let mut err = std::io::stderr();
        // Nothing can be done about a closed standard error.
        let _ = match self.terminal {
            true => write!(err, "\r{text}\x1b[K"),
            false => writeln!(err, "{text}"),
        };
        let _ = err.flush();
    }

    pub(super) fn clear(&self) {
        if self.terminal && self.every.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// Seconds in words.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        ..0.95 => format!("{seconds:.1} s"),
        ..90.0 => format!("{seconds:.0} s"),
        ..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

fn text(now: &Progress) -> String {
    let left = time(now.left);
    format!("{} of {} points, about {left} to go", now.done, now.all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_shown_in_seconds_or_minutes() {
        let of = |left| {
            text(&Progress {
                done: 3,
                all: 9,
                left,
            })
        };
        assert_eq!(of(31.4), "3 of 9 points, about 31 s to go");
        assert_eq!(of(600.0), "3 of 9 points, about 10 min to go");
        assert_eq!(of(9000.0), "3 of 9 points, about 2.5 h to go");
    }
}
