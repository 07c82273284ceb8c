//! A program under way, as the tests of commands that go on until they are stopped start it.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

/// Longest wait for any event, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A program under way; it ends with the test.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
}

pub(crate) fn start(home: &Path, arguments: &[&str]) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weftline"));
    command.args(arguments).current_dir(home).env("HOME", home);
    command.env_remove("XDG_CONFIG_HOME").stdin(Stdio::null());
    // Where `weftline status` finds it.
    command.env("XDG_RUNTIME_DIR", home);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (sender, lines) = channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || {
        let mut lines = stderr.lines().map_while(Result::ok);
        lines.try_for_each(|line| sender.send(line))
    });
    Running { child, lines }
}

impl Running {
    /// The first line of standard error with `needle` in it.
    pub(crate) fn line(&mut self, needle: &str) -> String {
        let mut seen = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            if line.contains(needle) {
                return line;
            }
            seen.push(line);
        }
        panic!("no line with {needle:?} in {seen:#?}");
    }

    /// Its process number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end; returns the exit code and standard output's lines.
    pub(crate) fn end(mut self) -> (i32, Vec<Value>) {
        let mut out = String::new();
        let mut stdout = self.child.stdout.take().unwrap();
        stdout.read_to_string(&mut out).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let lines = out.lines().map(|l| serde_json::from_str(l).unwrap());
        (code, lines.collect())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
