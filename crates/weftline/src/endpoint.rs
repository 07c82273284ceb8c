//! A UDP port that speaks QUIC.

use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::ops::Deref;
use std::sync::Arc;

use tokio::runtime::Handle as Runtime;
use tokio::task::JoinSet;

use crate::carrier::quic::{Guest, Quic};
use crate::carrier::{Backend, Carrier, socket};
use crate::port::{Door, Port};
use crate::{Allowed, BindError, Connecting, Connection, EndpointConfig, Fingerprint, Identity};

/// A UDP port that connects to peers and accepts them over QUIC: encrypted, and each end knows who
/// the other is. Clones are handles to the same port.
///
/// [`Port`] has what this type shares with [`InsecureEndpoint`](crate::InsecureEndpoint):
/// [`accept`](Port::accept), [`close`](Port::close), [`wait_idle`](Port::wait_idle).
///
/// When the last handle is dropped, no further peers are accepted; open connections go on.
#[derive(Clone)]
pub struct Endpoint {
    port: Port,
    quic: Arc<Quic>,
}

impl Endpoint {
    /// Binds a UDP address. With [`Allowed::nobody`] the endpoint only connects.
    ///
    /// # Errors
    ///
    /// The address is not free, this is not called inside a tokio runtime, or the configuration
    /// contradicts itself.
    pub fn bind(
        addr: SocketAddr,
        identity: Identity,
        allowed: Allowed,
        config: impl Into<EndpointConfig>,
    ) -> Result<Self, BindError> {
        let config = config.into();
        let failed = |source| BindError::Socket { addr, source };
        let socket = socket::bind(addr, &config).map_err(failed)?;
        Self::from_socket(socket, identity, allowed, config)
    }

    /// As [`Endpoint::bind`], on a socket that is bound already: one that the system handed over,
    /// or with options that only the application knows. Its buffers stay as they are.
    ///
    /// # Errors
    ///
    /// The socket cannot be used, this is not called inside a tokio runtime, or the configuration
    /// contradicts itself.
    pub fn from_socket(
        socket: UdpSocket,
        identity: Identity,
        allowed: Allowed,
        config: impl Into<EndpointConfig>,
    ) -> Result<Self, BindError> {
        let config = config.into();
        config.check()?;
        Runtime::try_current().map_err(|_| BindError::NoRuntime)?;
        let listening = !allowed.is_nobody();
        // Before the socket is touched, which may be one that the caller keeps.
        config.open_logs()?;
        let quic = Arc::new(Quic::new(socket, identity, allowed, &config)?);
        let backend = Backend::Quic(quic.clone());
        let port = Port::new(backend, config, listening, |door| {
            tokio::spawn(accept(quic.clone(), door)).abort_handle()
        });
        Ok(Endpoint { port, quic })
    }

