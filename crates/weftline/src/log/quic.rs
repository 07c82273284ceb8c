//! QUIC's own events, as quinn tells them.

use std::fs::File;
use std::io::{self, LineWriter, Write};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use quinn::{QlogConfig, QlogStream};

use super::EventLogs;
use super::file::{RECORD, create};

/// Numbers the files of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl EventLogs {
    /// A new file for the events of connections whose settings have this. Without one there are none, which is told.
    pub(crate) fn quic(&self) -> Option<QlogStream> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or(Duration::ZERO).as_secs();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{since}-{}-quic-{number}.sqlog", process::id());
        let opened = self.open().map_err(|error| error.to_string());
        let opened = opened.and_then(|()| {
            let path = self.folder().join(name);
            create(&path).map_err(|error| format!("{}: {error}", path.display()))
        });
        match opened {
            Ok(file) => {
                let mut config = QlogConfig::default();
                config.title(Some("weftline, QUIC".to_owned()));
                config.writer(Box::new(Bounded {
                    file: LineWriter::new(file),
                    left: self.size(),
                    is_over: false,
                }));
                config.into_stream()
            }
            Err(error) => {
                tracing::warn!(%error, "QUIC's events are not logged");
                None
            }
        }
    }
}

/// A file that takes whole records until it has so many bytes.
struct Bounded {
    file: LineWriter<File>,
    left: u64,
    is_over: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Records come in pieces; one that has begun is written to its end.
        self.is_over |= self.left == 0 && bytes.first() == Some(&RECORD);
        if self.is_over {
            return Ok(bytes.len());
        }
        let written = self.file.write(bytes)?;
        self.left = self.left.saturating_sub(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
