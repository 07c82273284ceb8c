//! Shell commands at given times of a run.

use std::io;
use std::os::fd::AsFd;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Instant;

use super::error::PathError;
use super::lab::{Lab, Side};
use crate::event::Event;

/// Events that come to pass from now on.
#[derive(Debug)]
pub struct Script {
    begun: Instant,
    /// The last one first.
    to_come: Vec<Event>,
    under_way: Vec<Child>,
    failed: Option<ExitStatus>,
}

impl Script {
    /// Counts time from now.
    pub fn begin(events: &[Event]) -> Self {
        let mut to_come = events.to_vec();
        to_come.sort_by_key(|event| event.at);
        to_come.reverse();
        Self {
            begun: Instant::now(),
            to_come,
            under_way: Vec::new(),
            failed: None,
        }
    }

    /// Starts the commands that are due. They are not waited for.
    ///
    /// # Errors
    /// A command cannot be started.
    pub fn play(&mut self, lab: &Lab) -> Result<(), PathError> {
        let now = self.begun.elapsed();
        while let Some(event) = self.to_come.pop_if(|event| event.at <= now) {
            let mut command = lab.command(Side::A);
            command
                .args(["sh", "-c", &event.command])
                .stdin(Stdio::null());
            // Standard output is the main command's.
            if let Ok(stderr) = io::stderr().as_fd().try_clone_to_owned() {
                command.stdout(Stdio::from(stderr));
            }
            let started = command.spawn().map_err(|source| PathError::Start {
                program: "ip".to_owned(),
                source,
            })?;
            self.under_way.push(started);
        }
        let failed = &mut self.failed;
        self.under_way.retain_mut(|child| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                if !status.success() {
                    failed.get_or_insert(status);
                }
                false
            }
            Err(_) => false,
        });
        Ok(())
    }

    /// Events whose time has not come.
    pub fn to_come(&self) -> usize {
        self.to_come.len()
    }

    /// How the first command that failed by itself ended, of those that have.
    pub fn failed(&self) -> Option<ExitStatus> {
        self.failed
    }
}
