//! A command on each side, from start to end.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::PathError;
use super::lab::{Lab, Side};
use super::script::Script;
use crate::event::Event;

/// Time between two checks.
const LOOK: Duration = Duration::from_millis(2);
/// How long a command may take to end on request before it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// How long the main command may take to end after Ctrl-C, which it receives too.
const AFTER_INTERRUPT: Duration = Duration::from_secs(1);

/// The commands to run.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The main command: program and arguments.
    pub a: Vec<OsString>,
    /// A shell command for side B, started first. Its standard output goes to this
    /// process's standard error.
    pub b: Option<String>,
    /// Longest wait for side B to open a port before side A starts.
    pub ready: Duration,
    /// How long side B may go on after side A has ended, before it is asked to end.
    pub linger: Duration,
    /// What happens while the main command runs.
    pub events: Vec<Event>,
}

/// A request to stop before the main command has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Ctrl-C: the commands received it too.
    Interrupt,
    /// At once.
    Terminate,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The main command ended by itself.
    Command(ExitStatus),
    /// It was stopped.
    Stopped(Stop),
}

/// How the commands of a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The main command.
    pub a: Ended,
    /// The command on side B, if it ended before it was asked to.
    pub b: Option<ExitStatus>,
    /// The first command of an event that failed.
    pub event: Option<ExitStatus>,
    /// Events whose time had not come when the main command ended.
    pub to_come: usize,
}

impl Outcome {
    /// The exit code that a shell would return for the main command: its own, or 128 plus the number
    /// of the signal that ended it. If that is 0, the one for the command on side B; if that is 0 too,
    /// the one for the first event that failed.
    pub fn code(self) -> u8 {
        match self.a {
            Ended::Command(status) if status.success() => {
                let b = self.b.map_or(0, code);
                if b == 0 {
                    self.event.map_or(0, code)
                } else {
                    b
                }
            }
            Ended::Command(status) => code(status),
            Ended::Stopped(Stop::Interrupt) => 130,
            Ended::Stopped(Stop::Terminate) => 143,
        }
    }
}

fn code(status: ExitStatus) -> u8 {
    let signalled = || status.signal().map(|signal| 128 + signal);
    let code = status.code().or_else(signalled).unwrap_or(1);
    u8::try_from(code).unwrap_or(u8::MAX)
}

impl Programs {
    /// Runs the commands in `lab` until the main one has ended or `stop` requests it, and ends all
    /// remaining processes on both sides.
    ///
    /// # Errors
    /// A command cannot be started.
    pub fn run(
        &self,
        lab: &Lab,
        mut stop: impl FnMut() -> Option<Stop>,
    ) -> Result<Outcome, PathError> {
        let mut b = self
            .b
            .as_deref()
            .map(|text| start_b(lab, text))
            .transpose()?;
        if let Some(child) = &mut b {
            let go_on = || stop().is_none() && !has_ended(child);
            lab.wait_for_port(Side::B, self.ready, go_on);
        }
        let (ended, (event, to_come)) = match stop() {
            Some(stop) => (Ended::Stopped(stop), (None, 0)),
            None => self.run_main(lab, &mut stop)?,
        };
        if let (Some(child), Ended::Command(_)) = (&mut b, ended) {
            let end = Instant::now() + self.linger;
            while Instant::now() < end && !has_ended(child) && stop().is_none() {
                sleep(LOOK);
            }
        }
        let by_itself = b.as_mut().and_then(|child| child.try_wait().ok().flatten());
        for side in [Side::B, Side::A] {
            lab.end(side, GRACE);
        }
        if let Some(mut child) = b {
            // It has ended, or nothing can end it.
            let _ = child.try_wait();
        }
        Ok(Outcome {
            a: ended,
            b: by_itself,
            event,
            to_come,
        })
    }

    fn run_main(
        &self,
        lab: &Lab,
        stop: &mut impl FnMut() -> Option<Stop>,
    ) -> Result<(Ended, (Option<ExitStatus>, usize)), PathError> {
        let mut command = lab.command(Side::A);
        command.args(&self.a);
        lab.begin_traces();
        let mut child = spawn(&mut command, self.a.first())?;
        let mut script = Script::begin(&self.events);
        let mut stopped: Option<(Stop, Instant)> = None;
        loop {
            if stopped.is_none() {
                script.play(lab)?;
            }
            let status = child.try_wait().map_err(|source| PathError::Start {
                program: "the command".to_owned(),
                source,
            })?;
            let now = Instant::now();
            match (status, stopped) {
                (Some(status), None) => {
                    return Ok((Ended::Command(status), (script.failed(), script.to_come())));
                }
                (Some(_), Some((stop, _))) => return Ok((Ended::Stopped(stop), (None, 0))),
                (None, Some((Stop::Interrupt, since))) if now - since < AFTER_INTERRUPT => {}
                (None, Some((stop, _))) => {
                    lab.end(Side::A, GRACE);
                    let _ = child.try_wait();
                    return Ok((Ended::Stopped(stop), (None, 0)));
                }
                (None, None) => {}
            }
            stopped = stopped.or_else(|| stop().map(|stop| (stop, now)));
            sleep(LOOK);
        }
    }
}

fn start_b(lab: &Lab, text: &str) -> Result<Child, PathError> {
    let mut command = lab.command(Side::B);
    command.args(["sh", "-c", text]).stdin(Stdio::null());
    if let Ok(stderr) = io::stderr().as_fd().try_clone_to_owned() {
        command.stdout(Stdio::from(stderr));
    }
    // Ctrl-C is for the main command, which may want to close its connection to this one.
    command.process_group(0);
    spawn(&mut command, Some(&OsString::from("sh")))
}

fn spawn(command: &mut Command, program: Option<&OsString>) -> Result<Child, PathError> {
    command.spawn().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => PathError::NoIp,
        _ => PathError::Start {
            program: program
                .map(|p| p.to_string_lossy().into_owned())
                .unwrap_or_default(),
            source,
        },
    })
}

fn has_ended(child: &mut Child) -> bool {
    child.try_wait().is_ok_and(|status| status.is_some())
}
