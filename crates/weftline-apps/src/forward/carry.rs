//! One TCP connection and its stream: two directions, each with its own end.
//!
//! The end of one direction is carried as an end, and the other direction continues. An error in
//! either direction resets both: an interrupted connection must never look like a finished one.
//! Each direction holds one buffer; a slow reader slows the writer at the far end.

use std::io;
use std::pin::pin;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf as TcpRead, WriteHalf as TcpWrite};
use tokio::time::timeout;
use weftline::{ReadHalf, Stream, WriteHalf};

use super::counts::{Carried, Counts, Ended};
use super::socks;
use super::wire::{Reply, Request, Status, WireError};

/// Bytes of one read.
const CHUNK: usize = 16 << 10;
/// Code of streams whose connection broke.
const BROKEN: u64 = 1;
/// How long the peer may take to answer: longer than it waits for its target.
pub(super) const ANSWER: Duration = Duration::from_secs(15);
/// A host that vanished is detected after about this time, plus some probes.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// The side of a direction that failed.
enum Broke {
    Tcp,
    Stream,
}

/// Prepares a connection: no write waits to be merged with later ones.
pub(super) fn prepare(tcp: &TcpStream) {
    // Without these options a connection is slower, or a dead one is detected later, but it works.
    let _ = tcp.set_nodelay(true);
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
    let _ = SockRef::from(tcp).set_tcp_keepalive(&keepalive);
}

/// Resets the connection, so that the program cannot mistake this for a normal end.
pub(super) fn reset(tcp: TcpStream) {
    // If this fails, the connection had failed before.
    let _ = tcp.set_zero_linger();
}

/// Carries a connection that a local program has made to this target, over a new stream.
///
/// The program's data is sent without waiting for the answer. With SOCKS the program itself waits.
///
/// # Errors
/// The reason why there is no connection. A program that uses SOCKS has been answered; others have
/// been reset.
pub(super) async fn accepted(
    mut tcp: TcpStream,
    mut stream: Stream,
    request: &Request,
    by_socks: bool,
    (target, counts): (&str, &Counts),
) -> Result<Ended, Reply> {
    let from = tcp.peer_addr().map(|addr| addr.to_string());
    let carried = counts.carry(from.unwrap_or_default(), target.to_owned());
    if stream.write_all(&request.bytes()).await.is_err() {
        refuse(tcp, by_socks, Status::Other).await;
        return Err(Reply::new(Status::Other, "the session failed"));
    }
    if !by_socks {
        return pump(tcp, stream, true, &carried).await;
    }
    let answer = timeout(ANSWER, Reply::expect(&mut stream)).await;
    if let Err(reply) = answer.unwrap_or_else(|_| Err(no_answer())) {
        refuse(tcp, true, reply.status).await;
        return Err(reply);
    }
    match socks::reply(&mut tcp, Status::Done).await {
        Ok(()) => pump(tcp, stream, false, &carried).await,
        Err(_) => Ok(Ended::Broken),
    }
}

/// Tells the program that there is no connection.
pub(super) async fn refuse(mut tcp: TcpStream, by_socks: bool, status: Status) {
    match by_socks {
        // The program reads the reply and then the end.
        true => {
            let _ = socks::reply(&mut tcp, status).await;
        }
        false => reset(tcp),
    }
}

/// Carries a connection to a target for a stream that the peer opened.
pub(super) async fn connected(tcp: TcpStream, mut stream: Stream, carried: &Carried<'_>) -> Ended {
    let done = Reply::new(Status::Done, "");
    if stream.write_all(&done.bytes()).await.is_err() {
        reset(tcp);
        return Ended::Broken;
    }
    let ended = pump(tcp, stream, false, carried).await;
    ended.unwrap_or(Ended::Broken)
}

