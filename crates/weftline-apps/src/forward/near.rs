//! Connections that local programs make, and those that the peer asks for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};
use weftline::{Connection, Stream};

use super::carry::{self, Outcome, Within};
use super::counts::{Carried, Counts, Ended, Snapshot};
use super::dial::{self, HEADER};
use super::event::{Event, OnEvent};
use super::moving::{self, Moving, Room, WAITS, Waiting};
use super::options::Entry;
#[cfg(target_os = "linux")]
use super::redirected;
use super::socks;
use super::wire::{Reply, Request, Status};
use crate::target::Target;

/// How long a program may take to send its SOCKS request.
const SOCKS: Duration = Duration::from_secs(10);
/// Pause after a failed accept: while descriptors are short it would fail again at once.
const PAUSE: Duration = Duration::from_millis(100);

/// Connections of this end; they find the current session here.
pub(super) struct Near {
    /// Local listeners and what they lead to.
    pub(super) entries: Vec<(SocketAddr, Entry)>,
    /// Targets of connections that programs make at the server.
    reverse: Vec<Target>,
    /// How long a connection waits for a session.
    wait: Duration,
    session: watch::Sender<Option<Session>>,
    slots: Semaphore,
    connections: u32,
    pub(super) counts: Counts,
    on_event: OnEvent,
}

/// A session, and the connections in it.
#[derive(Clone)]
pub(crate) struct Session {
    connection: Connection,
    moving: Arc<Moving>,
}

impl Near {
    pub(super) fn new(
        entries: Vec<(SocketAddr, Entry)>,
        reverse: Vec<Target>,
        connections: u32,
        wait: Duration,
        on_event: OnEvent,
    ) -> Self {
        Near {
            entries,
            reverse,
            wait,
            session: watch::Sender::new(None),
            slots: Semaphore::new(connections as usize),
            connections,
            counts: Counts::default(),
            on_event,
        }
    }

    /// From now on connections use this session.
    pub(super) fn attach(&self, connection: Connection) -> Session {
        self.counts.session();
        let moving = Arc::new(Moving::new(Room::default()));
        let session = Session { connection, moving };
        self.session.send_replace(Some(session.clone()));
        session
    }

    /// From now on connections wait for a session.
    pub(super) fn detach(&self) {
        self.session.send_replace(None);
    }

    /// Current counters.
    pub(super) fn snapshot(&self) -> Snapshot {
        let session = self.session.borrow();
        self.counts
            .snapshot(session.as_ref().map(|session| &session.connection))
    }

    /// Waits until no connection is open, and prevents new ones.
    pub(super) async fn drained(&self) {
        // This fails only if the semaphore is closed, which never happens.
        let all = self.slots.acquire_many(self.connections).await;
        all.into_iter().for_each(|permits| permits.forget());
    }

