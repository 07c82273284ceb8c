//! What a person sees of a transfer: a progress bar, notes and warnings on standard error.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

/// Takes progress and notes, and shows them as the options and the terminal allow.
#[derive(Clone)]
pub struct Reporter {
    inner: Arc<Inner>,
}

struct Inner {
    bar: Option<ProgressBar>,
    notes: bool,
    warnings: bool,
    bytes: AtomicU64,
    started: Instant,
}

impl Reporter {
    /// Shows nothing.
    pub fn silent() -> Self {
        Reporter::new(None, false, false)
    }

    /// A bar if standard error is a terminal; notes unless `quiet`; warnings always.
    pub fn stderr(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::no_length();
            bar.set_style(style("{spinner} {prefix} {bytes} {wide_msg}"));
            bar
        });
        Reporter::new(bar, !quiet, true)
    }

    /// No bar; notes unless `quiet`; warnings always.
    pub fn lines(quiet: bool) -> Self {
        Reporter::new(None, !quiet, true)
    }

    fn new(bar: Option<ProgressBar>, notes: bool, warnings: bool) -> Self {
        let inner = Inner {
            bar,
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
            bar.set_style(style(
                "{prefix} [{bar:24}] {percent:>3}% {bytes}/{total_bytes} ETA {eta} {wide_msg}",
            ));
            bar.set_length(bytes);
        }
    }

    /// The file that is under way.
    pub fn file(&self, path: &str) {
        if let Some(bar) = &self.inner.bar {
            let from = path.char_indices().rev().nth(31).map_or(0, |(i, _)| i);
            bar.set_prefix(path[from..].to_owned());
        }
    }

    /// Bytes that were sent or received just now.
    pub fn advance(&self, bytes: u64) {
        self.inner.bytes.fetch_add(bytes, Ordering::Relaxed);
        if let Some(bar) = &self.inner.bar {
            bar.inc(bytes);
        }
    }

    /// Bytes that an earlier transfer brought.
    pub fn resumed(&self, bytes: u64) {
        if let Some(bar) = &self.inner.bar {
            bar.inc(bytes);
            bar.reset_eta();
        }
    }

    /// What is shown beside the bar: the state of the connection.
    pub fn status(&self, text: String) {
        if let Some(bar) = &self.inner.bar {
            bar.set_message(text);
        }
    }

    /// Something a person may like to know.
    pub fn note(&self, text: &str) {
        if self.inner.notes {
            self.line(text);
        }
    }

    /// Something a person has to know.
    pub fn warn(&self, text: &str) {
        if self.inner.warnings {
            self.line(text);
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.inner.bar {
            bar.finish_and_clear();
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

    fn line(&self, text: &str) {
        let print = || {
            // Nothing better can be done when standard error is closed.
            let _ = writeln!(std::io::stderr(), "{text}");
        };
        match &self.inner.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

/// `bytes` in `time` as people read it.
pub fn rate(bytes: u64, time: Duration) -> String {
    format!("{:.1} Mbit/s", megabits(bytes, time))
}

/// Mbit/s.
pub fn megabits(bytes: u64, time: Duration) -> f64 {
    bytes as f64 * 8e-6 / time.as_secs_f64().max(1e-6)
}

/// `bytes` as people read it.
pub fn size(bytes: u64) -> String {
    HumanBytes(bytes).to_string()
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are constants that parse")
}
