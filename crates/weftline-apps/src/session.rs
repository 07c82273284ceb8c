//! Opening and closing a session with another host.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;
use weftline::{
    Allowed, ConnectError, Connection, Endpoint, EndpointConfig, Fingerprint, Identity,
    InsecureEndpoint, Port,
};

use crate::address::{Address, any_like};
use crate::error::SessionError;

/// Head start of an address over the next one.
const STAGGER: Duration = Duration::from_millis(300);
/// How long a closing session may take to notify its peer.
const FAREWELL: Duration = Duration::from_secs(2);

/// Application error codes of closed sessions.
pub mod close {
    /// The session is complete.
    pub const DONE: u64 = 0;
    /// A person stopped it.
    pub const INTERRUPTED: u64 = 1;
    /// The session failed; the reason says why.
    pub const FAILED: u64 = 2;
    /// The receiver accepts one sender only, and is serving another one.
    pub const BUSY: u64 = 3;
}

/// Connects to the first of a host's addresses that answers; each has a head start over the next.
///
/// `identity` is the peer's fingerprint and this end's key pair. Without it the session is plain
/// UDP: nothing is encrypted or authenticated.
///
/// # Errors
/// The name cannot be resolved, the endpoint cannot be opened, or no address accepts the
/// connection. A host that has another identity, or refuses this host, decides the error.
pub async fn connect(
    address: &Address,
    identity: Option<(Fingerprint, Identity)>,
    config: &EndpointConfig,
) -> Result<(Port, Connection), SessionError> {
    let mut attempts = JoinSet::new();
    for (i, addr) in (0..).zip(address.resolve().await?) {
        let (identity, config) = (identity.clone(), config.clone());
        attempts.spawn(async move {
            tokio::time::sleep(STAGGER * i).await;
            attempt(addr, identity, config).await
        });
    }
    let mut last = None;
    while let Some(attempted) = attempts.join_next().await {
        let attempted = attempted.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(SessionError::Failed(error.to_string())),
        });
        match attempted {
            Ok(connected) => return Ok(connected),
            // A peer with another identity, or one that refuses this host, is the result to report.
            Err(
                error @ SessionError::Connect(
                    ConnectError::PeerMismatch { .. } | ConnectError::Refused { .. },
                ),
            ) => return Err(error),
            Err(error) => last = Some(error),
        }
    }
    // `resolve` returns at least one address.
    Err(last.unwrap_or(SessionError::Silent))
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
