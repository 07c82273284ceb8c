//! The client end: keeps a session with the server.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;
use weftline::{CloseReason, Connection, PathEvent, Port, Stream};

use super::agree::{Agreed, agree};
use super::bounds::MOST_RULES;
use super::counts::Snapshot;
use super::event::{Event, OnEvent};
use super::near::Near;
use super::options::{ClientOptions, Entry, OpenError};
use crate::error::SessionError;
use crate::protocol::Protocol;
use crate::reconnect::{Rejoin, answered, begin, reconnect};
use crate::stopper::Stopper;
use crate::target::Target;

/// At the end, how long data in flight may take to be acknowledged, and connections to be reset.
const SETTLE: Duration = Duration::from_secs(1);

/// The client end of `forward`.
pub struct Client {
    options: ClientOptions,
    targets: Vec<Target>,
    remote: Vec<SocketAddr>,
    pub(super) near: Arc<Near>,
    listeners: Vec<TcpListener>,
    on_event: OnEvent,
}

impl Client {
    /// Opens the local listeners.
    ///
    /// # Errors
    /// There are no rules or too many, or a local address cannot be used.
    pub async fn open(
        options: ClientOptions,
        on_event: impl Fn(Event<'_>) + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        if options.listen.is_empty() && options.remote.is_empty() {
            return Err(OpenError::Nothing);
        }
        let targets = options.listen.iter().filter_map(|(_, entry)| match entry {
            Entry::To(target) => Some(target.clone()),
            // The programs name theirs.
            _ => None,
        });
        let targets: Vec<Target> = targets.collect();
        let got = targets.len().max(options.remote.len());
        if got > MOST_RULES {
            return Err(OpenError::TooManyRules {
                got,
                most: MOST_RULES,
            });
        }
        let (mut entries, mut listeners) = (Vec::new(), Vec::new());
        for (addr, entry) in &options.listen {
            let failed = |source| OpenError::Listen {
                addr: *addr,
                source,
            };
            let listener = TcpListener::bind(addr).await.map_err(failed)?;
            entries.push((listener.local_addr().map_err(failed)?, entry.clone()));
            listeners.push(listener);
        }
        let (remote, reverse) = options.remote.iter().cloned().unzip();
        let on_event: OnEvent = Arc::new(on_event);
        let connections = options.bounds.connections();
        let near = Near::new(
            entries,
            reverse,
            connections,
            options.wait,
            on_event.clone(),
        );
        Ok(Client {
            options,
            targets,
            remote,
            near: Arc::new(near),
            listeners,
            on_event,
        })
    }

    /// The bound local addresses, and what each leads to.
    pub fn entries(&self) -> &[(SocketAddr, Entry)] {
        &self.near.entries
    }

    /// Source of [`Snapshot`]s while the client runs.
    pub fn counts(&self) -> impl Fn() -> Snapshot + Send + Sync + use<> {
        let near = self.near.clone();
        move || near.snapshot()
    }

    /// Forwards connections and keeps a session, until `stopper` stops it.
    ///
    /// # Errors
    /// The error of the first session is permanent.
    pub async fn run(mut self, stopper: &Stopper) -> Result<(), SessionError> {
        let mut listening = JoinSet::new();
        let entries = self.near.entries.iter().map(|(_, entry)| entry.clone());
        for (listener, entry) in std::mem::take(&mut self.listeners).into_iter().zip(entries) {
            listening.spawn(self.near.clone().listen(listener, entry));
        }
        let running = Running {
            client: self,
            listening: Mutex::new(listening),
            stopper: stopper.clone(),
        };
        reconnect(&running, stopper).await
    }
}

/// A client whose listeners accept connections.
struct Running {
    client: Client,
    listening: Mutex<JoinSet<()>>,
    stopper: Stopper,
}

impl Running {
    fn announce(&self, connection: &Connection, agreed: &Agreed) {
        let client = &self.client;
        let bound = agreed.listeners.iter().map(|(at, _)| at.clone());
        let targets = client.options.remote.iter().map(|(_, to)| to.clone());
        let reverse: Vec<_> = bound.zip(targets).collect();
        (client.on_event)(Event::Connected {
            remote: connection.remote_addr(),
            entries: &client.near.entries,
            reverse: &reverse,
        });
        for reason in &agreed.warnings {
            (client.on_event)(Event::UnknownTarget { reason });
        }
    }
}

impl Rejoin for Running {
    type Agreed = Agreed;

    async fn begin(&self) -> Result<(Port, Connection, Agreed), SessionError> {
        let client = &self.client;
        let options = &client.options;
        let mut config = options.endpoint.clone();
        options.bounds.apply(&mut config);
        let identity = Some(options.identity.clone());
        let agree = async |connection: &Connection| {
            let agreeing = agree(connection, &client.targets, &client.remote);
            let agreed = answered(options.timeout, agreeing).await?;
            self.announce(connection, &agreed);
            client.near.attach(connection.clone());
            Ok(agreed)
        };
        begin(&options.server, identity, Protocol::Forward, config, agree).await
    }

    /// Serves the streams that the peer opens.
    async fn carry(&self, connection: &Connection, agreed: Agreed) -> CloseReason {
        let client = &self.client;
        let mut listeners = JoinSet::new();
        for (at, stream) in agreed.listeners {
            listeners.spawn(async move {
                over(stream).await;
                at
            });
        }
        loop {
            tokio::select! {
                opened = connection.accept_stream() => match opened {
                    Ok(stream) => {
                        tokio::spawn(client.near.clone().incoming(stream));
                    }
                    Err(reason) => return reason,
                },
                Some(Ok(at)) = listeners.join_next() => {
                    if connection.close_reason().is_none() {
                        (client.on_event)(Event::NoLongerListens { at: &at });
                    }
                }
            }
        }
    }

    fn on_path(&self, event: &PathEvent) {
        (self.client.on_event)(Event::Path(event));
    }

    fn on_lost(&self) {
        self.client.near.detach();
    }

    fn on_retry(&self, error: &SessionError, wait: Duration) {
        (self.client.on_event)(Event::Retrying { error, wait });
    }

    /// Lets open connections finish for a while, and their data arrive.
    async fn leave(
        &self,
        connection: &Connection,
        carried: Pin<&mut (impl Future<Output = CloseReason> + Send)>,
    ) {
        self.listening.lock().await.shutdown().await;
        let near = &self.client.near;
        let open = near.snapshot().open;
        let patience = self.client.options.bounds.drain();
        if open > 0 {
            (self.client.on_event)(Event::Draining { open, patience });
        }
        let drained = async {
            near.drained().await;
            let _ = timeout(SETTLE, connection.flushed()).await;
        };
        tokio::select! {
            _ = timeout(patience, drained) => {}
            _ = carried => {}
            () = self.stopper.insisted() => {}
        }
    }

    async fn left(&self) {
        let _ = timeout(SETTLE, self.client.near.drained()).await;
    }
}

/// Waits for the end of a stream that carries no further data.
async fn over(mut stream: Stream) {
    let _ = tokio::io::AsyncReadExt::read_u8(&mut stream).await;
}
