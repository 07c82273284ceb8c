//! Output about a transfer: a progress bar, notes and warnings on standard error.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::HumanBytes;

use super::output::OutputOptions;
use super::peers;
use super::terminal::{self, Bar};

/// Number of characters shown of the current file's path, from its end.
const SHOWN_PATH: usize = 12;

/// Receives progress and notes, and shows them as the options and the terminal allow. It never
/// waits for the terminal.
#[derive(Clone)]
pub struct Reporter {
    inner: Arc<Inner>,
}

struct Inner {
    bar: Option<Arc<Bar>>,
    details: bool,
    notes: bool,
    warnings: bool,
    bytes: AtomicU64,
    started: Instant,
}

impl Drop for Inner {
    /// A session that is cut short does not [finish](Reporter::finish).
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.end();
        }
    }
}

impl Reporter {
    /// Shows nothing.
    pub fn silent() -> Self {
        Reporter::new(None, false, false, false)
    }

    /// A bar if standard error is a terminal; notes unless quiet; warnings always.
    pub fn stderr(output: OutputOptions) -> Self {
        let bar = (!output.quiet && std::io::stderr().is_terminal()).then(Bar::shown);
        Reporter::new(bar, output.verbose > 0, !output.quiet, true)
    }

    /// No bar; notes unless quiet; warnings always.
    pub fn lines(output: OutputOptions) -> Self {
        Reporter::new(None, output.verbose > 0, !output.quiet, true)
    }

    fn new(bar: Option<Arc<Bar>>, details: bool, notes: bool, warnings: bool) -> Self {
        let inner = Inner {
            bar,
            details,
            notes,
            warnings,
            bytes: AtomicU64::new(0),
            started: Instant::now(),
        };
        Reporter {
            inner: Arc::new(inner),
        }
    }

    /// Sets the number of bytes that will come, if it is known.
    pub fn expect(&self, bytes: Option<u64>) {
        if let (Some(bar), Some(bytes)) = (&self.inner.bar, bytes) {
            bar.expect(bytes);
        }
    }

    /// Sets the file that is being transferred.
    pub fn file(&self, path: &str) {
        if let Some(bar) = &self.inner.bar {
            let from = path.char_indices().rev().nth(SHOWN_PATH - 1);
            bar.before(path[from.map_or(0, |(i, _)| i)..].to_owned());
        }
    }

    /// Counts bytes that were just sent or received.
    pub fn advance(&self, bytes: u64) {
        self.inner.bytes.fetch_add(bytes, Ordering::Relaxed);
        if let Some(bar) = &self.inner.bar {
            bar.advance(bytes);
        }
    }

    /// Counts bytes that an earlier transfer brought.
    pub fn resumed(&self, bytes: u64) {
        if let Some(bar) = &self.inner.bar {
            bar.resume(bytes);
        }
    }

    /// Sets the text beside the bar: the state of the connection.
    pub fn status(&self, text: String) {
        if let Some(bar) = &self.inner.bar {
            bar.after(text);
        }
    }

    /// A message for people who asked for details.
    pub fn detail(&self, text: &str) {
        if self.inner.details {
            terminal::offer(text.to_owned());
        }
    }

    /// A message for people, unless they asked for quiet.
    pub fn note(&self, text: &str) {
        if self.inner.notes {
            terminal::offer(text.to_owned());
        }
    }

    /// A message that a peer causes: of many, only some are shown.
    pub fn peer(&self, text: String) {
        if self.inner.notes {
            peers::tell(text);
        }
    }

    /// A message that people have to read.
    pub fn warn(&self, text: &str) {
        if self.inner.warnings {
            terminal::offer(text.to_owned());
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.inner.bar {
            bar.end();
        }
    }

    /// Bytes of file data so far, without those of earlier transfers.
    pub fn bytes(&self) -> u64 {
        self.inner.bytes.load(Ordering::Relaxed)
    }

    /// Time since the reporter was made.
    pub fn elapsed(&self) -> Duration {
        self.inner.started.elapsed()
    }
}

/// The rate of `bytes` in `time`, for people.
pub fn rate(bytes: u64, time: Duration) -> String {
    format!("{:.1} Mbit/s", megabits(bytes, time))
}

/// The rate in Mbit/s.
pub fn megabits(bytes: u64, time: Duration) -> f64 {
    bytes as f64 * 8e-6 / time.as_secs_f64().max(1e-6)
}

/// `bytes` with a binary unit, for people.
pub fn size(bytes: u64) -> String {
    HumanBytes(bytes).to_string()
}
