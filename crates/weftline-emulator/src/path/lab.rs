//! The lab: namespaces and emulator together.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::config::PathConfig;
use super::emulator::Emulator;
use super::error::PathError;
use super::name::LabName;
use super::namespace::{ENDS, Namespace, labs, remove_leftovers};
use super::os;
use super::report::Report;

/// Environment variable that holds the name of a command's lab.
const VARIABLE: &str = "WEFTLINE_LAB";
/// Time between two checks.
const LOOK: Duration = Duration::from_millis(2);

/// One side of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The near side, where the main command runs.
    A,
    /// The far side.
    B,
}

/// An open emulated path. Both sides know each other as `a` and `b` (and `a4`, `b4`, `a6`, `b6`
/// for one family). Dropping it removes it, with every process inside.
///
/// With several links each side has a device for each of them, `lab0`, `lab1` and so on, with addresses of
/// its own, which have the names `a.lab1` and `b.lab1`, and with a default route, that of the first one
/// preferred, as on a host with several modems. The kernel's multipath TCP knows all addresses, where it is
/// there.
#[derive(Debug)]
pub struct Lab {
    name: LabName,
    emulator: Emulator,
    namespaces: [Namespace; 2],
    devices_go_down: bool,
    leftovers: Vec<String>,
}

impl Lab {
    /// Opens the path, after removing the remains of killed labs.
    ///
    /// # Errors
    /// There is no root, TUN device or `ip`, or one of them fails. Then nothing is left behind.
    pub fn open(config: &PathConfig) -> Result<Self, PathError> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        config.check_links()?;
        let ends = config
            .links
            .iter()
            .flat_map(|links| [&links.forward, &links.back]);
        let mtus: Vec<u16> = ends
            .map(|link| config.device_mtu(link))
            .collect::<Result<_, _>>()?;
        if !rustix::process::geteuid().is_root() {
            return Err(PathError::NotRoot);
        }
        let tun = OpenOptions::new().read(true).write(true).open(os::TUN);
        tun.map_err(|source| PathError::NoTun { source })?;
        let leftovers = remove_leftovers();
        let name = LabName::own(MADE.fetch_add(1, Ordering::Relaxed));
        let count = config.links.len();
        let [a, b] = ENDS.map(|(side, _)| Namespace::create(name, side, count));
        let namespaces = [a?, b?];
        let mut devices = Vec::with_capacity(2 * count);
        for (index, &mtu) in mtus.iter().enumerate() {
            let (file, device) =
                os::open_tun("wl%d").map_err(|source| PathError::NoTun { source })?;
            namespaces[index % 2].adopt(&device, index / 2, ENDS[index % 2].1, mtu)?;
            devices.push(file);
        }
        if count > 1 {
            for (side, (namespace, (_, digit))) in namespaces.iter().zip(ENDS).enumerate() {
                let own: Vec<u16> = mtus.iter().copied().skip(side).step_by(2).collect();
                namespace.join(&own, digit)?;
            }
        }
        let emulator = Emulator::start(config, devices)?;
        Ok(Self {
            name,
            emulator,
            namespaces,
            devices_go_down: config.devices_go_down,
            leftovers,
        })
    }

    /// Names of remains that were removed before this lab was opened.
    pub fn leftovers(&self) -> &[String] {
        &self.leftovers
    }

    /// A command that runs on `side`; add program and arguments with `arg`. Its exit status is
    /// that of the program, or 255 if there is no such program.
    pub fn command(&self, side: Side) -> Command {
        let mut command = self.namespace(side).command();
        command.env(VARIABLE, self.name.to_string());
        command
    }

    /// Waits until a process on `side` listens on TCP or has a UDP port, for at most `most` and
    /// while `go_on` returns true. Returns whether there is one.
    pub fn wait_for_port(
        &self,
        side: Side,
        most: Duration,
        mut go_on: impl FnMut() -> bool,
    ) -> bool {
        let end = Instant::now() + most;
        let id = self.namespace(side).id();
        loop {
            if id.is_some_and(|id| id.has_open_port()) {
                return true;
            }
            if Instant::now() >= end || !go_on() {
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Asks all processes on `side` to end, and kills those that have not after `grace`.
    pub fn end(&self, side: Side, grace: Duration) {
        if let Some(id) = self.namespace(side).id() {
            id.end_all(grace);
        }
    }

    /// Starts the traces now instead of at the opening.
    pub fn begin_traces(&self) {
        self.emulator.begin_traces();
    }

    /// Counters so far.
    ///
    /// # Errors
    /// The emulator has stopped early.
    pub fn report(&self) -> Result<Report, PathError> {
        let mut report = self.emulator.report()?;
        for (link, both) in report.each_mut().enumerate() {
            for (direction, namespace) in both.into_iter().zip(&self.namespaces) {
                direction.device_drops = namespace.device_drops(link);
            }
        }
        report.judge(self.devices_go_down);
        Ok(report)
    }

    /// Ends every process inside at once, removes the path, and returns its counters.
    ///
    /// # Errors
    /// The emulator had stopped early, or the capture file could not be written.
    pub fn close(self) -> Result<Report, PathError> {
        for side in [Side::A, Side::B] {
            self.end(side, Duration::ZERO);
        }
        let report = self.report();
        let Self { emulator, .. } = self;
        emulator.stop()?;
        report
    }

    fn namespace(&self, side: Side) -> &Namespace {
        &self.namespaces[match side {
            Side::A => 0,
            Side::B => 1,
        }]
    }
}

/// A command that runs on `side` of a lab that another process has opened: the lab that this
/// process runs in, or else the only one that is open. Add program and arguments with `arg`.
///
/// # Errors
/// There is no lab, or several are open.
pub fn running(side: Side) -> Result<Command, PathError> {
    let side = match side {
        Side::A => ENDS[0].0,
        Side::B => ENDS[1].0,
    };
    let inside = std::env::var(VARIABLE).ok();
    let lab = match inside.as_deref().map(LabName::parse) {
        Some(Some(lab)) if lab.is_alive() => lab,
        Some(_) => {
            let message = format!("the lab that {VARIABLE} names has ended");
            return Err(PathError::Setting(message));
        }
        None => {
            let labs = labs();
            match (labs.first(), labs.len()) {
                (Some(lab), 1) => *lab,
                (None, _) => {
                    return Err(PathError::Setting(
                        "no lab is running: start one, for example with `weftline-lab run`"
                            .to_owned(),
                    ));
                }
                (_, count) => {
                    let names: Vec<String> = labs.iter().map(LabName::to_string).collect();
                    let message = format!(
                        "{count} labs are running: choose one with {VARIABLE}=NAME: {}",
                        names.join(", ")
                    );
                    return Err(PathError::Setting(message));
                }
            }
        }
    };
    if !Path::new("/run/netns")
        .join(format!("{lab}-{side}"))
        .exists()
    {
        return Err(PathError::Setting(format!("the lab {lab} is not ready")));
    }
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &format!("{lab}-{side}")]);
    command.env(VARIABLE, lab.to_string());
    Ok(command)
}
