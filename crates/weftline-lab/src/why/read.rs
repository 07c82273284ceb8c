//! Event logs from files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use weftline_proto::{LogEntry, LogEvent};

use weftline_sim::engine::{Entry, PathEntry, Place};

/// Why logs cannot be explained.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not a log.
    #[error("{} is not an event log: record {record}: {what}", file.display())]
    NotALog {
        /// The file.
        file: PathBuf,
        /// The number of the record, from 0.
        record: usize,
        /// What is wrong.
        what: String,
    },
    /// One end is missing.
    #[error("{} is the log of one end: give that of the other end too", .0.display())]
    OneEnd(PathBuf),
    /// A log of both ends was given together with another one.
    #[error("{} is a log of both ends: give it alone", .0.display())]
    BothEnds(PathBuf),
    /// Nothing that one end sent arrived at the other.
    #[error("the two logs are not of one session: what one end sent did not arrive at the other")]
    Strangers,
}

/// What was logged at one end.
#[derive(Debug, Default)]
pub(super) struct End {
    /// `writer`, `reader`, `client` or `server`.
    pub(super) name: String,
    pub(super) entries: Vec<LogEntry>,
}

/// The logs of both ends of a session.
#[derive(Debug)]
pub struct Logs {
    pub(super) ends: [End; 2],
    /// Both ends have one clock: they were simulated.
    pub(super) is_simulated: bool,
    /// What the simulated links did.
    pub(super) path: Vec<PathEntry>,
    /// Entries that are missing, and those that nobody here knows.
    pub(super) missing: u64,
    pub(super) unknown: u64,
}

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "group_id")]
    end: Option<Place>,
    #[serde(flatten)]
    entry: Entry,
}

impl Logs {
    /// Reads a log of both ends, or the logs of the two ends.
    ///
    /// # Errors
    /// A file cannot be read, is not a log, or the other end is missing.
    pub fn read(files: &[PathBuf]) -> Result<Self, WhyError> {
        let mut logs = Logs {
            ends: Default::default(),
            is_simulated: false,
            path: Vec::new(),
            missing: 0,
            unknown: 0,
        };
        for (file, end) in files.iter().zip([0, 1]) {
            let is_simulated = logs.add(file, end)?;
            match (is_simulated, files.len()) {
                (true, 1) => logs.is_simulated = true,
                (true, _) => return Err(WhyError::BothEnds(file.clone())),
                (false, 1) => return Err(WhyError::OneEnd(file.clone())),
                (false, _) => {}
            }
        }
        let entries = logs.ends.iter().flat_map(|end| &end.entries);
        for entry in entries {
            match entry.event {
                LogEvent::Gap { entries } => logs.missing += entries,
                LogEvent::Unknown => logs.unknown += 1,
                _ => {}
            }
        }
        Ok(logs)
    }

    /// Adds a file; whether it has both ends. One end's entries are of `end`.
    fn add(&mut self, file: &Path, end: usize) -> Result<bool, WhyError> {
        let text = fs::read(file).map_err(|source| WhyError::Read {
            file: file.to_owned(),
            source,
        })?;
        let wrong = |record, what: &dyn ToString| WhyError::NotALog {
            file: file.to_owned(),
            record,
            what: what.to_string(),
        };
        let records = text.split(|byte| *byte == 0x1e).skip(1);
        let mut records = records.enumerate().peekable();
        if records.peek().is_none() {
            return Err(wrong(0, &"it is not a JSON text sequence"));
        }
        let mut both = false;
        while let Some((number, record)) = records.next() {
            // Two files of one log that were put together have two heads.
            let is_head = record.starts_with(b"{\"qlog") || number == 0;
            if is_head {
                let head: Value = serde_json::from_slice(record).map_err(|e| wrong(number, &e))?;
                let trace = &head["trace"];
                if trace["configuration"]["weftline"]["version"] != 1 {
                    return Err(wrong(number, &"it has no head of version 1"));
                }
                let name = trace["vantage_point"]["type"].as_str().unwrap_or_default();
                self.ends[end].name = name.to_owned();
                continue;
            }
            let record: Record = match serde_json::from_slice(record) {
                Ok(record) => record,
                // The program was killed while it wrote this.
                Err(_) if records.peek().is_none() => break,
                Err(error) => return Err(wrong(number, &error)),
            };
            match (record.end, record.entry) {
                (_, Entry::Path(entry)) => self.path.push(entry),
                (None, Entry::Session(entry)) => self.ends[end].entries.push(entry),
                (Some(place), Entry::Session(entry)) => {
                    both = true;
                    self.ends[usize::from(place == Place::Reader)]
                        .entries
                        .push(entry);
                }
            }
        }
        if both {
            self.ends[0].name = "writer".to_owned();
            self.ends[1].name = "reader".to_owned();
        }
        Ok(both)
    }
}
