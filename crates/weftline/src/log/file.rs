//! One log: its files, and what is written to them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use weftline_proto::{LogEntry, Role};

use super::text;

/// What makes a record of a JSON text sequence (RFC 7464).
pub(super) const RECORD: u8 = 0x1e;

/// Whose log it is.
pub(super) struct About {
    pub(super) role: Role,
    /// When the connection began.
    pub(super) began: SystemTime,
    pub(super) peer: Option<String>,
    pub(super) remote: String,
}

impl About {
    fn header(&self) -> Value {
        let end = match self.role {
            Role::Client => "client",
            Role::Server => "server",
        };
        let began = self.began.duration_since(UNIX_EPOCH);
        let began = began.unwrap_or(Duration::ZERO).as_secs_f64() * 1e3;
        json!({
            "qlog_version": "0.3",
            "qlog_format": "JSON-SEQ",
            "title": "weftline",
            "trace": {
                "title": format!("weftline {end}"),
                "vantage_point": { "type": end },
                "common_fields": { "time_format": "relative", "reference_time": began },
                "configuration": { "weftline": {
                    "version": 1,
                    "peer": self.peer,
                    "remote": self.remote,
                }},
            },
        })
    }
}

/// A log in two files at most: the current one, and the one before.
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    about: About,
    /// Bytes of the current one, and the most.
    written: u64,
    most: u64,
    /// What is written next.
    text: Vec<u8>,
}

impl LogFile {
    /// A new file in `folder`, whose name begins with `name`. A connection has two of at most `most` bytes.
    pub(super) fn create(folder: &Path, name: &str, about: About, most: u64) -> io::Result<Self> {
        let path = folder.join(format!("{name}.sqlog"));
        let mut log = LogFile {
            file: create(&path)?,
            path,
            about,
            written: 0,
            most,
            text: Vec::new(),
        };
        log.begin()?;
        Ok(log)
    }

    /// Writes the entries.
    pub(super) fn write(&mut self, entries: impl Iterator<Item = LogEntry>) -> io::Result<()> {
        for entry in entries {
            let before = self.text.len();
            record(&mut self.text, |text| text::put(text, &entry))?;
            if self.written + self.text.len() as u64 > self.most {
                let newest = self.text.split_off(before);
                self.flush()?;
                self.turn()?;
                self.text.extend_from_slice(&newest);
            }
        }
        self.flush()
    }

    /// The files of this log.
    pub(super) fn into_paths(self) -> [PathBuf; 2] {
        [self.old(), self.path]
    }

    fn old(&self) -> PathBuf {
        self.path.with_extension("old.sqlog")
    }

    /// The current file becomes the one before.
    fn turn(&mut self) -> io::Result<()> {
        fs::rename(&self.path, self.old())?;
        self.file = create(&self.path)?;
        self.written = 0;
        self.begin()
    }

    fn begin(&mut self) -> io::Result<()> {
        let header = self.about.header();
        record(&mut self.text, |text| {
            Ok(serde_json::to_writer(text, &header)?)
        })?;
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.text)?;
        self.written += self.text.len() as u64;
        self.text.clear();
        Ok(())
    }
}

/// Adds a record.
fn record(text: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
    text.push(RECORD);
    put(text)?;
    text.push(b'\n');
    Ok(())
}

/// A file that did not exist, for this user alone.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}
