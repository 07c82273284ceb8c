//! A process of `weftline`, which is killed, stopped and started again.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};

/// Lines of output that are kept.
const LINES: usize = 30;
/// Characters of a line that are kept.
const LINE: usize = 300;

pub(crate) struct Program {
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(&'static str, PathBuf)>,
    child: Option<Child>,
    said: Arc<Mutex<VecDeque<String>>>,
    readers: Vec<JoinHandle<()>>,
    lines: Arc<AtomicU64>,
    /// How often it was started.
    pub(crate) starts: u32,
}

impl Program {
    pub(crate) fn new(
        program: PathBuf,
        arguments: Vec<String>,
        environment: Vec<(&'static str, PathBuf)>,
    ) -> Self {
        Program {
            program,
            arguments,
            environment,
            child: None,
            said: Arc::default(),
            readers: Vec::new(),
            lines: Arc::default(),
            starts: 0,
        }
    }

    /// Starts it, unless it runs.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        if self.child.is_some() {
            return Ok(());
        }
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn()?;
        lock(&self.said).clear();
        if let Some(stdout) = child.stdout.take() {
            self.listen(stdout);
        }
        if let Some(stderr) = child.stderr.take() {
            self.listen(stderr);
        }
        self.child = Some(child);
        self.starts += 1;
        Ok(())
    }

    fn listen(&mut self, output: impl Read + Send + 'static) {
        let (said, lines) = (self.said.clone(), self.lines.clone());
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                lines.fetch_add(1, Ordering::Relaxed);
                let mut said = lock(&said);
                said.push_back(line.chars().take(LINE).collect());
                if said.len() > LINES {
                    said.pop_front();
                }
            }
        });
        self.readers.push(reader);
    }

    /// Whether it has been started and has neither ended nor been killed.
    pub(crate) fn is_up(&self) -> bool {
        self.child.is_some()
    }

    /// Its status, if it has ended by itself since the last look.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = match &mut self.child {
            Some(child) => child.try_wait()?,
            None => None,
        };
        if status.is_some() {
            self.child = None;
            self.hear_out();
        }
        Ok(status)
    }

    /// Ends it at once, as a power cut would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
            self.hear_out();
        }
    }

    /// Waits until everything that it printed is read.
    fn hear_out(&mut self) {
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }

    /// Stops it, or lets it go on.
    pub(crate) fn pause(&mut self, is_paused: bool) {
        let signal = if is_paused {
            Signal::STOP
        } else {
            Signal::CONT
        };
        if let Some(child) = &self.child
            && let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw)
        {
            // It may have ended meanwhile.
            let _ = kill_process(pid, signal);
        }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// What the kernel tells of it in this file of /proc.
    ///
    /// # Errors
    /// It is not running.
    pub(crate) fn proc(&self, file: &str) -> io::Result<String> {
        let id = self.id().ok_or(io::ErrorKind::NotFound)?;
        std::fs::read_to_string(format!("/proc/{id}/{file}"))
    }

    /// Seconds of processor time that it used.
    ///
    /// # Errors
    /// It is not running.
    pub(crate) fn processor(&self) -> io::Result<f64> {
        let text = self.proc("stat")?;
        // The name, in parentheses, may have spaces.
        let after = text.rsplit_once(')').map_or("", |(_, after)| after);
        let fields: Vec<&str> = after.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|f| f.parse::<f64>().ok());
        let both = ticks(11).zip(ticks(12));
        let (user, system) = both.ok_or(io::ErrorKind::InvalidData)?;
        Ok((user + system) / rustix::param::clock_ticks_per_second() as f64)
    }

    /// How many lines it printed.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.load(Ordering::Relaxed)
    }

    /// The last lines that it printed.
    pub(crate) fn words(&self) -> String {
        let said = lock(&self.said);
        said.iter().cloned().collect::<Vec<_>>().join(" | ")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
