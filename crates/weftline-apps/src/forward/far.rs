//! One session at the server end: handles the client's requests, if they are allowed.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use weftline::{Connection, Stream};

use super::carry::{self, Outcome, Within};
use super::counts::{Carried, Ended};
use super::dial::{self, HEADER};
use super::event::Event;
use super::listeners::PAUSE;
use super::moving::{self, Halves, Left, Moving, Waiting};
use super::service::Service;
use super::wire::{Reply, Request, Status};
use crate::allow::{Refused, permit};
use crate::error::SessionError;
use crate::lock::lock;
use crate::on_drop::OnDrop;
use crate::quota::Place;
use crate::target::Target;

/// A session.
pub(super) struct Far {
    service: Arc<Service>,
    pub(super) connection: Connection,
    moving: Moving,
    /// Of connections that have left.
    streams: Mutex<Vec<Halves>>,
    /// Connections that are not over keep it, and what they hold, beyond the session's end.
    place: Arc<Place>,
}

impl Far {
    pub(super) fn new(service: Arc<Service>, connection: Connection, place: Arc<Place>) -> Self {
        Far {
            moving: Moving::new(service.room.clone()),
            streams: Mutex::default(),
            service,
            connection,
            place,
        }
    }

    /// Serves the session until it ends, or must end.
    pub(super) async fn serve(self: Arc<Self>) -> SessionError {
        let far = self;
        // `forward` does not serve recordings.
        if let Err(reason) = far.connection.confirmed().await {
            return SessionError::Closed(reason);
        }
        loop {
            tokio::select! {
                opened = far.connection.accept_stream() => match opened {
                    Ok(stream) => drop(tokio::spawn(far.clone().stream(stream))),
                    Err(reason) => return SessionError::Closed(reason),
                },
                over = far.place.over() => return over.into(),
            }
        }
    }

    /// Counts a connection while it is carried; it is reset if the session must end: a target that
    /// does not read would keep what is held for it.
    async fn carry(
        &self,
        carried: impl Future<Output = Result<Ended, Reply>>,
    ) -> Result<Ended, Reply> {
        let carried = async {
            tokio::select! {
                carried = carried => carried,
                _ = self.place.over() => Ok(Ended::Broken),
            }
        };
        self.service.counts.connection(carried).await
    }

    async fn stream(self: Arc<Self>, mut stream: Stream) {
        let request = match timeout(HEADER, Request::read(&mut stream)).await {
            Ok(Ok(request)) => request,
            Ok(Err(error)) => {
                dial::answer(stream, error.into()).await;
                return;
            }
            // The stream carries no data in either direction.
            Err(_) => return,
        };
        // Who is nobody is let in nowhere.
        if self.connection.peer().is_none() {
            let reply = Reply::new(Status::NotAllowed, "this end does not know who asks");
            dial::answer(stream, reply).await;
            return;
        }
        match request {
            Request::Ask(target) => {
                let answer = match (target.is_empty(), parse(&target)) {
                    (true, _) => Ok(Vec::new()),
                    (false, Ok(asked)) => self.allowed(&asked).await,
                    (false, Err(reply)) => Err(reply),
                };
                if let Err(reply) = &answer {
                    self.tell(&target, reply);
                }
                let done = Reply::new(Status::Done, "");
                dial::answer(stream, answer.err().unwrap_or(done)).await;
            }
            Request::Connect(target) => {
                let carried = self.carry(self.outward(stream, &target)).await;
                if let Err(reply) = carried {
                    self.tell(&target, &reply);
                }
            }
            Request::Listen(rule, at) => self.listen(stream, rule, &at).await,
            Request::Resume(token) => {
                let carried = self.carry(self.resume(stream, &token)).await;
                if let Err(reply) = carried {
                    self.no_connection(&reply);
                }
            }
            Request::Accepted(_) | Request::Move(_) => {
                let reply = Reply::new(Status::Other, "only the server may send this request");
                dial::answer(stream, reply).await;
            }
        }
    }

    /// Tells why the client does not get what it asked for.
    fn tell(&self, target: &str, reply: &Reply) {
        if !self.refused(target, reply) {
            self.no_connection(reply);
        }
    }

