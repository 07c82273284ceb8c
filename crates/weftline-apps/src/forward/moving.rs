//! How connections leave a session whose server stops, so that its next start goes on with them.
//!
//! Each end pauses what it reads from TCP, tells how many bytes it has written to each stream, and reads as many
//! from the peer. Then both ends hold TCP connections between which nothing is under way.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use weftline::{Fingerprint, ReadHalf, WriteHalf};

use super::wire::WireError;
use crate::lock::lock;

/// How long connections may take to pause, and then to read what the peer has written.
pub(super) const PAUSE: Duration = Duration::from_secs(5);
/// How long a connection waits for a session that goes on with it.
pub(super) const WAITS: Duration = Duration::from_secs(60);
/// Most connections of a session that move.
const MOST: u32 = 16_384;

/// Bytes that were written to streams, by their numbers.
pub(super) type Written = BTreeMap<u64, u64>;

/// The connections of one session, and whether they are to leave it.
#[derive(Debug)]
pub(super) struct Moving {
    /// Most bytes of a connection that may be under way.
    most: u64,
    asked: watch::Sender<bool>,
    seats: Mutex<BTreeMap<u64, Seat>>,
    changed: Notify,
    /// What moves, once that is known.
    moved: watch::Sender<Option<Moved>>,
}

/// A connection, by the number of its stream.
#[derive(Debug, Default)]
struct Seat {
    /// The peer has said that there is a connection.
    is_ready: bool,
    /// Bytes written to the stream, now that no more follow for the time being.
    written: Option<u64>,
    /// The peer has been told so: the connection does not end before it is known whether it moves.
    is_claimed: bool,
}

#[derive(Clone, Debug)]
struct Moved {
    key: String,
    /// What the peer has written to each of the streams.
    theirs: Arc<Written>,
}

/// A stream that carries nothing more.
pub(super) type Halves = (ReadHalf, WriteHalf);

/// A connection that has left its session.
pub(super) struct Parked {
    pub(super) tcp: TcpStream,
    /// What another session calls it by.
    pub(super) token: String,
    /// Bytes of the peer that TCP has not taken yet.
    pub(super) waiting: Vec<u8>,
    /// Kept until the session is over: without it the peer could not read what was written.
    pub(super) stream: Halves,
}

/// A connection of a client that a stopping server leaves to its next start.
#[derive(Debug)]
pub struct Left {
    /// The client's fingerprint.
    pub peer: Fingerprint,
    /// What the client asks for.
    pub token: String,
    /// The target, or who has connected.
    pub to: String,
    /// Bytes of the client that the connection has not taken yet.
    pub waiting: Vec<u8>,
    /// The connection. Whoever closes it resets it.
    pub tcp: std::net::TcpStream,
}

impl Moving {
    /// A session without connections, each of which may have this many bytes under way.
    pub(super) fn new(most: usize) -> Self {
        Moving {
            most: most as u64,
            asked: watch::Sender::default(),
            seats: Mutex::default(),
            changed: Notify::new(),
            moved: watch::Sender::default(),
        }
    }

    /// Asks all connections to pause, and waits until they do, for a bounded time.
    pub(super) async fn pause(&self) {
        self.asked.send_replace(true);
        let paused = self.until(|seat| !seat.is_ready || seat.written.is_some());
        // Those that have not paused stay.
        let _ = timeout(PAUSE, paused).await;
    }

    /// What the connections have written that have paused and are among `those`; they wait for
    /// [`settle`](Self::settle).
    pub(super) fn claim(&self, those: impl Fn(u64) -> bool) -> Written {
        let mut seats = lock(&self.seats);
        let paused = seats.iter_mut().filter(|(stream, _)| those(**stream));
        let claimed = paused.filter_map(|(stream, seat)| {
            let written = seat.written.filter(|_| seat.is_ready)?;
            seat.is_claimed = true;
            Some((*stream, written))
        });
        claimed.collect()
    }

    /// Those move of which it is known what the peer has written; the others go on.
    pub(super) fn settle(&self, key: String, theirs: Written) {
        let theirs = Arc::new(theirs);
        self.moved.send_replace(Some(Moved { key, theirs }));
    }

    /// Waits until those that move have read what the peer has written, for a bounded time.
    pub(super) async fn parked(&self) {
        let _ = timeout(PAUSE, self.until(|seat| !seat.is_claimed)).await;
    }

    async fn until(&self, all: impl Fn(&Seat) -> bool) {
        loop {
            let changed = self.changed.notified();
            if lock(&self.seats).values().all(&all) {
                return;
            }
            changed.await;
        }
    }

