//! The server's process, and what it costs.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use weftline::Fingerprint;

use crate::chaos::program::Program;

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
    /// A relay's server for one target; without fingerprints, of plain UDP.
    pub(super) fn start(program: &Path, target: SocketAddr, peers: &[Fingerprint]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let key = folder.path().join("key.pem");
        let identity = weftline::Identity::load_or_create(&key)?;
        // The port is free, now.
        let address = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let mut arguments: Vec<String> = ["relay", "serve", "--listen", &address.to_string()]
            .map(str::to_owned)
            .into();
        arguments.extend(["--allow".to_owned(), target.to_string()]);
        match peers {
            [] => arguments.push("--insecure-udp".to_owned()),
            peers => {
                arguments.extend(["--identity".to_owned(), key.display().to_string()]);
                for peer in peers {
                    arguments.extend(["--peer".to_owned(), peer.to_string()]);
                }
            }
        }
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

    /// Lines that it printed so far.
    pub(super) fn lines(&self) -> u64 {
        self.program.lines()
    }

    /// Seconds of processor time that it used.
    pub(super) fn processor(&self) -> Result<f64> {
        self.program
            .processor()
            .context("the server is not running")
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
