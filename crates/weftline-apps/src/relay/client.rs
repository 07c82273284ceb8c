//! The client end: keeps a session with the server.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{interval, timeout};
use weftline::{CloseReason, Connection, PathEvent, Port, Stream};

use super::counts::Snapshot;
use super::delivery::Delivery;
use super::event::{Event, OnEvent, Route};
use super::inward::{finish, inward};
use super::near::Near;
use super::options::{ClientOptions, OpenError};
use super::table::{Hostile, longest};
use super::wire::{self, Answer, Gone, Hello, MOST_RULES, VERSION, Wanted};
use crate::error::SessionError;
use crate::line;
use crate::printable;
use crate::protocol::Protocol;
use crate::reconnect::{Rejoin, answered, begin, reconnect};
use crate::stopper::Stopper;

/// How long datagrams in flight may take to arrive when the relay is stopped.
const DRAIN: Duration = Duration::from_secs(1);
/// Time between two checks for idle flows.
const SWEEP: Duration = Duration::from_secs(1);

/// The client end of a relay.
pub struct Client {
    options: ClientOptions,
    pub(super) near: Arc<Near>,
    hello: Hello,
    on_event: OnEvent,
}

impl Client {
    /// Opens the local sockets of all rules.
    ///
    /// # Errors
    /// There are too many rules, or one of their addresses cannot be used.
    pub fn open(
        options: ClientOptions,
        on_event: impl Fn(Event<'_>) + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        let got = options.rules.len();
        if got > MOST_RULES {
            return Err(OpenError::TooManyRules {
                got,
                most: MOST_RULES,
            });
        }
        let on_event: OnEvent = Arc::new(on_event);
        let near = Near::open(options.rules.clone(), options.flows, on_event.clone())
            .map_err(|(addr, source)| OpenError::Listen { addr, source })?;
        let rules = options.rules.iter().map(|rule| Wanted {
            target: rule.target.to_string(),
            delivery: rule.delivery.to_string(),
        });
        let hello = Hello {
            weftline_relay: VERSION,
            // As random as the standard library's hash keys: the number only distinguishes two
            // runs.
            instance: std::hash::BuildHasher::hash_one(
                &std::collections::hash_map::RandomState::new(),
                std::process::id(),
            ),
            rules: rules.collect(),
        };
        Ok(Client {
            options,
            near: Arc::new(near),
            hello,
            on_event,
        })
    }

    /// The local addresses of the rules, in their order.
    ///
    /// # Errors
    /// The system's error.
    pub fn addresses(&self) -> std::io::Result<Vec<std::net::SocketAddr>> {
        self.near.addresses()
    }

    /// Current counters.
    pub fn snapshot(&self) -> Snapshot {
        self.near.snapshot()
    }

    /// Forwards datagrams and keeps a session, until `stopper` stops it.
    ///
    /// # Errors
    /// The error of the first session is permanent.
    pub async fn run(&self, stopper: &Stopper) -> Result<(), SessionError> {
        let mut listeners = JoinSet::new();
        for rule in 0..self.near.rules().len() {
            listeners.spawn(self.near.clone().listen(rule as u8));
        }
        let ended = reconnect(self, stopper).await;
        listeners.shutdown().await;
        ended
    }

    async fn agree(&self, connection: &Connection) -> Result<(Stream, Answer), SessionError> {
        let lost = |error| SessionError::lost(connection, &error);
        let stream = connection.open_stream().await;
        let mut stream = stream.map_err(SessionError::Closed)?;
        line::write(&mut stream, &self.hello).await.map_err(lost)?;
        let answer: Answer = wire::read(&mut stream).await.map_err(lost)?;
        if answer.weftline_relay != VERSION {
            return Err(SessionError::Version("the relay"));
        }
        let mut refused = self.options.rules.iter().zip(&answer.refused);
        if let Some((rule, reason)) = refused.find_map(|(rule, why)| Some((rule, why.as_ref()?))) {
            return Err(SessionError::TargetRefused {
                target: rule.target.to_string(),
                reason: printable(reason),
            });
        }
        Ok((stream, answer))
    }

    fn announce(&self, connection: &Connection) -> Result<(), SessionError> {
        let addresses = self.near.addresses();
        let addresses = addresses.map_err(|error| SessionError::Failed(error.to_string()))?;
        let rules = self.near.rules().iter();
        let route = |(rule, at): (&super::Rule, _)| Route {
            at,
            rule: rule.clone(),
            longest: longest(connection, rule.delivery),
        };
        let routes: Vec<Route> = rules.zip(addresses).map(route).collect();
        (self.on_event)(Event::Connected {
            remote: connection.remote_addr(),
            routes: &routes,
        });
        Ok(())
    }

    /// Ends idle flows, and reports them to the server.
    async fn sweep(
        &self,
        connection: &Connection,
        mut stream: Stream,
        idle: Duration,
    ) -> CloseReason {
        let mut timer = interval(SWEEP.min(idle));
        let mut most = longest(connection, Delivery::InOrder);
        loop {
            timer.tick().await;
            let now = longest(connection, Delivery::InOrder);
            if std::mem::replace(&mut most, now) != now {
                (self.on_event)(Event::PathChanged { longest: now });
            }
            let gone = self.near.expire(idle);
            for gone in gone.chunks(1000) {
                let gone = gone.to_vec();
                if line::write(&mut stream, &Gone { gone }).await.is_err() {
                    return connection.closed().await;
                }
            }
        }
    }
}

impl Rejoin for Client {
    type Agreed = (Stream, Answer);

    async fn begin(&self) -> Result<(Port, Connection, Self::Agreed), SessionError> {
        let options = &self.options;
        let (identity, config) = (options.identity.clone(), options.endpoint.clone());
        let agree = async |connection: &Connection| {
            let agreed = answered(options.timeout, self.agree(connection)).await?;
            let most = agreed.1.flows as usize;
            self.near.attach(connection.clone(), most);
            self.announce(connection)?;
            Ok(agreed)
        };
        begin(&options.server, identity, Protocol::Relay, config, agree).await
    }

    async fn carry(&self, connection: &Connection, agreed: Self::Agreed) -> CloseReason {
        let (stream, answer) = agreed;
        let idle = Duration::from_secs(answer.idle.max(1)).min(self.options.idle);
        let near = &self.near;
        let inward = async {
            let inward = inward(
                connection,
                |message| near.inward(message),
                || near.hand_on(),
            );
            match inward.await {
                Ok(reason) => reason,
                Err(Hostile) => {
                    let what = "more datagrams out of order than the credit allows";
                    CloseReason::Carrier(what.to_owned())
                }
            }
        };
        let reason = tokio::select! {
            reason = inward => reason,
            reason = self.sweep(connection, stream, idle) => reason,
        };
        finish(|| near.hand_on()).await;
        reason
    }

    fn on_path(&self, event: &PathEvent) {
        (self.on_event)(Event::Path(event));
    }

    fn on_lost(&self) {
        self.near.detach();
    }

    fn on_retry(&self, error: &SessionError, wait: Duration) {
        (self.on_event)(Event::Retrying { error, wait });
    }

    async fn leave(
        &self,
        connection: &Connection,
        _carried: Pin<&mut (impl Future<Output = CloseReason> + Send)>,
        _stopper: &Stopper,
    ) {
        self.near.detach();
        let _ = timeout(DRAIN, connection.flushed()).await;
    }
}
