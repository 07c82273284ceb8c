//! What a forwarding shows while it runs and when it ends.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::counts::Snapshot;
use crate::exit::{Exit, Failure};
use crate::options::OutputOptions;
use crate::output;
use crate::reporter::Reporter;

/// Time between two looks for the line on the terminal.
const PERIOD: Duration = Duration::from_millis(500);

/// Shows how one end of a forwarding does.
pub(super) struct Report {
    /// `connect` or `serve`
    pub(super) end: &'static str,
    pub(super) output: OutputOptions,
    /// How often a line of statistics is printed, if at all.
    pub(super) every: Option<Duration>,
    pub(super) reporter: Reporter,
    pub(super) started: Instant,
}

impl Report {
    pub(super) fn new(end: &'static str, output: OutputOptions, every: Option<Duration>) -> Self {
        Report {
            end,
            output,
            every,
            reporter: Reporter::stderr(output),
            started: Instant::now(),
        }
    }

    /// Shows how things stand, for as long as it is polled.
    pub(super) async fn watch(&self, look: impl Fn() -> Snapshot) -> Infallible {
        let mut bar = tokio::time::interval(PERIOD);
        let far_off = Duration::from_secs(86_400);
        let every = self.every.unwrap_or(far_off);
        let mut lines = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
        let (mut shown, mut printed) = (look(), look());
        loop {
            tokio::select! {
                _ = bar.tick() => {
                    let now = look();
                    let bytes = |s: &Snapshot| s.sent + s.delivered;
                    self.reporter.advance(bytes(&now).saturating_sub(bytes(&shown)));
                    self.reporter.status(now.line(&shown, PERIOD));
                    shown = now;
                }
                _ = lines.tick(), if self.every.is_some() => {
                    let now = look();
                    if self.output.json {
                        let json = now.json("statistics", self.end, self.started.elapsed());
                        output::print(&json.to_string());
                    } else {
                        self.reporter.note(&now.line(&printed, every));
                    }
                    printed = now;
                }
            }
        }
    }

    /// Tells how it went, and gives the exit code.
    pub(super) fn end(&self, last: &Snapshot, failure: &Failure) -> Exit {
        self.reporter.finish();
        let time = self.started.elapsed();
        if !self.output.quiet && last.sessions > 0 {
            output::line(&last.sentence(time));
        }
        let stopped = matches!(failure.exit, Exit::Interrupted | Exit::Terminated);
        match stopped {
            // Whoever stopped it knows that it is no error.
            true => output::line(&failure.message),
            false => output::line(&format!("error: {failure}")),
        }
        if self.output.json {
            let mut json = last.json("end", self.end, time);
            if let Value::Object(object) = &mut json {
                object.insert("ok".to_owned(), json!(stopped));
                object.insert("exit".to_owned(), json!(failure.exit.code()));
                object.insert("error".to_owned(), json!(failure.message));
            }
            output::print(&json.to_string());
        }
        failure.exit
    }
}