    /// Tells of it if the client may not have what it asked for; false: that is not why.
    fn refused(&self, target: &str, reply: &Reply) -> bool {
        let peer = self.connection.peer();
        let Some(peer) = peer.filter(|_| reply.status == Status::NotAllowed) else {
            return false;
        };
        (self.service.on_event)(Event::Refused {
            peer,
            remote: self.connection.remote_addr(),
            target,
            reason: &reply.text,
        });
        true
    }

    fn no_connection(&self, reply: &Reply) {
        (self.service.on_event)(Event::NoConnection {
            client: Some(self.connection.remote_addr()),
            reason: &reply.text,
        });
    }

    /// The addresses at which a target may be reached.
    async fn allowed(&self, target: &Target) -> Result<Vec<SocketAddr>, Reply> {
        let peer = self.connection.peer();
        let permitted = permit(&self.service.options.allow.now(), target, peer).await;
        permitted.map_err(|refused| {
            let status = match refused {
                Refused::NotAllowed(_) => Status::NotAllowed,
                Refused::Unknown(_) => Status::UnknownName,
            };
            Reply::new(status, refused.to_string())
        })
    }

    async fn outward(&self, stream: Stream, target: &str) -> Result<Ended, Reply> {
        if self.service.is_leaving() {
            return Err(dial::answer(stream, leaving()).await);
        }
        let _admitted = match self.service.admit(&self.place) {
            Ok(admitted) => admitted,
            Err(reply) => return Err(dial::answer(stream, reply).await),
        };
        match parse(target) {
            Ok(target) => {
                let addresses = self.allowed(&target);
                let (tcp, stream) = dial::connect(stream, &target, addresses).await?;
                let counts = self.counts(&target.to_string());
                let within = self.within(&counts);
                let outcome = carry::connected(tcp, stream, Waiting::default(), within).await;
                Ok(self.ended(outcome, target.to_string()))
            }
            Err(reply) => Err(dial::answer(stream, reply).await),
        }
    }

