//! The application protocols, and which of them a connection speaks.

use std::str::FromStr;

use weftline::{CloseReason, Connection, EndpointConfig, Port};

use crate::close;

/// An application protocol of this crate. A client names its own in the TLS handshake (ALPN, as
/// `weftline/1/files`); a server knows all of them, so that it can tell a client of another service
/// what it has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Files and directories ([`transfer`](crate::transfer)).
    Files,
    /// UDP flows ([`relay`](crate::relay)).
    Relay,
    /// TCP connections ([`forward`](crate::forward)).
    Forward,
    /// IP packets ([`tun`](crate::tun)).
    Tun,
}

/// No protocol of this crate has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such application protocol")]
pub struct UnknownProtocol;

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 4] = [
        Protocol::Files,
        Protocol::Relay,
        Protocol::Forward,
        Protocol::Tun,
    ];

    /// Its name in [`EndpointConfig::application_protocols`].
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Files => "files",
            Protocol::Relay => "relay",
            Protocol::Forward => "forward",
            Protocol::Tun => "tun",
        }
    }

    /// Lets the endpoint of a client ask for this protocol. For QUIC only: plain UDP has no handshake
    /// that would name it.
    pub fn ask(self, config: &mut EndpointConfig) {
        config.application_protocols = vec![self.name().to_owned()];
    }

    /// Lets the endpoint of a server accept clients of every protocol; [`accept`] then chooses. For
    /// QUIC only.
    pub fn offer(config: &mut EndpointConfig) {
        config.application_protocols = Self::ALL.map(|p| p.name().to_owned()).to_vec();
    }

    /// The protocol that the server speaks, if the session ended because it is another one than this end's.
    pub fn of_server(reason: &CloseReason) -> Option<Protocol> {
        match reason {
            CloseReason::Peer {
                code: close::OTHER_PROTOCOL,
                reason,
            } => reason.parse().ok(),
            _ => None,
        }
    }
}

impl FromStr for Protocol {
    type Err = UnknownProtocol;

    fn from_str(text: &str) -> Result<Self, UnknownProtocol> {
        let mut all = Self::ALL.into_iter();
        all.find(|p| p.name() == text).ok_or(UnknownProtocol)
    }
}

/// The next connection for one of the `served` protocols, and which; `None` as with [`Port::accept`].
/// Connections for other protocols are closed with [`close::OTHER_PROTOCOL`] and the name of the one that
/// is served, if it is one. A connection that names no protocol, as on plain UDP, is for the first one.
///
/// Cancel safe.
pub async fn accept(port: &Port, served: &[Protocol]) -> Option<(Protocol, Connection)> {
    let first = *served.first()?;
    // One of several would mislead.
    let reached = if served.len() == 1 { first.name() } else { "" };
    loop {
        let connection = port.accept().await?;
        let Some(name) = connection.application_protocol() else {
            return Some((first, connection));
        };
        match name.parse() {
            Ok(protocol) if served.contains(&protocol) => return Some((protocol, connection)),
            _ => connection.close(close::OTHER_PROTOCOL, reached),
        }
    }
}

#[cfg(test)]
mod tests {
    use weftline::{Allowed, ConnectError, Endpoint, Identity};

    use super::*;
    use crate::error::SessionError;

    fn endpoint(protocols: impl FnOnce(&mut EndpointConfig)) -> Endpoint {
        let mut config = EndpointConfig::default();
        protocols(&mut config);
        let (any, identity) = ("127.0.0.1:0".parse().unwrap(), Identity::generate());
        Endpoint::bind(any, identity, Allowed::anyone(), config).unwrap()
    }

    #[tokio::test]
    async fn one_port_tells_its_clients_apart() {
        let server = endpoint(Protocol::offer);
        let (at, peer) = (server.local_addr().unwrap(), server.fingerprint());
        let served = [Protocol::Relay, Protocol::Forward, Protocol::Tun];
        let clients = Protocol::ALL.map(|protocol| endpoint(|config| protocol.ask(config)));
        for (client, protocol) in clients.iter().zip(Protocol::ALL) {
            let accepting = accept(&server, &served);
            let connecting = async {
                // It may be turned away before it is ready.
                match client.connect(at, peer).await {
                    Ok(connection) => connection.closed().await,
                    Err(ConnectError::Closed { reason, .. }) => reason,
                    Err(error) => panic!("{error}"),
                }
            };
            tokio::select! {
                accepted = accepting => {
                    assert_eq!(accepted.unwrap().0, protocol);
                    assert!(served.contains(&protocol));
                }
                reason = connecting => {
                    assert_eq!(protocol, Protocol::Files);
                    // It serves several.
                    assert_eq!(Protocol::of_server(&reason), None);
                    assert!(!SessionError::Closed(reason).is_transient());
                }
            }
        }
    }
}
