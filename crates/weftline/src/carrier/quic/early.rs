//! Data along with the first packets of a known peer (QUIC's 0-RTT, RFC 9001 section 4.6).
//!
//! An attacker who has recorded such packets can send them again. The TLS library makes each ticket good
//! for one handshake, kept in this process's memory, so a copy is not understood after the
//! original. A copy that comes *first* would be; the original is then refused as early data, and
//! an honest client sends the same once more, under the handshake's keys. That must not be taken
//! too, so the [`Guard`] remembers the client's first connection ID, to which its early packets
//! are bound by their encryption, until the handshake has proved that the client is live.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quinn::{ConnectionId, VarInt, ZeroRttAccepted};
use tokio::sync::watch;
use tokio::time::timeout;

use super::super::TIMED_OUT;
use crate::lock::lock;

/// A client gives a handshake up after this at the latest.
pub(super) const LONGEST: Duration = Duration::from_secs(60);
/// Handshakes that never ended are remembered for longer than their clients try.
const REMEMBERED: Duration = Duration::from_secs(150);
/// Beyond this, further early data is refused: the client sends it again after the handshake.
const MOST: usize = 1024;

/// How a handshake has ended during which data went already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The peer is there; `taken` tells a client whether its early data was.
    Confirmed {
        taken: bool,
    },
    Failed,
    TimedOut,
}

/// A handshake during which data goes already.
#[derive(Clone, Debug)]
pub(super) struct Handshake(watch::Receiver<Option<Outcome>>);

impl Handshake {
    /// Waits for its end, for `limit` at most, and calls `done` then.
    pub(super) fn watch(
        connection: &quinn::Connection,
        accepted: ZeroRttAccepted,
        limit: Duration,
        done: impl FnOnce(Outcome) + Send + 'static,
    ) -> Self {
        let (tell, outcome) = watch::channel(None);
        let connection = connection.clone();
        tokio::spawn(async move {
            let outcome = match timeout(limit, accepted).await {
                // A server is told nothing but that the handshake has ended.
                Ok(taken) => match connection.close_reason() {
                    Some(_) if !taken => Outcome::Failed,
                    _ => Outcome::Confirmed {
                        taken: taken || connection.side().is_server(),
                    },
                },
                Err(_) => Outcome::TimedOut,
            };
            done(outcome);
            tell.send_replace(Some(outcome));
            if outcome == Outcome::TimedOut {
                let code = VarInt::from_u64(TIMED_OUT).unwrap_or(VarInt::MAX);
                connection.close(code, b"the handshake took too long");
            }
        });
        Handshake(outcome)
    }

    /// How it ended, if it has.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        *self.0.borrow()
    }

    /// Waits for its end.
    pub(super) async fn ended(&self) -> Outcome {
        let mut outcome = self.0.clone();
        let ended = outcome.wait_for(Option::is_some).await;
        ended.ok().and_then(|o| *o).unwrap_or(Outcome::Failed)
    }
}

/// Remembers early data that may have been accepted although no client proved that it is live.
#[derive(Clone, Default)]
pub(super) struct Guard(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    ids: HashSet<ConnectionId>,
    order: VecDeque<(Instant, ConnectionId)>,
}

/// What may be done with a client's first packet.
pub(super) enum Admission {
    /// Its early data may be taken.
    Early(Pass),
    /// It may not, but the client may come in.
    Plain,
    /// Early data under this ID may have been taken before.
    Replay,
}

/// A handshake that the guard remembers, until this is dropped: the client is there, or nothing of it
/// was taken, and its packets may come again.
pub(super) struct Pass {
    guard: Guard,
    id: ConnectionId,
    kept: bool,
}

impl Guard {
    /// A client that drew this connection ID wants in.
    pub(super) fn enter(&self, id: ConnectionId, now: Instant) -> Admission {
        let mut seen = lock(&self.0);
        while let Some((at, oldest)) = seen.order.front().copied()
            && now.duration_since(at) >= REMEMBERED
        {
            seen.order.pop_front();
            seen.ids.remove(&oldest);
        }
        if seen.ids.contains(&id) {
            Admission::Replay
        } else if seen.order.len() >= MOST {
            Admission::Plain
        } else {
            seen.ids.insert(id);
            seen.order.push_back((now, id));
            Admission::Early(Pass {
                guard: self.clone(),
                id,
                kept: false,
            })
        }
    }
}

impl Pass {
    /// Data may have been accepted from a client that did not prove that it is live.
    pub(super) fn remember(mut self) {
        self.kept = true;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if !self.kept {
            let mut seen = lock(&self.guard.0);
            seen.ids.remove(&self.id);
            seen.order.retain(|(_, id)| *id != self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> ConnectionId {
        ConnectionId::new(&number.to_be_bytes())
    }

    fn pass(admission: Admission) -> Pass {
        match admission {
            Admission::Early(pass) => pass,
            _ => panic!("early data should be taken"),
        }
    }

    #[test]
    fn what_may_have_been_taken_is_not_taken_again_until_nobody_tries_any_more() {
        let (guard, now) = (Guard::default(), Instant::now());
        pass(guard.enter(id(1), now)).remember();
        let later = now + REMEMBERED - Duration::from_millis(1);
        assert!(REMEMBERED > 2 * LONGEST);
        assert!(matches!(guard.enter(id(1), later), Admission::Replay));
        pass(guard.enter(id(2), later)).remember();
        pass(guard.enter(id(1), now + REMEMBERED)).remember();
    }

    #[test]
    fn a_client_that_is_there_leaves_nothing_behind() {
        let (guard, now) = (Guard::default(), Instant::now());
        drop(pass(guard.enter(id(1), now)));
        drop(pass(guard.enter(id(1), now)));
        assert!(lock(&guard.0).ids.is_empty() && lock(&guard.0).order.is_empty());
    }

    #[test]
    fn a_full_list_refuses_early_data_rather_than_forgetting_any() {
        let (guard, now) = (Guard::default(), Instant::now());
        for number in 0..MOST as u32 {
            pass(guard.enter(id(number), now)).remember();
        }
        assert!(matches!(guard.enter(id(5000), now), Admission::Plain));
        assert!(matches!(guard.enter(id(0), now), Admission::Replay));
    }
}
