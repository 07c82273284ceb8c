//! A session that is re-established after a loss; the clients of relay, forward and tun share it.

use std::convert::Infallible;
use std::future::pending;
use std::pin::{Pin, pin};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use weftline::{
    CloseReason, ConnectError, Connection, EndpointConfig, Fingerprint, Identity, PathEvent, Port,
};

use crate::address::Address;
use crate::close;
use crate::error::SessionError;
use crate::protocol::Protocol;
use crate::session::{connect, farewell};
use crate::stopper::Stopper;

/// First and longest pause after a failure.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(8);
/// An idle session asks this often whether its server still knows it.
const ASK: Duration = Duration::from_secs(1);

/// The work done with each session.
pub(crate) trait Rejoin: Sync {
    /// The agreement of both ends at the start of a session.
    type Agreed: Send;

    /// Connects, and agrees with the server on the rules.
    fn begin(
        &self,
    ) -> impl Future<Output = Result<(Port, Connection, Self::Agreed), SessionError>> + Send;

    /// Serves the session until it ends.
    fn carry(
        &self,
        connection: &Connection,
        agreed: Self::Agreed,
    ) -> impl Future<Output = CloseReason> + Send;

    /// Something has happened to a path of the session.
    fn on_path(&self, event: &PathEvent);

    /// A session was lost.
    fn on_lost(&self);

    /// The next attempt follows after `wait`.
    fn on_retry(&self, error: &SessionError, wait: Duration);

    /// Lets data in flight arrive before the session is closed on request; a second request ends that.
    fn leave(
        &self,
        connection: &Connection,
        carried: Pin<&mut (impl Future<Output = CloseReason> + Send)>,
        stopper: &Stopper,
    ) -> impl Future<Output = ()> + Send;

