//! Two sessions driven by hand: the test decides when time passes and what is lost.

use weftline_proto::{Config, Event, Role, Session, Time};

/// More datagrams than any exchange needs: an endless conversation fails instead of hanging.
const ENDLESS: usize = 100_000;

/// A client and a server over a path without delay.
pub(crate) struct Pair {
    pub(crate) client: Session,
    pub(crate) server: Session,
    pub(crate) now: Time,
}

impl Pair {
    /// Two sessions that begin at `now`, before any HELLO.
    pub(crate) fn new(client: Config, server: Config, now: Time) -> Self {
        Pair {
            client: Session::new(Role::Client, client, 1, now).expect("it is possible"),
            server: Session::new(Role::Server, server, 2, now).expect("it is possible"),
            now,
        }
    }

    /// Two equal ends that have exchanged HELLO at time zero.
    pub(crate) fn connected(config: Config) -> Self {
        let mut pair = Pair::new(config.clone(), config, Time::ZERO);
        pair.exchange();
        pair
    }

    /// Moves the clock to `us` microseconds from zero and serves the timers that are due.
    pub(crate) fn at(&mut self, us: u64) -> &mut Self {
        self.now = Time::from_micros(us);
        for session in [&mut self.client, &mut self.server] {
            if session.poll_timeout().is_some_and(|t| t <= self.now) {
                session.handle_timeout(self.now);
            }
        }
        self
    }

    /// Exchanges all datagrams that the two ends send at this moment.
    pub(crate) fn exchange(&mut self) {
        self.exchange_unless(|_| false);
    }

    /// Exchanges all datagrams of this moment, except the client's datagrams that are `lost`.
    pub(crate) fn exchange_unless(&mut self, mut lost: impl FnMut(&[u8]) -> bool) {
        for _ in 0..ENDLESS {
            let from_client = transmit(&mut self.client, self.now);
            let from_server = transmit(&mut self.server, self.now);
            if from_client.is_none() && from_server.is_none() {
                return;
            }
            if let Some(datagram) = from_client.filter(|d| !lost(d)) {
                self.server.handle_datagram(self.now, &datagram);
            }
            if let Some(datagram) = from_server {
                self.client.handle_datagram(self.now, &datagram);
            }
        }
        panic!("the two ends exchange datagrams without end");
    }
}

/// The next datagram of `session`.
pub(crate) fn transmit(session: &mut Session, now: Time) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    session.poll_transmit(now, &mut out).then_some(out)
}

/// All datagrams that `session` has to send now.
pub(crate) fn transmit_all(session: &mut Session, now: Time) -> Vec<Vec<u8>> {
    let all: Vec<_> = core::iter::from_fn(|| transmit(session, now))
        .take(ENDLESS)
        .collect();
    assert!(all.len() < ENDLESS, "it sends without end");
    all
}

/// All events of `session`.
pub(crate) fn events(session: &mut Session) -> Vec<Event> {
    core::iter::from_fn(|| session.poll_event()).collect()
}
