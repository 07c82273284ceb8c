//! Connections that local programs make, and those that the peer asks for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};
use weftline::{Connection, Stream};

use super::carry;
use super::counts::{Counts, Ended, Snapshot};
use super::dial::{self, HEADER};
use super::event::{Event, OnEvent};
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
    session: watch::Sender<Option<Connection>>,
    slots: Semaphore,
    connections: u32,
    pub(super) counts: Counts,
    on_event: OnEvent,
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
    pub(super) fn attach(&self, connection: Connection) {
        self.counts.session();
        self.session.send_replace(Some(connection));
    }

    /// From now on connections wait for a session.
    pub(super) fn detach(&self) {
        self.session.send_replace(None);
    }

    /// Current counters.
    pub(super) fn snapshot(&self) -> Snapshot {
        self.counts.snapshot(self.session.borrow().as_ref())
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

    /// Serves a stream that the peer has opened: a program connected there.
    pub(super) async fn incoming(self: Arc<Self>, stream: Stream) {
        let carried = self.counts.connection(self.inward(stream)).await;
        self.tell(carried);
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
            Ok(stream) => {
                let request = Request::Connect(target.clone());
                carry::accepted(tcp, stream, &request, by_socks, (&target, &self.counts)).await
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
    async fn stream(&self) -> Stream {
        let mut session = self.session.subscribe();
        loop {
            let connection = session.borrow_and_update().clone();
            if let Some(connection) = connection
                && let Ok(stream) = connection.open_stream().await
            {
                return stream;
            }
            // This fails only when this end is gone, and then nothing waits.
            let _ = session.changed().await;
        }
    }

    async fn inward(&self, mut stream: Stream) -> Result<Ended, Reply> {
        let rule = match timeout(HEADER, Request::read(&mut stream)).await {
            Ok(Ok(Request::Accepted(rule))) => usize::from(rule),
            Ok(Ok(_)) => {
                let reply = Reply::new(Status::NotAllowed, "this end has no targets for the peer");
                return Err(dial::answer(stream, reply).await);
            }
            Ok(Err(error)) => return Err(dial::answer(stream, error.into()).await),
            Err(_) => return Err(Reply::new(Status::TimedOut, "the peer sent no request")),
        };
        let Some(target) = self.reverse.get(rule) else {
            let reply = Reply::new(Status::NotAllowed, "no such reverse rule");
            return Err(dial::answer(stream, reply).await);
        };
        let Ok(_slot) = self.slots.try_acquire() else {
            let reply = Reply::new(Status::TooMany, "too many connections");
            return Err(dial::answer(stream, reply).await);
        };
        let peer = self.session.borrow().as_ref().map(Connection::remote_addr);
        let addresses = async {
            let found = target.address().resolve().await;
            found.map_err(|unknown| Reply::new(Status::UnknownName, unknown.to_string()))
        };
        dial::connect(stream, target, addresses, (peer, &self.counts)).await
    }
}
