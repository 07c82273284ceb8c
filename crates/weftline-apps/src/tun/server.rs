//! The server end: its device, and its clients.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::timeout;
use weftline::{Connection, Refusal, Stream};

use super::clients::{Clients, Tunnel};
use super::counts::Snapshot;
use super::device::{Device, Lease};
use super::event::{Event, OnEvent};
use super::ingress::ingress;
use super::options::{BadOptions, ServerOptions};
use super::packet::{Header, is_routable};
use super::pool::{has, pools};
use super::wire::{self, Answer, Hello, LONGEST_NAME, VERSION};
use crate::close;
use crate::error::SessionError;
use crate::flow::{FlowInfo, busiest};
use crate::host::{Service, Work};
use crate::line;
use crate::lock::lock;
use crate::on_drop::OnDrop;
use crate::protocol::Protocol;
use crate::quota::{OverLimit, Place};
use crate::stopper::Stopper;

/// How long packets in flight may take to arrive when the tunnel is stopped.
const DRAIN: Duration = Duration::from_secs(1);

/// The server end of tunnels.
pub struct Server {
    options: ServerOptions,
    /// What all clients are told.
    common: Lease,
    clients: Mutex<Clients>,
    on_event: OnEvent,
}

impl Server {
    /// A server without clients.
    ///
    /// # Errors
    /// The options cannot be used.
    pub fn new(
        options: ServerOptions,
        on_event: impl Fn(Event<'_>) + Send + Sync + 'static,
    ) -> Result<Arc<Self>, BadOptions> {
        let pools = pools(&options)?;
        let common = Lease {
            addresses: pools.iter().map(|pool| pool.own()).collect(),
            server: pools.iter().map(|pool| pool.own().addr()).collect(),
            mtu: options.mtu,
            routes: options.routes.clone(),
            dns: options.dns.clone(),
        };
        Ok(Arc::new(Server {
            clients: Mutex::new(Clients::new(pools, options.tunnels, options.mtu)),
            common,
            options,
            on_event: Arc::new(on_event),
        }))
    }

    /// What this host's own device needs: its addresses and its MTU.
    pub fn lease(&self) -> &Lease {
        &self.common
    }

    /// Current counters of all clients together.
    pub fn snapshot(&self) -> Snapshot {
        // Each packet of this host needs the lock: it is held for the list alone.
        let (links, counts) = self.clients().counted();
        let mut all = Snapshot {
            counts,
            client_limit: Some(self.options.tunnels),
            ..Snapshot::default()
        };
        for one in links.iter().map(|link| link.snapshot()) {
            all.counts.merge(&one.counts);
            all.clients += one.clients;
            all.waiting += one.waiting;
            all.session = all.session.or(one.session);
            all.busiest.extend(one.busiest);
        }
        all.busiest = busiest(all.busiest, FlowInfo::bytes);
        all.lane = Some(self.options.lane.snapshot());
        all
    }

    /// The service of this server with this device, for [`host`](crate::host::host).
    pub fn on(self: &Arc<Self>, device: impl Device) -> Arc<impl Service> {
        Arc::new(On {
            server: self.clone(),
            device,
        })
    }

    /// Ends all sessions.
    #[cfg(test)]
    pub(super) fn end_sessions(&self) {
        for tunnel in self.clients().all() {
            if let Some(session) = tunnel.link.session() {
                session.close(close::DONE, "the test ends this session");
            }
        }
    }

    /// Sends a packet of this host to the client that has its destination.
    fn forward(&self, frame: Vec<u8>, header: Option<Header>) {
        let mut clients = self.clients();
        let Some(header) = header else {
            clients.dropped().malformed += 1;
            return;
        };
        match clients.of_address(header.destination) {
            Some(tunnel) => {
                drop(clients);
                tunnel.link.push(frame, &header);
            }
            None => clients.dropped().no_peer += 1,
        }
    }

    /// Serves one session if there is room, until it ends or must end; returns the reason.
    async fn admit(
        &self,
        connection: &Connection,
        place: Result<Place, OverLimit>,
        device: &impl Device,
    ) -> SessionError {
        let place = match place {
            Ok(place) => Arc::new(place),
            Err(over) => return over.into(),
        };
        tokio::select! {
            error = self.session(connection, &place, device) => error,
            over = place.over() => over.into(),
        }
    }

    /// Serves one session; returns the reason why it ended.
    async fn session(
        &self,
        connection: &Connection,
        place: &Arc<Place>,
        device: &impl Device,
    ) -> SessionError {
        let (mut stream, hello) = match timeout(self.options.timeout, hello(connection)).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(error)) => return error,
            Err(_) => return SessionError::AskedNothing,
        };
        let tunnel = self.clients().tunnel(place.who(), &hello.name);
        let tunnel = match tunnel {
            Ok(tunnel) => tunnel,
            Err(full) => return SessionError::Failed(full.to_string()),
        };
        let counted = Arc::downgrade(&tunnel);
        place.counts(move || counted.upgrade().map_or(0, |tunnel| tunnel.link.held()));
        tokio::select! {
            error = self.carry(connection, &mut stream, &tunnel, device) => error,
            error = self.options.lane.carry(connection, place.clone()) => error,
        }
    }

    /// Carries the packets of a tunnel until its session ends; returns the reason.
    async fn carry(
        &self,
        connection: &Connection,
        stream: &mut Stream,
        tunnel: &Tunnel,
        device: &impl Device,
    ) -> SessionError {
        let (old, number) = tunnel.link.attach(connection.clone());
        let _detached = OnDrop(|| tunnel.link.detach(number));
        if let Some(old) = old {
            old.close(close::DONE, "replaced by a newer session");
        }
        let lease = Lease {
            addresses: tunnel.addresses.clone(),
            ..self.common.clone()
        };
        if let Err(error) = line::write(stream, &Answer::new(lease)).await {
            return SessionError::lost(connection, &error);
        }
        (self.on_event)(Event::Joined {
            peer: connection.peer(),
            remote: connection.remote_addr(),
            addresses: &tunnel.addresses,
        });
        let is_allowed = |header: &Header| {
            has(&tunnel.addresses, header.source) && is_routable(header.destination)
        };
        let carried = tunnel.link.carry(connection, device, is_allowed);
        SessionError::Closed(carried.await)
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        lock(&self.clients)
    }
}

