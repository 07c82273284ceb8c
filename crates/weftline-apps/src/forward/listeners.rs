//! The server end's listeners for its clients.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::sleep;
use weftline::Fingerprint;

use super::bounds::MOST_RULES;
use super::wire::{Reply, Status};
use crate::lock::lock;

/// Pause after a failure that may be temporary.
pub(super) const PAUSE: Duration = Duration::from_millis(100);
/// Attempts to bind an address that an older session had.
const TRIES: usize = 20;
/// Most listeners of all clients together.
const MOST: usize = 16 * MOST_RULES;

/// The client that listens on each address.
#[derive(Default)]
pub(super) struct Listeners {
    held: Mutex<HashMap<SocketAddr, Held>>,
}

struct Held {
    peer: Option<Fingerprint>,
    taken: Arc<Notify>,
}

/// A listener; give it back with [`Listeners::close`].
pub(super) struct Open {
    pub(super) listener: TcpListener,
    /// The address that it listens on.
    pub(super) local: SocketAddr,
    /// Signals that the same client wants the address for a newer session.
    pub(super) taken: Arc<Notify>,
}

impl Listeners {
    /// Listens for a client. An address of an older session of the same client is handed over:
    /// that session may be dead without this end knowing.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub(super) async fn open(
        &self,
        at: SocketAddr,
        peer: Option<Fingerprint>,
    ) -> Result<Open, Reply> {
        let mut taken_over = false;
        if let Some(held) = lock(&self.held).get(&at) {
            if held.peer != peer {
                let text = format!("another client listens on {at}");
                return Err(Reply::new(Status::Other, text));
            }
            held.taken.notify_one();
            taken_over = true;
        }
        let tries = if taken_over { TRIES } else { 1 };
        for last in (0..tries).rev() {
            match TcpListener::bind(at).await {
                Ok(listener) => return self.hold(listener, at, peer),
                Err(error) if error.kind() == ErrorKind::AddrInUse && last > 0 => {
                    sleep(PAUSE).await;
                }
                Err(error) => {
                    let text = format!("cannot listen on {at}: {error}");
                    return Err(Reply::new(Status::Other, text));
                }
            }
        }
        let text = format!("cannot listen on {at}: it is in use");
        Err(Reply::new(Status::Other, text))
    }

    fn hold(
        &self,
        listener: TcpListener,
        at: SocketAddr,
        peer: Option<Fingerprint>,
    ) -> Result<Open, Reply> {
        let local = listener.local_addr().unwrap_or(at);
        let taken = Arc::new(Notify::new());
        let mut held = lock(&self.held);
        if held.len() >= MOST {
            return Err(Reply::new(Status::TooMany, "too many listeners"));
        }
        let taken_too = taken.clone();
        held.insert(local, Held { peer, taken });
        Ok(Open {
            listener,
            local,
            taken: taken_too,
        })
    }

    /// Closes the listener.
    pub(super) fn close(&self, open: Open) {
        let mut held = lock(&self.held);
        if held
            .get(&open.local)
            .is_some_and(|h| Arc::ptr_eq(&h.taken, &open.taken))
        {
            held.remove(&open.local);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_is_handed_over_to_the_same_client_only() {
        let listeners = Listeners::default();
        let (one, other) = (Fingerprint::from([1; 20]), Fingerprint::from([2; 20]));
        let any = "127.0.0.1:0".parse().unwrap();
        let old = listeners.open(any, Some(one)).await.unwrap();
        let at = old.local;
        let refused = listeners.open(at, Some(other)).await.err().unwrap();
        assert!(refused.text.contains("another client"), "{refused}");
        let giving_up = async {
            old.taken.notified().await;
            listeners.close(old);
        };
        let (new, ()) = tokio::join!(listeners.open(at, Some(one)), giving_up);
        let new = new.unwrap();
        assert_eq!(new.local, at);
        listeners.close(new);
        let free = listeners.open(at, Some(other)).await.unwrap();
        listeners.close(free);
        assert!(lock(&listeners.held).is_empty());
    }
}