    fn counts(&self, to: &str) -> Carried<'_> {
        let from = self.connection.remote_addr().to_string();
        self.service.counts.carry(from, to.to_owned())
    }

    fn within<'a>(&'a self, counts: &'a Carried<'a>) -> Within<'a> {
        let moving = &self.moving;
        Within { moving, counts }
    }

    /// Keeps a connection that has left the session.
    fn ended(&self, outcome: Outcome, to: String) -> Ended {
        let parked = match outcome {
            Outcome::Ended(ended) => return ended,
            Outcome::Moved(parked) => parked,
        };
        lock(&self.streams).push(parked.stream);
        let (Some(peer), Ok(tcp)) = (self.connection.peer(), parked.tcp.into_std()) else {
            return Ended::Broken;
        };
        self.service.keep(Left {
            peer,
            token: parked.token,
            to,
            waiting: parked.waiting,
            tcp,
        });
        Ended::Left
    }

    /// Goes on with a connection that the client had in another session.
    async fn resume(&self, stream: Stream, token: &str) -> Result<Ended, Reply> {
        let left = self.connection.peer();
        let left = left.and_then(|peer| self.service.kept(peer, token));
        let Some(left) = left else {
            let reply = Reply::new(Status::Other, "the connection is over");
            return Err(dial::answer(stream, reply).await);
        };
        let admitted = self.service.admit(&self.place);
        let tcp = TcpStream::from_std(left.tcp);
        let (_admitted, tcp) = match (admitted, tcp) {
            (Ok(admitted), Ok(tcp)) => (admitted, tcp),
            (Err(reply), _) => return Err(dial::answer(stream, reply).await),
            (_, Err(error)) => {
                let reply = Reply::new(Status::Other, error.to_string());
                return Err(dial::answer(stream, reply).await);
            }
        };
        let counts = self.counts(&left.to);
        let within = self.within(&counts);
        let outcome = carry::connected(tcp, stream, left.waiting, within).await;
        Ok(self.ended(outcome, left.to))
    }

    /// Lets connections leave the session, so that the next start of this server goes on with them. Those of a
    /// client that does not know how stay.
    pub(super) async fn let_go(&self, key: &str) {
        let opened = timeout(HEADER, self.connection.open_stream()).await;
        let Ok(Ok(mut stream)) = opened else { return };
        let theirs = async {
            let request = Request::Move(key.to_owned());
            stream.write_all(&request.bytes()).await?;
            match Reply::read(&mut stream).await?.good() {
                Ok(_) => moving::read(&mut stream).await.map(Some),
                Err(_) => Ok(None),
            }
        };
        let Ok(Ok(Some(mut theirs))) = timeout(carry::ANSWER, theirs).await else {
            return;
        };
        // Whatever happens from here on, no connection waits for ever.
        let _settled = OnDrop(|| self.moving.give_up());
        self.moving.pause().await;
        let ours = self.moving.claim(|stream| theirs.contains_key(&stream));
        theirs.retain(|stream, _| ours.contains_key(stream));
        // If this does not arrive, the client knows that none moves, and the session has failed.
        let told = stream.write_all(&moving::bytes(&ours)).await.is_ok();
        self.moving.settle(key.to_owned(), theirs);
        self.moving.parked().await;
        if told {
            // The client ends the stream when it has read what this end has written.
            let _ = timeout(moving::ARRIVE, stream.read_u8()).await;
        }
    }

    /// Listens for the client until its stream ends, or until the client asks for the same address
    /// in a newer session.
    async fn listen(self: Arc<Self>, mut stream: Stream, rule: u16, at: &str) {
        let listeners = &self.service.listeners;
        let bound = match at.parse::<SocketAddr>() {
            Err(_) => Err(Reply::new(Status::Other, "not an address to listen on")),
            Ok(_) if self.service.is_leaving() => Err(leaving()),
            Ok(at) => {
                let allowed = self.service.options.allow_listen.now();
                let allowed = allowed.iter().any(|a| a.has(at));
                match allowed {
                    true => listeners.open(at, self.connection.peer()).await,
                    false => Err(Reply::new(
                        Status::NotAllowed,
                        format!("listening on {at} is not allowed here"),
                    )),
                }
            }
        };
        let open = match bound {
            Ok(open) => open,
            Err(reply) => {
                self.refused(at, &reply);
                dial::answer(stream, reply).await;
                return;
            }
        };
        let reply = Reply::new(Status::Done, open.local.to_string());
        if stream.write_all(&reply.bytes()).await.is_ok() {
            let mut leaving = self.service.leaving.subscribe();
            tokio::select! {
                () = self.accept(&open.listener, rule) => {}
                _ = stream.read_u8() => {}
                () = open.taken.notified() => {}
                _ = leaving.wait_for(|leaving| *leaving) => {}
            }
        }
        listeners.close(open);
        let _ = stream.finish();
    }

    async fn accept(self: &Arc<Self>, listener: &TcpListener, rule: u16) {
        loop {
            match listener.accept().await {
                Ok((tcp, _)) => {
                    let far = self.clone();
                    tokio::spawn(async move {
                        if let Err(reply) = far.carry(far.inward(tcp, rule)).await {
                            far.no_connection(&reply);
                        }
                    });
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    async fn inward(&self, tcp: TcpStream, rule: u16) -> Result<Ended, Reply> {
        let _admitted = match self.service.admit(&self.place) {
            Ok(admitted) => admitted,
            Err(reply) => {
                carry::reset(tcp);
                return Err(reply);
            }
        };
        carry::prepare(&tcp);
        match timeout(HEADER, self.connection.open_stream()).await {
            Ok(Ok(stream)) => {
                let request = Request::Accepted(rule);
                // Only the client knows the target.
                let to = self.connection.remote_addr().to_string();
                let from = tcp.peer_addr().map(|addr| addr.to_string());
                let counts = self
                    .service
                    .counts
                    .carry(from.unwrap_or_default(), to.clone());
                let within = self.within(&counts);
                let outcome = carry::accepted(tcp, stream, &request, false, within).await?;
                Ok(self.ended(outcome, to))
            }
            Ok(Err(_)) | Err(_) => {
                carry::reset(tcp);
                Err(Reply::new(
                    Status::Unreachable,
                    "the session has no free stream",
                ))
            }
        }
    }
}

fn parse(target: &str) -> Result<Target, Reply> {
    let parsed = target.parse::<Target>();
    parsed.map_err(|error| Reply::new(Status::Other, error.to_string()))
}

fn leaving() -> Reply {
    Reply::new(Status::Leaving, "the peer is stopping")
}
