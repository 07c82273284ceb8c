//! The event log of a session in virtual time, as `sim engine --with-events` prints it.

use serde_json::Value;

use super::{Missing, Point, Values};

/// An entry of the log.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a>(&'a Value);

impl<'a> Entry<'a> {
    /// The entries of the point's first run.
    ///
    /// # Errors
    /// The point has not been run, or it has no log.
    pub(super) fn all(values: &'a Values, point: &Point) -> Result<Vec<Self>, Missing> {
        let events = values.object(point)?.pointer("/runs/0/events");
        let events = events.and_then(Value::as_array);
        let events = events.ok_or_else(|| Missing::Key {
            point: point.to_string(),
            key: "runs/0/events".to_owned(),
        })?;
        Ok(Entry::of(events))
    }

    pub(super) fn of(events: &'a [Value]) -> Vec<Self> {
        events.iter().map(Entry).collect()
    }

    /// What happened, and where: `writer`, `reader` or `path`.
    pub(super) fn is(self, name: &str, end: &str) -> bool {
        self.name() == name && self.end() == end
    }

    pub(super) fn name(self) -> &'a str {
        let name = self.0["name"].as_str().unwrap_or_default();
        name.trim_start_matches("weftline:")
    }

    pub(super) fn end(self) -> &'a str {
        self.0["group_id"].as_str().unwrap_or_default()
    }

    /// When, in microseconds.
    pub(super) fn micros(self) -> u64 {
        (self.0["time"].as_f64().unwrap_or(0.0) * 1e3).round() as u64
    }

    pub(super) fn value(self, key: &str) -> &'a Value {
        &self.0["data"][key]
    }

    pub(super) fn number(self, key: &str) -> Option<u64> {
        self.value(key).as_u64()
    }

    pub(super) fn word(self, key: &str) -> &'a str {
        self.value(key).as_str().unwrap_or_default()
    }
}
