//! The workloads of a transport.

pub(crate) mod bulk;
mod stamps;
pub(crate) mod stream;
pub(crate) mod xfer;

use std::pin::Pin;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::LoadError;
use super::clock::instant;
use super::transport::{Link, Listener};

/// The byte by which a receiver says that it has all the data it wants.
const DONE: u8 = b'.';
/// How long sending that byte may take.
const FAREWELL: Duration = Duration::from_secs(2);
/// Bytes read and written at a time.
const PIECE: usize = 256 << 10;

/// The first peer, if it connects in time.
async fn guest(listener: &mut dyn Listener, patience: Duration) -> Result<Link, LoadError> {
    match timeout(patience, listener.accept()).await {
        Ok(link) => link,
        Err(_) => Err(LoadError::NobodyCame {
            seconds: patience.as_secs_f64(),
        }),
    }
}

/// A receiver's result, and its farewell to the peer after reporting it: a process manager that
/// ends both ends when the sender exits would end the receiver too early.
pub(crate) type Outcome<R> = (R, Pin<Box<dyn Future<Output = ()> + Send>>);

/// The receiver has all the data it wants. A failure here changes no result.
async fn farewell(link: Link) {
    let say = async {
        match link {
            Link::Bytes(mut stream) => {
                use tokio::io::AsyncWriteExt;
                stream.write_all(&[DONE]).await?;
                stream.flush().await?;
                stream.close().await
            }
            Link::Messages(mut messages) => {
                messages.farewell().await?;
                messages.close().await
            }
        }
    };
    let _ = timeout(FAREWELL, say).await;
}

/// Waits until the receiver says that it has all the data it wants, or ends the connection; false
/// if neither has happened by `end`.
async fn dismissed(link: &mut Link, end: i64) -> bool {
    let wait = async {
        let mut word = [0; 1];
        match link {
            Link::Bytes(stream) => {
                // The byte, an end and an error all mean that the receiver is done.
                let _ = stream.read(&mut word).await;
            }
            Link::Messages(messages) => {
                while !matches!(messages.recv(&mut word).await, Ok(0) | Err(_)) {}
            }
        }
    };
    tokio::time::timeout_at(instant(end), wait).await.is_ok()
}
