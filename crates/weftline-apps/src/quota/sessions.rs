//! What the sessions of a server hold, and which one ends when that is too much.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use super::{OverLimit, Quota, Share, Who};
use crate::lock::lock;

/// Bytes that a session counts with from its start, beside what it holds: its carrier and its tasks.
const RESERVED: u64 = 1_000_000;
/// Time between two checks.
pub(crate) const CHECK: Duration = Duration::from_secs(1);

/// The sessions of a server, and the memory that they share with whatever else takes some.
#[derive(Debug)]
pub(crate) struct Sessions {
    pub(crate) memory: Arc<Quota>,
    seats: Mutex<Seats>,
}

#[derive(Debug, Default)]
struct Seats {
    next: u64,
    all: HashMap<u64, Seat>,
}

struct Seat {
    share: Share,
    held: Box<dyn Fn() -> u64 + Send>,
    over: watch::Sender<Option<OverLimit>>,
}

impl std::fmt::Debug for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.share.fmt(f)
    }
}

/// A session's place; keep it as long as the session holds anything.
#[derive(Debug)]
pub(crate) struct Place {
    sessions: Arc<Sessions>,
    number: u64,
    over: watch::Receiver<Option<OverLimit>>,
}

impl Sessions {
    pub(crate) fn new(memory: Arc<Quota>) -> Arc<Self> {
        Arc::new(Sessions {
            memory,
            seats: Mutex::default(),
        })
    }

    /// Lets a session of a client in; `held` says how many bytes it holds.
    ///
    /// # Errors
    /// There is no room for a further session.
    pub(crate) fn enter(
        self: &Arc<Self>,
        who: Who,
        held: impl Fn() -> u64 + Send + 'static,
    ) -> Result<Place, OverLimit> {
        let share = self.memory.take(who, RESERVED)?;
        let (told, over) = watch::channel(None);
        let seat = Seat {
            share,
            held: Box::new(held),
            over: told,
        };
        let mut seats = lock(&self.seats);
        let number = seats.next;
        seats.next += 1;
        seats.all.insert(number, seat);
        Ok(Place {
            sessions: self.clone(),
            number,
            over,
        })
    }

    /// Counts what the sessions hold now. As long as a client, or all together, have more than the
    /// limit, the session that holds the most must end.
    pub(crate) fn check(&self) {
        let seats = &mut lock(&self.seats).all;
        seats.values_mut().for_each(Seat::count);
        while let Some((who, over)) = self.memory.excess() {
            let concerned = seats.values_mut().filter(|seat| !seat.is_ending());
            let concerned = concerned.filter(|seat| who.is_none_or(|who| seat.share.who == who));
            match concerned.max_by_key(|seat| seat.share.amount) {
                Some(most) => most.end(over),
                None => return,
            }
        }
    }
}

impl Seat {
    fn is_ending(&self) -> bool {
        self.over.borrow().is_some()
    }

    fn count(&mut self) {
        if !self.is_ending() {
            self.share.set(RESERVED.saturating_add((self.held)()));
        }
    }

    /// What the session holds goes with it, in a moment.
    fn end(&mut self, over: OverLimit) {
        self.share.set(0);
        self.over.send_replace(Some(over));
    }
}

impl Place {
    /// Waits until the session must end, because it holds the most and that is too much.
    pub(crate) async fn over(&self) -> OverLimit {
        let mut over = self.over.clone();
        let told = over.wait_for(Option::is_some).await.ok();
        match told.and_then(|over| *over) {
            Some(over) => over,
            // The place is there, so its sender is too.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let seat = lock(&self.sessions.seats).all.remove(&self.number);
        // Not under the lock: it may hold the last handle of a connection.
        drop(seat);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use weftline::Fingerprint;

    use super::*;
    use crate::quota::Memory;

    const MEGABYTE: u64 = 1_000_000;

    fn client(name: u64) -> Who {
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&name.to_be_bytes());
        Who::Key(Fingerprint::from(bytes))
    }

    /// Sessions that hold what the test says.
    struct World {
        sessions: Arc<Sessions>,
        all: Vec<(Place, Arc<AtomicU64>)>,
    }

    impl World {
        /// With these limits in megabytes.
        fn new(each: u64, all: u64) -> Self {
            let (each, all) = (each * MEGABYTE, all * MEGABYTE);
            World {
                sessions: Sessions::new(Memory { each, all }.quota()),
                all: Vec::new(),
            }
        }

        /// Lets in a session that holds this number of megabytes.
        fn enter(&mut self, who: Who, megabytes: u64) {
            let held = Arc::new(AtomicU64::new(megabytes * MEGABYTE));
            let counted = held.clone();
            let place = self
                .sessions
                .enter(who, move || counted.load(Ordering::Relaxed));
            self.all.push((place.unwrap(), held));
        }

        fn holds(&self, session: usize, megabytes: u64) {
            let bytes = megabytes * MEGABYTE;
            self.all[session].1.store(bytes, Ordering::Relaxed);
        }

        /// Checks; says which sessions were ended until now.
        fn ended(&self) -> Vec<usize> {
            self.sessions.check();
            let ended = |session: &usize| self.all[*session].0.over.borrow().is_some();
            (0..self.all.len()).filter(ended).collect()
        }

        fn reason(&self, session: usize) -> String {
            self.all[session].0.over.borrow().unwrap().to_string()
        }
    }

    #[test]
    fn hundreds_of_sessions_fit_with_the_defaults() {
        let sessions = Sessions::new(Memory::default().quota());
        let enter = |n: u64| sessions.enter(client(n), || 2 * MEGABYTE).unwrap();
        let all: Vec<Place> = (0..1000).map(enter).collect();
        sessions.check();
        assert!(all.iter().all(|place| place.over.borrow().is_none()));
        let refused = sessions.enter(client(1000), || 0).is_ok();
        assert!(refused, "3,000 of 4,000 MB are taken");
    }

    #[test]
    fn the_session_of_a_client_that_holds_the_most_ends_and_the_others_go_on() {
        let mut world = World::new(20, 1000);
        for megabytes in [4, 7, 2] {
            world.enter(client(1), megabytes);
        }
        world.enter(client(2), 15);
        assert!(world.ended().is_empty());
        // A session more than fits; of the client, not of all.
        world.holds(2, 8);
        assert_eq!(world.ended(), [2]);
        let reason = world.reason(2);
        assert_eq!(
            reason,
            "this session holds the most, and this client has all that the server allows it: 20 MB of \
             memory (--client-memory of the server)"
        );
        // What the ended one held has been given back, even before it is gone.
        world.enter(client(1), 1);
        assert_eq!(world.ended(), [2]);
        // Two at once, if one is not enough.
        world.holds(0, 30);
        world.holds(1, 40);
        assert_eq!(world.ended(), [0, 1, 2]);
    }

    #[test]
    fn all_sessions_have_a_limit_too_and_what_ends_makes_room() {
        let mut world = World::new(20, 30);
        for name in 0..3 {
            world.enter(client(name), 9);
        }
        assert!(world.ended().is_empty());
        let full = world
            .sessions
            .enter(client(3), || 0)
            .unwrap_err()
            .to_string();
        assert!(
            full.ends_with("30 MB of memory (--memory of the server)"),
            "{full}"
        );
        world.holds(1, 10);
        assert_eq!(world.ended(), [1]);
        assert!(
            world
                .reason(1)
                .contains("the clients of the server have all")
        );
        world.all.remove(1);
        world.enter(client(3), 8);
        assert!(world.ended().is_empty());
        world.all.clear();
        assert_eq!(world.sessions.memory.taken(), (0, 0));
    }
}
