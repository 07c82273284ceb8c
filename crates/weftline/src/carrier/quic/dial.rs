//! Connecting to a peer, through the endpoint's own socket or through another one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use quinn::ClientConfig;
use quinn::crypto::rustls::QuicClientConfig;
use tokio::time::timeout;

use super::super::{socket, tls};
use super::early::{self, Handshake, Outcome};
use super::join::Bond;
use super::link::{Early, Link, connect_error};
use super::outlet::Outlet;
use super::together::Place;
use super::transport::transport;
use super::{Quic, SERVER_NAME, jumbo};
use crate::known::{Pair, Resumable};
use crate::{Allowed, ConnectError, Fingerprint, PathError, PathRequest, paths};

/// A connection begins on the next of several paths when one has not answered for this long.
const ELSEWHERE: Duration = Duration::from_secs(2);

/// From where and to where a client's connection goes: what opens further ones beside it.
#[derive(Clone)]
pub(crate) struct Dialled {
    /// Handles of a connection that is over keep no endpoint alive.
    quic: Weak<Quic>,
    /// Where the caller of connect said that the peer is.
    addr: SocketAddr,
    peer: Fingerprint,
    pub(crate) request: PathRequest,
}

impl Dialled {
    /// What further paths are opened with, as long as this is held.
    pub(crate) fn opener(&self) -> Result<Dialler, PathError> {
        let quic = self.quic.upgrade().ok_or(ConnectError::EndpointClosed)?;
        Ok(Dialler {
            quic,
            from: self.clone(),
        })
    }
}

/// Opens connections beside one that was [`Dialled`].
#[derive(Clone)]
pub(crate) struct Dialler {
    quic: Arc<Quic>,
    from: Dialled,
}

impl Dialler {
    /// Opens a further path of the session of `bond`.
    pub(crate) async fn again(
        &self,
        request: &PathRequest,
        bond: &Bond,
    ) -> Result<Link, PathError> {
        let limit = self.quic.config.connect_timeout;
        let joined = async {
            let link = self.beside(request, false).await?;
            link.join(bond, request.cost).await?;
            Ok(link)
        };
        let silent = ConnectError::TimedOut {
            addr: request.remote_of(self.from.addr),
            seconds: limit.as_secs(),
        };
        let joined = timeout(limit, joined).await;
        joined.unwrap_or_else(|_| Err(silent.into()))
    }

    /// Does the handshake of a further path; never `early` but in tests.
    pub(super) async fn beside(
        &self,
        request: &PathRequest,
        early: bool,
    ) -> Result<Link, PathError> {
        let (quic, remote) = (&self.quic, request.remote_of(self.from.addr));
        let own = quic.outlet(request, remote)?;
        let pair = Pair {
            ours: quic.fingerprint(),
            peer: self.from.peer,
            protocols: tls::path_alpn().into(),
        };
        let dialled = Dialled {
            request: request.clone(),
            ..self.from.clone()
        };
        let link = quic.dial(remote, pair, early, dialled, own).await;
        link.map_err(|error| match error {
            ConnectError::ApplicationProtocol { addr } => PathError::Refused {
                addr,
                reason: "it has one path only: update it".to_owned(),
            },
            other => PathError::Connect(other),
        })
    }
}

impl Quic {
    pub(crate) async fn connect(
        self: &Arc<Self>,
        addr: SocketAddr,
        peer: Fingerprint,
    ) -> Result<Link, ConnectError> {
        let requests = paths::wanted(&self.config, addr);
        // A path that does not answer does not keep the session from beginning on another one.
        for request in requests.iter().take(requests.len().saturating_sub(1)) {
            match timeout(ELSEWHERE, self.connect_by(addr, peer, request)).await {
                Ok(Err(ConnectError::Address { .. } | ConnectError::NotWeftline { .. })) => {}
                Ok(connected) => return connected,
                Err(_) => {}
            }
            tracing::info!(path = %request, "does not answer; trying the next path");
        }
        let last = requests.last().cloned().unwrap_or_default();
        self.connect_by(addr, peer, &last).await
    }

    async fn connect_by(
        self: &Arc<Self>,
        addr: SocketAddr,
        peer: Fingerprint,
        request: &PathRequest,
    ) -> Result<Link, ConnectError> {
        let remote = request.remote_of(addr);
        let pair = Pair {
            ours: self.fingerprint(),
            peer,
            protocols: self.alpn.clone(),
        };
        let dialled = Dialled {
            quic: Arc::downgrade(self),
            addr,
            peer,
            request: request.clone(),
        };
        let own = self.outlet(request, remote)?;
        self.dial(remote, pair, self.config.early_data, dialled, own)
            .await
    }

