//! What is done with a transport.

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

/// The byte by which a receiver says that it has all it wants.
const DONE: u8 = b'.';
/// How long saying so may take.
const FAREWELL: Duration = Duration::from_secs(2);
/// Bytes read and written at a time.
const PIECE: usize = 256 << 10;

/// The first peer, if it comes in time.
async fn guest(listener: &mut dyn Listener, patience: Duration) -> Result<Link, LoadError> {
    match timeout(patience, listener.accept()).await {
        Ok(link) => link,
        Err(_) => Err(LoadError::NobodyCame {
            seconds: patience.as_secs_f64(),
        }),
    }
}

/// A receiver's result, and what it owes its peer after telling it: a sender that may go takes
/// the receiver with it where somebody ends both.
pub(crate) type Outcome<R> = (R, Pin<Box<dyn Future<Output = ()> + Send>>);

/// The receiver has all it wants. What goes wrong here changes no result.
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

/// Waits until the receiver says that it has all it wants, or ends the connection; false if it
/// has done neither by `end`.
async fn dismissed(link: &mut Link, end: i64) -> bool {
    let wait = async {
        let mut word = [0; 1];
        match link {
            Link::Bytes(stream) => {
                // Its byte, an end, an error: all mean that it is through.
                let _ = stream.read(&mut word).await;
            }
            Link::Messages(messages) => {
                while !matches!(messages.recv(&mut word).await, Ok(0) | Err(_)) {}
            }
        }
    };
    tokio::time::timeout_at(instant(end), wait).await.is_ok()
}
