//! How connections leave a session whose server stops, so that its next start goes on with them.
//!
//! Each end pauses what it reads from TCP, tells how many bytes it has written to each stream, and reads as many
//! from the peer. Then both ends hold TCP connections between which nothing is under way.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use weftline::{Fingerprint, ReadHalf, WriteHalf};

use super::wire::WireError;
use crate::lock::lock;

/// How long connections may take to be made.
const MADE: Duration = Duration::from_secs(1);
/// How long connections may take to pause.
const PAUSE: Duration = Duration::from_secs(3);
/// How long connections may take to read what the peer has written.
pub(super) const ARRIVE: Duration = Duration::from_secs(10);
/// How long a connection waits for a session that goes on with it.
pub(super) const WAITS: Duration = match cfg!(test) {
    true => Duration::from_secs(3),
    false => Duration::from_secs(60),
};
/// Most bytes that connections which move may hold together, beside what the kernel holds.
const MOST_HELD: u64 = 256 << 20;
/// Most connections of a session that move.
const MOST: u32 = 16_384;

/// Bytes that were written to streams, by their numbers.
pub(super) type Written = BTreeMap<u64, u64>;

/// The connections of one session, and whether they are to leave it.
#[derive(Debug)]
pub(super) struct Moving {
    room: Room,
    asked: watch::Sender<bool>,
    seats: Mutex<BTreeMap<u64, Seat>>,
    changed: Notify,
    /// What moves, once that is known.
    moved: watch::Sender<Option<Moved>>,
}

/// Bytes that connections which move may still hold, those of one session or of a whole server.
#[derive(Clone, Debug)]
pub(super) struct Room(Arc<AtomicU64>);

impl Default for Room {
    fn default() -> Self {
        Room(Arc::new(AtomicU64::new(MOST_HELD)))
    }
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
    pub(super) waiting: Waiting,
    /// Kept until the session is over: without it the peer could not read what was written.
    pub(super) stream: Halves,
}

/// Bytes between a connection and its stream, which neither has taken yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// From the peer to the connection.
    pub inward: Vec<u8>,
    /// From the connection to the peer.
    pub out: Vec<u8>,
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
    /// What waits for either end.
    pub waiting: Waiting,
    /// The connection. To close it resets it, so that the other end cannot take that for a normal end.
    pub tcp: std::net::TcpStream,
}

impl Moving {
    /// A session without connections.
    pub(super) fn new(room: Room) -> Self {
        Moving {
            room,
            asked: watch::Sender::default(),
            seats: Mutex::default(),
            changed: Notify::new(),
            moved: watch::Sender::default(),
        }
    }

    /// Asks all connections to pause, and waits until they do, for a bounded time.
    pub(super) async fn pause(&self) {
        self.asked.send_replace(true);
        // Those that are being made are given a moment; those that have not paused then stay.
        let all = self.until(|seat| seat.is_ready && seat.written.is_some());
        if timeout(MADE, all).await.is_err() {
            let made = self.until(|seat| !seat.is_ready || seat.written.is_some());
            let _ = timeout(PAUSE, made).await;
        }
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

    /// None moves, unless it is known already which do.
    pub(super) fn give_up(&self) {
        self.moved.send_if_modified(|moved| {
            let is_open = moved.is_none();
            moved.get_or_insert_with(|| Moved {
                key: String::new(),
                theirs: Arc::default(),
            });
            is_open
        });
    }

    /// Waits until those that move have read what the peer has written, for a bounded time.
    pub(super) async fn parked(&self) {
        let _ = timeout(ARRIVE, self.until(|seat| !seat.is_claimed)).await;
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

    /// Takes room for bytes that the connection holds when it has moved, if there is some.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        let room = &self.moving.room.0;
        let less = |left: u64| left.checked_sub(bytes);
        room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
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
        let moving = Moving::new(Room::default());
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
