//! Where clients knock: handshakes get places, or are turned away.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use quinn::Incoming;
use tokio::task::JoinSet;

use super::super::canonical;
use super::crowd::{Crowd, Entry, Place};
use crate::lock::lock;
use crate::{EndpointConfig, Monitor, Refusal};

/// A client's answer is waited for this long: several round trips of a bad path.
pub(crate) const FINISH_WITHIN: Duration = Duration::from_secs(5);

/// The gate of a port. Clones are handles to the same.
#[derive(Clone)]
pub(crate) struct Gate {
    crowd: Arc<Mutex<Crowd>>,
    monitor: Monitor,
}

/// The place of a handshake, until this is dropped.
pub(crate) struct Seat {
    gate: Gate,
    place: Place,
    /// The peer may come in: its address gets back what it took.
    pub(crate) welcome: bool,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.gate.crowd().leave(self.place, self.welcome);
        self.gate.monitor.handshake_ends();
    }
}

impl Gate {
    pub(crate) fn new(config: &EndpointConfig) -> Self {
        Gate {
            crowd: Arc::new(Mutex::new(Crowd::new(config.max_handshakes))),
            monitor: config.monitor.clone(),
        }
    }

    /// Gives the handshake of `incoming` a place and spawns `greet` with it, unless the peer must
    /// first prove that its address is its own, or has too many handshakes that it does not finish.
    pub(crate) fn admit<F>(
        &self,
        incoming: Incoming,
        tasks: &mut JoinSet<()>,
        greet: impl FnOnce(Incoming, Seat) -> F,
    ) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let addr = incoming.remote_address();
        let proved = incoming.remote_address_validated();
        let mut crowd = self.crowd();
        let entry = crowd.enter(addr.ip(), proved, Instant::now());
        let given_up = std::mem::take(&mut crowd.given_up);
        drop(crowd);
        (0..given_up).for_each(|_| self.monitor.unfinished());
        match entry {
            Entry::Place(place) => {
                self.monitor.handshake_begins();
                let seat = Seat {
                    gate: self.clone(),
                    place,
                    welcome: false,
                };
                let task = tasks.spawn(greet(incoming, seat));
                self.crowd().occupy(place, task);
                Ok(())
            }
            Entry::Prove => {
                // This fails only for a client that has answered a Retry before.
                incoming.retry().ok();
                Ok(())
            }
            Entry::TooMany => {
                incoming.refuse();
                Err(Refusal::Crowded {
                    addr: canonical(addr),
                })
            }
        }
    }

    fn crowd(&self) -> MutexGuard<'_, Crowd> {
        lock(&self.crowd)
    }
}
