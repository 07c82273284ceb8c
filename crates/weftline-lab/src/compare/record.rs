//! The record of a run, and the file of all records.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::suite::LinkText;

/// One run, with everything needed to judge and repeat it. One line of `runs.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The identity of the run, the same for each attempt at it.
    #[serde(flatten)]
    pub what: Identity,
    /// Number of the attempt in its session, from 1.
    pub attempt: u32,
    /// Why there is no result, if there is none.
    pub error: Option<String>,
    /// Whether the machine kept up; `false` without a result.
    pub valid: bool,
    /// Why it did not.
    pub problems: Vec<String>,
    /// The flows: those that share the path first, the measured one last.
    pub flows: Vec<Flow>,
    /// The emulator's counters, as `lab run` prints them.
    pub path: Option<Value>,
    /// What the link towards the receiver could have carried while the flow was measured, in Mbit/s,
    /// for links whose rate changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<f64>,
    /// When it started, in seconds since 1970.
    pub started: f64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Processors that the programs inside used, on average.
    pub cpu: f64,
    /// The machine's load average when it started (over a minute).
    pub load_average: f64,
    /// Share of the time in which some process of the machine waited for a processor, if the
    /// kernel reports it (pressure stall information).
    #[serde(default)]
    pub waiting: Option<f64>,
    /// The version of this program.
    pub version: String,
    /// The kernel, whose TCP is among the peers: `Linux 6.1.0`.
    #[serde(default)]
    pub kernel: Option<String>,
}

/// The identity of a run: a case, a peer, a seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// The suite.
    pub suite: String,
    /// The case.
    pub case: String,
    /// The peer.
    pub peer: String,
    /// The emulator's seed.
    pub seed: u64,
    /// The link from sender to receiver.
    pub link: String,
    /// The link from receiver to sender.
    pub back: Option<String>,
    /// Further links between the two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<LinkText>,
    /// What happened while flows ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// `bulk`, `stream` or `xfer`.
    pub mode: String,
    /// The workload's settings.
    pub settings: Vec<String>,
    /// The case's settings of the engine, in addition to the peer's own, if the peer is
    /// `weftline`.
    pub engine: Vec<String>,
    /// The peers that share the path.
    pub others: Vec<String>,
}

/// One flow of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// The peer of the flow.
    pub peer: String,
    /// Seconds after the start of the first flow.
    pub offset: f64,
    /// Both ends' command lines, as they were run inside the lab.
    pub commands: [String; 2],
    /// The receiver's result.
    pub received: Option<Value>,
    /// The sender's result.
    pub sent: Option<Value>,
}

impl Record {
    /// Whether there is a result, and it can be trusted.
    pub fn is_good(&self) -> bool {
        self.error.is_none() && self.valid
    }

    /// Why it is invalid.
    pub fn problem(&self) -> Option<String> {
        match &self.error {
            Some(error) => Some(error.clone()),
            None => (!self.valid).then(|| self.problems.join("; ")),
        }
    }

    /// The measured flow.
    pub fn flow(&self) -> Option<&Flow> {
        self.flows.last()
    }

    /// A number of the emulator's counters, such as `/a_to_b/bytes`, of the first link.
    pub fn counter(&self, pointer: &str) -> Option<f64> {
        self.path.as_ref()?.pointer(pointer)?.as_f64()
    }

    /// The same number of every link.
    pub fn counters(&self, pointer: &str) -> Vec<f64> {
        let more = self
            .path
            .iter()
            .filter_map(|path| path.get("more")?.as_array());
        let links = self.path.iter().chain(more.flatten());
        let numbers = links.filter_map(|link| link.pointer(pointer)?.as_f64());
        numbers.collect()
    }
}

/// The best of several attempts at one run: a valid one; else the last with a result; else the
/// last.
pub fn best<'a>(attempts: impl IntoIterator<Item = &'a Record>) -> Option<&'a Record> {
    let rank = |r: &Record| (r.is_good(), r.error.is_none());
    attempts.into_iter().max_by_key(|r| rank(r))
}

/// Why runs cannot be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunsError {
    /// The file cannot be created, read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        cause: io::Error,
    },
    /// Another process writes to the file.
    #[error("{}: another comparison is writing to it: wait for it, or give another --out", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// A line cannot be parsed.
    #[error("{}: line {line} is not a run: {cause}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error.
        cause: serde_json::Error,
    },
}

/// The file of all runs, `runs.jsonl`: a line for each, appended when a run has ended. A line
/// whose writing was interrupted is ignored.
#[derive(Debug)]
pub struct Runs {
    path: PathBuf,
    file: File,
    records: Vec<Record>,
}

impl Runs {
    /// The name of the file.
    pub const NAME: &str = "runs.jsonl";