    /// The session is closed.
    fn left(&self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// Connects as [`connect`] does, and agrees with the server; without an agreement, the server is told that the
/// session is over.
///
/// # Errors
/// Those of connecting, and of `agree`.
pub(crate) async fn begin<T>(
    server: &Address,
    identity: Option<(Fingerprint, Identity)>,
    protocol: Protocol,
    mut config: EndpointConfig,
    agree: impl AsyncFnOnce(&Connection) -> Result<T, SessionError>,
) -> Result<(Port, Connection, T), SessionError> {
    // A session notices soon that its server was killed and started again, even while it is idle: the
    // server answers its next packet with a reset.
    let keep_alive = &mut config.session.keep_alive;
    *keep_alive = keep_alive.map(|interval| interval.min(ASK));
    let (port, connection) = connect(server, identity, protocol, &config).await?;
    match agree(&connection).await {
        Ok(agreed) => Ok((port, connection, agreed)),
        Err(error) => {
            farewell(&port, close::FAILED, "").await;
            Err(error)
        }
    }
}

/// What the server answers within `limit`.
///
/// # Errors
/// It does not answer in time, or those of `answer`.
pub(crate) async fn answered<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, SessionError>>,
) -> Result<T, SessionError> {
    let answered = timeout(limit, answer).await;
    answered.unwrap_or(Err(SessionError::Silent))
}

async fn watch(connection: &Connection, work: &impl Rejoin) -> Infallible {
    while let Ok(event) = connection.path_event().await {
        work.on_path(&event);
    }
    pending().await
}

/// The pause after a further failure.
fn longer(wait: Duration) -> Duration {
    (wait * 2).clamp(FIRST_WAIT, LONGEST_WAIT)
}

/// Keeps a session until `stopper` stops it. A session that was lost is replaced at once, unless
/// it lasted no longer than the last pause.
///
/// # Errors
/// The error of the first session is permanent. After a session has worked, attempts continue
/// without limit.
pub(crate) async fn reconnect(work: &impl Rejoin, stopper: &Stopper) -> Result<(), SessionError> {
    let mut wait = Duration::ZERO;
    let mut served = false;
    loop {
        let begun = tokio::select! {
            begun = work.begin() => begun,
            () = stopper.asked() => return Ok(()),
        };
        let error = match begun {
            Ok((endpoint, connection, agreed)) => {
                served = true;
                let began = Instant::now();
                let mut carried = pin!(work.carry(&connection, agreed));
                let ended = tokio::select! {
                    ended = &mut carried => ended,
                    never = watch(&connection, work) => match never {},
                    () = stopper.asked() => {
                        work.leave(&connection, carried, stopper).await;
                        farewell(&endpoint, close::INTERRUPTED, "stopped").await;
                        work.left().await;
                        return Ok(());
                    }
                };
                work.on_lost();
                connection.close(close::FAILED, "the session failed");
                wait = match began.elapsed() > wait {
                    true => Duration::ZERO,
                    false => longer(wait),
                };
                SessionError::Closed(ended)
            }
            Err(error) => {
                wait = match error {
                    // It was asked all the time.
                    SessionError::Connect(ConnectError::TimedOut { .. }) => FIRST_WAIT,
                    _ => longer(wait),
                };
                error
            }
        };
        // An error that a person must fix is permanent, unless a session has worked before.
        if !served && !error.is_transient() {
            return Err(error);
        }
        work.on_retry(&error, wait);
        tokio::select! {
            () = sleep(wait) => {}
            () = stopper.asked() => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::UdpSocket;
    use weftline::{Allowed, Endpoint};

    use super::*;

    /// Passes packets on for ten seconds; the longest time between two of the client's.
    async fn longest_silence(front: &UdpSocket, back: &UdpSocket) -> Duration {
        let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        let (mut client, mut last, mut longest) = (None, Instant::now(), Duration::ZERO);
        let mut end = pin!(sleep(Duration::from_secs(10)));
        loop {
            tokio::select! {
                Ok((len, from)) = front.recv_from(&mut up) => {
                    client = Some(from);
                    longest = longest.max(last.elapsed());
                    last = Instant::now();
                    back.send(&up[..len]).await.unwrap();
                }
                Ok(len) = back.recv(&mut down) => {
                    if let Some(client) = client {
                        front.send_to(&down[..len], client).await.unwrap();
                    }
                }
                () = &mut end => return longest.max(last.elapsed()),
            }
        }
    }

    /// A server that was killed and started again is noticed within a second and a round trip: an idle
    /// session says something at least that often, and the server resets it then.
    #[tokio::test(start_paused = true)]
    async fn an_idle_session_asks_each_second() {
        let [near, far] = [(); 2].map(|()| Identity::generate());
        let mut config = EndpointConfig::default();
        Protocol::offer(&mut config);
        let (any, allowed) = ("127.0.0.1:0", Allowed::only([near.fingerprint()]));
        let addr = any.parse().unwrap();
        let server = Endpoint::bind(addr, far.clone(), allowed, config).unwrap();
        let front = UdpSocket::bind(any).await.unwrap();
        let back = UdpSocket::bind(any).await.unwrap();
        back.connect(server.local_addr().unwrap()).await.unwrap();
        let via = front.local_addr().unwrap().to_string().parse().unwrap();
        let identity = Some((far.fingerprint(), near));
        let config = EndpointConfig::default();
        let agree = async |_: &Connection| Ok(());
        let client = begin(&via, identity, Protocol::Relay, config, agree);
        let ends = async { tokio::join!(client, server.accept()) };
        let (client, served) = tokio::select! {
            ends = ends => ends,
            _ = longest_silence(&front, &back) => panic!("no session within ten seconds"),
        };
        let (_client, _served) = (client.unwrap(), served.unwrap());
        let silence = longest_silence(&front, &back).await;
        let round_trip = Duration::from_millis(50);
        assert!(
            silence <= Duration::from_secs(1) + round_trip,
            "{silence:?}"
        );
    }
}
