//! What an end shows while it runs and when it ends.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::options::OutputOptions;
use crate::output;
use crate::reporter::Reporter;

/// Time between two looks for the line on the terminal.
const PERIOD: Duration = Duration::from_millis(500);

/// How an end stands at some moment.
pub(super) trait Snapshot {
    /// Bytes carried so far.
    fn bytes(&self) -> u64;
    /// For people, `since` an earlier one so long ago.
    fn line(&self, since: &Self, time: Duration) -> String;
    /// For people, of the whole time.
    fn sentence(&self, time: Duration) -> String;
    /// For programs: an object.
    fn json(&self) -> Value;
}

/// Shows how one end does.
pub(super) struct Report {
    /// `send` or `recv`
    end: &'static str,
    output: OutputOptions,
    /// How often a line of statistics is printed, if at all.
    every: Option<Duration>,
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
    pub(super) async fn watch<S: Snapshot>(&self, look: impl Fn() -> S) -> Infallible {
        let mut bar = tokio::time::interval(PERIOD);
        let far_off = Duration::from_secs(86_400);
        let every = self.every.unwrap_or(far_off);
        let mut lines = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
        let (mut shown, mut printed) = (look(), look());
        loop {
            tokio::select! {
                _ = bar.tick() => {
                    let now = look();
                    self.reporter.advance(now.bytes().saturating_sub(shown.bytes()));
                    self.reporter.status(now.line(&shown, PERIOD));
                    shown = now;
                }
                _ = lines.tick(), if self.every.is_some() => {
                    let now = look();
                    if self.output.json {
                        output::print(&self.json(&now, "statistics").to_string());
                    } else {
                        self.reporter.note(&now.line(&printed, every));
                    }
                    printed = now;
                }
            }
        }
    }

    /// Tells how it went, and gives the exit code.
    pub(super) fn end(&self, last: Option<&impl Snapshot>, failure: &Failure) -> Exit {
        self.reporter.finish();
        if let Some(last) = last.filter(|_| !self.output.quiet) {
            output::line(&last.sentence(self.started.elapsed()));
        }
        let stopped = matches!(failure.exit, Exit::Interrupted | Exit::Terminated);
        match stopped {
            // Whoever stopped it knows that it is no error.
            true => output::line(&failure.message),
            false => output::line(&format!("error: {failure}")),
        }
        if self.output.json {
            let mut json = match last {
                Some(last) => self.json(last, "end"),
                None => self.head("end"),
            };
            if let Value::Object(object) = &mut json {
                object.insert("ok".to_owned(), json!(stopped));
                object.insert("exit".to_owned(), json!(failure.exit.code()));
                object.insert("error".to_owned(), json!(failure.message));
            }
            output::print(&json.to_string());
        }
        failure.exit
    }

    fn json(&self, snapshot: &impl Snapshot, event: &str) -> Value {
        let mut json = self.head(event);
        if let (Value::Object(all), Value::Object(more)) = (&mut json, snapshot.json()) {
            all.extend(more);
        }
        json
    }

    fn head(&self, event: &str) -> Value {
        json!({
            "command": "cast",
            "end": self.end,
            "event": event,
            "seconds": self.started.elapsed().as_secs_f64(),
        })
    }
}
