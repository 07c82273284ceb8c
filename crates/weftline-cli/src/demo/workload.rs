//! The traffic over the path: a stream of messages, or a file.

use std::fs::File;
use std::path::{Path as FilePath, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt, empty};
use tokio::runtime::Handle;
use weftline::{Connection, Stream};
use weftline_apps::transfer::{Event, Folder, Sink, collect, receive, send};

use super::delay::Delays;

/// Bytes of a message that hold its due time and its number.
pub(super) const STAMP: usize = 16;
/// How long after the last message's due time everything must have arrived, and how long a file may
/// make no progress.
const GRACE: Duration = Duration::from_secs(30);
/// Time to prepare before the first message is due.
const LEAD: Duration = Duration::from_millis(50);

/// Messages of a fixed length at fixed intervals, whether or not the earlier ones have arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageStream {
    /// Bytes of a message, [`STAMP`] at least.
    pub size: usize,
    /// Time between two messages.
    pub period: Duration,
    /// Number of messages.
    pub count: u64,
    /// Seed of their content.
    pub seed: u64,
    /// Delay of a message on an idle path without losses.
    pub floor: Duration,
}

/// The result of a workload.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// All bytes arrived unchanged.
    pub verified: bool,
    /// Bytes read.
    pub bytes: u64,
    /// From the start until everything was read.
    pub elapsed: Duration,
    /// Delay of each message; none for a file.
    pub delays: Delays,
}

/// Carries messages from `from` to `to` on one stream.
///
/// # Errors
/// The session failed, or not everything arrived in time.
pub(super) async fn messages(
    from: &Connection,
    to: &Connection,
    load: MessageStream,
) -> Result<Outcome> {
    let output = from.open_stream().await.context("opening the stream")?;
    let start = Instant::now() + LEAD;
    let runtime = Handle::current();
    // A separate thread, because the runtime's timers are too coarse for the schedule.
    let writer = tokio::task::spawn_blocking(move || write(output, load, start, &runtime));
    let reading = async {
        let input = to.accept_stream().await.context("accepting the stream")?;
        read(input, load, start).await
    };
    let due = load.period.mul_f64(load.count as f64) + GRACE;
    let read = tokio::time::timeout(due, reading).await;
    // If reading failed the writer may be blocked; closing releases it.
    let (digest, mut outcome) = match read {
        Ok(Ok(done)) => done,
        failed => {
            from.close(0, "failed");
            let _ = writer.await;
            return match failed {
                Ok(Err(error)) => Err(error),
                _ => Err(anyhow!(
                    "not everything arrived within {} s after the last message",
                    GRACE.as_secs()
                )),
            };
        }
    };
    let sent = writer.await?.context("writing")?;
    outcome.verified = sent == digest && outcome.bytes == load.count * load.size as u64;
    Ok(outcome)
}

fn write(
    mut output: Stream,
    load: MessageStream,
    start: Instant,
    runtime: &Handle,
) -> std::io::Result<[u8; 32]> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(load.seed);
    let mut hasher = Sha256::new();
    let mut message = vec![0; load.size];
    for i in 0..load.count {
        let due = load.period.mul_f64(i as f64);
        message[..8].copy_from_slice(&(due.as_nanos() as i64).to_le_bytes());
        message[8..STAMP].copy_from_slice(&(i as i64).to_le_bytes());
        random.fill_bytes(&mut message[STAMP..]);
        hasher.update(&message);
        std::thread::sleep((start + due).saturating_duration_since(Instant::now()));
        runtime.block_on(output.write_all(&message))?;
    }
    runtime.block_on(output.shutdown())?;
    // Dropping an unfinished stream would reset it. This one is finished, but must reach the peer.
    runtime
        .block_on(output.finished())
        .map_err(std::io::Error::from)?;
    Ok(hasher.finalize().into())
}

async fn read(
    mut input: Stream,
    load: MessageStream,
    start: Instant,
) -> Result<([u8; 32], Outcome)> {
    let mut hasher = Sha256::new();
    let mut message = vec![0; load.size];
    let mut delays = Vec::with_capacity(load.count as usize);
    for i in 0..load.count {
        input
            .read_exact(&mut message)
            .await
            .with_context(|| format!("reading message {i}"))?;
        let now = start.elapsed();
        hasher.update(&message);
        let due = Duration::from_nanos(u64::from_le_bytes(
            message[..8].try_into().unwrap_or_default(),
        ));
        // The path's own delay is not the protocol's.
        let delay = now.saturating_sub(due).saturating_sub(load.floor);
        delays.push((due.as_secs_f64(), delay.as_secs_f64() * 1e3));
    }
    let elapsed = start.elapsed();
    let surplus = input.read(&mut message).await.context("reading the end")?;
    let bytes = load.count * load.size as u64 + surplus as u64;
    Ok((
        hasher.finalize().into(),
        Outcome {
            verified: false,
            bytes,
            elapsed,
            delays: Delays::new(delays),
        },
    ))
}

/// Carries the file `source` from `from` to `to` as `weftline send` and `recv` do.
///
/// # Errors
/// The session or the file system failed.
pub(super) async fn file(from: &Connection, to: &Connection, source: &FilePath) -> Result<Outcome> {
    let target = tempfile::tempdir().context("making a temporary directory")?;
    let listing = collect(&[source.to_owned()], "stdin")?;
    let silent = |_: Event<'_>| {};
    let started = Instant::now();
    let sending = async {
        let stream = from.open_stream().await.context("opening the stream")?;
        send(stream, &listing, empty(), GRACE, &silent)
            .await
            .context("sending")
    };
    let receiving = async {
        let stream = to.accept_stream().await.context("accepting the stream")?;
        let sink = Sink::Directory(Folder::new(target.path()));
        let received = receive(stream, sink, GRACE, &silent).await;
        let summary = received.context("receiving")?;
        Ok::<_, anyhow::Error>((summary, started.elapsed()))
    };
    let (_, (summary, elapsed)) = tokio::try_join!(sending, receiving)?;
    let name = source.file_name().context("the file has no name")?;
    let (sent, received) = (source.to_owned(), target.path().join(name));
    let same = tokio::task::spawn_blocking(move || {
        Ok::<_, std::io::Error>(digest(sent)? == digest(received)?)
    });
    let verified = summary.is_complete() && same.await??;
    Ok(Outcome {
        verified,
        bytes: summary.bytes,
        elapsed,
        delays: Delays::default(),
    })
}

fn digest(path: PathBuf) -> std::io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 18];
    loop {
        match std::io::Read::read(&mut file, &mut buffer)? {
            0 => return Ok(hasher.finalize().into()),
            n => hasher.update(&buffer[..n]),
        }
    }
}
