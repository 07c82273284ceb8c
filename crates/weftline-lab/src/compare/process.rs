//! One end of a flow, as a process inside a lab.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;
use weftline_emulator::{Lab, PathError, Side};

use super::result::json;
use super::tools::Tools;
use crate::load::LISTENING;

/// Bytes of standard error that are kept, from its end.
const WORDS: usize = 300;
/// Longest line that is read: a result with a distribution and a series is far shorter.
const LINE: u64 = 4 << 20;

/// The output of a process so far.
#[derive(Default)]
struct Said {
    is_listening: bool,
    /// The last line of its standard output.
    last: String,
    /// The end of its standard error.
    words: String,
}

/// A process that runs one end of a measurement.
pub(super) struct Process {
    child: Child,
    said: Arc<Mutex<Said>>,
    readers: Vec<JoinHandle<()>>,
    has_ended: bool,
}

impl Process {
    /// Starts `weftline-lab ARGUMENTS` on a side.
    pub(super) fn start(
        lab: &Lab,
        side: Side,
        tools: &Tools,
        arguments: &[String],
    ) -> Result<Self, PathError> {
        let mut command = lab.command(side);
        command.arg(&tools.lab).args(arguments);
        command.env("WEFTLINE", &tools.lab);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Ctrl-C is for this program, which then ends every process inside.
        command.process_group(0);
        let mut child = command.spawn().map_err(|source| PathError::Start {
            program: tools.lab.display().to_string(),
            source,
        })?;
        let said = Arc::new(Mutex::new(Said::default()));
        let mut readers = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            let said = said.clone();
            readers.push(std::thread::spawn(move || listen(stdout, &said)));
        }
        if let Some(stderr) = child.stderr.take() {
            let said = said.clone();
            readers.push(std::thread::spawn(move || overhear(stderr, &said)));
        }
        Ok(Process {
            child,
            said,
            readers,
            has_ended: false,
        })
    }

    /// Whether it has reported that a sender may start.
    pub(super) fn is_listening(&self) -> bool {
        lock(&self.said).is_listening
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        self.has_ended = self.has_ended || !matches!(self.child.try_wait(), Ok(None));
        self.has_ended
    }

    /// The end of its output, for an error message.
    pub(super) fn last_words(&self) -> String {
        let said = lock(&self.said);
        let error = json(&said.last).and_then(|v| v["error"].as_str().map(str::to_owned));
        match (error, said.words.trim()) {
            (Some(error), _) => format!(": {error}"),
            (None, "") => String::new(),
            (None, words) => format!(": {words}"),
        }
    }

    /// Its result, once none of its processes is left in the lab. For a process that failed
    /// without reporting an error in its result, the end of its output becomes the error.
    pub(super) fn result(mut self) -> Option<Value> {
        let status = self.child.wait().ok();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        let result = json(&lock(&self.said).last).filter(|v| v.get("listening").is_none());
        let failed = status.is_none_or(|status| !status.success());
        match result {
            Some(value) if !failed || value.get("error").is_some() => Some(value),
            // It was ended with the lab, after it had reported everything.
            Some(value) if status.is_some_and(|s| s.code().is_none()) => Some(value),
            _ if failed => {
                let status = status.map_or_else(String::new, |s| s.to_string());
                let message = format!("{status}{}", self.last_words());
                Some(serde_json::json!({ "error": message }))
            }
            other => other,
        }
    }
}

/// Reads standard output to its end.
fn listen(stdout: impl Read, said: &Mutex<Said>) {
    let mut lines = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        match (&mut lines).take(LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        let mut said = lock(said);
        if line == LISTENING || json(&line).is_some_and(|v| v["listening"] == true) {
            said.is_listening = true;
        } else if !line.is_empty() {
            said.last = line;
        }
    }
}

/// Reads standard error to its end and keeps the last bytes.
fn overhear(stderr: impl Read, said: &Mutex<Said>) {
    let mut lines = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        match (&mut lines).take(LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let mut said = lock(said);
        let words = format!("{} {}", said.words, String::from_utf8_lossy(&line).trim());
        let mut from = words.len().saturating_sub(WORDS);
        while !words.is_char_boundary(from) {
            from += 1;
        }
        said.words = words[from..].to_owned();
    }
}

fn lock(said: &Mutex<Said>) -> std::sync::MutexGuard<'_, Said> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}
