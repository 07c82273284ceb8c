//! What the sessions of a port hold, and which one ends when that is too much.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;

use weftline::Connection;

use super::{Limit, Limits, OverLimit, Quota, Share, Unit, Who};
use crate::lock::lock;

/// Bytes that a session counts with from its start, beside what it holds: its carrier and its tasks.
const RESERVED: u64 = 1_000_000;

/// What the clients of a port may take, with all its services.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    memory: Arc<Quota>,
    sessions: Arc<Quota>,
    seats: Mutex<Seats>,
    turned_away: AtomicU64,
    ended: AtomicU64,
}

/// What a [`Budget`] allows, and what of it is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Usage {
    /// Most bytes of all clients together.
    pub memory: u64,
    /// Bytes that they have now.
    pub memory_taken: u64,
    /// Most bytes of one client.
    pub client_memory: u64,
    /// Most sessions of one client.
    pub client_sessions: u32,
    /// Most handshakes at once.
    pub handshakes: u32,
    /// Sessions now.
    pub sessions: u64,
    /// Clients now.
    pub clients: u64,
    /// Sessions that found no room.
    pub turned_away: u64,
    /// Sessions that were ended because they held the most.
    pub ended: u64,
}

#[derive(Debug, Default)]
struct Seats {
    next: u64,
    all: HashMap<u64, Seat>,
}

struct Seat {
    memory: Share,
    _session: Share,
    /// Each says how many bytes it holds.
    held: Vec<Held>,
    over: watch::Sender<Option<OverLimit>>,
}

type Held = Box<dyn Fn() -> u64 + Send>;

impl std::fmt::Debug for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.memory.fmt(f)
    }
}

/// A session's place; keep it as long as the session holds anything.
#[derive(Debug)]
pub struct Place {
    budget: Arc<Budget>,
    who: Who,
    number: u64,
    over: watch::Receiver<Option<OverLimit>>,
}

impl Budget {
    /// Time between two [checks](Self::check).
    pub const CHECK: Duration = Duration::from_secs(1);

    /// Nothing of these limits is taken.
    pub fn new(limits: Limits) -> Arc<Self> {
        let limit = |limit, option| Limit { limit, option };
        let memory = Quota::new(
            Unit::Bytes,
            limit(limits.client_memory, Some("--client-memory")),
            limit(limits.memory, Some("--memory")),
        );
        let sessions = Quota::new(
            Unit::Sessions,
            limit(limits.client_sessions.into(), Some("--client-sessions")),
            limit(u64::MAX, None),
        );
        Arc::new(Budget {
            limits,
            memory,
            sessions,
            seats: Mutex::default(),
            turned_away: AtomicU64::default(),
            ended: AtomicU64::default(),
        })
    }

    /// Lets a session in, which counts with what the connection holds.
    ///
    /// # Errors
    /// Its client has too many sessions, or there is no memory for a further one.
    pub fn enter(self: &Arc<Self>, connection: &Connection) -> Result<Place, OverLimit> {
        let counted = connection.clone();
        let place = self.seat(Who::of(connection), move || counted.held());
        if place.is_err() {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
        }
        place
    }

    fn seat(
        self: &Arc<Self>,
        who: Who,
        held: impl Fn() -> u64 + Send + 'static,
    ) -> Result<Place, OverLimit> {
        let session = self.sessions.take(who, 1)?;
        let memory = self.memory.take(who, RESERVED)?;
        let (told, over) = watch::channel(None);
        let seat = Seat {
            memory,
            _session: session,
            held: vec![Box::new(held)],
            over: told,
        };
        let mut seats = lock(&self.seats);
        let number = seats.next;
        seats.next += 1;
        seats.all.insert(number, seat);
        Ok(Place {
            budget: self.clone(),
            who,
            number,
            over,
        })
    }

    /// Counts what the sessions hold now. As long as a client, or all together, have more than the
    /// limit, the session that holds the most must end.
    pub fn check(&self) {
        let seats = &mut lock(&self.seats).all;
        seats.values_mut().for_each(Seat::count);
        while let Some((who, over)) = self.memory.excess() {
            let concerned = seats.values_mut().filter(|seat| !seat.is_ending());
            let concerned = concerned.filter(|seat| who.is_none_or(|who| seat.memory.who == who));
            match concerned.max_by_key(|seat| seat.memory.amount) {
                Some(most) => {
                    most.end(over);
                    self.ended.fetch_add(1, Ordering::Relaxed);
                }
                None => return,
            }
        }
    }

    /// What is taken now, as of the last [check](Self::check).
    pub fn usage(&self) -> Usage {
        let (memory_taken, clients) = self.memory.taken();
        Usage {
            memory: self.limits.memory,
            memory_taken,
            client_memory: self.limits.client_memory,
            client_sessions: self.limits.client_sessions,
            handshakes: self.limits.handshakes,
            sessions: self.sessions.taken().0,
            clients: clients as u64,
            turned_away: self.turned_away.load(Ordering::Relaxed),
            ended: self.ended.load(Ordering::Relaxed),
        }
    }
}

impl Seat {
    fn is_ending(&self) -> bool {
        self.over.borrow().is_some()
    }

    fn count(&mut self) {
        if !self.is_ending() {
            let held = self.held.iter().map(|held| held());
            self.memory.set(held.fold(RESERVED, u64::saturating_add));
        }
    }