    /// Accepts connections of one entry, until dropped.
    pub(super) async fn listen(self: Arc<Self>, listener: TcpListener, entry: Entry) {
        loop {
            match listener.accept().await {
                Ok((tcp, _)) => {
                    let (near, entry) = (self.clone(), entry.clone());
                    tokio::spawn(async move {
                        let carried = near.counts.connection(near.outward(tcp, &entry)).await;
                        near.tell(carried);
                    });
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// Serves a stream that the peer has opened in this session: a program connected there, or the peer stops.
    pub(super) async fn incoming(self: Arc<Self>, session: Session, mut stream: Stream) {
        let request = match timeout(HEADER, Request::read(&mut stream)).await {
            Ok(Ok(request)) => request,
            Ok(Err(error)) => {
                self.tell(Err(dial::answer(stream, error.into()).await));
                return;
            }
            Err(_) => {
                self.tell(Err(Reply::new(
                    Status::TimedOut,
                    "the peer sent no request",
                )));
                return;
            }
        };
        match request {
            Request::Accepted(rule) => {
                let inward = self.inward(&session, stream, rule);
                let carried = self.counts.connection(inward).await;
                self.tell(carried);
            }
            Request::Move(key) => self.let_go(&session, stream, key).await,
            _ => {
                let reply = Reply::new(Status::NotAllowed, "this end has no targets for the peer");
                self.tell(Err(dial::answer(stream, reply).await));
            }
        }
    }

    /// The server stops: connections leave this session, as far as the server takes them along.
    async fn let_go(&self, session: &Session, mut stream: Stream, key: String) {
        let is_this = |now: &Option<Session>| {
            let now = now.as_ref();
            now.is_some_and(|now| Arc::ptr_eq(&now.moving, &session.moving))
        };
        // What begins now waits for the next session.
        self.session
            .send_if_modified(|now| is_this(now) && now.take().is_some());
        let moving = &session.moving;
        moving.pause().await;
        let ours = moving.claim(|_| true);
        let agreed = async {
            stream
                .write_all(&Reply::new(Status::Done, "").bytes())
                .await?;
            stream.write_all(&moving::bytes(&ours)).await?;
            moving::read(&mut stream).await
        };
        let mut theirs = timeout(carry::ANSWER, agreed)
            .await
            .ok()
            .and_then(Result::ok)
            .unwrap_or_default();
        theirs.retain(|stream, _| ours.contains_key(stream));
        moving.settle(key, theirs);
        moving.parked().await;
        // The server waits for that.
        let _ = stream.finish();
    }

    fn tell(&self, carried: Result<Ended, Reply>) {
        if let Err(reply) = carried {
            (self.on_event)(Event::NoConnection {
                client: None,
                reason: &reply.text,
            });
        }
    }

    async fn outward(&self, mut tcp: TcpStream, entry: &Entry) -> Result<Ended, Reply> {
        let Ok(_slot) = self.slots.try_acquire() else {
            carry::reset(tcp);
            return Err(Reply::new(Status::TooMany, "too many connections here"));
        };
        carry::prepare(&tcp);
        let (target, by_socks) = match entry {
            Entry::To(target) => (target.to_string(), false),
            #[cfg(target_os = "linux")]
            Entry::Redirected => match redirected::target(&tcp) {
                Ok(target) => (target.to_string(), false),
                Err(reply) => {
                    carry::reset(tcp);
                    return Err(reply);
                }
            },
            Entry::Socks => match timeout(SOCKS, socks::request(&mut tcp)).await {
                Ok(Ok(target)) => (target.to_string(), true),
                Ok(Err(error)) => return Err(Reply::new(Status::Other, error.to_string())),
                Err(_) => return Err(Reply::new(Status::TimedOut, "a program sent no request")),
            },
        };
        match timeout(self.wait, self.stream()).await {
            Ok((session, stream)) => {
                let request = Request::Connect(target.clone());
                let from = tcp.peer_addr().map(|addr| addr.to_string());
                let counts = self.counts.carry(from.unwrap_or_default(), target);
                let within = session.within(&counts);
                let carried = carry::accepted(tcp, stream, &request, by_socks, within).await?;
                self.to_its_end(carried, &counts).await
            }
            Err(_) => {
                carry::refuse(tcp, by_socks, Status::Unreachable).await;
                let text = match self.session.borrow().is_some() {
                    true => format!("the session has no free stream for {target}"),
                    false => format!("there is no session through which {target} is reached"),
                };
                Err(Reply::new(Status::Unreachable, text))
            }
        }
    }

    /// A new stream of the current session, as soon as there is one.
    async fn stream(&self) -> (Session, Stream) {
        let mut session = self.session.subscribe();
        loop {
            let now = session.borrow_and_update().clone();
            if let Some(session) = now
                && let Ok(stream) = session.connection.open_stream().await
            {
                return (session, stream);
            }
            // This fails only when this end is gone, and then nothing waits.
            let _ = session.changed().await;
        }
    }

    /// Goes on with a connection that has left its session, in the sessions that follow, until it is over.
    async fn to_its_end(&self, outcome: Outcome, counts: &Carried<'_>) -> Result<Ended, Reply> {
        let mut outcome = outcome;
        loop {
            let parked = match outcome {
                Outcome::Ended(ended) => return Ok(ended),
                Outcome::Moved(parked) => parked,
            };
            // An error drops the connection: it is reset.
            let found = timeout(WAITS, self.find(&parked.token)).await;
            let (session, stream) = found.unwrap_or_else(|_| {
                let text = "no session has gone on with a connection";
                Err(Reply::new(Status::Unreachable, text))
            })?;
            outcome = carry::resumed(parked, stream, session.within(counts)).await;
        }
    }

    /// The next session whose peer goes on with this connection, and the stream for it.
    async fn find(&self, token: &str) -> Result<(Session, Stream), Reply> {
        loop {
            let (session, stream) = self.stream().await;
            if let Some(stream) = carry::ask_to_resume(token, stream).await? {
                return Ok((session, stream));
            }
            sleep(PAUSE).await;
        }
    }

    async fn inward(&self, session: &Session, stream: Stream, rule: u16) -> Result<Ended, Reply> {
        let Some(target) = self.reverse.get(usize::from(rule)) else {
            let reply = Reply::new(Status::NotAllowed, "no such reverse rule");
            return Err(dial::answer(stream, reply).await);
        };
        let Ok(_slot) = self.slots.try_acquire() else {
            let reply = Reply::new(Status::TooMany, "too many connections");
            return Err(dial::answer(stream, reply).await);
        };
        let peer = session.connection.remote_addr();
        let addresses = async {
            let found = target.address().resolve().await;
            found.map_err(|unknown| Reply::new(Status::UnknownName, unknown.to_string()))
        };
        let (tcp, stream) = dial::connect(stream, target, addresses).await?;
        let counts = self.counts.carry(peer.to_string(), target.to_string());
        let within = session.within(&counts);
        let carried = carry::connected(tcp, stream, Waiting::default(), within).await;
        self.to_its_end(carried, &counts).await
    }
}

impl Session {
    fn within<'a>(&'a self, counts: &'a Carried<'a>) -> Within<'a> {
        let moving = &self.moving;
        Within { moving, counts }
    }
}
