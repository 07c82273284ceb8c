//! Both ends of a round, the path between them, and the receiver's disk.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::plan::{Action, End, Kind, Plan};
use super::program::Program;
use super::wire::Wire;
use super::{Draws, Fault};

/// Where Debian and others put the library that moves a program's clock.
const FAKETIME: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
];
/// How long the programs wait for a silent peer: a cut may last longer.
const TIMEOUT: &str = "6s";
/// How long everything may take once nothing is in the way any more.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of a disk that can be full.
const DISK: u64 = 24 << 20;
/// Bytes that are left on a full disk.
const LEFT: u64 = 300 << 10;
/// How often the stage is looked at.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// What a fault needs is missing here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Missing(String);

/// What all rounds share.
pub struct Setup {
    program: PathBuf,
    folder: tempfile::TempDir,
    /// Fingerprints of the near and of the far end.
    fingerprints: [String; 2],
    faketime: Option<PathBuf>,
}

impl Setup {
    pub(super) fn new(program: &Path, kinds: &[Kind]) -> Result<Self, Missing> {
        let lab = |error: io::Error| Missing(error.to_string());
        let folder = tempfile::tempdir().map_err(lab)?;
        let fingerprint = |name: &str| {
            let file = folder.path().join(name);
            let output = Command::new(program)
                .args(["key", "--json", "--identity"])
                .arg(file)
                .output();
            let output = output.map_err(|error| {
                Missing(format!(
                    "{}: {error}: build it (`cargo build --release -p weftline-cli`), or name it with --program",
                    program.display()
                ))
            })?;
            let key: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            match key["fingerprint"].as_str() {
                Some(text) => Ok(text.to_owned()),
                None => Err(Missing(format!(
                    "{} key: {}",
                    program.display(),
                    String::from_utf8_lossy(&output.stderr)
                ))),
            }
        };
        let fingerprints = [fingerprint("near.pem")?, fingerprint("far.pem")?];
        let faketime = FAKETIME
            .iter()
            .map(PathBuf::from)
            .find(|path| path.exists());
        if kinds.contains(&Kind::Clock) && faketime.is_none() {
            return Err(Missing(
                "`clock` needs libfaketime (Debian: faketime): install it, or give --without clock"
                    .to_owned(),
            ));
        }
        if kinds.contains(&Kind::Disk) {
            let disk = Disk::mount(&folder.path().join("disk"));
            drop(disk.map_err(|why| {
                Missing(format!(
                    "`disk` mounts a small file system, which needs root: {why}: run it as root, or give --without disk"
                ))
            })?);
        }
        Ok(Setup {
            program: program.to_owned(),
            folder,
            fingerprints,
            faketime,
        })
    }
}

/// A small file system. Dropping it unmounts it.
struct Disk(PathBuf);