    /// What the session holds goes with it, in a moment.
    fn end(&mut self, over: OverLimit) {
        self.memory.set(0);
        self.over.send_replace(Some(over));
    }
}

impl Place {
    /// The session's client.
    pub(crate) fn who(&self) -> Who {
        self.who
    }

    /// The session counts with what this says, besides.
    pub(crate) fn counts(&self, held: impl Fn() -> u64 + Send + 'static) {
        if let Some(seat) = lock(&self.budget.seats).all.get_mut(&self.number) {
            seat.held.push(Box::new(held));
        }
    }

    /// Takes memory that may outlive the session.
    ///
    /// # Errors
    /// The client, or all together, would have more than the limit.
    pub(crate) fn take(&self, bytes: u64) -> Result<Share, OverLimit> {
        self.budget.memory.take(self.who, bytes)
    }

    /// Waits until the session must end, because it holds the most and that is too much.
    pub async fn over(&self) -> OverLimit {
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
        let seat = lock(&self.budget.seats).all.remove(&self.number);
        // Not under the lock: it may hold the last handle of a connection.
        drop(seat);
    }
}

#[cfg(test)]
mod tests {
    use weftline::Fingerprint;

    use super::*;

    const MEGABYTE: u64 = 1_000_000;

    fn client(name: u64) -> Who {
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&name.to_be_bytes());
        Who::Key(Fingerprint::from(bytes))
    }

    /// Sessions that hold what the test says.
    struct World {
        budget: Arc<Budget>,
        all: Vec<(Place, Arc<AtomicU64>)>,
    }

    impl World {
        /// With these limits in megabytes.
        fn new(client_memory: u64, memory: u64) -> Self {
            let limits = Limits {
                client_memory: client_memory * MEGABYTE,
                memory: memory * MEGABYTE,
                ..Limits::default()
            };
            World {
                budget: Budget::new(limits),
                all: Vec::new(),
            }
        }

        /// Lets in a session that holds this number of megabytes.
        fn enter(&mut self, who: Who, megabytes: u64) {
            let held = Arc::new(AtomicU64::new(megabytes * MEGABYTE));
            let counted = held.clone();
            let place = self
                .budget
                .seat(who, move || counted.load(Ordering::Relaxed));
            self.all.push((place.unwrap(), held));
        }

        fn holds(&self, session: usize, megabytes: u64) {
            let bytes = megabytes * MEGABYTE;
            self.all[session].1.store(bytes, Ordering::Relaxed);
        }

        /// Checks; says which sessions were ended until now.
        fn ended(&self) -> Vec<usize> {
            self.budget.check();
            let ended = |session: &usize| self.all[*session].0.over.borrow().is_some();
            (0..self.all.len()).filter(ended).collect()
        }

        fn reason(&self, session: usize) -> String {
            self.all[session].0.over.borrow().unwrap().to_string()
        }
    }

    /// Bytes that all have, and how many clients have some.
    fn taken(world: &World) -> (u64, u64) {
        let usage = world.budget.usage();
        (usage.memory_taken, usage.clients)
    }

    #[test]
    fn hundreds_of_sessions_fit_with_the_defaults() {
        let budget = Budget::new(Limits::default());
        let enter = |n: u64| budget.seat(client(n), || 2 * MEGABYTE).unwrap();
        let all: Vec<Place> = (0..1000).map(enter).collect();
        budget.check();
        assert!(all.iter().all(|place| place.over.borrow().is_none()));
        let fits = budget.seat(client(1000), || 0).is_ok();
        assert!(fits, "3,000 of 4,000 MB are taken");
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
        let full = world.budget.seat(client(3), || 0).unwrap_err().to_string();
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
        let usage = world.budget.usage();
        assert_eq!(
            (usage.memory_taken, usage.sessions, usage.clients),
            (0, 0, 0)
        );
        assert_eq!((usage.memory, usage.ended), (30 * MEGABYTE, 1));
    }

    #[test]
    fn what_a_session_holds_besides_counts_and_what_outlives_it_too() {
        let mut world = World::new(20, 30);
        world.enter(client(1), 4);
        let (place, _) = &world.all[0];
        place.counts(|| 3 * MEGABYTE);
        let kept = place.take(2 * MEGABYTE).unwrap();
        assert!(world.ended().is_empty());
        assert_eq!(taken(&world), (10 * MEGABYTE, 1));
        assert!(world.all[0].0.take(11 * MEGABYTE).is_err());
        world.all.clear();
        assert_eq!(taken(&world), (2 * MEGABYTE, 1));
        drop(kept);
        assert_eq!(taken(&world), (0, 0));
    }

    #[test]
    fn a_client_has_a_bounded_number_of_sessions() {
        let limits = Limits {
            client_sessions: 2,
            ..Limits::default()
        };
        let budget = Budget::new(limits);
        let enter = |name| budget.seat(client(name), || 0);
        let places = [enter(1).unwrap(), enter(1).unwrap()];
        let refused = enter(1).unwrap_err().to_string();
        assert_eq!(
            refused,
            "this client has all that the server allows it: 2 sessions (--client-sessions of the server)"
        );
        let other = enter(2).unwrap();
        drop(places);
        let again = enter(1).unwrap();
        assert_eq!(budget.usage().clients, 2);
        drop((other, again));
    }
}