/// Carries both directions to their ends, after the peer's reply if that is still to come.
async fn pump(
    mut tcp: TcpStream,
    stream: Stream,
    reply_to_come: bool,
    counts: &Carried<'_>,
) -> Result<Ended, Reply> {
    let (mut read, mut write) = stream.into_split();
    // Should this process be killed, the kernel closes the connection: with a reset, not with an end.
    let _ = tcp.set_zero_linger();
    let carried = {
        let (mut tcp_read, mut tcp_write) = tcp.split();
        let mut out = pin!(outward(&mut tcp_read, &mut write, counts));
        let mut out_ended = None;
        let mut answer = Ok(String::new());
        if reply_to_come {
            let mut reply = pin!(timeout(ANSWER, Reply::read(&mut read)));
            answer = loop {
                tokio::select! {
                    read = &mut reply => break match read {
                        // The connection was made and failed before its reply arrived here.
                        Ok(Err(WireError::Stream(error))) if is_reset(&error) => {
                            out_ended = Some(Err(Broke::Stream));
                            Ok(String::new())
                        }
                        Ok(Ok(reply)) => reply.good(),
                        Ok(Err(error)) => Err(error.into()),
                        Err(_) => Err(no_answer()),
                    },
                    // The program may leave at once. If the peer does not read, its reply says
                    // why.
                    ended = &mut out, if out_ended.is_none() => {
                        let left = matches!(ended, Err(Broke::Tcp));
                        out_ended = Some(ended);
                        if left {
                            break Ok(String::new());
                        }
                    }
                }
            };
        }
        match (answer, out_ended) {
            (Err(reply), _) => Err(reply),
            (Ok(_), Some(Err(broke))) => Ok(Err(broke)),
            (Ok(_), Some(Ok(()))) => Ok(inward(&mut read, &mut tcp_write, counts).await),
            (Ok(_), None) => {
                let inward = inward(&mut read, &mut tcp_write, counts);
                Ok(tokio::try_join!(out, inward).map(|_| ()))
            }
        }
    };
    if let Ok(Ok(())) = carried {
        // What the program has not read yet still arrives.
        let _ = SockRef::from(&tcp).set_linger(None);
        return Ok(Ended::Done);
    }
    write.reset(BROKEN);
    read.stop(BROKEN);
    carried.map(|_| Ended::Broken)
}

async fn outward(
    tcp: &mut TcpRead<'_>,
    stream: &mut WriteHalf,
    counts: &Carried<'_>,
) -> Result<(), Broke> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let len = tcp.read(&mut buffer).await.map_err(|_| Broke::Tcp)?;
        if len == 0 {
            return stream.finish().map_err(|_| Broke::Stream);
        }
        let written = stream.write_all(&buffer[..len]).await;
        written.map_err(|_| Broke::Stream)?;
        counts.out(len);
    }
}

async fn inward(
    stream: &mut ReadHalf,
    tcp: &mut TcpWrite<'_>,
    counts: &Carried<'_>,
) -> Result<(), Broke> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let len = stream.read(&mut buffer).await.map_err(|_| Broke::Stream)?;
        if len == 0 {
            return tcp.shutdown().await.map_err(|_| Broke::Tcp);
        }
        let written = tcp.write_all(&buffer[..len]).await;
        written.map_err(|_| Broke::Tcp)?;
        counts.inward(len);
    }
}

fn is_reset(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionReset
}

fn no_answer() -> Reply {
    Reply::new(Status::TimedOut, "the peer does not answer")
}

/// The reply for a failed attempt to connect.
pub(super) fn failed(target: &str, error: &io::Error) -> Reply {
    use io::ErrorKind as Kind;
    let (status, why) = match error.kind() {
        Kind::ConnectionRefused => (Status::Refused, "refuses connections".to_owned()),
        Kind::TimedOut => (Status::TimedOut, "does not answer".to_owned()),
        Kind::HostUnreachable | Kind::NetworkUnreachable | Kind::NetworkDown => {
            (Status::Unreachable, "cannot be reached".to_owned())
        }
        _ => (Status::Other, format!("cannot be reached: {error}")),
    };
    Reply::new(status, format!("{target} {why}"))
}
