//! Opening and closing a session with another host.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{interval, sleep};
use weftline::{
    Allowed, ConnectError, Connection, Endpoint, EndpointConfig, Fingerprint, Identity,
    InsecureEndpoint, Port,
};

use crate::address::{Address, any_like};
use crate::error::SessionError;
use crate::protocol::Protocol;

/// Head start of an address over the next one.
const STAGGER: Duration = Duration::from_millis(300);
/// A host that does not answer is asked anew after this time.
const ANEW: Duration = Duration::from_secs(1);
/// An attempt to connect asks a host at most this number of times.
const MOST_ROUNDS: u32 = 10;
/// How long a closing session may take to notify its peer.
const FAREWELL: Duration = Duration::from_secs(2);

/// Connects to the first of a host's addresses that answers; each has a head start over the next.
///
/// While none answers, all are asked anew every second, within the configuration's
/// `connect_timeout`: the packets of one attempt follow each other ever more slowly, and a host that
/// comes up must not wait for the next one.
///
/// `identity` is the peer's fingerprint and this end's key pair. Without it the session is plain
/// UDP: nothing is encrypted or authenticated, and the server is not told the `protocol`.
///
/// # Errors
/// The name cannot be resolved, the endpoint cannot be opened, or no address accepts the
/// connection. A host that has another identity, or refuses this host, decides the error.
pub async fn connect(
    address: &Address,
    identity: Option<(Fingerprint, Identity)>,
    protocol: Protocol,
    config: &EndpointConfig,
) -> Result<(Port, Connection), SessionError> {
    let mut config = config.clone();
    if identity.is_some() {
        protocol.ask(&mut config);
    }
    race(address, config.connect_timeout, |addr| {
        attempt(addr, identity.clone(), config.clone())
    })
    .await
}

/// The first `attempt` at one of the addresses that succeeds; each of them takes up to `limit`.
pub(crate) async fn race<F>(
    address: &Address,
    limit: Duration,
    attempt: impl Fn(SocketAddr) -> F,
) -> Result<(Port, Connection), SessionError>
where
    F: Future<Output = Result<(Port, Connection), SessionError>> + Send + 'static,
{
    let addresses = address.resolve().await?;
    let mut rounds = interval(ANEW.max(limit / MOST_ROUNDS));
    let (mut is_first, mut last) = (true, None);
    let mut open = addresses.len();
    let mut attempts = JoinSet::new();
    loop {
        let attempted = tokio::select! {
            biased;
            _ = rounds.tick() => {
                for (i, addr) in (0..).zip(addresses.iter().copied()) {
                    let attempt = attempt(addr);
                    attempts.spawn(async move {
                        sleep(STAGGER * i).await;
                        (is_first, attempt.await)
                    });
                }
                is_first = false;
                continue;
            }
            Some(attempted) = attempts.join_next() => attempted,
        };
        let attempted = attempted.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => (true, Err(SessionError::Failed(error.to_string()))),
        });
        match attempted {
            (_, Ok(connected)) => return Ok(connected),
            // A peer with another identity, or one that refuses this host or its protocol, is the result
            // to report.
            (
                _,
                Err(
                    error @ SessionError::Connect(
                        ConnectError::PeerMismatch { .. }
                        | ConnectError::Refused { .. }
                        | ConnectError::ApplicationProtocol { .. },
                    ),
                ),
            ) => return Err(error),
            // The first attempts have had the whole time.
            (true, Err(error)) => {
                open -= 1;
                last = Some(error);
            }
            (false, Err(_)) => {}
        }
        if open == 0 {
            // `resolve` returns at least one address.
            return Err(last.unwrap_or(SessionError::Silent));
        }
    }
}

async fn attempt(
    addr: SocketAddr,
    identity: Option<(Fingerprint, Identity)>,
    config: EndpointConfig,
) -> Result<(Port, Connection), SessionError> {
    let local = any_like(addr);
    match identity {
        Some((peer, identity)) => {
            let endpoint = Endpoint::bind(local, identity, Allowed::nobody(), config)?;
            let connection = endpoint.connect(addr, peer).await?;
            Ok((endpoint.into(), connection))
        }
        None => {
            let endpoint = InsecureEndpoint::bind(local, config)?;
            let connection = endpoint.connect(addr).await?;
            Ok((endpoint.into(), connection))
        }
    }
}

/// Closes all sessions of `endpoint` and waits up to 2 s until the peers have been notified.
pub async fn farewell(endpoint: &Port, code: u64, reason: &str) {
    endpoint.close(code, reason);
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tokio::net::UdpSocket;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_host_that_does_not_answer_is_asked_anew() {
        let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = silent.local_addr().unwrap().to_string().parse().unwrap();
        let [ours, theirs] = [(); 2].map(|()| Identity::generate());
        let identity = Some((theirs.fingerprint(), ours));
        let mut config = EndpointConfig::default();
        config.connect_timeout = ANEW + ANEW / 2;
        let error = connect(&address, identity, Protocol::Files, &config)
            .await
            .err()
            .unwrap();
        let is_timeout = matches!(error, SessionError::Connect(ConnectError::TimedOut { .. }));
        assert!(is_timeout, "{error}");
        let mut attempts = HashSet::new();
        while let Ok(Ok((_, from))) =
            timeout(Duration::ZERO, silent.recv_from(&mut [0; 2000])).await
        {
            attempts.insert(from);
        }
        assert_eq!(attempts.len(), 2);
    }
}
