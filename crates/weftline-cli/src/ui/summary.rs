//! What `send` and `recv` share: progress, end and result of a session.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use weftline::{Connection, PathInfo, Stats};
use weftline_apps::transfer::{Event, Received, Summary};

use super::exit::{Exit, Failure};
use super::output::{self, OutputOptions};
use super::peers;
use super::progress::{Reporter, megabits, rate, size};
use super::stats;

/// Which end of a transfer this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `weftline send`
    Send,
    /// `weftline recv`
    Recv,
}

/// The result of a session.
#[derive(Debug, Default)]
pub struct Record {
    /// The summary of a transfer that ended by itself.
    pub summary: Option<Summary>,
    /// What a transfer has done that ended early.
    pub so_far: Option<SoFar>,
    /// What went wrong.
    pub failure: Option<Failure>,
    /// Counters at the end.
    pub stats: Option<Stats>,
    /// The paths at the end.
    pub paths: Vec<PathInfo>,
    /// The peer's fingerprint.
    pub peer: Option<String>,
    /// The folder that received.
    pub folder: Option<PathBuf>,
    /// Time that the transfer took; without one, the time that the command ran.
    pub elapsed: Duration,
}

/// What a transfer has done so far, by its events.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoFar {
    /// As in [`Summary`].
    pub complete: u32,
    /// As in [`Summary`].
    pub already_there: u32,
    /// As in [`Summary`].
    pub bytes: u64,
    /// As in [`Summary`].
    pub resumed_bytes: u64,
}

impl SoFar {
    /// An event of the transfer.
    pub fn note(&mut self, event: &Event<'_>) {
        match event {
            Event::InPlace => self.complete += 1,
            Event::AlreadyThere { .. } => self.already_there += 1,
            Event::Advanced { bytes } => self.bytes += bytes,
            Event::Resumed { bytes, .. } => self.resumed_bytes += bytes,
            _ => {}
        }
    }
}

impl Record {
    /// A command that began at this time and has ended without a session.
    pub fn failed(failure: Failure, started: Instant) -> Self {
        Record {
            failure: Some(failure),
            elapsed: started.elapsed(),
            ..Record::default()
        }
    }

    /// The exit code of the process.
    pub fn exit(&self) -> Exit {
        self.failure.as_ref().map_or(Exit::Ok, |f| f.exit)
    }

    /// The result as one JSON object.
    pub fn json(&self, side: Side) -> Value {
        let command = if side == Side::Send { "send" } else { "recv" };
        let mut object = Map::new();
        let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
        put("command", json!(command));
        put("event", json!("end"));
        put("ok", json!(self.failure.is_none()));
        put("exit", json!(self.exit().code()));
        put("error", json!(self.failure.as_ref().map(|f| &f.message)));
        put("peer", json!(self.peer));
        put("seconds", json!(self.elapsed.as_secs_f64()));
        if side == Side::Recv && (self.summary.is_some() || self.so_far.is_some()) {
            put("folder", json!(self.folder));
        }
        if let Some(done) = &self.so_far {
            put("complete", json!(done.complete));
            put("already_there", json!(done.already_there));
            put("bytes", json!(done.bytes));
            put("resumed_bytes", json!(done.resumed_bytes));
            put("goodput_mbps", json!(megabits(done.bytes, self.elapsed)));
        }
        if let Some(summary) = &self.summary {
            put("complete", json!(summary.complete));
            put("already_there", json!(summary.already_there));
            put("not_complete", json!(summary.not_complete));
            put("failed", json!(summary.failed));
            put("skipped", json!(summary.skipped));
            if side == Side::Recv {
                put("received", json!(summary.received));
                put("received_more", json!(summary.received_more));
            }
            put("bytes", json!(summary.bytes));
            put("resumed_bytes", json!(summary.resumed_bytes));
            put("goodput_mbps", json!(megabits(summary.bytes, self.elapsed)));
        }
        if let Some(stats) = &self.stats {
            put("session", stats::session(stats, &self.paths));
        }
        Value::Object(object)
    }

