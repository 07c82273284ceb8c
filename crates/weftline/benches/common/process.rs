//! Child processes of a bench, and the JSON lines that they print.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The first argument of a child process.
const CHILD: &str = "--child";

/// The arguments of a child process with this task.
pub(crate) fn arguments(task: &impl Serialize) -> Result<[String; 2]> {
    Ok([CHILD.to_owned(), serde_json::to_string(task)?])
}

/// The task of this process, if it is a child.
pub(crate) fn task<T: DeserializeOwned>() -> Result<Option<T>> {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() != Some(CHILD) {
        return Ok(None);
    }
    let task = args.next().context("a child process needs its task")?;
    Ok(Some(serde_json::from_str(&task)?))
}

/// Tells the parent.
pub(crate) fn say(value: &impl Serialize) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(value)?)?;
    Ok(out.flush()?)
}

/// A child process that ends with this value, or once its standard input is closed.
pub(crate) struct Process {
    pub(crate) child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    /// Starts it; gives its standard input too.
    pub(crate) fn spawn(mut command: Command) -> Result<(Self, ChildStdin)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {:?}", command.get_program()))?;
        let stdin = child.stdin.take();
        let stdin = stdin.context("standard input was asked for")?;
        let stdout = child.stdout.take();
        let stdout = stdout.context("standard output was asked for")?;
        let stdout = BufReader::new(stdout);
        Ok((Process { child, stdout }, stdin))
    }

    /// The next line of what it prints.
    pub(crate) fn line<T: DeserializeOwned>(&mut self) -> Result<T> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        if line.is_empty() {
            bail!("a child process ended early: {}", self.child.wait()?);
        }
        let value = serde_json::from_str(&line);
        ensure!(value.is_ok(), "a child process printed `{}`", line.trim());
        Ok(value?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
