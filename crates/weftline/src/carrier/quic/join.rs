//! A further connection joins a session: it becomes one of its paths.
//!
//! Both ends derive a name and a secret from the keys of the session's first connection. On the new
//! connection, whose handshake has proved both identities again, the client shows the name, and that it
//! knows the secret, by an HMAC over keying material of this very connection: what somebody has seen
//! on one connection is worth nothing on another. The server answers with a proof of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use aws_lc_rs::hmac;
use bytes::Bytes;
use quinn::VarInt;
use tokio::time::{Instant, timeout_at};

use super::super::{PATH_REFUSED, canonical};
use super::link::Link;
use crate::lock::lock;
use crate::shared::Shared;
use crate::{Fingerprint, PathError, Refusal};

/// First bytes of the datagrams of a join: they follow those of the engine's kinds.
const JOIN: u8 = 0x0c;
const JOINED: u8 = 0x0d;

/// Labels of keying material (RFC 8446, section 7.5), of the session's first connection...
const NAME: &[u8] = b"EXPORTER-weftline session name";
const SECRET: &[u8] = b"EXPORTER-weftline session secret";
/// ...and of the one that joins.
const BY_CLIENT: &[u8] = b"EXPORTER-weftline path client";
const BY_SERVER: &[u8] = b"EXPORTER-weftline path server";

/// A JOIN that is not answered is sent again after a round trip and a half, but not sooner than
/// this, and then after twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The client is not told which of the checks failed.
const NO_SUCH_SESSION: &str = "this connection belongs to no session here";

pub(crate) type Name = [u8; 16];
type Proof = [u8; 32];

/// What the two ends of a session know, and nobody else.
#[derive(Clone)]
pub(crate) struct Bond {
    pub(crate) name: Name,
    secret: [u8; 32],
}

impl Bond {
    /// That of the session which this connection began.
    pub(super) fn of(first: &Link) -> Option<Bond> {
        Some(Bond {
            name: export(first, NAME)?,
            secret: export(first, SECRET)?,
        })
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.secret)
    }

    fn prove(&self, link: &Link, label: &[u8]) -> Option<Proof> {
        let material: [u8; 32] = export(link, label)?;
        hmac::sign(&self.key(), &material).as_ref().try_into().ok()
    }

    /// Compares in constant time.
    fn is_proved(&self, link: &Link, label: &[u8], proof: &Proof) -> bool {
        let material: Option<[u8; 32]> = export(link, label);
        material.is_some_and(|m| hmac::verify(&self.key(), &m, proof).is_ok())
    }
}

fn export<const N: usize>(link: &Link, label: &[u8]) -> Option<[u8; N]> {
    let mut output = [0; N];
    let exported = link.export_keying_material(&mut output, label, b"");
    exported.ok().map(|()| output)
}

/// What a client asks for.
struct Join {
    name: Name,
    proof: Proof,
    cost: u8,
}

impl Join {
    fn write(&self) -> Bytes {
        [&[JOIN][..], &self.name, &self.proof, &[self.cost]]
            .concat()
            .into()
    }

    fn read(datagram: &[u8]) -> Option<Join> {
        let (name, rest) = datagram.strip_prefix(&[JOIN])?.split_first_chunk()?;
        let (proof, rest) = rest.split_first_chunk()?;
        let &[cost] = rest else { return None };
        Some(Join {
            name: *name,
            proof: *proof,
            cost,
        })
    }
}

fn joined(proof: &Proof) -> Bytes {
    [&[JOINED][..], proof].concat().into()
}

/// The sessions of a server that may get further paths, by their names.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<Name, Member>>);

struct Member {
    bond: Bond,
    peer: Fingerprint,
    shared: Weak<Shared>,
}

impl Sessions {
    pub(crate) fn add(&self, bond: Bond, peer: Fingerprint, shared: &Arc<Shared>) {
        let member = Member {
            peer,
            shared: Arc::downgrade(shared),
            bond,
        };
        lock(&self.0).insert(member.bond.name, member);
    }

    pub(crate) fn remove(&self, name: &Name) {
        lock(&self.0).remove(name);
    }