    /// The result in one sentence.
    pub fn sentence(&self, side: Side) -> Option<String> {
        let summary = self.summary.as_ref()?;
        let done = if side == Side::Send {
            "sent"
        } else {
            "received"
        };
        let mut text = format!(
            "{done} {}: {} in {:.1} s",
            count(summary.complete.into(), "entry", "entries"),
            size(summary.bytes),
            self.elapsed.as_secs_f64()
        );
        // A shorter time measures the start, not the rate.
        if summary.bytes > 0 && self.elapsed >= Duration::from_millis(100) {
            text += &format!(", {}", rate(summary.bytes, self.elapsed));
        }
        if summary.resumed_bytes > 0 {
            text += &format!(", {} received earlier", size(summary.resumed_bytes));
        }
        if summary.already_there > 0 {
            text += &format!(", {} already complete", summary.already_there);
        }
        if summary.is_complete() {
            text += ", verified";
        }
        if let Some(stats) = &self.stats {
            text += &format!(" ({})", path(side, stats));
        }
        Some(text)
    }
}

/// A number of things, for people.
pub(crate) fn count(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// Most names of received entries that are shown.
const SHOWN_NAMES: usize = 20;

/// The names and sizes of what was received, for people.
fn names(summary: &Summary) -> Vec<String> {
    let shown = summary.received.iter().take(SHOWN_NAMES);
    let mut lines: Vec<_> = shown.map(line).collect();
    let more = summary.received.len() - lines.len();
    match more as u64 + u64::from(summary.received_more) {
        0 => {}
        more => lines.push(format!("  and {more} more")),
    }
    lines
}

fn line(entry: &Received) -> String {
    let name = &entry.name;
    match entry.bytes {
        Some(bytes) => format!("  {name} ({})", size(bytes)),
        None => format!("  {name}"),
    }
}

/// Reports the result of a session, in the form that was asked for.
pub fn result(record: &Record, side: Side, options: OutputOptions) {
    report(record, side, options, |lines| {
        lines.iter().for_each(|line| output::line(line));
    });
}

/// As [`result`], of one of the sessions of a receiver: of those with strangers, only some are shown.
pub fn one_of_many(record: &Record, options: OutputOptions) {
    match record.peer {
        Some(_) => result(record, Side::Recv, options),
        None => report(record, Side::Recv, options, |lines| {
            if !lines.is_empty() {
                peers::tell(lines.join("\n"));
            }
        }),
    }
}

/// Tells people with `tell`, and programs if they asked for it.
fn report(record: &Record, side: Side, options: OutputOptions, tell: impl Fn(&[String])) {
    let mut lines = Vec::new();
    if !options.quiet
        && let Some(sentence) = record.sentence(side)
    {
        lines.push(sentence);
        lines.extend(stats::shares(&record.paths));
        lines.extend(record.summary.iter().flat_map(names));
    }
    if let Some(failure) = &record.failure {
        lines.push(match failure.exit {
            // The person who stopped the program knows that this is not an error.
            Exit::Interrupted | Exit::Terminated => failure.message.clone(),
            _ => format!("error: {failure}"),
        });
    }
    tell(&lines);
    if options.json {
        output::print(record.json(side));
    }
}

/// Shows an event of a transfer with a peer whose key is `known`, or with a stranger: anybody can be many of
/// them.
pub fn show(side: Side, known: bool, reporter: &Reporter) -> impl Fn(Event<'_>) + Send + Sync {
    let tell = move |text: String| match known {
        true => reporter.note(&text),
        false => reporter.peer(text),
    };
    move |event| match event {
        Event::Expected { bytes } => reporter.expect(bytes),
        Event::File { path } => reporter.file(path),
        Event::Advanced { bytes } | Event::Passed { bytes } => reporter.advance(bytes),
        Event::Resumed { path, bytes } => {
            let text = format!("{path}: resuming after {bytes} bytes");
            match side {
                Side::Send => reporter.note(&text),
                Side::Recv => reporter.detail(&text),
            }
            reporter.resumed(bytes);
        }
        Event::StartedAgain { path } => tell(format!(
            "{path}: the part of an earlier transfer does not match; starting again"
        )),
        Event::Changed { path } => {
            reporter.note(&format!(
                "{path}: changed while it was sent; sending it again"
            ));
        }
        Event::AlreadyThere { path } => reporter.detail(&format!("{path}: already complete")),
        Event::Failed { path, reason } => {
            let text = format!("{path}: {reason}");
            match known {
                true => reporter.warn(&text),
                false => reporter.peer(text),
            }
        }
        _ => {}
    }
}

/// Shows the state of the connection beside the progress bar, for as long as it is polled.
pub async fn watch(
    side: Side,
    connection: &Connection,
    reporter: &Reporter,
) -> std::convert::Infallible {
    let period = Duration::from_millis(250);
    let mut timer = tokio::time::interval(period);
    let (mut before, mut smooth) = (reporter.bytes(), 0.0);
    let mut paths = connection.paths();
    loop {
        tokio::select! {
            _ = timer.tick() => {}
            Ok(event) = connection.path_event() => {
                match side {
                    Side::Send => reporter.note(&event.to_string()),
                    Side::Recv => reporter.detail(&event.to_string()),
                }
                continue;
            }
        }
        let now = reporter.bytes();
        smooth = 0.8 * smooth + 0.2 * megabits(now - before, period);
        before = now;
        let rate = if now == 0 {
            "–".to_owned()
        } else {
            format!("{smooth:.1}")
        };
        let earlier = std::mem::replace(&mut paths, connection.paths());
        let path = stats::paths(&paths, &earlier, period)
            .unwrap_or_else(|| path(side, &connection.stats()));
        reporter.status(format!("{rate} Mbit/s {path}"));
    }
}

/// Round-trip time, losses and repairs as this end sees them.
fn path(side: Side, stats: &Stats) -> String {
    let rtt = match stats.path.rtt.as_secs_f64() * 1e3 {
        0.0 => "–".to_owned(),
        ms if ms < 10.0 => format!("{ms:.1}"),
        ms => format!("{ms:.0}"),
    };
    match side {
        Side::Send => {
            let (loss, repairs) = match stats.sent.source_symbols {
                0 => ("–".to_owned(), "–".to_owned()),
                sent => (
                    format!("{:.1}", stats.path.loss * 100.0),
                    format!("{:.0}", percent(stats.sent.repair_symbols, sent)),
                ),
            };
            format!("RTT {rtt} ms, loss {loss} %, repairs {repairs} %")
        }
        Side::Recv => {
            let recovered = stats.received.recovered_symbols;
            let share = match stats.received.source_symbols + recovered {
                0 => "–".to_owned(),
                all => format!("{:.1}", percent(recovered, all)),
            };
            format!("RTT {rtt} ms, {share} % recovered from repairs")
        }
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_says_what_went_wrong() {
        let record = Record::failed(Failure::new(Exit::Refused, "no"), Instant::now());
        let json = record.json(Side::Send);
        assert_eq!(
            (&json["ok"], &json["exit"], &json["error"]),
            (&json!(false), &json!(3), &json!("no"))
        );
    }

    #[test]
    fn what_was_received_is_listed_with_sizes_to_a_bound() {
        let entry = |name: String, bytes| Received { name, bytes };
        let mut received = vec![entry("d/".to_owned(), None)];
        received.extend((1..25).map(|i| entry(format!("f{i}"), Some(i * 1024))));
        let summary = Summary {
            received,
            received_more: 3,
            ..Summary::default()
        };
        let lines = names(&summary);
        assert_eq!(lines.len(), 21);
        assert_eq!(lines[..3], ["  d/", "  f1 (1.00 KiB)", "  f2 (2.00 KiB)"]);
        assert_eq!(lines[20], "  and 8 more");
        let record = Record {
            summary: Some(summary),
            ..Record::default()
        };
        let json = record.json(Side::Recv);
        assert_eq!(json["received"].as_array().unwrap().len(), 25);
        assert_eq!(json["received"][0], json!({"name": "d/"}));
        assert_eq!(json["received"][2], json!({"name": "f2", "bytes": 2048}));
        assert_eq!(json["received_more"], 3);
    }

    #[test]
    fn the_sentence_counts_what_is_in_place() {
        let summary = Summary {
            complete: 2,
            already_there: 1,
            bytes: 1_000_000,
            ..Summary::default()
        };
        let record = Record {
            summary: Some(summary),
            elapsed: Duration::from_secs(1),
            ..Record::default()
        };
        let text = record.sentence(Side::Recv).unwrap();
        assert!(
            text.starts_with("received 2 entries: 976.56 KiB in 1.0 s, 8.0 Mbit/s"),
            "{text}"
        );
        assert!(text.ends_with("1 already complete, verified"), "{text}");
    }
}