    /// This end's fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        self.quic.fingerprint()
    }

    /// Connects to the peer with this fingerprint at this address, and to no other.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`](crate::ConnectError): each of its messages says what to do.
    pub fn connect(&self, addr: SocketAddr, peer: Fingerprint) -> Connecting {
        let quic = self.quic.clone();
        let link = move || {
            let quic = quic.clone();
            async move { Ok(Carrier::Quic(quic.connect(addr, peer).await?)) }
        };
        Connecting::new(self.port.registry().clone(), addr, link)
    }

    /// Connects to the unknown host that answers at this address, with this application protocol and no other: the
    /// peer must accept [strangers](Allowed::and_strangers_for) for it. [`Connection::peer`] tells which key
    /// the peer holds; that it is the right one, the two ends have yet to prove to each other.
    /// [`Connection::export_keying_material`] binds that proof to this connection.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`](crate::ConnectError). A peer that accepts no strangers for this protocol is
    /// [`ConnectError::ApplicationProtocol`](crate::ConnectError::ApplicationProtocol).
    ///
    /// [`Connection::peer`]: crate::Connection::peer
    /// [`Connection::export_keying_material`]: crate::Connection::export_keying_material
    pub fn connect_stranger(&self, addr: SocketAddr, protocol: impl Into<Arc<str>>) -> Connecting {
        let (quic, protocol) = (self.quic.clone(), protocol.into());
        let link = move || {
            let (quic, protocol) = (quic.clone(), protocol.clone());
            async move { Ok(Carrier::Quic(quic.meet(addr, &protocol).await?)) }
        };
        Connecting::new(self.port.registry().clone(), addr, link)
    }

    /// The next connection of a peer that asked for what [strangers](Allowed::and_strangers_for) may ask
    /// for, be it allowed otherwise or not; `None` as with [`Port::accept`]. At most eight are open at a
    /// time: close each of them soon. With early data, wait for
    /// [`Connection::confirmed`](crate::Connection::confirmed) first.
    ///
    /// Cancel safe: a connection that was not returned is returned by the next call.
    pub async fn accept_stranger(&self) -> Option<Connection> {
        self.port.accept_stranger().await
    }

    /// Replaces the rule that says which peers may connect, from the next handshake on. Open
    /// connections stay as they are: close those of a peer that is not allowed any more.
    ///
    /// [`accept`](Port::accept) returns `None` as soon as nobody is allowed; call it again after a
    /// later change. Once the endpoint is closed, this changes nothing.
    ///
    /// # Errors
    ///
    /// The cryptographic library refuses its configuration.
    pub fn set_allowed(&self, allowed: Allowed) -> Result<(), BindError> {
        if self.port.is_closed() {
            return Ok(());
        }
        let listening = !allowed.is_nobody();
        self.quic.set_allowed(allowed)?;
        self.port.set_listening(listening);
        Ok(())
    }

    /// Replaces this end's key pair, from the next handshake on. Open connections keep theirs, but get no
    /// further paths: those begin with a handshake. Tell peers the new fingerprint first: those that expect
    /// the old one cannot connect any more.
    ///
    /// # Errors
    ///
    /// The cryptographic library refuses its configuration.
    pub fn set_identity(&self, identity: Identity) -> Result<(), BindError> {
        match self.port.is_closed() {
            true => Ok(()),
            false => self.quic.set_identity(identity),
        }
    }

    /// Moves this endpoint to another bound socket; its connections go along, as QUIC's connection
    /// migration allows (RFC 9000, section 9): for a host whose network has changed. A server must
    /// stay where its clients look for it.
    ///
    /// # Errors
    ///
    /// The socket cannot be used, is IPv4 where the endpoint's is IPv6 or the other way round (its
    /// connections could not go along), or this is not called inside a tokio runtime; the endpoint then
    /// keeps the old socket.
    pub fn rebind(&self, socket: UdpSocket) -> std::io::Result<()> {
        Runtime::try_current().map_err(std::io::Error::other)?;
        let (ours, new) = (self.local_addr()?, socket.local_addr()?);
        if ours.is_ipv6() != new.is_ipv6() {
            return Err(std::io::Error::new(
                std::io::ErrorKind::InvalidInput,
                format!("the endpoint is at {ours}, and its connections cannot go along to {new}"),
            ));
        }
        self.quic.rebind(socket)
    }
}

impl Deref for Endpoint {
    type Target = Port;

    fn deref(&self) -> &Port {
        &self.port
    }
}

impl From<Endpoint> for Port {
    fn from(endpoint: Endpoint) -> Port {
        endpoint.port
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("local_addr", &self.local_addr().ok())
            .field("fingerprint", &self.fingerprint())
            .finish_non_exhaustive()
    }
}

async fn accept(quic: Arc<Quic>, door: Door) {
    let mut handshakes = JoinSet::new();
    while let Some(knock) = quic.knock().await {
        while handshakes.try_join_next().is_some() {}
        let inside = door.clone();
        let greet = |guest: Guest| async move {
            let opened = guest.open(inside.sessions()).await;
            inside.greet(opened).await;
        };
        if let Err(refusal) = knock.admit(quic.gate(), &mut handshakes, greet) {
            door.refuse(refusal);
        }
    }
}
