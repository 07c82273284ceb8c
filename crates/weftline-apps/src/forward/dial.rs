//! Connects to a target for the peer.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use weftline::Stream;

use super::carry;
use super::wire::{Reply, Status};
use crate::target::Target;

/// How long the peer may take to send its request on a stream.
pub(super) const HEADER: Duration = Duration::from_secs(10);
/// How long resolving a target and connecting to it may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Sends the reply on a stream that ends with it; returns the reply.
pub(super) async fn answer(mut stream: Stream, reply: Reply) -> Reply {
    // An ended session needs no answer.
    if stream.write_all(&reply.bytes()).await.is_ok() {
        let _ = stream.finish();
    }
    reply
}

/// Connects to the first of a target's addresses that accepts; returns that, and the stream that asked for it.
///
/// # Errors
/// The reason why there is no connection; the peer has received it.
pub(super) async fn connect(
    stream: Stream,
    target: &Target,
    addresses: impl Future<Output = Result<Vec<SocketAddr>, Reply>>,
) -> Result<(TcpStream, Stream), Reply> {
    let name = target.to_string();
    let connecting = async {
        let mut refused = Reply::new(Status::UnknownName, format!("{name} has no address"));
        for address in addresses.await? {
            match TcpStream::connect(address).await {
                Ok(tcp) => return Ok(tcp),
                Err(error) => refused = carry::failed(&name, &error),
            }
        }
        Err(refused)
    };
    let connected = timeout(CONNECT, connecting).await.unwrap_or_else(|_| {
        let text = format!("{name} does not answer");
        Err(Reply::new(Status::TimedOut, text))
    });
    match connected {
        Ok(tcp) => {
            carry::prepare(&tcp);
            Ok((tcp, stream))
        }
        Err(reply) => Err(answer(stream, reply).await),
    }
}