    /// A socket of its own for a path that asks for one.
    fn outlet(
        &self,
        request: &PathRequest,
        remote: SocketAddr,
    ) -> Result<Option<Outlet>, ConnectError> {
        if request.interface.is_none() && request.local.is_none() {
            return Ok(None);
        }
        let any: IpAddr = match remote {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let local = SocketAddr::new(request.local.unwrap_or(any), 0);
        let failed = |reason: String| ConnectError::Address {
            addr: remote,
            reason: format!("path {request}: {reason}"),
        };
        if local.is_ipv4() != remote.is_ipv4() {
            let reason = "one of the addresses is IPv4 and the other one IPv6";
            return Err(failed(reason.to_owned()));
        }
        let interface = request.interface.as_deref();
        let socket = socket::bind_to(local, interface, &self.config);
        let identity = self.identity();
        let secret = |purpose: &str, port| identity.secret(purpose, port);
        let outlet = socket.and_then(|socket| Outlet::new(socket, secret, Arc::default()));
        outlet.map(Some).map_err(|error| failed(error.to_string()))
    }

    /// Does a client's handshake; with `early` only its beginning, where tickets allow that.
    async fn dial(
        &self,
        addr: SocketAddr,
        pair: Pair,
        early: bool,
        dialled: Dialled,
        own: Option<Outlet>,
    ) -> Result<Link, ConnectError> {
        let address = |reason: String| ConnectError::Address { addr, reason };
        let Resumable {
            config, refused, ..
        } = self.client_tls(&pair, early).map_err(address)?;
        let known = &self.config.known_peers;
        let rtt = known.rtt(&pair, addr);
        let outlet = own.as_ref().unwrap_or(&self.outlet);
        let (connecting, place) = self.begin(outlet, config, addr, rtt)?;
        let (ours, expected) = (pair.ours, pair.peer);
        let link = match connecting.into_0rtt() {
            Ok((connection, accepted)) => {
                let limit = self.config.connect_timeout.min(early::LONGEST);
                let (known, path) = (known.clone(), connection.clone());
                let done = move |outcome| {
                    if let Outcome::Confirmed { .. } = outcome {
                        known.measured(pair, addr, path.rtt());
                    }
                };
                let early = Early {
                    handshake: Handshake::watch(&connection, accepted, limit, done),
                    limit,
                    rtt,
                    refused,
                };
                Link::to(connection, place, expected, ours, self.idle, Some(early))
            }
            Err(connecting) => {
                let connection = connecting.await.map_err(|error| match refused.take() {
                    Some(got) => ConnectError::PeerMismatch {
                        addr,
                        expected,
                        got,
                    },
                    None => connect_error(&error, addr, ours, self.idle),
                })?;
                known.measured(pair, addr, connection.rtt());
                Link::new(connection, place, ours, self.idle, None)
            }
        };
        let mut link = link.ok_or_else(|| no_datagrams(addr))?;
        link.dialled = Some(Box::new(dialled));
        link.own = Mutex::new(own.map(Box::new));
        Ok(link)
    }

    /// Sends a client's first packets; the path probably takes `rtt`, if that is known.
    fn begin(
        &self,
        outlet: &Outlet,
        tls: Arc<QuicClientConfig>,
        addr: SocketAddr,
        rtt: Option<Duration>,
    ) -> Result<(quinn::Connecting, Place), ConnectError> {
        let address = |reason: String| ConnectError::Address { addr, reason };
        let transport = transport(&self.config, rtt, jumbo::is_likely(addr))
            .map_err(|e| address(e.to_string()))?;
        let mut config = ClientConfig::new(tls);
        config.transport_config(Arc::new(transport));
        let begun = outlet.begin(|endpoint| endpoint.connect_with(config, addr, SERVER_NAME));
        begun.map_err(|error| match error {
            quinn::ConnectError::EndpointStopping => ConnectError::EndpointClosed,
            error => address(error.to_string()),
        })
    }

    /// Connects to the unknown host that answers, with this application protocol alone.
    pub(crate) async fn meet(
        &self,
        addr: SocketAddr,
        protocol: &str,
    ) -> Result<Link, ConnectError> {
        let address = |reason: String| ConnectError::Address { addr, reason };
        let alpn = [tls::strangers_alpn(protocol)];
        let anyone = Allowed::anyone();
        let tls = tls::client(
            &self.identity(),
            anyone,
            &alpn,
            tls::Refused::default(),
            None,
        )
        .map_err(|e| address(e.to_string()))?;
        let tls = QuicClientConfig::try_from(tls).map_err(|e| address(e.to_string()))?;
        let request = paths::wanted(&self.config, addr).into_iter().next();
        let request = request.unwrap_or_default();
        let (remote, ours) = (request.remote_of(addr), self.fingerprint());
        let own = self.outlet(&request, remote)?;
        let outlet = own.as_ref().unwrap_or(&self.outlet);
        let (connecting, place) = self.begin(outlet, Arc::new(tls), remote, None)?;
        let connection = connecting
            .await
            .map_err(|error| connect_error(&error, remote, ours, self.idle))?;
        let link = Link::new(connection, place, ours, self.idle, None);
        let mut link = link.ok_or_else(|| no_datagrams(remote))?;
        link.own = Mutex::new(own.map(Box::new));
        Ok(link)
    }

    /// The TLS configuration for this peer: with early data the one that keeps its tickets.
    fn client_tls(&self, pair: &Pair, early: bool) -> Result<Resumable, String> {
        let make = || {
            let refused = tls::Refused::default();
            let tickets = tls::TicketStore::default();
            let store = early.then(|| tickets.clone());
            let tls = tls::client(
                &self.identity(),
                Allowed::only([pair.peer]),
                &pair.protocols,
                refused.clone(),
                store,
            )
            .map_err(|e| e.to_string())?;
            let config = QuicClientConfig::try_from(tls).map_err(|e| e.to_string())?;
            Ok(Resumable {
                config: Arc::new(config),
                tickets,
                refused,
            })
        };
        match early {
            true => self.config.known_peers.tls(pair.clone(), make),
            false => make(),
        }
    }
}

fn no_datagrams(addr: SocketAddr) -> ConnectError {
    ConnectError::NotWeftline {
        addr,
        reason: "it takes no datagrams".to_owned(),
    }
}
