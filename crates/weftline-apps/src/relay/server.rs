//! The server end: its rules and its clients.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};
use weftline::{Connection, Fingerprint, Refusal, Stream};

use super::counts::{Counts, Snapshot};
use super::event::{Event, OnEvent};
use super::far::{Far, Granted};
use super::inward::{finish, inward};
use super::options::ServerOptions;
use super::room::{self, Room};
use super::table::Hostile;
use super::wire::{self, Answer, Gone, Hello, MOST_RULES, VERSION};
use crate::allow::permit;
use crate::close;
use crate::error::SessionError;
use crate::flow::{FlowInfo, busiest};
use crate::host::{Service, Work};
use crate::line;
use crate::lock::lock;
use crate::on_drop::OnDrop;
use crate::protocol::Protocol;
use crate::quota::{OverLimit, Place, Quota};

/// How long the names of all targets of a client may take.
const GRANT: Duration = Duration::from_secs(10);
/// How long datagrams in flight may take to arrive when the relay is stopped.
const DRAIN: Duration = Duration::from_secs(1);
/// How long an ending session may take to report the reason.
const LAST_WORD: Duration = Duration::from_secs(1);

/// The server end of a relay, for [`host`](crate::host::host).
pub struct Server {
    options: ServerOptions,
    clients: Mutex<Clients>,
    flows: Arc<Quota>,
    on_event: OnEvent,
}

/// A running client: its host's key and its own number.
type Client = (Option<Fingerprint>, u64);

#[derive(Default)]
struct Clients {
    all: HashMap<Client, Arc<Far>>,
    /// Counts of the clients that have left.
    left: Counts,
}

impl Server {
    /// A server without clients.
    pub fn new(
        options: ServerOptions,
        on_event: impl Fn(Event<'_>) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Server {
            flows: room::flows(&options),
            options,
            clients: Mutex::default(),
            on_event: Arc::new(on_event),
        })
    }

    /// Current counters of all clients together.
    pub fn snapshot(&self) -> Snapshot {
        let clients = lock(&self.clients);
        let mut all = Snapshot {
            counts: clients.left,
            client_limit: Some(self.options.flows),
            ..Snapshot::default()
        };
        for one in clients.all.values().map(|far| far.snapshot()) {
            all.counts.merge(&one.counts);
            all.open += one.open;
            all.session = all.session.or(one.session);
            all.longest = all.longest.or(one.longest);
            all.busiest.extend(one.busiest);
        }
        all.busiest = busiest(all.busiest, FlowInfo::bytes);
        all
    }

    /// Serves one session if there is room, until it ends or must end; returns the reason.
    async fn admit(
        &self,
        connection: &Connection,
        place: Result<Place, OverLimit>,
    ) -> SessionError {
        let place = match place {
            Ok(place) => place,
            Err(over) => return over.into(),
        };
        tokio::select! {
            error = self.session(connection, &place) => error,
            over = place.over() => over.into(),
        }
    }

    /// Serves one session; returns the reason why it ended.
    async fn session(&self, connection: &Connection, place: &Place) -> SessionError {
        let failed = |error| SessionError::lost(connection, &error);
        let opening = async {
            // The relay does not serve recordings.
            let confirmed = connection.confirmed().await;
            confirmed.map_err(SessionError::Closed)?;
            let stream = connection.accept_stream().await;
            let mut stream = stream.map_err(SessionError::Closed)?;
            let hello: Hello = wire::read(&mut stream).await.map_err(failed)?;
            Ok::<_, SessionError>((stream, hello))
        };
        let (mut stream, hello) = match timeout(self.options.timeout, opening).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(error)) => return error,
            Err(_) => return SessionError::AskedNothing,
        };
        if hello.weftline_relay != VERSION || hello.rules.len() > MOST_RULES {
            return SessionError::Version("the relay");
        }
        let (rules, refused) = self.grant(&hello, connection).await;
        let key = (connection.peer(), hello.instance);
        let far = match self.far(key, place) {
            Ok(far) => far,
            Err(over) => return over.into(),
        };
        let counted = Arc::downgrade(&far);
        place.counts(move || counted.upgrade().map_or(0, |far| far.held()));
        let (old, number) = far.attach(connection.clone(), rules);
        let _detached = OnDrop(|| far.detach(number));
        if let Some(old) = old {
            old.close(close::DONE, "replaced by a newer session");
        }
        let answer = Answer {
            weftline_relay: VERSION,
            refused,
            flows: u32::try_from(self.options.flows).unwrap_or(u32::MAX),
            idle: self.options.idle.as_secs().max(1),
        };
        match line::write(&mut stream, &answer).await {
            Ok(()) => carry(&far, connection, stream).await,
            Err(error) => failed(error),
        }
    }

    /// The client's rules that are granted, and why the others are refused.
    async fn grant(
        &self,
        hello: &Hello,
        connection: &Connection,
    ) -> (Vec<Granted>, Vec<Option<String>>) {
        let (peer, remote) = (connection.peer(), connection.remote_addr());
        let (mut rules, mut refused) = (Vec::new(), Vec::new());
        let end = Instant::now() + GRANT;
        for wanted in &hello.rules {
            let granted = match (wanted.target.parse(), wanted.delivery.parse()) {
                (Ok(target), Ok(delivery)) => {
                    let allow = self.options.allow.now();
                    let permitted = permit(&allow, &target, peer);
                    match timeout_at(end, permitted).await {
                        Ok(Ok(target)) => Ok(Granted { target, delivery }),
                        Ok(Err(refused)) => Err(refused.to_string()),
                        Err(_) => Err("the names of the targets take too long".to_owned()),
                    }
                }
                (Err(error), _) => Err(error.to_string()),
                (_, Err(error)) => Err(error.to_string()),
            };
            if let Err(reason) = &granted {
                (self.on_event)(Event::Refused {
                    peer,
                    remote,
                    target: &wanted.target,
                    reason,
                });
            }
            refused.push(granted.as_ref().err().cloned());
            rules.push(granted.unwrap_or(Granted {
                target: Vec::new(),
                delivery: Default::default(),
            }));
        }
        (rules, refused)
    }

    /// The client's flows.
    ///
    /// # Errors
    /// They would take too much memory.
    fn far(&self, key: Client, place: &Place) -> Result<Arc<Far>, OverLimit> {
        let mut clients = lock(&self.clients);
        if let Some(far) = clients.all.get(&key) {
            return Ok(far.clone());
        }
        let room = Room::new(&self.flows, place)?;
        let ServerOptions { flows, idle, .. } = self.options;
        let far = Far::new(room, flows, idle, self.on_event.clone());
        clients.all.insert(key, far.clone());
        Ok(far)
    }

    fn sweep(&self) {
        let Clients { all, left } = &mut *lock(&self.clients);
        all.retain(|_, far| {
            // A session that is about to attach holds it too.
            let over = far.sweep() && Arc::strong_count(far) == 1;
            if over {
                left.merge(&far.snapshot().counts);
            }
            !over
        });
    }

    /// Stops reading from targets; returns the sessions.
    fn detach(&self) -> Vec<Connection> {
        let clients = lock(&self.clients);
        clients.all.values().filter_map(|far| far.stop()).collect()
    }
}

