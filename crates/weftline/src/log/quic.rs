//! QUIC's own events, as quinn tells them.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, LineWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use quinn::{QlogConfig, QlogStream};

use super::EventLogs;
use super::file::{RECORD, create};
use crate::lock::lock;

/// Files of this process, the oldest first, and how many there were.
static FILES: Mutex<(VecDeque<PathBuf>, u64)> = Mutex::new((VecDeque::new(), 0));

impl EventLogs {
    /// A new file for the events of connections whose settings have this. It is made with the first of them.
    pub(crate) fn quic(&self) -> Option<QlogStream> {
        let mut config = QlogConfig::default();
        config.title(Some("weftline, QUIC".to_owned()));
        config.writer(Box::new(Bounded {
            folder: self.folder().to_owned(),
            head: Vec::new(),
            records: 0,
            file: None,
            left: self.size(),
            is_over: false,
        }));
        config.into_stream()
    }
}

/// A new file; the oldest of too many is removed.
fn next(folder: &Path) -> io::Result<File> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or(Duration::ZERO).as_secs();
    let mut files = lock(&FILES);
    let (open, count) = &mut *files;
    let path = folder.join(format!("{since}-{}-quic-{count}.sqlog", process::id()));
    *count += 1;
    let file = create(&path)?;
    open.push_back(path);
    if open.len() > EventLogs::MOST {
        // It may be gone already.
        open.pop_front().map(fs::remove_file);
    }
    Ok(file)
}

/// Writes records to a file of so many bytes, and of whole records. The second record makes the file: an endpoint without
/// connections has none.
struct Bounded {
    folder: PathBuf,
    /// The first record, which says what the file is.
    head: Vec<u8>,
    records: u64,
    file: Option<LineWriter<File>>,
    left: u64,
    is_over: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Records come in pieces; one that has begun is written to its end.
        let begins = bytes.first() == Some(&RECORD);
        self.records += u64::from(begins);
        if self.records < 2 {
            self.head.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        self.is_over |= self.left == 0 && begins;
        if self.is_over {
            return Ok(bytes.len());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let mut file = LineWriter::new(next(&self.folder)?);
                file.write_all(&self.head)?;
                self.file.insert(file)
            }
        };
        file.write_all(bytes)?;
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}