/// A server, and the device that it has.
struct On<D> {
    server: Arc<Server>,
    device: D,
}

impl<D: Device> Service for On<D> {
    fn protocol(&self) -> Protocol {
        Protocol::Tun
    }

    fn serve(self: Arc<Self>, connection: Connection, place: Result<Place, OverLimit>) -> Work<()> {
        Box::pin(async move {
            let (peer, remote) = (connection.peer(), connection.remote_addr());
            let error = self.server.admit(&connection, place, &self.device);
            let error = error.await;
            connection.close(close::FAILED, &error.to_string());
            (self.server.on_event)(Event::Left {
                peer,
                remote,
                error: &error,
            });
        })
    }

    fn turned_away(&self, refusal: &Refusal) {
        (self.server.on_event)(Event::TurnedAway(refusal));
    }

    fn work(self: Arc<Self>) -> Option<Work<SessionError>> {
        Some(Box::pin(async move {
            let forward = |frame, header| self.server.forward(frame, header);
            SessionError::Device(ingress(&self.device, forward).await.to_string())
        }))
    }

    /// Lets the connections of clients finish for a while.
    fn drain(self: Arc<Self>, stopper: Stopper) -> Work<()> {
        self.server.options.lane.clone().drain(stopper)
    }

    fn flush(self: Arc<Self>) -> Work<()> {
        Box::pin(async move {
            let tunnels = self.server.clients().all();
            let flushed = async {
                for tunnel in &tunnels {
                    tunnel.link.flush().await;
                }
            };
            let _ = timeout(DRAIN, flushed).await;
        })
    }

    fn settle(self: Arc<Self>) -> Work<()> {
        self.server.options.lane.clone().settle()
    }
}

/// The client's request, and the stream that it came on.
async fn hello(connection: &Connection) -> Result<(Stream, Hello), SessionError> {
    // The tunnel does not serve recordings.
    let confirmed = connection.confirmed().await;
    confirmed.map_err(SessionError::Closed)?;
    let stream = connection.accept_stream().await;
    let mut stream = stream.map_err(SessionError::Closed)?;
    let hello: Hello = wire::read(&mut stream)
        .await
        .map_err(|error| SessionError::lost(connection, &error))?;
    let is_named = (1..=LONGEST_NAME).contains(&hello.name.len());
    match hello.weftline_tun == VERSION && is_named {
        true => Ok((stream, hello)),
        false => Err(SessionError::Version("the tunnel")),
    }
}
