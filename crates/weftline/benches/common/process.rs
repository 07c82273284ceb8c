//! Child processes of a bench, and the JSON lines that they print.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The first argument of a child process.
pub(crate) const CHILD: &str = "--child";

/// Tells the parent.
pub(crate) fn say(value: &impl Serialize) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(value)?)?;
    Ok(out.flush()?)
}

/// A child process that ends with this value, or once its standard input is closed.
pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    pub(crate) fn spawn(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {:?}", command.get_program()))?;
        let stdout = child
            .stdout
            .take()
            .context("standard output was asked for")?;
        Ok(Process {
            stdin: child.stdin.take(),
            child,
            stdout: BufReader::new(stdout),
        })
    }

    /// Tells it something, and waits for its answer.
    #[allow(dead_code, reason = "not every bench tells its children anything")]
    pub(crate) fn ask<T: DeserializeOwned>(&mut self, what: &impl Serialize) -> Result<T> {
        let stdin = self
            .stdin
            .as_mut()
            .context("standard input was asked for")?;
        writeln!(stdin, "{}", serde_json::to_string(what)?)?;
        self.line()
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

    /// Waits for its end.
    #[allow(dead_code, reason = "not every bench waits for what children do last")]
    pub(crate) fn wait(&mut self) -> Result<()> {
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
