//! The server's process, and what it costs.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use weftline::Fingerprint;

use crate::chaos::program::Program;

/// One processor for the server, and the others for everything else: so the server has one processor
/// at most, whatever strangers take.
pub(super) struct Apart {
    alone: CpuSet,
    /// Its number.
    number: usize,
}

impl Apart {
    /// Takes the last processor from the calling thread, and from those that it will start.
    ///
    /// # Errors
    /// There is only one.
    pub(super) fn new() -> Result<Self> {
        let mut rest = sched_getaffinity(None)?;
        let last = (0..CpuSet::MAX_CPU).rev().find(|at| rest.is_set(*at));
        let (Some(last), 2..) = (last, rest.count()) else {
            bail!("the server needs a processor of its own: run this on two or more");
        };
        let mut alone = CpuSet::new();
        alone.set(last);
        rest.unset(last);
        sched_setaffinity(None, &rest)?;
        Ok(Apart {
            alone,
            number: last,
        })
    }

    /// Seconds that it worked, until now, also for the kernel; not for programs that give way to all others.
    pub(super) fn busy(&self) -> Result<f64> {
        let text = std::fs::read_to_string("/proc/stat")?;
        let name = format!("cpu{} ", self.number);
        let line = text.lines().find_map(|line| line.strip_prefix(&name));
        busy(line.context("/proc/stat does not tell of the server's processor")?)
    }

    /// Gives it to a process, and to the threads that its threads will start.
    fn give(&self, process: u32) -> Result<()> {
        for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
            let name = task?.file_name();
            let id = name.to_str().and_then(|name| name.parse().ok());
            let id = id.and_then(Pid::from_raw).context("not a thread's id")?;
            match sched_setaffinity(Some(id), &self.alone) {
                // It has ended.
                Err(Errno::SRCH) => {}
                done => done?,
            }
        }
        Ok(())
    }
}

/// Seconds of work in a line of /proc/stat, after the processor's name: user, nice, system, idle, iowait, irq,
/// softirq.
fn busy(line: &str) -> Result<f64> {
    let ticks = line.split_whitespace().map(str::parse::<u64>);
    let ticks = ticks.collect::<std::result::Result<Vec<_>, _>>()?;
    let [user, _, system, _, _, irq, softirq, ..] = ticks[..] else {
        bail!("unreadable: {line}");
    };
    Ok((user + system + irq + softirq) as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// The configuration of `weftline serve`.
fn services(
    address: SocketAddr,
    target: SocketAddr,
    key: &Path,
    inbox: &Path,
    peers: &[Fingerprint],
) -> String {
    let peers: Vec<String> = peers
        .iter()
        .map(|peer| format!("{:?}", peer.to_string()))
        .collect();
    format!(
        "listen = \"{address}\"\nidentity = {key:?}\npeer = [{}]\n\
         [recv]\ndirectory = {inbox:?}\n\
         [relay]\nallow = [\"{target}\"]\n\
         [forward]\nallow = [\"{target}\"]\n",
        peers.join(", "),
    )
}

/// How long the server may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Server {
    program: Program,
    address: SocketAddr,
    fingerprint: Fingerprint,
    /// Its identity.
    _folder: tempfile::TempDir,
}

impl Server {
    /// A server of files, UDP and TCP with one target; without fingerprints, a relay's of plain UDP.
    pub(super) fn start(
        program: &Path,
        target: SocketAddr,
        peers: &[Fingerprint],
        apart: &Apart,
    ) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let key = folder.path().join("key.pem");
        let identity = weftline::Identity::load_or_create(&key)?;
        // The port is free, now.
        let address = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let arguments: Vec<String> = match peers {
            [] => {
                let words = ["relay", "serve", "--insecure-udp", "--listen"].map(str::to_owned);
                let rest = [
                    address.to_string(),
                    "--allow".to_owned(),
                    target.to_string(),
                ];
                words.into_iter().chain(rest).collect()
            }
            peers => {
                let file = folder.path().join("serve.toml");
                let inbox = folder.path().join("inbox");
                std::fs::write(&file, services(address, target, &key, &inbox, peers))?;
                let words = ["serve", "--config"].map(str::to_owned);
                words
                    .into_iter()
                    .chain([file.display().to_string()])
                    .collect()
            }
        };
        let home = folder.path().to_owned();
        let environment = vec![("HOME", home.clone()), ("XDG_CONFIG_HOME", home)];
        let mut program = Program::new(program.to_owned(), arguments, environment);
        program.start().with_context(|| {
            "the program cannot be started: build it (`cargo build --release -p weftline-cli`), or name it with --program"
        })?;
        let started = Instant::now();
        while program.lines() == 0 {
            if program.ended()?.is_some() || started.elapsed() > PATIENCE {
                bail!("the server does not listen: {}", program.words());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        apart.give(program.id().context("the server is not running")?)?;
        Ok(Server {
            program,
            address,
            fingerprint: identity.fingerprint(),
            _folder: folder,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The last lines that it printed.
    pub(super) fn words(&self) -> String {
        self.program.words()
    }

    /// Lines that it printed so far.
    pub(super) fn lines(&self) -> u64 {
        self.program.lines()
    }

    /// Bytes of memory that it uses.
    pub(super) fn memory(&self) -> Result<u64> {
        let text = self
            .program
            .proc("statm")
            .context("the server is not running")?;
        let pages = text
            .split_whitespace()
            .nth(1)
            .and_then(|f| f.parse::<u64>().ok());
        let pages = pages.ok_or_else(|| anyhow!("unreadable: {text}"))?;
        Ok(pages * rustix::param::page_size() as u64)
    }

    /// # Errors
    /// It has ended.
    pub(super) fn check(&mut self) -> Result<()> {
        match self.program.ended()? {
            None => Ok(()),
            Some(status) => bail!("the server ended with {status}: {}", self.program.words()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_everything_but_idleness_waiting_and_what_gives_way() {
        let second = rustix::param::clock_ticks_per_second();
        let line = format!("{second} 7 {second} 5000 90 0 {second} 0 0 0");
        assert_eq!(busy(&line).unwrap(), 3.0);
        assert!(busy("1 2 3").is_err() && busy("a b").is_err());
    }
}
