//! What a service, `relay` or `forward`, shows while it runs and when it ends.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weftline::Stats;

use crate::exit::{Exit, Failure};
use crate::options::OutputOptions;
use crate::output;
use crate::reporter::Reporter;

/// Time between two looks for the line on the terminal.
const PERIOD: Duration = Duration::from_millis(500);

/// How one end of a service stands at some moment.
pub(crate) trait Standing {
    /// Bytes carried so far, both ways.
    fn bytes(&self) -> u64;
    /// Sessions so far.
    fn sessions(&self) -> u64;
    /// For people, `since` an earlier one so long ago.
    fn line(&self, since: &Self, time: Duration) -> String;
    /// For people, of the whole time.
    fn sentence(&self, time: Duration) -> String;
    /// For programs.
    fn json(&self, event: &str, end: &str, time: Duration) -> Value;
}

/// Shows how one end of a service does.
pub(crate) struct Report {
    /// `connect` or `serve`
    pub(crate) end: &'static str,
    pub(crate) output: OutputOptions,
    /// How often a line of statistics is printed, if at all.
    pub(crate) every: Option<Duration>,
    pub(crate) reporter: Reporter,
    pub(crate) started: Instant,
}

impl Report {
    pub(crate) fn new(end: &'static str, output: OutputOptions, every: Option<Duration>) -> Self {
        Report {
            end,
            output,
            every,
            reporter: Reporter::stderr(output),
            started: Instant::now(),
        }
    }

    /// Shows how things stand, for as long as it is polled.
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
    pub(crate) fn end(&self, last: &impl Standing, failure: &Failure) -> Exit {
        self.reporter.finish();
        let time = self.started.elapsed();
        if !self.output.quiet && last.sessions() > 0 {
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

/// A session's path and share of repairs, for people.
pub(crate) fn path(session: Option<&Stats>) -> String {
    let Some(stats) = session else {
        return "no session".to_owned();
    };
    let repairs = 100 * stats.sent.repair_symbols / stats.sent.source_symbols.max(1);
    format!(
        "RTT {:.0} ms, loss {:.1} %, repairs {repairs} %",
        stats.path.rtt.as_secs_f64() * 1e3,
        stats.path.loss * 100.0
    )
}

/// A session's path and symbols, for programs.
pub(crate) fn session(stats: &Stats) -> Value {
    json!({
        "rtt_ms": stats.path.rtt.as_secs_f64() * 1e3,
        "loss": stats.path.loss,
        "source_symbols": stats.sent.source_symbols,
        "retransmissions": stats.sent.retransmissions,
        "repair_symbols": stats.sent.repair_symbols,
        "received_source_symbols": stats.received.source_symbols,
        "received_repair_symbols": stats.received.repair_symbols,
        "recovered_symbols": stats.received.recovered_symbols,
    })
}