impl Service for Server {
    fn protocol(&self) -> Protocol {
        Protocol::Relay
    }

    fn serve(self: Arc<Self>, connection: Connection, place: Result<Place, OverLimit>) -> Work<()> {
        Box::pin(async move {
            let (peer, remote) = (connection.peer(), connection.remote_addr());
            (self.on_event)(Event::Joined { peer, remote });
            let error = self.admit(&connection, place).await;
            connection.close(close::FAILED, &error.to_string());
            (self.on_event)(Event::Left {
                peer,
                remote,
                error: &error,
            });
        })
    }

    fn turned_away(&self, refusal: &Refusal) {
        (self.on_event)(Event::TurnedAway(refusal));
    }

    fn check(&self) {
        self.sweep();
    }

    fn flush(self: Arc<Self>) -> Work<()> {
        Box::pin(async move {
            let flushed = async {
                for connection in self.detach() {
                    // An ended session has nothing to wait for.
                    let _ = connection.flushed().await;
                }
            };
            let _ = timeout(DRAIN, flushed).await;
        })
    }
}

/// Carries datagrams until the session ends; returns the reason.
async fn carry(far: &Arc<Far>, connection: &Connection, mut stream: Stream) -> SessionError {
    let inward = async {
        let inward = inward(connection, |message| far.inward(message), || far.hand_on());
        match inward.await {
            Ok(reason) => SessionError::Closed(reason),
            Err(Hostile) => {
                let message = "the peer sends more datagrams out of order than its credit allows";
                SessionError::Failed(message.to_owned())
            }
        }
    };
    let control = async {
        loop {
            match wire::read::<Gone>(&mut stream).await {
                Ok(gone) => far.end(&gone.gone),
                // When the session ends, this stream ends first; the session reports the reason a
                // moment later.
                Err(error) => match timeout(LAST_WORD, connection.closed()).await {
                    Ok(reason) => return SessionError::Closed(reason),
                    Err(_) => return SessionError::Failed(error.to_string()),
                },
            }
        }
    };
    let ended = tokio::select! {
        ended = inward => ended,
        ended = control => ended,
    };
    finish(|| far.hand_on()).await;
    ended
}