    /// Opens the file in `folder`; both are created if they do not exist.
    ///
    /// # Errors
    /// The file cannot be used, another process writes to it, or a complete line is not a run.
    pub fn open(folder: &Path) -> Result<Self, RunsError> {
        let path = folder.join(Runs::NAME);
        let wrong = |cause| RunsError::File {
            path: path.clone(),
            cause,
        };
        std::fs::create_dir_all(folder).map_err(wrong)?;
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(wrong)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(RunsError::Taken { path }),
            Err(TryLockError::Error(cause)) => return Err(wrong(cause)),
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(wrong)?;
        let whole = text
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(wrong)?;
        }
        file.seek(SeekFrom::End(0)).map_err(wrong)?;
        let records = parse(&text[..whole], &path)?;
        Ok(Runs {
            path,
            file,
            records,
        })
    }

    /// Reads the file in `folder` without writing to it.
    ///
    /// # Errors
    /// The file cannot be read, or a complete line is not a run.
    pub fn read(folder: &Path) -> Result<Vec<Record>, RunsError> {
        let path = folder.join(Runs::NAME);
        let text = std::fs::read(&path).map_err(|cause| RunsError::File {
            path: path.clone(),
            cause,
        })?;
        let whole = text
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        parse(&text[..whole], &path)
    }

    /// All runs, in the order in which they ended.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Whether there is a valid run of this identity.
    pub fn has(&self, what: &Identity) -> bool {
        let mut same = self.records.iter().filter(|r| r.what == *what);
        same.any(Record::is_good)
    }

    /// Adds a run, which is on the disk when this returns.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, record: Record) -> Result<(), RunsError> {
        let mut line = serde_json::to_vec(&record).expect("numbers and texts are always JSON");
        line.push(b'\n');
        let write = |mut file: &File| {
            // In one write, so that readers see whole lines.
            file.write_all(&line)?;
            file.sync_data()
        };
        write(&self.file).map_err(|cause| RunsError::File {
            path: self.path.clone(),
            cause,
        })?;
        self.records.push(record);
        Ok(())
    }
}

fn parse(text: &[u8], path: &Path) -> Result<Vec<Record>, RunsError> {
    let lines = text.split(|b| *b == b'\n').enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty());
    let records = lines.map(|(index, line)| {
        serde_json::from_slice(line).map_err(|cause| RunsError::Line {
            path: path.to_owned(),
            line: index + 1,
            cause,
        })
    });
    records.collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A run of this peer with this seed, valid or not.
    pub(in super::super) fn record(
        peer: &str,
        seed: u64,
        valid: bool,
        error: Option<&str>,
    ) -> Record {
        Record {
            what: Identity {
                suite: "B".into(),
                case: "5 %".into(),
                peer: peer.into(),
                seed,
                link: "delay=30ms".into(),
                back: None,
                more: Vec::new(),
                events: Vec::new(),
                mode: "stream".into(),
                settings: vec!["secs=6".into()],
                engine: Vec::new(),
                others: Vec::new(),
            },
            attempt: 1,
            error: error.map(str::to_owned),
            valid,
            problems: if valid {
                Vec::new()
            } else {
                vec!["late".into()]
            },
            flows: Vec::new(),
            path: Some(serde_json::json!({"a_to_b": {"bytes": 7}})),
            capacity: None,
            started: 1.0,
            seconds: 2.0,
            cpu: 0.25,
            load_average: 0.5,
            waiting: Some(0.1),
            version: "0".into(),
            kernel: Some("Linux 6.1.0".into()),
        }
    }

    #[test]
    fn runs_are_found_again_and_only_valid_ones_count() {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = Runs::open(folder.path()).unwrap();
        for (peer, valid, error) in [
            ("a", true, None),
            ("b", false, None),
            ("c", true, Some("it crashed")),
        ] {
            runs.add(record(peer, 1, valid, error)).unwrap();
        }
        let before = runs.records().to_vec();
        drop(runs);
        let runs = Runs::open(folder.path()).unwrap();
        assert_eq!(runs.records(), before);
        let has = |peer: &str, seed| runs.has(&record(peer, seed, true, None).what);
        assert!(has("a", 1));
        assert!(!has("a", 2) && !has("b", 1) && !has("c", 1));
        let mut longer = record("a", 1, true, None).what;
        longer.settings = vec!["secs=7".into()];
        assert!(!runs.has(&longer), "another workload is another run");
    }

    #[test]
    fn an_interrupted_line_is_ignored_and_the_next_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = Runs::open(folder.path()).unwrap();
        runs.add(record("a", 1, true, None)).unwrap();
        runs.add(record("a", 2, true, None)).unwrap();
        drop(runs);
        let path = folder.path().join(Runs::NAME);
        let length = std::fs::metadata(&path).unwrap().len();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(length - 20).unwrap();
        assert_eq!(Runs::read(folder.path()).unwrap().len(), 1);
        let mut runs = Runs::open(folder.path()).unwrap();
        assert_eq!(runs.records().len(), 1);
        runs.add(record("a", 3, true, None)).unwrap();
        drop(runs);
        let seeds: Vec<u64> = Runs::read(folder.path())
            .unwrap()
            .iter()
            .map(|r| r.what.seed)
            .collect();
        assert_eq!(seeds, [1, 3]);
    }

    #[test]
    fn the_error_for_an_invalid_line_has_its_number() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(Runs::NAME), "{\"a\":1}\n").unwrap();
        let error = Runs::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("line 1 is not a run"), "{error}");
    }

    #[test]
    fn two_comparisons_cannot_write_to_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let _one = Runs::open(folder.path()).unwrap();
        let error = Runs::open(folder.path()).unwrap_err();
        assert!(matches!(error, RunsError::Taken { .. }), "{error}");
    }

    #[test]
    fn the_best_attempt_is_a_valid_one_in_any_position() {
        let crash = record("a", 1, false, Some("crash"));
        let late = record("a", 1, false, None);
        let good = record("a", 1, true, None);
        assert_eq!(best([&good, &late, &crash]), Some(&good));
        assert_eq!(best([&late, &crash]), Some(&late));
        assert_eq!(late.problem().as_deref(), Some("late"));
        assert_eq!(crash.problem().as_deref(), Some("crash"));
        assert_eq!(good.counter("/a_to_b/bytes"), Some(7.0));
    }
}
