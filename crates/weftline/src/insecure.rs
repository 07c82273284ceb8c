//! A UDP port without encryption.

use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::ops::Deref;
use std::sync::Arc;

use tokio::runtime::Handle as Runtime;
use tokio::task::JoinSet;

use crate::carrier::udp::Udp;
use crate::carrier::{Backend, Carrier, socket};
use crate::port::Port;
use crate::{BindError, ConnectError, Connecting, EndpointConfig};

/// A UDP port on which **nothing is encrypted or authenticated**: everybody who reaches the port may
/// connect, and everybody who sees the packets can read and forge them. For the laboratory, and for
/// links that you own. Clones are handles to the same port.
///
/// [`Port`] has what this type shares with `Endpoint`, the one with QUIC:
/// [`accept`](Port::accept), [`close`](Port::close), [`wait_idle`](Port::wait_idle).
///
/// UDP has no congestion control of its own: with
/// [`RateControl::Carrier`](crate::RateControl::Carrier) only the peer's limits bound how fast
/// a connection sends.
#[derive(Clone)]
pub struct InsecureEndpoint {
    port: Port,
    udp: Arc<Udp>,
}

impl InsecureEndpoint {
    /// Binds a UDP address.
    ///
    /// # Errors
    ///
    /// The address is not free, this is not called inside a tokio runtime, or the configuration
    /// contradicts itself.
    pub fn bind(addr: SocketAddr, config: impl Into<EndpointConfig>) -> Result<Self, BindError> {
        let config = config.into();
        let failed = |source| BindError::Socket { addr, source };
        let socket = socket::bind(addr, &config).map_err(failed)?;
        Self::from_socket(socket, config)
    }

    /// As [`InsecureEndpoint::bind`], on a socket that is bound already: one that the system handed
    /// over, or with options that only the application knows. Its buffers stay as they are.
    ///
    /// # Errors
    ///
    /// The socket cannot be used, this is not called inside a tokio runtime, or the configuration
    /// contradicts itself.
    pub fn from_socket(
        socket: UdpSocket,
        config: impl Into<EndpointConfig>,
    ) -> Result<Self, BindError> {
        let config = config.into();
        config.check()?;
        config.check_insecure()?;
        Runtime::try_current().map_err(|_| BindError::NoRuntime)?;
        let (udp, mut incoming) = Udp::new(socket, &config)?;
        let udp = Arc::new(udp);
        config.open_logs()?;
        let backend = Backend::Udp(udp.clone());
        let port = Port::new(backend, config, true, |door| {
            let accept = async move {
                let mut greeting = JoinSet::new();
                while let Some(link) = incoming.recv().await {
                    while greeting.try_join_next().is_some() {}
                    greeting.spawn(door.clone().admit(Carrier::Udp(link)));
                }
            };
            tokio::spawn(accept).abort_handle()
        });
        Ok(InsecureEndpoint { port, udp })
    }

    /// Connects to whatever answers at this address.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`]: each of its messages says what to do.
    pub fn connect(&self, addr: SocketAddr) -> Connecting {
        let udp = self.udp.clone();
        let link = move || {
            let link = udp.connect(addr).map_err(|e| ConnectError::Address {
                addr,
                reason: e.to_string(),
            });
            std::future::ready(link.map(Carrier::Udp))
        };
        Connecting::new(self.port.registry().clone(), addr, link)
    }
}

impl Deref for InsecureEndpoint {
    type Target = Port;

    fn deref(&self) -> &Port {
        &self.port
    }
}

impl From<InsecureEndpoint> for Port {
    fn from(endpoint: InsecureEndpoint) -> Port {
        endpoint.port
    }
}

impl fmt::Debug for InsecureEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InsecureEndpoint")
            .field("local_addr", &self.local_addr().ok())
            .finish_non_exhaustive()
    }
}
