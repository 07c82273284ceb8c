//! A child process: one end of one run.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use aws_lc_rs::digest::{self, SHA256};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::engine::Engine;
use crate::measure::cpu_seconds;
use crate::ping::Trips;

/// Bytes read from and written to files and streams at a time.
pub(crate) const BUFFER: usize = 256 << 10;

/// Seconds that a run may take beyond its limit, for the handshake and the end.
pub(crate) const GRACE: u64 = 30;

/// What a run brings across.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) engine: Engine,
    pub(crate) source: PathBuf,
    pub(crate) destination: PathBuf,
    /// Seconds.
    pub(crate) limit: u64,
    /// Messages there and back, instead of the file.
    pub(crate) ping: Option<u32>,
}

/// What a child process is in a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Role {
    /// Starts the other two.
    Pair,
    Server,
    Client {
        addr: SocketAddr,
        key: String,
    },
}

/// A server's first line: where it is and how it is known.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Listening {
    pub(crate) addr: SocketAddr,
    pub(crate) key: String,
}

/// The last line of either end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// Bytes of the file that arrived here.
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    /// Processor time spent, in seconds.
    pub(crate) cpu: Option<f64>,
    /// Of the end that asks.
    pub(crate) trips: Option<Trips>,
}

/// Wall and processor time since a moment.
pub(crate) struct Meter {
    start: Instant,
    cpu: Option<f64>,
}

impl Meter {
    pub(crate) fn start() -> Self {
        Meter {
            start: Instant::now(),
            cpu: cpu_seconds(),
        }
    }

    pub(crate) fn stop(&self, bytes: u64) -> Ended {
        Ended {
            bytes,
            seconds: self.start.elapsed().as_secs_f64(),
            cpu: cpu_seconds().zip(self.cpu).map(|(end, start)| end - start),
            trips: None,
        }
    }
}

/// Sends the file and waits for the receiver's word that it has it all; gives up at the limit.
pub(crate) async fn send_file(
    task: &Task,
    write: &mut (impl AsyncWrite + Unpin + Send),
    read: &mut (impl AsyncRead + Unpin + Send),
) -> Result<()> {
    let copy = async {
        let file = tokio::fs::File::open(&task.source).await?;
        let mut file = tokio::io::BufReader::with_capacity(BUFFER, file);
        tokio::io::copy_buf(&mut file, write).await?;
        write.shutdown().await?;
        read.read_u8().await.context("no word from the receiver")?;
        Ok(())
    };
    match tokio::time::timeout(Duration::from_secs(task.limit), copy).await {
        Ok(result) => result,
        Err(_) => Ok(()),
    }
}

/// Writes what arrives to the destination; returns how much that was by its end, good or bad.
pub(crate) async fn receive_file(
    task: &Task,
    read: &mut (impl AsyncRead + Unpin + Send),
    write: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<u64> {
    let file = over().open(&task.destination)?;
    let mut file = tokio::fs::File::from_std(file);
    let mut buffer = Vec::with_capacity(BUFFER);
    let mut bytes = 0;
    let end = loop {
        // tokio's own copy writes whenever nothing is left to read: for each few packets, that
        // would be another thread's work.
        buffer.clear();
        let end = fill(read, &mut buffer).await;
        bytes += buffer.len() as u64;
        file.write_all(&buffer).await?;
        if !matches!(end, Ok(false)) {
            break end;
        }
    };
    file.flush().await?;
    // A sender that met its limit ends the stream with an error, and what came before counts.
    if end.is_ok() {
        write.write_u8(0).await?;
        write.shutdown().await?;
    }
    Ok(bytes)
}

/// Reads until the buffer is full (false) or the stream has ended (true).
async fn fill(read: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> io::Result<bool> {
    while buffer.len() < BUFFER {
        let room = (BUFFER - buffer.len()) as u64;
        if read.take(room).read_buf(buffer).await? == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A file of bytes that do not repeat.
pub(crate) fn make_file(path: &Path, len: u64) -> Result<()> {
    let mut file = io::BufWriter::with_capacity(BUFFER, fs::File::create(path)?);
    let mut state = 1u64;
    for _ in 0..len / 8 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        file.write_all(&state.to_le_bytes())?;
    }
    let what = || format!("cannot write {len} bytes to {}", path.display());
    file.into_inner()?.sync_all().with_context(what)
}

/// Fills the place of a copy with zeros. So no run pays for new pages, which in a virtual machine cost as much as
/// a third of all its work, or nothing, as the host's memory decides.
pub(crate) fn blank(path: &Path, len: u64) -> Result<()> {
    let mut file = over().open(path)?;
    io::copy(&mut io::Read::take(io::repeat(0), len), &mut file)?;
    Ok(())
}

/// Opens a file to write over what it has.
fn over() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    options
}

/// The SHA-256 of a file.
pub(crate) fn digest(path: &Path) -> Result<Vec<u8>> {
    let mut file = BufReader::with_capacity(BUFFER, fs::File::open(path)?);
    let mut context = digest::Context::new(&SHA256);
    loop {
        let read = file.fill_buf()?;
        if read.is_empty() {
            return Ok(context.finish().as_ref().to_vec());
        }
        context.update(read);
        let len = read.len();
        file.consume(len);
    }
}

/// Ends this process once its parent has gone, or after this many seconds.
pub(crate) fn end_with_the_parent(limit: u64) {
    std::thread::spawn(|| {
        io::copy(&mut io::stdin().lock(), &mut io::sink()).ok();
        std::process::exit(1);
    });
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(limit));
        eprintln!("a child process did not end in time");
        std::process::exit(1);
    });
}
