//! Points that have been run, kept in a folder so that no point is run twice.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Values;

/// The file in a report's folder.
const FILE: &str = "points.jsonl";

#[derive(Serialize, Deserialize)]
struct Record {
    command: String,
    version: String,
    build: String,
    seconds: f64,
    value: Value,
}

/// The points of a folder: a line of JSON each.
#[derive(Debug)]
pub struct Kept {
    file: File,
    version: String,
    build: String,
    values: Values,
    others: usize,
    seconds: HashMap<String, f64>,
}

impl Kept {
    /// Opens a folder's points, and creates the folder if it does not exist. Points of another
    /// `version` of the program are ignored. Points of another `build` of the same version are
    /// used, and [`from_other_builds`](Self::from_other_builds) counts them.
    ///
    /// # Errors
    /// The folder cannot be created, read or written.
    pub fn open(folder: &Path, version: &str, build: &str, fresh: bool) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(FILE);
        let mut kept = Self {
            file: OpenOptions::new().append(true).create(true).open(&path)?,
            version: version.to_owned(),
            build: build.to_owned(),
            values: Values::default(),
            others: 0,
            seconds: HashMap::new(),
        };
        if fresh {
            kept.file.set_len(0)?;
            return Ok(kept);
        }
        let text = std::fs::read(&path)?;
        let text = String::from_utf8_lossy(&text);
        // A line that was interrupted when a run was stopped is ignored.
        let records = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Record>(line).ok());
        for record in records.filter(|record| record.version == version) {
            kept.others += usize::from(record.build != build);
            kept.seconds.insert(record.command.clone(), record.seconds);
            kept.values.insert(record.command, record.value);
        }
        if !text.is_empty() && !text.ends_with('\n') {
            kept.file.write_all(b"\n")?;
        }
        Ok(kept)
    }

    /// Keeps a point's result.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, command: String, seconds: f64, value: Value) -> io::Result<()> {
        let record = Record {
            command,
            version: self.version.clone(),
            build: self.build.clone(),
            seconds,
            value,
        };
        let mut line = serde_json::to_string(&record)?;
        line.push('\n');
        self.file.write_all(line.as_bytes())?;
        self.seconds.insert(record.command.clone(), seconds);
        self.values.insert(record.command, record.value);
        Ok(())
    }

    /// The results of finished points.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Number of points that another build of the same version ran.
    pub fn from_other_builds(&self) -> usize {
        self.others
    }

    /// Seconds that a point took, 0 if it has not been run.
    pub fn seconds(&self, command: &str) -> f64 {
        self.seconds.get(command).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::Point;

    #[test]
    fn points_are_found_again_by_command_and_version_without_interrupted_lines() {
        let folder = tempfile::tempdir().unwrap();
        let point = |text: &str| Point::lab(text);
        let (one, two) = (point("theory bianchi"), point("theory rest"));
        let mut kept = Kept::open(folder.path(), "1", "a", false).unwrap();
        kept.add(one.to_string(), 1.0, serde_json::json!({ "x": 1 }))
            .unwrap();
        kept.file.write_all(b"{\"command\": \"cut").unwrap();
        let mut kept = Kept::open(folder.path(), "1", "b", false).unwrap();
        assert_eq!(kept.values().number(&one, "x"), Ok(1.0));
        assert_eq!(
            (kept.from_other_builds(), kept.seconds(&one.to_string())),
            (1, 1.0)
        );
        kept.add(two.to_string(), 1.0, serde_json::json!({ "x": 2 }))
            .unwrap();
        let kept = Kept::open(folder.path(), "1", "b", false).unwrap();
        assert!(kept.values().has(&one) && kept.values().has(&two));
        let other = Kept::open(folder.path(), "2", "b", false).unwrap();
        assert!(!other.values().has(&one));
        let fresh = Kept::open(folder.path(), "1", "b", true).unwrap();
        assert!(!fresh.values().has(&one));
    }
}
