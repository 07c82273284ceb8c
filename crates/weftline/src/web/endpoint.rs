//! A UDP port that speaks WebTransport.

use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::ops::Deref;
use std::sync::Arc;

use quinn::Incoming;
use tokio::runtime::Handle as Runtime;
use tokio::task::JoinSet;

use super::{WebAllowed, WebCertificate};
use crate::carrier::quic::Seat;
use crate::carrier::web::Web;
use crate::carrier::{Backend, Carrier, socket};
use crate::port::{Door, Port};
use crate::{BindError, EndpointConfig};

/// A UDP port that accepts pages in browsers over WebTransport: encrypted, and the browser checks this
/// end's [certificate](WebCertificate), but a page proves no key. It only accepts: pages connect. Clones are
/// handles to the same port.
///
/// [`Port`] has what this type shares with the other endpoints: [`accept`](Port::accept),
/// [`close`](Port::close), [`wait_idle`](Port::wait_idle). In the configuration, `application_protocols`
/// must be empty: a page says in its URL what it wants, which
/// [`Connection::web_path`](crate::Connection::web_path) tells.
///
/// When the last handle is dropped, no further pages are accepted; open connections go on.
#[derive(Clone)]
pub struct WebEndpoint {
    port: Port,
    web: Arc<Web>,
}

impl WebEndpoint {
    /// Binds a UDP address.
    ///
    /// # Errors
    ///
    /// The address is not free, this is not called inside a tokio runtime, or the configuration
    /// contradicts itself.
    pub fn bind(
        addr: SocketAddr,
        certificate: WebCertificate,
        allowed: WebAllowed,
        config: impl Into<EndpointConfig>,
    ) -> Result<Self, BindError> {
        let config = config.into();
        let failed = |source| BindError::Socket { addr, source };
        let socket = socket::bind(addr, &config).map_err(failed)?;
        Self::from_socket(socket, certificate, allowed, config)
    }

    /// As [`WebEndpoint::bind`], on a socket that is bound already: one that the system handed over, or
    /// with options that only the application knows. Its buffers stay as they are.
    ///
    /// # Errors
    ///
    /// The socket cannot be used, this is not called inside a tokio runtime, or the configuration
    /// contradicts itself.
    pub fn from_socket(
        socket: UdpSocket,
        certificate: WebCertificate,
        allowed: WebAllowed,
        config: impl Into<EndpointConfig>,
    ) -> Result<Self, BindError> {
        let config = config.into();
        config.check()?;
        config.check_web()?;
        Runtime::try_current().map_err(|_| BindError::NoRuntime)?;
        let web = Arc::new(Web::new(socket, &certificate, allowed, &config)?);
        config.open_logs()?;
        let backend = Backend::Web(web.clone());
        let port = Port::new(backend, config, true, |door| {
            tokio::spawn(accept(web.clone(), door)).abort_handle()
        });
        Ok(WebEndpoint { port, web })
    }

    /// Shows this certificate in place of the one before, from the next handshake on. Open connections
    /// are not affected. Once the endpoint is closed, this changes nothing.
    ///
    /// # Errors
    ///
    /// The cryptographic library refuses its configuration.
    pub fn set_certificate(&self, certificate: WebCertificate) -> Result<(), BindError> {
        match self.port.is_closed() {
            true => Ok(()),
            false => self.web.set_certificate(&certificate),
        }
    }
}

impl Deref for WebEndpoint {
    type Target = Port;

    fn deref(&self) -> &Port {
        &self.port
    }
}

impl From<WebEndpoint> for Port {
    fn from(endpoint: WebEndpoint) -> Port {
        endpoint.port
    }
}

impl fmt::Debug for WebEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebEndpoint")
            .field("local_addr", &self.local_addr().ok())
            .finish_non_exhaustive()
    }
}

async fn accept(web: Arc<Web>, door: Door) {
    let mut handshakes = JoinSet::new();
    while let Some(incoming) = web.knock().await {
        while handshakes.try_join_next().is_some() {}
        let (server, inside) = (web.clone(), door.clone());
        let greet = |incoming: Incoming, seat: Seat| async move {
            match server.open(incoming, seat).await {
                Some(Ok(link)) => inside.admit(Carrier::Web(link)).await,
                Some(Err(refusal)) => inside.refuse(refusal),
                // A page that stops half-way is no news.
                None => tracing::debug!("a page took too long"),
            }
        };
        if let Err(refusal) = web.gate().admit(incoming, &mut handshakes, greet) {
            door.refuse(refusal);
        }
    }
}