    /// The session that `join`, which came on `link`, belongs to.
    fn find(&self, link: &Link, join: &Join) -> Option<(Arc<Shared>, Bond)> {
        let sessions = lock(&self.0);
        let member = sessions.get(&join.name)?;
        let belongs =
            member.peer == link.peer() && member.bond.is_proved(link, BY_CLIENT, &join.proof);
        let shared = member.shared.upgrade().filter(|_| belongs)?;
        Some((shared, member.bond.clone()))
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        lock(&self.0).len()
    }
}

/// A connection that has proved to belong to a session.
pub(crate) struct Joined {
    pub(crate) link: Link,
    pub(crate) session: Arc<Shared>,
    /// What the client says that this path costs.
    pub(crate) cost: u8,
}

impl Link {
    /// Waits until the client proves which session this connection belongs to; whatever comes before
    /// is dropped. It has one try.
    pub(super) async fn welcome(self, sessions: &Sessions) -> Result<Joined, Refusal> {
        let refusal = Refusal::Path {
            peer: self.peer(),
            addr: canonical(self.remote_addr()),
        };
        // A recording must not begin anything.
        let join = match self.is_early() {
            true => {
                // Until then QUIC hides from the peer what is said.
                self.confirmed().await.ok();
                None
            }
            false => self.asked().await,
        };
        let found = join.and_then(|join| Some((sessions.find(&self, &join)?, join.cost)));
        if let Some(((session, bond), cost)) = found
            && let Some(proof) = bond.prove(&self, BY_SERVER)
        {
            self.answer.set(joined(&proof)).ok();
            return Ok(Joined {
                link: self,
                session,
                cost,
            });
        }
        self.refuse(NO_SUCH_SESSION);
        Err(refusal)
    }

    async fn asked(&self) -> Option<Join> {
        loop {
            let datagram = self.wire.connection.read_datagram().await.ok()?;
            if let Some(join) = Join::read(&datagram) {
                return Some(join);
            }
        }
    }

    /// Ends a connection that wants to join.
    pub(crate) fn refuse(&self, reason: &str) {
        let code = VarInt::from_u64(PATH_REFUSED).unwrap_or(VarInt::MAX);
        self.wire.connection.close(code, reason.as_bytes());
    }

    /// Tells the client that it has joined, each time that it asks.
    pub(crate) fn tell_joined(&self) {
        if let Some(answer) = self.answer.get() {
            self.wire.connection.send_datagram(answer.clone()).ok();
        }
    }

    /// Takes out what is left of the join: the answer was lost, or came twice.
    pub(super) fn take_joins(&self, batch: &mut Vec<Bytes>) {
        let before = batch.len();
        batch.retain(|datagram| !matches!(datagram.first(), Some(&(JOIN | JOINED))));
        if batch.len() < before {
            self.tell_joined();
        }
    }

    /// Proves to the server that this connection belongs to the session of `bond`, and has the server
    /// prove it too.
    pub(crate) async fn join(&self, bond: &Bond, cost: u8) -> Result<(), PathError> {
        let refused = |reason: &str| PathError::Refused {
            addr: self.remote_addr(),
            reason: reason.to_owned(),
        };
        let proof = bond.prove(self, BY_CLIENT);
        let join = Join {
            name: bond.name,
            proof: proof.ok_or_else(|| refused("its keys cannot be used"))?,
            cost,
        };
        let join = join.write();
        let mut pause = (self.wire.connection.rtt() * 3 / 2).max(FIRST_PAUSE);
        loop {
            // An error is met again by reading.
            self.wire.connection.send_datagram(join.clone()).ok();
            let next = Instant::now() + pause;
            while let Ok(datagram) = timeout_at(next, self.wire.connection.read_datagram()).await {
                let datagram = datagram.map_err(|error| refused(&self.end(error).to_string()))?;
                let Some(Ok(proof)) = datagram.strip_prefix(&[JOINED]).map(TryInto::try_into)
                else {
                    continue;
                };
                return match bond.is_proved(self, BY_SERVER, proof) {
                    true => Ok(()),
                    false => Err(refused("it does not know this session")),
                };
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests;