    /// A connection with this stream.
    pub(super) fn enter(&self, stream: u64) -> Place<'_> {
        lock(&self.seats).insert(stream, Seat::default());
        Place {
            moving: self,
            stream,
        }
    }

    fn edit(&self, stream: u64, edit: impl FnOnce(&mut Seat)) {
        if let Some(seat) = lock(&self.seats).get_mut(&stream) {
            edit(seat);
        }
        self.changed.notify_waiters();
    }
}

/// A connection among those of its session.
pub(super) struct Place<'a> {
    moving: &'a Moving,
    stream: u64,
}

impl Place<'_> {
    /// The connection has been made.
    pub(super) fn ready(&self) {
        self.moving.edit(self.stream, |seat| seat.is_ready = true);
    }

    /// Waits until the connection is to pause.
    pub(super) async fn asked(&self) {
        let mut asked = self.moving.asked.subscribe();
        if asked.wait_for(|asked| *asked).await.is_err() {
            pending().await
        }
    }

    /// This many bytes were written to the stream, and nothing follows for the time being.
    pub(super) fn paused(&self, written: u64) {
        self.moving
            .edit(self.stream, |seat| seat.written = Some(written));
    }

    /// Waits until it is known whether the connection moves: how many bytes the peer has written to it then.
    pub(super) async fn moves(&self) -> Option<u64> {
        let mut moved = self.moving.moved.subscribe();
        let moved = moved.wait_for(Option::is_some).await.ok()?;
        let theirs = &moved.as_ref()?.theirs;
        theirs.get(&self.stream).copied()
    }

    /// Most bytes that the peer may have under way.
    pub(super) fn most(&self) -> u64 {
        self.moving.most
    }

    /// The connection has ended, or is parked: its token in the latter case. One of which the peer has been told
    /// that it may move is not over before that is known.
    pub(super) async fn leave(self) -> Option<String> {
        let is_claimed = {
            let mut seats = lock(&self.moving.seats);
            match seats.get(&self.stream) {
                Some(seat) if seat.is_claimed => true,
                _ => {
                    seats.remove(&self.stream);
                    false
                }
            }
        };
        if !is_claimed {
            return None;
        }
        self.moves().await?;
        let moved = self.moving.moved.borrow().clone()?;
        Some(format!("{}:{}", moved.key, self.stream))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        lock(&self.moving.seats).remove(&self.stream);
        self.moving.changed.notify_waiters();
    }
}

/// Encodes what was written: how many, then the number and the bytes of each.
pub(super) fn bytes(written: &Written) -> Vec<u8> {
    let mut out = (written.len() as u32).to_be_bytes().to_vec();
    for (stream, bytes) in written {
        out.extend_from_slice(&stream.to_be_bytes());
        out.extend_from_slice(&bytes.to_be_bytes());
    }
    out
}

/// Reads what the peer has written.
///
/// # Errors
/// The stream failed, or there are more than a session has.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Written, WireError> {
    let count = stream.read_u32().await?;
    if count > MOST {
        return Err(WireError::Malformed);
    }
    let mut written = Written::new();
    for _ in 0..count {
        let number = stream.read_u64().await?;
        written.insert(number, stream.read_u64().await?);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_written_round_trips_and_too_much_is_refused() {
        let written = Written::from([(4, 0), (8, u64::MAX)]);
        let encoded = bytes(&written);
        assert_eq!(read(&mut &encoded[..]).await.unwrap(), written);
        for short in 0..encoded.len() {
            let read = read(&mut &encoded[..short]).await;
            assert!(matches!(read, Err(WireError::Stream(_))), "{short}");
        }
        let many = (MOST + 1).to_be_bytes();
        let read = read(&mut &many[..]).await;
        assert!(matches!(read, Err(WireError::Malformed)));
    }

    #[tokio::test]
    async fn only_paused_connections_of_both_ends_move_and_no_claimed_one_ends_before() {
        let moving = Moving::new(1000);
        let (first, other, late) = (moving.enter(4), moving.enter(8), moving.enter(12));
        first.ready();
        first.paused(10);
        other.ready();
        other.paused(7);
        late.ready();
        late.paused(1);
        moving.pause().await;
        assert_eq!(
            moving.claim(|stream| stream != 12),
            [(4, 10), (8, 7)].into()
        );
        assert_eq!(late.leave().await, None);
        let leaving = tokio::join!(first.leave(), other.leave(), async {
            moving.settle("key".into(), [(4, 5)].into());
        });
        assert_eq!((leaving.0.as_deref(), leaving.1), (Some("key:4"), None));
        moving.parked().await;
    }
}
