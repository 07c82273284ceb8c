//! One TCP connection and its stream: two directions, each with its own end.
//!
//! The end of one direction is carried as an end, and the other direction continues. An error in
//! either direction resets both: an interrupted connection must never look like a finished one.
//! Each direction holds one buffer; a slow reader slows the writer at the far end.

use std::future::pending;
use std::io;
use std::pin::pin;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf as TcpRead, WriteHalf as TcpWrite};
use tokio::time::timeout;
use weftline::{ReadHalf, Stream, WriteHalf};

use super::counts::{Carried, Ended};
use super::moving::{Moving, Parked, Place, Waiting};
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

/// How it went on with a connection.
pub(super) enum Outcome {
    /// It is over.
    Ended(Ended),
    /// It has left its session.
    Moved(Parked),
}

/// The session that a connection is carried in, and its counters.
#[derive(Clone, Copy)]
pub(super) struct Within<'a> {
    pub(super) moving: &'a Moving,
    pub(super) counts: &'a Carried<'a>,
}

/// Carries a connection that a local program has made to a target, over a new stream.
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
    within: Within<'_>,
) -> Result<Outcome, Reply> {
    if stream.write_all(&request.bytes()).await.is_err() {
        refuse(tcp, by_socks, Status::Other).await;
        return Err(Reply::new(Status::Other, "the session failed"));
    }
    if !by_socks {
        return pump(tcp, stream, true, Waiting::default(), within).await;
    }
    let answer = timeout(ANSWER, Reply::expect(&mut stream)).await;
    if let Err(reply) = answer.unwrap_or_else(|_| Err(no_answer())) {
        refuse(tcp, true, reply.status).await;
        return Err(reply);
    }
    match socks::reply(&mut tcp, Status::Done).await {
        Ok(()) => pump(tcp, stream, false, Waiting::default(), within).await,
        Err(_) => Ok(Outcome::Ended(Ended::Broken)),
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

/// Carries a connection to a target for a stream that the peer opened, after what waits.
pub(super) async fn connected(
    tcp: TcpStream,
    mut stream: Stream,
    waiting: Waiting,
    within: Within<'_>,
) -> Outcome {
    let done = Reply::new(Status::Done, "");
    if stream.write_all(&done.bytes()).await.is_err() {
        reset(tcp);
        return Outcome::Ended(Ended::Broken);
    }
    go_on(tcp, stream, waiting, within).await
}

/// Asks the peer over a stream of another session to go on with a connection.
///
/// # Errors
/// The peer refuses. Without an error and without a stream, the session has failed.
pub(super) async fn ask_to_resume(
    token: &str,
    mut stream: Stream,
) -> Result<Option<Stream>, Reply> {
    let request = Request::Resume(token.to_owned());
    if stream.write_all(&request.bytes()).await.is_err() {
        return Ok(None);
    }
    match timeout(ANSWER, Reply::read(&mut stream)).await {
        Ok(Ok(reply)) => reply.good().map(|_| Some(stream)),
        Ok(Err(WireError::Stream(_))) => Ok(None),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(no_answer()),
    }
}

/// Goes on with a connection over this stream of another session.
pub(super) async fn resumed(parked: Parked, stream: Stream, within: Within<'_>) -> Outcome {
    drop(parked.stream);
    go_on(parked.tcp, stream, parked.waiting, within).await
}

/// Carries a connection of which the peer has said that there is one.
async fn go_on(tcp: TcpStream, stream: Stream, waiting: Waiting, within: Within<'_>) -> Outcome {
    let carried = pump(tcp, stream, false, waiting, within).await;
    carried.unwrap_or(Outcome::Ended(Ended::Broken))
}

/// Carries both directions to their ends, after the peer's reply if that is still to come, or until the connection
/// leaves its session.
async fn pump(
    mut tcp: TcpStream,
    stream: Stream,
    reply_to_come: bool,
    waiting: Waiting,
    Within { moving, counts }: Within<'_>,
) -> Result<Outcome, Reply> {
    let place = moving.enter(stream.id().0);
    let (mut read, mut write) = stream.into_split();
    // Should this process be killed, the kernel closes the connection: with a reset, not with an end.
    let _ = tcp.set_zero_linger();
    let carried = {
        let (mut tcp_read, mut tcp_write) = tcp.split();
        let Waiting { inward: early, out } = waiting;
        let mut out = pin!(outward(&mut tcp_read, &mut write, out, counts, &place));
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
        place.ready();
        let inward = inward(&mut read, &mut tcp_write, early, counts, &place);
        match (answer, out_ended) {
            (Err(reply), _) => Err(reply),
            (Ok(_), Some(Err(broke))) => Ok(Err(broke)),
            (Ok(_), Some(Ok(out))) => Ok(inward.await.map(|inward| Waiting { inward, out })),
            (Ok(_), None) => {
                let both = tokio::try_join!(inward, out);
                Ok(both.map(|(inward, out)| Waiting { inward, out }))
            }
        }
    };
    match carried {
        Ok(Ok(rest)) => Ok(match place.leave().await {
            Some(token) => Outcome::Moved(Parked {
                tcp,
                token,
                waiting: rest,
                stream: (read, write),
            }),
            None => {
                // What the program has not read yet still arrives.
                let _ = SockRef::from(&tcp).set_linger(None);
                Outcome::Ended(Ended::Done)
            }
        }),
        failed => {
            write.reset(BROKEN);
            read.stop(BROKEN);
            failed.map(|_| Outcome::Ended(Ended::Broken))
        }
    }
}

/// Carries what the program writes, after these bytes, to its end, or until the connection leaves its session; returns
/// what the stream has not taken then.
async fn outward(
    tcp: &mut TcpRead<'_>,
    stream: &mut WriteHalf,
    unsent: Vec<u8>,
    counts: &Carried<'_>,
    place: &Place<'_>,
) -> Result<Vec<u8>, Broke> {
    let mut asked = pin!(place.asked());
    let (mut written, mut stays) = (0, false);
    let (mut buffer, mut begin) = (unsent, 0);
    loop {
        let is_waiting = begin < buffer.len();
        if !is_waiting {
            begin = 0;
            empty(&mut buffer);
        }
        let step = async {
            match is_waiting {
                true => {
                    let taken = stream.write(&buffer[begin..]).await;
                    taken.map_err(|_| Broke::Stream)
                }
                false => tcp.read(&mut buffer).await.map_err(|_| Broke::Tcp),
            }
        };
        let len = tokio::select! {
            len = step => len?,
            () = &mut asked, if !stays => {
                if !is_waiting {
                    buffer.clear();
                }
                place.paused(written);
                if place.moves().await.is_some() {
                    return Ok(buffer.split_off(begin));
                }
                stays = true;
                continue;
            }
        };
        match is_waiting {
            true => {
                begin += len;
                written += len as u64;
                counts.out(len);
            }
            false if len == 0 => {
                place.paused(written);
                let finished = stream.finish().map(|()| Vec::new());
                return finished.map_err(|_| Broke::Stream);
            }
            false => buffer.truncate(len),
        }
    }
}

/// Carries what the peer writes, after the bytes that wait, to its end, or until the connection leaves its session;
/// returns what the program has not taken then.
async fn inward(
    stream: &mut ReadHalf,
    tcp: &mut TcpWrite<'_>,
    waiting: Vec<u8>,
    counts: &Carried<'_>,
    place: &Place<'_>,
) -> Result<Vec<u8>, Broke> {
    let mut moves = pin!(async {
        match place.moves().await {
            Some(bytes) => bytes,
            None => pending().await,
        }
    });
    // What the peer has written at all, once the connection moves.
    let mut all = None;
    let mut read = 0;
    let (mut buffer, mut begin) = (waiting, 0);
    while all.is_none() {
        if begin < buffer.len() {
            let written = tokio::select! {
                written = tcp.write(&buffer[begin..]) => written,
                bytes = &mut moves => {
                    all = Some(bytes);
                    continue;
                }
            };
            match written {
                Ok(0) | Err(_) => return Err(Broke::Tcp),
                Ok(len) => {
                    begin += len;
                    counts.inward(len);
                }
            }
            continue;
        }
        begin = 0;
        empty(&mut buffer);
        let len = tokio::select! {
            len = stream.read(&mut buffer) => len.map_err(|_| Broke::Stream)?,
            bytes = &mut moves => {
                buffer.clear();
                all = Some(bytes);
                continue;
            }
        };
        buffer.truncate(len);
        read += len as u64;
        if len == 0 {
            let shut = tcp.shutdown().await;
            return shut.map(|()| buffer).map_err(|_| Broke::Tcp);
        }
    }
    // Nothing more is written here: a program that does not read would make the move wait.
    let mut rest = buffer.split_off(begin);
    let left = all.unwrap_or(read).saturating_sub(read);
    if !place.has_room(left.saturating_add(rest.len() as u64)) {
        return Err(Broke::Stream);
    }
    match stream.take(left).read_to_end(&mut rest).await {
        Ok(len) if len as u64 == left => Ok(rest),
        _ => Err(Broke::Stream),
    }
}

/// Room for one read, and no more.
fn empty(buffer: &mut Vec<u8>) {
    if buffer.capacity() > CHUNK {
        *buffer = Vec::new();
    }
    buffer.resize(CHUNK, 0);
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