impl Disk {
    fn mount(folder: &Path) -> Result<Self, String> {
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let size = format!("size={DISK}");
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "weftline-chaos"])
            .arg(folder)
            .output()
            .map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(Disk(folder.to_owned())),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }

    /// Leaves little room, or all of it again.
    fn fill(&self, is_full: bool) -> io::Result<()> {
        let filler = self.0.join(".filler");
        if !is_full {
            return match fs::remove_file(filler) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let mut file = fs::File::create(filler)?;
        let block = vec![0; LEFT as usize];
        // Until it is full, less one block.
        let mut written = 0;
        while io::Write::write_all(&mut file, &block).is_ok() {
            written += LEFT;
        }
        file.set_len(written.saturating_sub(LEFT))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Both ends of a round.
pub(super) struct Stage {
    pub(super) near: Program,
    pub(super) far: Program,
    pub(super) wire: Wire,
    /// The round's own loopback address, so that rounds do not meet.
    pub(super) host: Ipv4Addr,
    pub(super) folder: PathBuf,
    disk: Option<Disk>,
    /// The file that tells the ends' clock; it is there if they have one.
    clock: Option<PathBuf>,
    setup: Common,
    actions: std::collections::VecDeque<(Duration, Action)>,
    started: Instant,
    /// Ends that a plan keeps down.
    down: [bool; 2],
    /// Until when everything must be done; known once nothing is in the way any more.
    pub(super) free_since: Option<Instant>,
}

/// What arguments are made of.
struct Common {
    program: PathBuf,
    keys: [PathBuf; 2],
    fingerprints: [String; 2],
    environment: Vec<(&'static str, PathBuf)>,
}

/// The far end's port.
const PORT: u16 = 9338;

impl Stage {
    /// A stage without programs.
    pub(super) fn new(
        setup: &Setup,
        plan: &Plan,
        round: u64,
        draws: &mut Draws,
    ) -> Result<Self, Fault> {
        let base = setup.folder.path();
        let folder = base.join(format!("round-{round}"));
        fs::create_dir_all(folder.join("home"))?;
        let host = Ipv4Addr::new(127, 77, (round / 250 % 250) as u8, 1 + (round % 250) as u8);
        let server = SocketAddr::from((host, PORT));
        let loss = draws.between(0, 80);
        let wire = Wire::start(
            host,
            server,
            loss,
            Draws::new(draws.between(0, u64::MAX - 1), 0),
        )?;
        let disk = match plan.has(Kind::Disk) {
            true => Some(Disk::mount(&folder.join("inbox")).map_err(Fault::Lab)?),
            false => None,
        };
        let home = folder.join("home");
        let mut environment = vec![("HOME", home.clone()), ("XDG_CONFIG_HOME", home)];
        let mut clock = None;
        if plan.has(Kind::Clock)
            && let Some(library) = &setup.faketime
        {
            let file = folder.join("clock");
            fs::write(&file, "+0")?;
            environment.extend([
                ("LD_PRELOAD", library.clone()),
                ("FAKETIME_TIMESTAMP_FILE", file.clone()),
                ("FAKETIME_NO_CACHE", PathBuf::from("1")),
                // Timers go on as they were.
                ("FAKETIME_DONT_FAKE_MONOTONIC", PathBuf::from("1")),
            ]);
            clock = Some(file);
        }
        let empty = || Program::new(setup.program.clone(), Vec::new(), Vec::new());
        Ok(Stage {
            near: empty(),
            far: empty(),
            wire,
            host,
            folder,
            disk,
            clock,
            setup: Common {
                program: setup.program.clone(),
                keys: [base.join("near.pem"), base.join("far.pem")],
                fingerprints: setup.fingerprints.clone(),
                environment,
            },
            actions: plan.actions.iter().copied().collect(),
            started: Instant::now(),
            down: [false; 2],
            free_since: None,
        })
    }

    /// Starts both ends, the far one first. In arguments, `WIRE` is where the near end sends,
    /// `SERVER` where the far end listens, and `PEER` the other end's fingerprint.
    pub(super) fn start(&mut self, near: &[&str], far: &[&str]) -> Result<(), Fault> {
        let arguments = |own: usize, texts: &[&str]| {
            let mut all: Vec<String> = texts
                .iter()
                .map(|text| match *text {
                    "WIRE" => self.wire.address().to_string(),
                    "SERVER" => format!("{}:{PORT}", self.host),
                    "PEER" => self.setup.fingerprints[1 - own].clone(),
                    text => text.to_owned(),
                })
                .collect();
            let key = self.setup.keys[own].display().to_string();
            all.extend([
                "--identity".to_owned(),
                key,
                "--timeout".to_owned(),
                TIMEOUT.to_owned(),
            ]);
            all
        };
        let program = |arguments| {
            Program::new(
                self.setup.program.clone(),
                arguments,
                self.setup.environment.clone(),
            )
        };
        (self.near, self.far) = (program(arguments(0, near)), program(arguments(1, far)));
        self.far.start()?;
        self.near.start()?;
        self.started = Instant::now();
        Ok(())
    }

    /// Waits a little, and does what is due.
    ///
    /// # Errors
    /// Everything should have been done long ago.
    pub(super) fn tick(&mut self) -> Result<(), Fault> {
        std::thread::sleep(TICK);
        while self
            .actions
            .front()
            .is_some_and(|(at, _)| *at <= self.started.elapsed())
        {
            if let Some((_, action)) = self.actions.pop_front() {
                self.act(action)?;
            }
        }
        if self.actions.is_empty() {
            let since = *self.free_since.get_or_insert_with(Instant::now);
            if since.elapsed() > PATIENCE {
                return Err(Fault::Hang(format!(
                    "nothing has been in the way for {} s; near: {}; far: {}",
                    PATIENCE.as_secs(),
                    self.near.words(),
                    self.far.words()
                )));
            }
        }
        Ok(())
    }

    /// For how long nothing has been in the way.
    pub(super) fn recovery(&self) -> Duration {
        self.free_since
            .map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Restarts an end that ended by itself and said why.
    ///
    /// # Errors
    /// It did not say why, or crashed.
    pub(super) fn revive(&mut self, end: End, may_end: bool) -> Result<(), Fault> {
        if self.down[end as usize] {
            return Ok(());
        }
        let name = if end == End::Near { "near" } else { "far" };
        let program = self.end(end);
        let Some(status) = program.ended()? else {
            return Ok(());
        };
        let words = program.words();
        let is_explained = status.code().is_some() && !words.trim().is_empty();
        if !is_explained || words.contains("panicked") || !may_end {
            return Err(Fault::Unexplained(format!(
                "the {name} end ended with {status}: {words}"
            )));
        }
        program.start()?;
        Ok(())
    }

    fn end(&mut self, end: End) -> &mut Program {
        match end {
            End::Near => &mut self.near,
            End::Far => &mut self.far,
        }
    }

    fn act(&mut self, action: Action) -> Result<(), Fault> {
        match action {
            Action::Kill(end) => {
                self.down[end as usize] = true;
                self.end(end).kill();
            }
            Action::Start(end) => {
                self.down[end as usize] = false;
                self.end(end).start()?;
            }
            Action::Pause(end) => self.end(end).pause(true),
            Action::Resume(end) => self.end(end).pause(false),
            Action::Cut => self.wire.cut(true),
            Action::Join => self.wire.cut(false),
            Action::Rebind => self.wire.rebind()?,
            Action::Narrow(most) => self.wire.narrow(most),
            Action::Widen => self.wire.narrow(usize::MAX),
            Action::Fill | Action::Free => {
                if let Some(disk) = &self.disk {
                    disk.fill(action == Action::Fill)?;
                }
            }
            Action::Clock(seconds) => {
                if let Some(clock) = &self.clock {
                    fs::write(clock, format!("{seconds:+}"))?;
                }
            }
        }
        Ok(())
    }

    /// How often an end was started.
    pub(super) fn starts(&self) -> u32 {
        self.near.starts + self.far.starts
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.near.kill();
        self.far.kill();
        self.disk = None;
        let _ = fs::remove_dir_all(&self.folder);
    }
}
