//! Lines of JSON on a stream, each after its length in four bytes; relay and tun share it.

use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use weftline::printable;

/// Longest line, in bytes.
pub(crate) const LONGEST: u32 = 64 << 10;

/// Writes one line.
///
/// # Errors
/// It is too long, or the stream's.
pub(crate) async fn write<T: Serialize>(
    stream: &mut (impl AsyncWrite + Unpin),
    what: &T,
) -> io::Result<()> {
    let text = serde_json::to_vec(what).map_err(io::Error::other)?;
    let len = u32::try_from(text.len()).unwrap_or(u32::MAX);
    if len > LONGEST {
        return Err(io::Error::other(
            "the line is too long for the control stream",
        ));
    }
    let mut line = len.to_be_bytes().to_vec();
    line.extend(text);
    stream.write_all(&line).await?;
    stream.flush().await
}

/// Reads one line of this application's protocol.
///
/// # Errors
/// The peer does not speak that protocol, or the stream's.
pub(crate) async fn read<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
    application: &str,
) -> io::Result<T> {
    let foreign = || format!("the peer does not speak the protocol of {application}");
    let len = stream.read_u32().await?;
    if len > LONGEST {
        return Err(io::Error::other(foreign()));
    }
    let mut text = vec![0; len as usize];
    stream.read_exact(&mut text).await?;
    serde_json::from_slice(&text).map_err(|e| {
        let what = printable(&e.to_string());
        io::Error::other(format!("{}: {what}", foreign()))
    })
}

/// What a reader makes of bytes that are all there, for the fuzzer.
pub(crate) fn at_once<T>(reading: impl Future<Output = T>) -> T {
    match pin!(reading).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(read) => read,
        Poll::Pending => panic!("it waits though all bytes are there"),
    }
}
