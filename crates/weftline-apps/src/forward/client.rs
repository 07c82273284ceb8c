//! The client end: keeps a session with the server.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use weftline::{CloseReason, Connection, PathEvent, Port, Stream};

use super::agree::{Agreed, agree};
use super::bounds::MOST_RULES;
use super::counts::Snapshot;
use super::event::{Event, OnEvent};
use super::lane::Lane;
use super::near::Session;
use super::options::{ClientOptions, Entry, OpenError};
use crate::error::SessionError;
use crate::protocol::Protocol;
use crate::reconnect::{Rejoin, answered, begin, reconnect};
use crate::stopper::Stopper;
use crate::target::Target;

/// The client end of `forward`.
pub struct Client {
    options: ClientOptions,
    targets: Vec<Target>,
    remote: Vec<SocketAddr>,
    pub(super) lane: Lane,
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
        let (remote, reverse) = options.remote.iter().cloned().unzip();
        let on_event: OnEvent = Arc::new(on_event);
        let limits = (options.bounds, options.wait);
        let lane = Lane::with(&options.listen, reverse, limits, on_event.clone()).await?;
        Ok(Client {
            options,
            targets,
            remote,
            lane,
            on_event,
        })
    }

    /// The bound local addresses, and what each leads to.
    pub fn entries(&self) -> &[(SocketAddr, Entry)] {
        self.lane.entries()
    }

    /// Source of [`Snapshot`]s while the client runs.
    pub fn counts(&self) -> impl Fn() -> Snapshot + Send + Sync + use<> {
        let near = self.lane.near.clone();
        move || near.snapshot()
    }

    /// Forwards connections and keeps a session, until `stopper` stops it.
    ///
    /// # Errors
    /// The error of the first session is permanent.
    pub async fn run(self, stopper: &Stopper) -> Result<(), SessionError> {
        reconnect(&self, stopper).await
    }

    fn announce(&self, connection: &Connection, agreed: &Agreed) {
        let bound = agreed.listeners.iter().map(|(at, _)| at.clone());
        let targets = self.options.remote.iter().map(|(_, to)| to.clone());
        let reverse: Vec<_> = bound.zip(targets).collect();
        (self.on_event)(Event::Connected {
            remote: connection.remote_addr(),
            entries: self.lane.entries(),
            reverse: &reverse,
        });
        for reason in &agreed.warnings {
            (self.on_event)(Event::UnknownTarget { reason });
        }
    }
}

impl Rejoin for Client {
    type Agreed = (Agreed, Session);

    async fn begin(&self) -> Result<(Port, Connection, Self::Agreed), SessionError> {
        let options = &self.options;
        let mut config = options.endpoint.clone();
        options.bounds.apply(&mut config);
        let identity = Some(options.identity.clone());
        let agree = async |connection: &Connection| {
            let agreeing = agree(connection, &self.targets, &self.remote);
            let agreed = answered(options.timeout, agreeing).await?;
            self.announce(connection, &agreed);
            let session = self.lane.near.attach(connection.clone());
            Ok((agreed, session))
        };
        begin(&options.server, identity, Protocol::Forward, config, agree).await
    }

    /// Serves the streams that the peer opens.
    async fn carry(&self, connection: &Connection, (agreed, session): Self::Agreed) -> CloseReason {
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
                        let near = self.lane.near.clone();
                        tokio::spawn(near.incoming(session.clone(), stream));
                    }
                    Err(reason) => return reason,
                },
                Some(Ok(at)) = listeners.join_next() => {
                    if connection.close_reason().is_none() {
                        (self.on_event)(Event::NoLongerListens { at: &at });
                    }
                }
            }
        }
    }

    fn on_path(&self, event: &PathEvent) {
        (self.on_event)(Event::Path(event));
    }

    fn on_lost(&self) {
        self.lane.detach();
    }

    fn on_retry(&self, error: &SessionError, wait: Duration) {
        (self.on_event)(Event::Retrying { error, wait });
    }

    async fn leave(
        &self,
        connection: &Connection,
        carried: Pin<&mut (impl Future<Output = CloseReason> + Send)>,
        stopper: &Stopper,
    ) {
        tokio::select! {
            () = self.lane.drain(connection, stopper) => {}
            _ = carried => {}
        }
    }

    async fn left(&self) {
        self.lane.settle().await;
    }
}

/// Waits for the end of a stream that carries no further data.
async fn over(mut stream: Stream) {
    let _ = tokio::io::AsyncReadExt::read_u8(&mut stream).await;
}
