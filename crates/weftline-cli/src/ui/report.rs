//! Output of a command that runs until it is stopped: while it runs, and when it ends.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::output::{self, OutputOptions};
use super::progress::Reporter;

/// Time between two updates of the line on the terminal.
const PERIOD: Duration = Duration::from_millis(500);

/// Counters of one end at some moment.
pub(crate) trait Standing {
    /// Bytes carried so far, in both directions.
    fn bytes(&self) -> u64;
    /// Whether there is anything to report for the whole time.
    fn has_served(&self) -> bool {
        true
    }
    /// For people: the change since the counters `since`, taken `time` ago.
    fn line(&self, since: &Self, time: Duration) -> String;
    /// For people: the whole time.
    fn sentence(&self, time: Duration) -> String;
    /// For programs: a JSON object.
    fn json(&self) -> Value;
}

/// Reports the counters of one end.
pub(crate) struct Report {
    /// The command, and which end of it: `send`, `serve` or the like; empty if it has but one.
    command: &'static str,
    end: &'static str,
    output: OutputOptions,
    /// How often a line of statistics is printed, if at all.
    every: Option<Duration>,
    pub(crate) reporter: Reporter,
    pub(crate) started: Instant,
}

impl Report {
    pub(crate) fn new(
        command: &'static str,
        end: &'static str,
        output: OutputOptions,
        every: Option<Duration>,
    ) -> Self {
        Report {
            command,
            end,
            output,
            every,
            reporter: Reporter::stderr(output),
            started: Instant::now(),
        }
    }

    /// As [`new`](Self::new), of a command that began earlier and has one end. It prints no statistics.
    pub(crate) fn of(started: Instant, command: &'static str, output: OutputOptions) -> Self {
        Report {
            started,
            ..Report::new(command, "", output, None)
        }
    }

    /// Reports the current counters, for as long as it is polled.
    pub(crate) async fn watch<S: Standing>(&self, look: impl Fn() -> S) -> Infallible {
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
                        output::print(self.json(Some(&now), "statistics"));
                    } else {
                        let line = now.line(&printed, every);
                        if !line.is_empty() {
                            self.reporter.note(&line);
                        }
                    }
                    printed = now;
                }
            }
        }
    }

    /// Reports the result and returns the exit code. `last` holds the final counters, if the
    /// command started at all.
    pub(crate) fn end(&self, last: Option<&impl Standing>, failure: &Failure) -> Exit {
        self.reporter.finish();
        let told = last.filter(|last| !self.output.quiet && last.has_served());
        if let Some(last) = told {
            output::line(&last.sentence(self.started.elapsed()));
        }
        // Exit::Ok: it was only to be checked.
        let stopped = matches!(
            failure.exit,
            Exit::Ok | Exit::Interrupted | Exit::Terminated
        );
        match stopped {
            // The person who stopped the program knows that this is not an error.
            true => output::line(&failure.message),
            false => output::line(&format!("error: {failure}")),
        }
        if self.output.json {
            let mut json = self.json(last, "end");
            if let Value::Object(object) = &mut json {
                object.insert("ok".to_owned(), json!(stopped));
                object.insert("exit".to_owned(), json!(failure.exit.code()));
                object.insert(
                    "error".to_owned(),
                    json!((!stopped).then_some(&failure.message)),
                );
            }
            output::print(json);
        }
        failure.exit
    }

    fn json(&self, standing: Option<&impl Standing>, event: &str) -> Value {
        let mut json = json!({
            "command": self.command,
            "event": event,
            "seconds": self.started.elapsed().as_secs_f64(),
        });
        if !self.end.is_empty() {
            json["end"] = json!(self.end);
        }
        if let (Value::Object(all), Some(Value::Object(more))) =
            (&mut json, standing.map(Standing::json))
        {
            all.extend(more);
        }
        json
    }
}
