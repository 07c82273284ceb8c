//! Transfers of one size, one after the other.

use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{Outcome, PIECE};
use crate::load::LoadError;
use crate::load::clock::{instant, nanos, now};
use crate::load::filler::Filler;
use crate::load::transport::{ByteStream, Link, Listener, Transport};
use weftline_proto::Settings;
use weftline_sim::{Delays, Summary, millis};

/// Largest transfer in bytes.
const LARGEST: u64 = 1 << 40;
/// How long closing a connection may take.
const CLOSE: Duration = Duration::from_secs(2);

/// The settings.
pub(crate) struct Xfer {
    n: u32,
    size: u64,
    reuse: bool,
    gap: Duration,
}

/// The receiver's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Received {
    /// Transfers that arrived whole.
    got: u32,
    /// Their bytes.
    bytes: u64,
}

/// The sender's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Sent {
    /// Milliseconds that each transfer took; null if it failed.
    times: Vec<Option<f64>>,
    /// Transfers that failed, with those that were not tried any more.
    failed: u32,
    /// Statistics of those that did not fail.
    #[serde(flatten)]
    time: Summary,
    /// Why the last failed transfer failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<String>,
}

impl Xfer {
    pub(crate) fn take(
        settings: &mut Settings,
        is_messages: bool,
        name: &str,
    ) -> Result<Self, LoadError> {
        if is_messages {
            return Err(LoadError::Contradiction(format!(
                "xfer needs a reliable stream, and {name} here carries messages: choose stream or bulk, or another transport"
            )));
        }
        let n = settings.number("n", "transfers", 1..=1_000_000)?;
        let size = settings.number("size", "bytes", 1..=LARGEST)?;
        let gap = settings.number("gap", "seconds", 0.0..=3600.0)?;
        Ok(Xfer {
            n: n.unwrap_or(10),
            size: size.unwrap_or(100_000),
            reuse: settings.switch("reuse")?.unwrap_or(false),
            gap: Duration::from_secs_f64(gap.unwrap_or(0.0)),
        })
    }

    pub(crate) async fn receive(
        &self,
        mut listener: Box<dyn Listener>,
        patience: Duration,
    ) -> Result<Outcome<Received>, LoadError> {
        let (done, mut whole) = mpsc::channel(16);
        let (enough, is_enough) = watch::channel(());
        let (mut guests, mut got) = (JoinSet::new(), 0);
        // Each connection in a separate task: one that hangs delays no other.
        while got < self.n {
            let next = async {
                tokio::select! {
                    link = listener.accept() => link.map(Some),
                    _ = whole.recv() => Ok(None),
                }
            };
            match timeout(patience + self.gap, next).await {
                Ok(Ok(Some(Link::Bytes(stream)))) => {
                    guests.spawn(serve(stream, self.size, done.clone(), is_enough.clone()));
                }
                Ok(Ok(Some(Link::Messages(_)))) => {}
                Ok(Ok(None)) => got += 1,
                Ok(Err(error)) => return Err(error),
                Err(_) if got == 0 => {
                    return Err(LoadError::NobodyCame {
                        seconds: patience.as_secs_f64(),
                    });
                }
                Err(_) => break,
            }
        }
        let received = Received {
            got,
            bytes: u64::from(got) * self.size,
        };
        // The last answers are still in flight.
        let answers = async move {
            drop(enough);
            let all = async { while guests.join_next().await.is_some() {} };
            let _ = timeout(CLOSE, all).await;
        };
        Ok((received, Box::pin(answers)))
    }

    pub(crate) async fn send(
        &self,
        transport: &dyn Transport,
        to: std::net::SocketAddr,
        patience: Duration,
    ) -> Result<Sent, LoadError> {
        let mut filler = Filler::new(PIECE);
        let (mut times, mut delays) = (Vec::new(), Delays::default());
        let (mut broken, mut kept) = (None, None);
        for index in 0..self.n {
            if index > 0 {
                sleep(self.gap).await;
            }
            if self.reuse && kept.is_none() {
                if broken.is_some() {
                    break;
                }
                let limit = instant(now() + nanos(patience.as_secs_f64()));
                let connected = tokio::time::timeout_at(limit, transport.connect(to)).await;
                kept = Some(bytes(connected.unwrap_or_else(|_| late(patience))?)?);
            }
            let met = timeout(patience, transport.meet(to)).await;
            met.unwrap_or_else(|_| late(patience))?;
            let start = now();
            let transfer = async {
                let mut stream = match kept.take() {
                    Some(stream) => stream,
                    None => bytes(transport.connect(to).await?)?,
                };
                let end = self.bring(&mut *stream, &mut filler).await?;
                Ok((stream, end))
            };
            match timeout(patience, transfer)
                .await
                .unwrap_or_else(|_| late(patience))
            {
                Ok((stream, end)) => {
                    times.push(Some(millis((end - start) as f64)));
                    delays.add(end - start);
                    match self.reuse {
                        true => kept = Some(stream),
                        // A transfer ends with the answer; closing is not part of its time.
                        false => drop(tokio::spawn(timeout(CLOSE, stream.close()))),
                    }
                }
                Err(error) => {
                    times.push(None);
                    broken = Some(error);
                }
            }
        }
        if let Some(stream) = kept {
            let _ = timeout(CLOSE, stream.close()).await;
        }
        if let (true, Some(error)) = (delays.is_empty(), broken.take_if(|_| delays.is_empty())) {
            return Err(error);
        }
        Ok(Sent {
            failed: self.n - delays.len() as u32,
            times,
            time: delays.summary(),
            broken: broken.map(|error| error.to_string()),
        })
    }

    /// Writes a transfer and returns when the receiver has its last byte.
    async fn bring(
        &self,
        stream: &mut dyn ByteStream,
        filler: &mut Filler,
    ) -> Result<i64, LoadError> {
        let mut left = self.size;
        while left > 0 {
            let piece = left.min(PIECE as u64) as usize;
            let written = stream.write(filler.peek(piece)).await?;
            if written == 0 {
                return Err(std::io::Error::from(std::io::ErrorKind::WriteZero).into());
            }
            filler.skip(written);
            left -= written as u64;
        }
        stream.flush().await?;
        Ok(stream.read_i64_le().await?)
    }
}

/// Answers each transfer on a connection, until the peer ends it or all have arrived.
async fn serve(
    mut stream: Box<dyn ByteStream>,
    size: u64,
    done: mpsc::Sender<()>,
    mut is_enough: watch::Receiver<()>,
) -> Result<(), LoadError> {
    let mut buffer = vec![0; PIECE];
    loop {
        let mut left = size;
        while left > 0 {
            let room = left.min(PIECE as u64) as usize;
            let read = tokio::select! {
                read = stream.read(&mut buffer[..room]) => read?,
                _ = is_enough.changed() => 0,
            };
            if read == 0 {
                return stream.close().await;
            }
            left -= read as u64;
        }
        stream.write_i64_le(now()).await?;
        stream.flush().await?;
        // This fails when enough have arrived, and then it does not matter.
        let _ = done.send(()).await;
    }
}

fn bytes(link: Link) -> Result<Box<dyn ByteStream>, LoadError> {
    match link {
        Link::Bytes(stream) => Ok(stream),
        Link::Messages(_) => Err(LoadError::Setup("a stream of bytes is needed".to_owned())),
    }
}

fn late<T>(patience: Duration) -> Result<T, LoadError> {
    let reason = format!("no answer within {} s", patience.as_secs_f64());
    let error = std::io::Error::new(std::io::ErrorKind::TimedOut, reason);
    Err(LoadError::Connection(error))
}
